"""`scripts/matrix.py`: which Pythons count as present, and what the closing lines say."""

import sys
from pathlib import Path

import pytest

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


@pytest.mark.parametrize(
    ("outcomes", "status"),
    [
        pytest.param({"3.11": "passed in 3 s", "3.12": "not present"}, 0, id="passed where present"),
        pytest.param({"3.11": "passed in 3 s", "3.12": "failed (1) in 2 s"}, 1, id="failed on one"),
        pytest.param({"3.11": "not present", "3.12": "not present"}, 1, id="present nowhere"),
    ],
)
def test_status_and_closing_lines(
    outcomes: dict[str, str], status: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One failure fails the whole, an absent version does not, and nothing tested is no success."""
    monkeypatch.setenv("PYTHONS", " ".join(outcomes))
    monkeypatch.setattr(matrix, "_outcome", lambda version, _arguments: outcomes[version])

    assert matrix.main([]) == status
    lines = [f"  {version}  {outcome}" for version, outcome in outcomes.items()]
    assert capsys.readouterr().out.splitlines() == ["", "Tests, by Python version:", *lines]
