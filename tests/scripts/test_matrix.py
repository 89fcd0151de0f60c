"""`scripts/matrix.py`: which Pythons count as present, and what the closing lines say."""

import sys
from pathlib import Path

import pytest
from tests.rows import each_row

import matrix

_OTHER = "3.13" if sys.version_info[:2] != (3, 13) else "3.12"


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home without interpreters and a PATH with one empty folder."""
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("PYENV_ROOT", raising=False)
    return tmp_path


def put(program: Path, body: str) -> Path:
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text(f"#!/bin/sh\n{body}\n")
    program.chmod(0o755)
    return program


def test_running_interpreter_is_found_first(bare: Path) -> None:
    """`.venv` belongs to the Python that the Makefile chose."""
    assert matrix.find("{}.{}".format(*sys.version_info)) == Path(sys.executable)


def test_shim_that_leads_nowhere_is_passed_over(bare: Path) -> None:
    """The shims of pyenv put a name on the PATH for each version; only those that run count."""
    put(bare / "bin" / f"python{_OTHER}", "exit 127")
    real = put(bare / ".pyenv" / "versions" / f"{_OTHER}.1" / "bin" / f"python{_OTHER}", f"echo {_OTHER}")

    assert matrix.find(_OTHER) == real


def test_interpreter_of_another_version_is_passed_over(bare: Path) -> None:
    """What a name promises is checked by running it."""
    put(bare / "bin" / f"python{_OTHER}", "echo 3.14")

    assert matrix.find(_OTHER) is None


@each_row(
    ("arguments", "is_first", "selected"),
    [
        pytest.param([], True, [], id="first"),
        pytest.param(["-k", "git"], True, ["-k", "git"], id="first, chosen"),
        pytest.param([], False, [*matrix.AGAIN], id="later"),
        pytest.param(["-k", "git"], False, [*matrix.AGAIN, "-k", "git"], id="later, chosen"),
        pytest.param(["tests/scripts", "-x"], False, ["tests/scripts", "-x"], id="a folder"),
        pytest.param(["tests/test_docs.py::test_x"], False, ["tests/test_docs.py::test_x"], id="a test"),
    ],
)
def test_first_version_runs_all(arguments: list[str], *, is_first: bool, selected: list[str]) -> None:
    """The others run what depends on the version, or what the user names."""
    assert matrix.selection(arguments, is_first=is_first) == selected


@each_row("word", matrix.AGAIN)
def test_what_runs_again_is_there(word: str, project_root: Path) -> None:
    """A test that moves takes its entry with it: pytest would pass over an option that fits nothing."""
    place, _, test = word.removeprefix("--ignore=").removeprefix("--deselect=").partition("::")

    assert word.startswith("--hypothesis") or (project_root / place).exists()
    files = (place, "core/toolcharter/testing/contract.py") if test.startswith("TestContract") else (place,)
    name = test.rpartition("::")[2]
    assert not test or any(f"def {name}(" in (project_root / file).read_text() for file in files)


@pytest.mark.parametrize(
    ("outcomes", "status"),
    [
        pytest.param({"Python 3.11": "passed in 3 s", "Python 3.12": "not present"}, 0, id="passed where present"),
        pytest.param({"Python 3.11": "passed in 3 s", "Python 3.12": "failed (1) in 2 s"}, 1, id="failed on one"),
        pytest.param({"Python 3.11": "passed in 3 s", "Hosts": "failed (1) in 2 s"}, 1, id="failed with hosts"),
        pytest.param({"Python 3.11": "not present", "Python 3.12": "not present"}, 1, id="present nowhere"),
    ],
)
def test_status_and_closing_lines(
    outcomes: dict[str, str], status: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One failure fails the whole, an absent version does not, and nothing tested is no success."""
    ran = {name: outcome for name, outcome in outcomes.items() if outcome != "not present"}
    monkeypatch.setenv("PYTHONS", " ".join(name.removeprefix("Python ") for name in outcomes if name != "Hosts"))
    monkeypatch.setattr(matrix, "find", lambda version: Path(version) if f"Python {version}" in ran else None)
    monkeypatch.setattr(matrix, "run_all", lambda _pythons, _arguments: ran)

    assert matrix.main([]) == status
    lines = [f"  {name:12} {outcome}" for name, outcome in outcomes.items()]
    assert capsys.readouterr().out.splitlines() == ["", "Tests:", *lines]


def test_versions_and_hosts_run_beside_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Each gets its words, none the terminal before the first has ended, and a failure of any is told."""
    pythons = {}
    for version, status in (("3.11", 0), ("3.12", 3), ("3.13", 0)):
        put(tmp_path / version / "bin" / "python", f'echo "{version}: ${{4:-$2}}"; exit {status}')
        pythons[version] = tmp_path / version
    monkeypatch.setattr(matrix, "_prepare", lambda _, python, _first=None: python)

    outcomes = matrix.run_all(pythons, [])

    told = [line for line in capfd.readouterr().out.splitlines() if line]
    again = matrix.AGAIN[0]
    assert told[:2] == ["Python 3.11", "3.11: --dist=worksteal"]
    assert told[2:] == ["Python 3.12", f"3.12: {again}", "Python 3.13", f"3.13: {again}", "Hosts", "3.11: test"]
    assert [outcome.partition(" in ")[0] for outcome in outcomes.values()] == [
        "passed",
        "failed (3)",
        "passed",
        "passed",
    ]


def test_hosts_are_left_out_where_tests_are_selected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They have a command of their own, `make hosts`."""
    put(tmp_path / "bin" / "python", "exit 0")
    monkeypatch.setattr(matrix, "_prepare", lambda _, python, _first=None: python)

    assert [*matrix.run_all({"3.11": tmp_path}, ["-k", "git"])] == ["Python 3.11"]
