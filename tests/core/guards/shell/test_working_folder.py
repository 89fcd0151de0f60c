"""`$PWD` and `$(pwd)` are the folder in which the line runs, where that is certain: a path like any other."""

import pytest
from tests.rows import each_row

from toolcharter.guards.shell.analyse import Analysis, analyse

WS = "/home/dev/ws"
KNOWN = [
    ('cat "$PWD/a.md"', "a.md"),
    ("cat $PWD/a.md", "a.md"),
    ('cat "${PWD}"/a.md', "a.md"),
    ('cat <"$PWD/a.md"', "a.md"),
    ('ls "$PWD"', ""),
    ('ls "$(pwd)/src"', "src"),
    ("ls $(pwd)/src", "src"),
    ("ls `pwd`/src", "src"),
    ('cd src && cat "$PWD/a.md"', "src/a.md"),
    ('cd "$PWD/src" && cat "$PWD/a.md"', "src/a.md"),
    ('cd "$(pwd)" && find "$PWD" -name \'*.py\'', ""),
    ('here=$PWD; cd src; cat "$here/a.md"', "a.md"),
    ('here="$(pwd)"; cat "$here/a.md"', "a.md"),
    ('f() { cat "$PWD/$1"; }; cd src && f a.md', "src/a.md"),
    ("sh -c 'cat \"$PWD/a.md\"'", "a.md"),
    ('cp a.md "$PWD/b.md"', "b.md"),
    ('git -C src log -- "$PWD/a.md"', "a.md"),
]
UNKNOWN = [
    'cat "$PWD/../a.md"',
    'cat "$PWD/.."',
    'cat "$(pwd)/../a.md"',
    'here=$PWD; cat "$here/../a.md"',
    'here=$PWD; here+=/..; cat "$here/a.md"',
    'cat "${PWD%/*}/a.md"',
    'cat "$PWD"-evil/a.md',
    'cat "$PWD$x"',
    'cat "$PWD/$x"',
    "cat $PWD/*",
    'cp a.md "$PWD/.git/hooks/pre-commit"',
    'rm -r "$PWD"',
    'cat "$OLDPWD/a.md"',
    'cd ..; cat "$PWD/a.md"',
    'cd "$x"; cat "$PWD/a.md"',
    'cd src; cat "$PWD/../../a.md"',
    'for i in 1 2; do cat "$PWD/a.md"; cd src; done',
    # Another value, or another command.
    'PWD=/etc; cat "$PWD/passwd"',
    'export PWD=/etc; cat "$PWD/passwd"',
    'read -r PWD <<< /etc; cat "$PWD/passwd"',
    "read -r P'W'D <<< /etc; cat \"$PWD/passwd\"",
    "printf -v PW'D' /etc; cat \"$PWD/passwd\"",
    'mapfile -t PWD < a.md; cat "$PWD/passwd"',
    'declare -n r=PWD; r=/etc; cat "$PWD/passwd"',
    'eval "$x"; cat "$PWD/passwd"',
    "eval 'PW''D=/etc'; cat \"$PWD/passwd\"",
    '. ./env.sh; cat "$PWD/passwd"',
    'trap "PWD=/etc" DEBUG; cat "$PWD/passwd"',
    'pwd() { echo /etc; }; cat "$(pwd)/passwd"',
    'cat "$(pwd; echo /etc/passwd)"',
    'cat "$(pwd -P)/passwd"',
    'cat "$(cd /etc; pwd)/passwd"',
    'cat "$(cd /etc && pwd)/passwd"',
    "IFS=/; cat $PWD/a.md",
]


def is_known(found: Analysis) -> bool:
    """Whether no word of a line has to be mentioned by a rule."""
    needs = [need.form for one in found.commands for need in one.needs]
    return not (needs or found.unsupported or found.unresolved_program or found.catastrophe)


@each_row(("line", "path"), KNOWN)
def test_the_folder_of_the_line_is_a_path_in_the_workspace(line: str, path: str) -> None:
    """It is looked at like the same path written out."""
    found = analyse([line], WS)

    assert is_known(found)
    assert found.commands[-1].reaches[-1].path == f"{WS}/{path}".rstrip("/")


@each_row("line", UNKNOWN)
def test_what_may_be_another_folder_has_to_be_mentioned(line: str) -> None:
    """By its letters it leads out, or the line may have moved, or given the name to something else."""
    assert not is_known(analyse([line], WS))


@pytest.mark.parametrize("folder", ["/home/dev/my ws", "/home/dev/w*s"])
def test_quotes_are_needed_where_the_folder_is_no_plain_word(folder: str) -> None:
    """Without them, bash would make other words of it."""
    assert is_known(analyse(['cat "$PWD/a.md"'], folder))
    assert not is_known(analyse(["cat $PWD/a.md"], folder))
    assert not is_known(analyse(["cat $(pwd)/a.md"], folder))
