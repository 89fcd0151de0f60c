"""A workspace with profiles, policies and a Python environment, for tests that attack what the gate executes or believes."""

import json
import shutil
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Mapping
from pathlib import Path
from textwrap import dedent
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PYTHON_NAME = f"python{sys.version_info.major}.{sys.version_info.minor}"
PURELIB = Path(sysconfig.get_path("purelib"))

CALLING_SCRIPT = """
    import json, os, sys
    from toolcharter import build_tools
    given = json.load(sys.stdin)
    with build_tools(given["profile"], workspace=given["workspace"], events=given["events"] or [lambda event: None]) as toolbox:
        for tool, args in given["calls"]:
            result = toolbox.call(tool, args)
            print(json.dumps([result.outcome, result.reason, str(result)]))
"""
PROFILES = {
    "profiles/deploy.yaml": "profile: deploy\nextends: [../ops/base.yaml]\n",
    "ops/base.yaml": "profile: base\ntools: {list_files: {}}\n",
    "profiles/linked.yaml": "../ops/linked.yaml",
    "ops/linked.yaml": "profile: linked\ntools: {list_files: {}}\n",
    "packages/app/profiles/own.yaml": "profile: own\ntools: {list_files: {}}\n",
}
POLICIES = {
    ".toolcharter/policy.yaml": "../ops/policy.yaml",
    "ops/policy.yaml": "deny: ['bash:rm *']\n",
    "ops/admin.yaml": "deny: ['bash:dd *']\n",
}
FREE_PROFILE = """
profile: free
runner: RUNNER
mode: dangerous
tools:
  list_files: {}
  read_file: {}
  grep: {}
  write_file: {protected: []}
  edit_file: {protected: []}
  move_file: {protected: []}
  delete_file: {protected: []}
  make_dir: {protected: []}
  execute_code: {}
  git: {allowed_actions: [create_branch, checkout, add, commit], managed_branch_prefix: agent/}
"""


SPARE_ENVIRONMENTS: list[Path] = []
"""Environments that the workspaces of earlier tests have left: to make one takes longer than most tests."""


class Project:
    """A workspace with profiles, policies and an environment, and an agent's tools in a process of its own."""

    def __init__(self, folder: Path, *, inside: bool) -> None:
        self.workspace = folder / "ws"
        self.workspace.mkdir()
        self.environment = (self.workspace if inside else folder) / ".venv"
        self.python = self.environment / "bin/python"
        self.site = self.environment / "lib" / PYTHON_NAME / "site-packages"
        if SPARE_ENVIRONMENTS:
            SPARE_ENVIRONMENTS.pop().rename(self.environment)
        else:
            venv.create(self.environment, symlinks=True)
            self._install()
        self._made = self._state()
        for name, text in {**PROFILES, **POLICIES}.items():
            file = self.workspace / name
            file.parent.mkdir(parents=True, exist_ok=True)
            if text.startswith("../"):
                file.symlink_to(text)
            else:
                file.write_text(text)
        (self.workspace / "src").mkdir()
        (self.workspace / "src/main.py").write_text("print(1)\n")
        (folder / "free.yaml").write_text(FREE_PROFILE.replace("RUNNER", "bwrap"))
        self.variables = {"TOOLCHARTER_ADMIN_POLICY": str(self.workspace / "ops/admin.yaml"), "HOME": str(folder)}

    def _install(self) -> None:
        """The core and all plugins as wheels bring them; what they depend on is seen where it is installed already."""
        # A name with a number behind `.pyc` is one that another process is about to write.
        unfinished = shutil.ignore_patterns("*.pyc.*", "*-pytest-*.pyc")
        shutil.copytree(ROOT / "core/toolcharter", self.site / "toolcharter", ignore=unfinished)
        shutil.copytree(ROOT / "profiles", self.site / "toolcharter/profiles", dirs_exist_ok=True)
        for package in ROOT.glob("plugins/*/toolcharter_*"):
            shutil.copytree(package, self.site / package.name, ignore=unfinished)
        for metadata in PURELIB.glob("toolcharter*.dist-info"):
            shutil.copytree(metadata, self.site / metadata.name, ignore=shutil.ignore_patterns("direct_url.json"))
        for needed in PURELIB.iterdir():
            if not needed.name.startswith(("toolcharter", "_editable", "__pycache__")) and needed.suffix != ".pth":
                (self.site / needed.name).symlink_to(needed)
        for metadata in PURELIB.glob("ripgrep-*.dist-info"):
            (self.site / metadata.name).unlink()
            shutil.copytree(metadata, self.site / metadata.name)
        shutil.copy(Path(sysconfig.get_path("scripts"), "rg"), self.environment / "bin/rg")

    def close(self) -> None:
        """Leave the environment to the next workspace of this process, if it is as it was; new names are taken out of it."""
        if self.python != self.environment / "bin/python" or self.environment.is_symlink() or not self.site.is_dir():
            return
        for new in {*self.site.iterdir()} - self._made.keys():
            shutil.rmtree(new) if new.is_dir() and not new.is_symlink() else new.unlink()
        if self._state() == self._made:
            SPARE_ENVIRONMENTS.append(
                self.environment.rename(self.workspace.parent.parent / f"environment-of-{self.workspace.parent.name}")
            )

    def _state(self) -> dict[Path, tuple[int, int] | None]:
        """What lies in the environment: programs and settings with size and time, packages by name."""
        programs = [self.environment / "pyvenv.cfg", *(self.environment / "bin").iterdir()]
        changing = {one: (one.lstat().st_size, one.lstat().st_mtime_ns) for one in programs}
        return {**dict.fromkeys(self.site.iterdir()), **changing}

    def run_calls(
        self, profile: str, *calls: tuple[str, Mapping[str, Any]], start: str = ".", events: tuple[str, ...] = ()
    ) -> list[tuple[str, str | None, str]]:
        """Outcome, reason and text of each call, started in a folder of the workspace."""
        given = {"profile": profile, "workspace": str(self.workspace), "events": list(events), "calls": calls}
        ended = self.run("-c", dedent(CALLING_SCRIPT), start=start, stdin=json.dumps(given))
        assert (ended.returncode, ended.stderr) == (0, ""), ended.stderr
        return [tuple(json.loads(line)) for line in ended.stdout.splitlines()]

    def run(self, *args: str, start: str = ".", stdin: str = "") -> "subprocess.CompletedProcess[str]":
        """Run the environment's Python."""
        return subprocess.run(
            [self.python, *args],
            cwd=self.workspace / start,
            env={"PATH": "/usr/bin:/bin", **self.variables},
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
        )

    def files(self) -> dict[str, object]:
        """All that lies in the workspace: what links say, what files hold."""
        found: dict[str, object] = {}
        for path in sorted(self.workspace.rglob("*")):
            name = str(path.relative_to(self.workspace))
            if "__pycache__" in name or name.startswith(".git/"):
                continue
            if path.is_symlink():
                found[name] = path.readlink()
            else:
                found[name] = path.read_bytes() if path.is_file() else None
        return found

    def trusted_paths(self) -> list[str]:
        """A path of each kind that the gate executes or believes, those that lie in the workspace."""
        environment = [
            "bin/python",
            "bin/rg",
            "bin/activate",
            "pyvenv.cfg",
            "lib/" + PYTHON_NAME + "/site-packages/new.pth",
        ]
        inside = [f".venv/{name}" for name in environment] if self.environment.parent == self.workspace else []
        return [*inside, *PROFILES, *POLICIES, "profiles/coder.yaml", "profiles/new.yml", "profiles"]


def file_attacks_on(path: str) -> list[tuple[str, dict[str, Any]]]:
    """Each way in which a file tool may change what lies at *path*, or have it lie elsewhere."""
    return [
        ("write_file", {"path": path, "content": "x"}),
        ("edit_file", {"path": path, "old": "e", "new": "x"}),
        ("delete_file", {"path": path}),
        ("move_file", {"path": path, "target": "src/taken"}),
        ("move_file", {"path": "src/main.py", "target": path}),
    ]


def run_git(folder: Path, *args: str) -> None:
    identity = ("-c", "user.name=Ann", "-c", "user.email=ann@example.invalid", "-c", "init.defaultBranch=main")
    subprocess.run(["git", *identity, *args], cwd=folder, check=True, capture_output=True)
