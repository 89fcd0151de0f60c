"""Compare a program's table with the program's own help: options that take a value, and options that the table lacks.

    python scripts/table_options.py uv pip list -- uv help pip list
    python scripts/table_options.py kubectl get -- kubectl get --help

The words before `--` are the program and its subcommand as the table has them; the words after it print the help. If an
option takes a value according to one of them and none according to the other, the exit status is 1, because the guard
would read the word after it differently from the program. Help is written for people, so a person has to check each
line that is printed.
"""

import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from toolcharter.guards.shell.programs.table import OptionSpec, Table
from toolcharter.guards.shell.programs.tables import CORE_TABLES

ROOT = Path(__file__).resolve().parent.parent
# The text after an option that takes a value: `=X`, ` <x>`, ` [x]`, ` X`, and pflag's names of types.
_VALUE = r"\[?=(?!(?:true|false)\b)[^\s,]+| (?:<[^>]+>|\[[^\]]+\]|\{[^}]+\}|[A-Z][A-Z_0-9|:.=-]*(?=[\s,\]]|$)|(?:string\w*|ints?|uint|duration|list|count|float|format)(?=  |$))"
_OPTION = re.compile(rf"(?<![\w-])(--?[A-Za-z0-9][\w.-]*)({_VALUE})?")
_ALIAS = re.compile(r"\[(--?[\w-]+)\]")  # svn: `-r [--revision] ARG`
_DESCRIPTION = re.compile(r"(?<=\S)(?:  +|\t+)(?=\S)")


def main(words: Sequence[str]) -> int:
    """Print the differences; return 1 if any option is read differently."""
    if "--" not in words:
        sys.stderr.write("usage: table_options.py PROGRAM [SUBCOMMAND ...] -- COMMAND ...\n")
        return 2
    border = words.index("--")
    listed = _parse_options(_help(words[border + 1 :]))
    known = _table(words[:border]).options
    differing = [name for name in sorted(listed.keys() & known.keys()) if _differs(known[name], is_valued=listed[name])]
    for name in differing:
        print(
            f"{name}: {'takes a value' if listed[name] else 'takes none'} according to the help, but not to the table"
        )
    print("not in the table:", " ".join(sorted(listed.keys() - known.keys())) or "nothing")
    return 1 if differing or not listed else 0


def _table(path: Sequence[str]) -> Table:
    entry = CORE_TABLES.with_added(sorted(ROOT.glob("plugins/*/toolcharter_*/tables/*.toml"))).find(path[0])
    if entry is None:
        raise SystemExit(f"{path[0]} has no table")
    table = entry.table
    for name in path[1:]:
        table = table.subcommands[name]
    return table


def _help(command: Sequence[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    return re.sub(r"\x1b\[[0-9;]*m|.\x08", "", done.stdout + done.stderr)


def _parse_options(text: str) -> Mapping[str, bool]:
    """Return the options of lines that begin with one, and whether any spelling of the option shows a value."""
    listed: dict[str, bool] = {}
    for line in map(str.strip, text.splitlines()):
        if line.startswith("-"):
            found = _OPTION.findall(_ALIAS.sub(r"\1", _DESCRIPTION.split(line)[0]))
            listed |= {name: any(value for _, value in found) for name, _ in found}
    return listed


def _differs(spec: OptionSpec, *, is_valued: bool) -> bool:
    return bool(spec.roles) != is_valued and not spec.is_attached


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
