"""`toolcharter new`: a plugin skeleton."""

import json
import os
import re
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Callable
from contextlib import AbstractContextManager
from importlib.util import find_spec
from pathlib import Path

import pytest

import toolcharter

pytestmark = pytest.mark.slow

FILES = [
    "README.md",
    "pyproject.toml",
    "tests/test_contract.py",
    "tests/test_toolcharter_moon.py",
    "toolcharter_moon/__init__.py",
    "toolcharter_moon/py.typed",
]


def test_skeleton_is_written(run, desk, project_root) -> None:
    """Every file is named, and no mark is left in any."""
    result = run("new", "moon")

    folder = desk / "toolcharter-moon"
    written = sorted(file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_file())
    told = result.stdout.partition("\n\n")
    assert (written, result.exit_code) == (FILES, 0)
    assert sorted(told[0].splitlines()) == [f"toolcharter-moon/{file}" for file in FILES]
    core = f"Next: pip install -e {project_root} -e "
    assert told[2] == f"{core}toolcharter-moon pytest && pytest toolcharter-moon\n"
    assert "pip install -e PATH/TO/toolcharter -e . pytest" in (folder / "README.md").read_text()
    assert not [file for file in FILES if re.search(r"@\w+@", (folder / file).read_text())]


def test_installed_core_has_no_path_to_name(run, monkeypatch) -> None:
    """Away from a checkout the line says where its path belongs; what a shell would split is quoted."""
    monkeypatch.setattr("toolcharter.profile.find.checkout_root", lambda: None)

    result = run("new", "moon", "--directory", "my moon")

    assert result.stdout.splitlines()[-1] == (
        "Next: pip install -e PATH/TO/toolcharter -e 'my moon' pytest && pytest 'my moon'"
    )


def test_existing_folder_is_refused(run, desk) -> None:
    """Nothing is ever overwritten."""
    (desk / "there").mkdir()

    result = run("new", "moon", "--directory", "there")

    error = "Error: Cannot make the folder 'there': File exists."
    assert (result.stderr.splitlines()[-1], result.exit_code, list((desk / "there").iterdir())) == (error, 2, [])


@pytest.mark.parametrize("name", ["3d", "a b", "", "ä", "-x", "a" * 65, "../x"])
def test_bad_name_is_refused(run, name) -> None:
    """A name must fit tools, distributions and modules."""
    result = run("new", "--", name)

    rule = "is no valid tool name: a letter, then up to 63 letters, digits, '_' or '-'; best in snake_case."
    assert (result.stderr.splitlines()[-1], result.exit_code) == (f"Error: {name!r} {rule}", 2)


@pytest.mark.parametrize("name", ["bash", "Cap", "group"])
def test_prefix_of_a_rule_is_refused(run, name) -> None:
    """A rule could not name such a tool."""
    result = run("new", name)

    listed = "*, bash, builtin, cap, cli, custom, group, mcp"
    error = f"Error: {name!r} is a prefix of the rule language ({listed})."
    assert (result.stderr.splitlines()[-1], result.exit_code) == (error, 2)


@pytest.fixture
def stranger(tmp_path: Path) -> Path:
    """A fresh environment that sees the core and the developers' tools, and no plugin."""
    venv.create(tmp_path / "venv", symlinks=True)
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    core = [str(Path(toolcharter.__file__).parents[1]), sysconfig.get_path("purelib")]
    (tmp_path / "venv/lib" / version / "site-packages/core.pth").write_text("\n".join(core))
    return tmp_path


def succeed(cwd: Path, *words: str | Path) -> str:
    """What the program prints, which must succeed."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "COV"))}
    ran = subprocess.run(words, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


# One test for all: a checker reads the core once, which is what takes its time.
@pytest.mark.skipif(find_spec("uv") is None, reason="needs the developers' tools: uv, ruff, mypy, pyright")
def test_skeletons_pass_at_once(
    stranger: Path, project_root: Path, mypy_cache: Callable[[], AbstractContextManager[Path]]
) -> None:
    """Installed in a fresh environment each passes its tests, the contract test, and every linter."""
    tools = {stranger / f"toolcharter-{tool.lower()}": tool for tool in ("moon", "list", "Fetch-Some-Data")}
    python = stranger / "venv/bin/python"
    ours = (sys.executable, "-m")
    for tool in tools.values():
        succeed(stranger, python, "-m", "toolcharter.cli", "new", tool)
    editable = [word for folder in tools for word in ("--editable", folder)]
    install = ("uv", "pip", "install", "--offline", "--no-deps", "--no-build-isolation", "--python", python)
    succeed(stranger, *ours, *install, *editable)

    mypy = ("mypy", "--strict", "--python-executable", python)
    for folder in tools:
        tested = succeed(folder, python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:schemathesis")
        assert "2 of 2 declared reasons shown (100 %)" in tested
        for settings in (project_root / "pyproject.toml", folder / "pyproject.toml"):
            ruff = (*ours, "ruff", "--config", settings)
            succeed(folder, *ruff, "check", "--no-cache", ".")
            succeed(folder, *ruff, "format", "--check", "--no-cache", ".")
        with mypy_cache() as cache:
            succeed(folder, *ours, *mypy, "--cache-dir", cache, ".")
    strict = {"typeCheckingMode": "strict", "include": [folder.name for folder in tools]}
    (stranger / "pyrightconfig.json").write_text(json.dumps(strict))
    succeed(stranger, *ours, "pyright", "--pythonpath", python)
    offered = succeed(stranger, python, "-m", "toolcharter.cli", "plugins", "--json")
    assert all(tool in offered for tool in tools.values())
