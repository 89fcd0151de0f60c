"""The folders that the samples of command lines are about, with their repositories, and the profile that judges them."""

import io
import json
import os
import subprocess
import tarfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from gzip import compress
from pathlib import Path
from shutil import which
from sys import prefix
from typing import Any, NamedTuple

from tests.samples import sample_file

from toolcharter import Decision, Toolbox, build_tools

COMMITS = ("first commit", "second; commit", "third", "add pytest.ini", "tmp test")
PROGRAM = "touch @WS@/pwned;false"
ORDINARY = (".gitignore", "README.md", "a.txt", "data.csv", "data.json", "docs", "src", "tests", "pytest.ini")
"""What the repository holds; all else beside them is what somebody left there."""


class Tree(NamedTuple):
    """One copy of the folders."""

    root: Path

    @property
    def workspace(self) -> Path:
        return self.root / "ws"

    def fill(self, text: str) -> str:
        """Put the places of this tree into a sample."""
        places = {
            "@WS_NOSLASH@": str(self.workspace)[1:],
            "@WS@": str(self.workspace),
            "@ROOT@": str(self.root),
            "@OUT@": str(self.root / "outside"),
            "@HOME@": str(self.root / "home"),
            "@VENV@": prefix,
        }
        for name, place in places.items():
            text = text.replace(name, place)
        return text

    def content(self) -> dict[str, bytes | str]:
        """Every file and link by its path, but for what git keeps for itself, and our profiles."""
        found: dict[str, bytes | str] = {}
        for folder, folders, files in os.walk(self.root):
            folders[:] = [name for name in folders if name not in {".git", "profiles"}]
            for name in (*files, *folders):
                path = Path(folder, name)
                found[str(path.relative_to(self.root))] = (
                    str(path.readlink()) if path.is_symlink() else path.read_bytes() if path.is_file() else "folder"
                )
        return found


def plant(root: Path) -> Tree:
    """Make the folders of `shell_fixture.json` below *root*."""
    tree = Tree(root)
    entries = sample_file("security/shell_fixture")["entries"]
    for entry in entries:
        if entry["type"] != "git":
            _place(tree, entry)
    _commit(tree)
    return tree


def _place(tree: Tree, entry: Mapping[str, str]) -> None:
    path = Path(tree.fill(entry["path"]))
    path.parent.mkdir(parents=True, exist_ok=True)
    match entry["type"]:
        case "dir":
            path.mkdir(exist_ok=True)
        case "symlink":
            path.symlink_to(tree.fill(entry["target"]))
        case _:
            given = entry.get("content")
            path.write_bytes(_blob(path.name) if given is None else tree.fill(given).encode())
            path.chmod(int(entry["mode"], 8))


def _blob(name: str) -> bytes:
    """What the samples describe in words."""
    if name == "big.txt":
        return b"QUFB" * 67_500
    if name == "evil.gz":
        return compress(b"hello x")
    if name == "data.tar":
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as archive:
            for member, text in (("a.txt", b"x\n"), ("README.md", b"Hello x\n")):
                info = tarfile.TarInfo(member)
                info.size = len(text)
                archive.addfile(info, io.BytesIO(text))
        return packed.getvalue()
    # A library that never loads: nothing here is loaded by anything.
    return b"\x7fELF"


def _commit(tree: Tree) -> None:
    workspace = tree.workspace
    _git(workspace, "init", "-q", "-b", "main")
    (workspace / ".git/info/exclude").write_text("evil*\nls\nbin\nhooks\nbig.txt\nev.so\nweird*\nlink_*\n.env\nfile*\n")
    for number, message in enumerate(COMMITS):
        last = number == len(COMMITS) - 1
        _git(workspace, "add", "--", *(ORDINARY if last else ORDINARY[number : number + 1]))
        _git(workspace, "commit", "-q", "-m", message)
    _git(workspace, "tag", "v1")
    _git(workspace, "clone", "-q", "--bare", ".", "evil.git")
    _git(workspace / "evil.git", "config", "core.fsmonitor", tree.fill(PROGRAM))
    _git(workspace / "evil.git", "config", "core.bare", "false")
    (workspace / "evilrepo").mkdir()
    _git(workspace / "evilrepo", "init", "-q", "-b", "main")
    _git(workspace / "evilrepo", "commit", "-q", "--allow-empty", "-m", "one")
    _git(workspace / "evilrepo", "config", "core.fsmonitor", tree.fill(PROGRAM))


def _git(folder: Path, *words: str) -> None:
    environment = {
        "PATH": os.defpath,
        "HOME": str(folder),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_SYSTEM": os.devnull,
        **{f"GIT_{who}_{what}": f"dev{end}" for who in ("AUTHOR", "COMMITTER") for what, end in _NAMES},
    }
    subprocess.run([which("git") or "git", *words], cwd=folder, env=environment, check=True)


_NAMES = (("NAME", ""), ("EMAIL", "@example.com"))


@contextmanager
def toolbox_over(tree: Tree, profile: Mapping[str, Any], **given: Any) -> Iterator[Toolbox]:
    """The toolbox of a profile that lists the real `bash`, in the workspace of *tree*."""
    folder = tree.root / "profiles"
    folder.mkdir(exist_ok=True)
    file = folder / f"{len([*folder.iterdir()])}.yaml"
    file.write_text(json.dumps({"profile": "cases", "runner": "host", "tools": {"bash": {}}, **profile}))
    with build_tools(file, workspace=tree.workspace, events=[_ignore], **given) as toolbox:
        yield toolbox


def _ignore(_: object) -> None:
    """These cases are not about events."""


def sample_policy() -> dict[str, Any]:
    """The rules that the samples of command lines assume."""
    given = sample_file("security/policy_P1")
    return {"mode": "restrict", "allow": given["allow_globs_naive"], "deny": given["deny_globs"]}


class Lines:
    """What lines meet with the real `bash` of profiles, in one empty workspace; a profile is opened once."""

    def __init__(self, root: Path) -> None:
        self._tree = Tree(root)
        self._tree.workspace.mkdir()
        self._boxes: dict[str, Toolbox] = {}
        self._stack = ExitStack()
        self.close = self._stack.close

    def __call__(self, profile: Mapping[str, Any], line: str) -> Decision:
        key = json.dumps(profile)
        if key not in self._boxes:
            self._boxes[key] = self._stack.enter_context(toolbox_over(self._tree, profile))
        return self._boxes[key].decide("bash", {"command": line})
