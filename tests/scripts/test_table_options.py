"""`scripts/table_options.py`: what it finds to differ between a table and the help of a program."""

import shutil
import sys
from pathlib import Path

import pytest

import table_options

HELP = """usage: wc [options]
  -c, --bytes            print the number of bytes
  -l, --lines=N          a value that the table does not know
      --files0-from FILE read names from FILE
  -m [--chars]           an alias in brackets is no value
  -w [--words] ARG       nor does it hide one
      --unheard-of <x>   not in the table
  no option -x in a text
"""


def run(words: str, *command: str) -> int:
    return table_options.main([*words.split(), "--", *command])


def test_option_that_is_read_in_another_way_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What the table does not have is listed, and is no fault: it has to be mentioned."""
    (tmp_path / "help.txt").write_text(HELP)

    status = run("wc", "cat", str(tmp_path / "help.txt"))

    assert (status, capsys.readouterr().out.splitlines()) == (
        1,
        [
            "--lines: takes a value according to the help, but not to the table",
            "--words: takes a value according to the help, but not to the table",
            "-l: takes a value according to the help, but not to the table",
            "-w: takes a value according to the help, but not to the table",
            "not in the table: --unheard-of",
        ],
    )


def test_help_without_an_option_fails() -> None:
    """Nothing was compared."""
    assert run("wc", "true") == 1


def test_words_without_a_command_are_a_fault_of_usage(capsys: pytest.CaptureFixture[str]) -> None:
    """So is a program without a table."""
    assert table_options.main(["wc"]) == 2
    assert capsys.readouterr().err.startswith("usage: ")
    with pytest.raises(SystemExit, match="unheard-of has no table"):
        run("unheard-of", "true")


@pytest.mark.parametrize(
    ("words", "command"),
    [
        pytest.param(words, command, id=words)
        for words, command in {
            "ruff check": "ruff help check",
            "ruff format": "ruff help format",
            "pyright": "pyright --help",
            "uv sync": "uv help sync",
            "uv pip list": "uv help pip list",
            "cargo test": "cargo test --help",
            "cargo check": "cargo check --help",
            "kubectl get": "kubectl get --help",
            "kubectl logs": "kubectl logs --help",
            "docker logs": "docker logs --help",
            "make": "make --help",
            "journalctl": "journalctl --help",
            "psql": "psql --help",
            "node": "node --help",
        }.items()
    ],
)
def test_tables_agree_with_the_help_of_what_is_installed(words: str, command: str) -> None:
    """No option of theirs is read with a value where the program reads none, or the other way round."""
    name, *rest = command.split()
    program = shutil.which(name) or shutil.which(name, path=str(Path(sys.executable).parent))
    if program is None:
        pytest.skip(f"{name} is not installed, and nothing else here needs it")

    assert run(words, program, *rest) == 0


@pytest.mark.parametrize("module", ["pip list", "pip show"])
def test_table_of_pip_agrees_with_its_help(module: str) -> None:
    """Pip is there with every Python."""
    assert run(module, sys.executable, "-m", *module.split(), "--help") == 0
