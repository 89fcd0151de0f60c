"""Files that a line names by a variable and reads by `<`: which are judged as if they were written out."""

import pytest
from tests.rows import each_row

from toolcharter.guards.shell.analyse import analyse
from toolcharter.guards.shell.nodes import NotUnderstood

WS = "/home/dev/ws"
KNOWN = [
    ('f=a.py; wc -l < "$f"', ["f=a.py", "wc -l <a.py"]),
    ("f=a.py; wc -l <$f", ["f=a.py", "wc -l <a.py"]),
    ("f='a b.md'; wc < \"$f\"", ["f='a b.md'", "wc <'a b.md'"]),
    ('f=src/a.py; wc < "${f%.py}.txt"', ["f=src/a.py", "wc <src/a.txt"]),
    ('for f in a b; do wc < "src/$f"; done', ["wc <src/a", "wc <src/b"]),
    (
        'for f in a b; do echo "$(wc -l < "$f")"; done',
        ["wc -l <a", 'echo "$(wc -l < "$f")"', "wc -l <b", 'echo "$(wc -l < "$f")"'],
    ),
    ('d=src; for f in a b; do wc < "$d/$f"; done', ["d=src", "wc <src/a", "wc <src/b"]),
    ('f=.env; cat < "$f"', ["f=.env", "cat <.env"]),
    ('cd src; f=a.py; sort < "$f"', ["cd src", "f=a.py", "sort <a.py"]),
]
UNKNOWN = [
    '{ f=notes.md; cat; } <"$f"',
    '(f=notes.md; cat) <"$f"',
    'if f=notes.md; then cat; fi <"$f"',
    'while read -r l; do f=notes.md; done <"$f"',
    'for f in notes.md; do cat; done <"$f"',
    'for g in x; do f=notes.md; done <"$f"',
    'for f in notes.md; do { f=/etc/passwd; cat; } <"$f"; done',
    'for f in notes.md; do { cat; } <"$f"; done',
    'case x in x) f=notes.md;; esac <"$f"',
    'f=notes.md; f=/etc/passwd; wc <"$f"',
    'f=/etc/passwd; wc <"$f"',
    'f=../x; wc <"$f"',
    'f=x; wc <"../$f"',
    'f=/etc/; wc <"$f/passwd"',
    'f=notes.md; read -r f; wc <"$f"',
    'f=notes.md; read -r f <"$f"; wc <"$f"',
    'read -r f; wc <"$f"',
    'wc <"$f"',
    'for f in notes.md /etc/passwd; do wc <"$f"; done',
    'for f in notes.md; do f=/etc/passwd; wc <"$f"; done',
    'for f in notes.md; do read -r f; wc <"$f"; done',
    'for f in $x; do wc <"$f"; done',
    '[ -f x ] && f=notes.md; wc <"$f"',
    '(f=notes.md); wc <"$f"',
    'f=notes.md | true; wc <"$f"',
    'f=notes.md & wc <"$f"',
    'f=notes.md; . ./s; wc <"$f"',
    "f=notes.md; trap 'f=/etc/passwd' DEBUG; wc <\"$f\"",
    'f=notes.md; printf -v f /etc/passwd; wc <"$f"',
    'f=notes.md; : $((f=1)); wc <"$f"',
    "f='a b'; wc <$f",
    "f='*.md'; wc <$f",
    "f='~/x'; wc <$f",
    'f=notes.md; wc >"$f"',
    'f=3; wc <&"$f"',
    'f=notes.md; wc 3<"$f"',
    'f=notes.md; bash <"$f"',
    'f=notes.md wc <"$f"',
    'g() { f=/etc/passwd; }; f=notes.md; g; wc <"$f"',
    'f=notes.md; cd /etc; wc <"$f"',
    'f=notes.md; cd "$x"; wc <"$f"',
    'f=/proc/self/environ; cat <"$f"',
    'f=/dev/tcp/example.com/80; cat <"$f"',
    'f=a/../../x; cat <"$f"',
    "IFS=/; f=etc/passwd; wc <$f",
    'unset f; wc <"$f"',
    'f=notes.md; unset f; wc <"$f"',
    'f=$(cat list); wc <"$f"',
    'for f in notes.md; do :; done; wc <"$f" <"$g"',
    'f=notes.md; g=$f; f=/etc/passwd; wc <"$f"',
]


@pytest.mark.parametrize(("line", "forms"), KNOWN)
def test_a_file_that_a_variable_names_is_the_one_written_out(line: str, forms: list[str]) -> None:
    """Rules, those of `deny` among them, see the file itself, and confinement looks at it."""
    judgement = analyse([line], WS)

    assert [one.form for one in judgement.commands] == forms
    assert not any(one.needs for one in judgement.commands)
    files = [
        one.form.rpartition("<")[2].strip("'") for one in judgement.commands if " <" in one.form and "$" not in one.form
    ]
    assert [reach.path for one in judgement.commands if " <" in one.form for reach in one.reaches] == files


@each_row("line", UNKNOWN)
def test_a_file_that_is_not_certain_has_to_be_mentioned(line: str) -> None:
    """Set again, set behind the redirection or perhaps not at all; outside; split; written, or run."""
    judgement = analyse([line], WS)

    assert [one for one in judgement.commands if one.needs] or judgement.unsupported or judgement.unresolved_program


@pytest.mark.parametrize("line", ['f=notes.md; wc <>"$f"', 'f=notes.md; wc {f}<"$f"'])
def test_other_redirections_of_a_variable_are_not_understood(line: str) -> None:
    """One that may create the file, and one that sets the variable."""
    with pytest.raises(NotUnderstood):
        analyse([line], WS)
