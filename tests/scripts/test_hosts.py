"""`scripts/hosts.py`: which plugins it takes, and what it says of them."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

import hosts
from environment import ROOT, projects
from environment import hosts as host_folders


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The commands that would have been run; the one that names `llm` fails."""
    commands: list[list[str]] = []

    class Done:
        def __init__(self, command: list[Any]) -> None:
            commands.append([str(word) for word in command])
            self.stdout = ""
            self.returncode = 1 if "llm" in " ".join(commands[-1]) else 0

    monkeypatch.setattr("hosts.subprocess.run", lambda command, **_: Done(command))
    monkeypatch.setattr("hosts.prepare_host", lambda folder: Path("python-of", folder.name))
    return commands


def test_plugins_for_frameworks_have_environments_of_their_own() -> None:
    """Those with a lock file, and `.venv` holds none of them."""
    locked = {path.parent for path in ROOT.glob("plugins/*/constraints.txt")}

    assert {*host_folders()} == locked
    assert locked.isdisjoint(projects())
    assert len(locked) == 6


def test_each_is_tested_by_its_own_python(ran: list[list[str]], capsys: pytest.CaptureFixture[str]) -> None:
    """A failure of one leaves the others alone, and is the exit status."""
    assert hosts.main(["test", "--", "-k", "x"]) == 1

    named = {Path(command[0]).name: command for command in ran}
    assert set(named) == {folder.name for folder in host_folders()}
    assert named["openai"][1:4] == ["-m", "pytest", "-q"]
    assert named["openai"][-2:] == ["-k", "x"]
    said = capsys.readouterr().out
    assert "llm          failed (1)" in said
    assert said.count("passed in") == 5


def test_names_choose(ran: list[list[str]]) -> None:
    """And a name that there is not is no success."""
    assert hosts.main(["lint", "openai", "anthropic"]) == 0
    assert len(ran) == 4
    assert hosts.main(["test", "none"]) == 1
    assert len(ran) == 4


def test_every_host_has_its_tests_example_and_framework_listed() -> None:
    """What `lint` and `test` name is there, and the tests know when to leave a module out."""
    names = {folder.name for folder in host_folders()}

    for name in names:
        assert (ROOT / "tests" / "hosts" / f"test_{name}.py").is_file()
        assert (ROOT / "examples" / "hosts" / f"{name}.py").is_file()
    listed = (ROOT / "tests" / "hosts" / "conftest.py").read_text()
    assert [name for name in names if f'"{name}":' not in listed] == []


def test_every_lower_bound_is_tried() -> None:
    """Each plugin names one for all that it depends on; `lowest` installs exactly that."""
    pins = {folder.name: hosts.lowest_pins(folder) for folder in host_folders()}

    assert pins["langchain"] == ["langchain==1.3", "langchain-core==1.4", "langgraph==1.2"]
    assert pins["openai"] == ["openai==3.0", "pydantic==2.12.2", "openai-agents==0.21"]
    for name, found in pins.items():
        project = tomllib.loads((ROOT / "plugins" / name / "pyproject.toml").read_text())["project"]
        extras = project.get("optional-dependencies", {})
        assert len(found) == len(project["dependencies"]) - 1 + sum(map(len, extras.values())), name


def test_an_unknown_work_is_told(capsys) -> None:
    """And nothing is started."""
    assert hosts.main(["--help"]) == 2
    assert "scripts/hosts.py lowest" in capsys.readouterr().out
