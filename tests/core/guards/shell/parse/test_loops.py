"""Loops over texts and globs are judged turn by turn, as bash runs them."""

import subprocess

import pytest
from tests.rows import each_row

from toolcharter.guards.shell.analyse import analyse
from toolcharter.guards.shell.nodes import Command, Redirection
from toolcharter.guards.shell.parse.loop_unrolling import MAX_VALUES
from toolcharter.guards.shell.parse.loops import keeps_variable
from toolcharter.guards.shell.parse.script import parse
from toolcharter.guards.shell.parse.word_parts import literal

WS = "/home/dev/ws"


def forms(line: str) -> list[str]:
    return [command.form for command in parse(line).commands]


def printed(line: str) -> list[str]:
    """What the commands of *line* are in bash, where `p` shows its words."""
    shown = f"p() {{ printf '%s|' \"$@\"; echo; }}; {line}"
    ran = subprocess.run(["bash", "-c", shown], env={"LC_ALL": "C.UTF-8"}, capture_output=True, check=True, text=True)
    return ran.stdout.splitlines()


def told(line: str) -> list[str]:
    """The same by our reading."""
    commands = [one for one in parse(line).commands if one.words[0].text == "p"]
    return ["".join(f"{word.text}|" for word in one.words[1:]) for one in commands]


@each_row(
    "line",
    [
        'for i in 1 2 3; do p "$i"; done',
        "for i in 1 2 3; do p $i; done",
        'for f in a.md src/b.py; do p "$f.bak" "x/$f" ${f} "${f}"x; done',
        "for f in 'a b' '*' '' '~' $'c\td'; do p \"x$f\" '$f'; done; p end",
        "for a in 1 2; do for b in 3 4; do p $a-$b; done; p $a; done",
        "for f in -rf a=b @x +y; do p $f; done",
        "for f in 1 1 2; do p x; done",
        "for f in {a,b}; do p $f; done",
        "for f in a b; do if true; then p $f; fi; done",
        'for f in a b; do printf %s "$f" >/dev/null; p "$f"; done',
        "for f in a b; do p $f; done | cat",
    ],
)
def test_each_turn_is_a_command(line: str) -> None:
    """All that bash runs is among what we read, word for word."""
    assert set(printed(line)) <= set(told(line)) - {"None|"}


@each_row(
    ("line", "expected"),
    [
        ("for i in 1 2; do echo $i; done", ["echo 1", "echo 2"]),
        ('for f in "a b" c; do wc "$f" x; done', ["wc 'a b' x", "wc c x"]),
        ('for f in "a b" c; do wc $f; done', ["wc $f", "wc c"]),
        ("for f in a b; do ls; done", ["ls"]),
        ('for f in a b; do [ -f "$f" ] && cat "$f"; done', ["[ -f a ]", "cat a", "[ -f b ]", "cat b"]),
        ('for f in a b; do wc "$f" "$x"; done', ['wc a "$x"', 'wc b "$x"']),
    ],
)
def test_its_words_are_those_of_the_turn(line: str, expected: list[str]) -> None:
    """Where they are one text for certain."""
    assert forms(line) == expected


@each_row(
    "line",
    [
        'while read -r f; do cat "$f"; done',
        'for f in a "$x"; do cat "$f"; done',
        'for f in a $(ls); do cat "$f"; done',
        'for f in a ~; do cat "$f"; done',
        'for f; do cat "$f"; done',
        'for f in a b; do f=x; cat "$f"; done',
        'for f in a b; do cat "$f"; f+=x; done',
        'for f in a b; do (f=x; cat "$f"); done',
        'for f in a b; do read f; cat "$f"; done',
        'for f in a b; do command read f; cat "$f"; done',
        'for f in a b; do builtin printf -v f x; cat "$f"; done',
        'for f in a b; do printf -v f x; cat "$f"; done',
        'for f in a b; do printf ""; cat "$f"; done',
        'for f in a b; do printf "$x" f; cat "$f"; done',
        'for f in a b; do wait -n -p f; cat "$f"; done',
        'for f in a b; do export f=x; cat "$f"; done',
        'for f in a b; do unset f; cat "$f"; done',
        'for f in a b; do $x; cat "$f"; done',
        'trap "f=x" DEBUG; for f in a b; do cat "$f"; done',
        'eval "$x"; for f in a b; do cat "$f"; done',
        'declare -i f; for f in a b; do cat "$f"; done',
        'IFS=/; for f in a/b b; do cat "$f"; done',
        'g() { for f in a b; do cat "$f"; done; }',
        'h() { f=x; }; for f in a b; do h; cat "$f"; done',
        'for f in a b; do for f in c *; do ls; done; cat "$f"; done',
        'for f in a b; do for f in c d; do ls; done; cat "$f"; done',
        'for f in a b; do cat "${f%a}"; done',
        'for f in a b; do cat "${f:-x}"; done',
        "for f in a b; do cat *$f; done",
        "for f in a b; do cat ~$f; done",
        "for f in a b; do cat ~/x:$f; done",
        "for f in a b; do cat $f{x,y}; done",
        "for f in a b; do cat {1..$f}; done",
        'for f in a b; do cat `echo "$f"`; done',
        'for f in a b; do :; done; cat "$f"',
        'select f in a b; do cat "$f"; done',
        "for a in 1 2; do cat $a; for a in 3 4; do ls; done; done",
    ],
)
def test_what_may_have_another_value_is_unknown(line: str) -> None:
    """As far as the loop tells, it could be any text."""
    commands = [one for one in parse(line).commands if one.words and one.words[0].text == "cat"]

    assert commands
    assert all(word.text is None for one in commands for word in one.words[1:])


@each_row(
    ("line", "expected"),
    [
        ('for f in *.md src/*.py; do wc "$f"; done', ["*.md", "src/*.py"]),
        ('for f in *.{md,txt}; do wc "$f"; done', ["*.md", "*.txt"]),
        ('for f in a *; do wc "$f"; done', ["a", "*"]),
        ('for f in * * a; do wc "x/$f.bak"; done', ["x/*.bak", "x/a.bak"]),
        ('for f in a *; do wc <"$f"; done', ["a", "*"]),
        ("for f in a *; do wc $f; done", ["a", None]),
        ('for f in a *; do wc "${f%.md}"; done', [None]),
        ('for f in a *; do f=x; wc "$f"; done', [None]),
        ('for f in a *; do read f; wc "$f"; done', [None]),
        ('for f in a * ~; do wc "$f"; done', [None]),
        ('for f in * a "$x"; do wc "$f"; done', [None]),
        ('for d in *; do for f in "$d" a *; do wc "$f"; done; done', [None]),
        (f'for f in {" ".join(f"{one}*" for one in range(17))}; do wc "$f"; done', [None]),
    ],
)
def test_a_loop_over_globs_is_judged_glob_by_glob(line: str, expected: list[str | None]) -> None:
    """The names for which each stands are looked at, and what is a text is one."""
    commands = [one for one in parse(line).commands if one.words and one.words[0].text == "wc"]
    read = [[*one.words[1:], *one.inputs][0] for one in commands]

    assert [one.pattern or one.text for one in read] == expected


def test_what_a_loop_over_globs_has_for_certain_may_be_shown() -> None:
    """Also where its turns are too many, or not certain."""
    line = 'for f in *.md a; do while read -r l; do echo "$f: $l"; done <a; cat "$f"; done'

    assert [[need.form for need in one.needs] for one in analyse([line], WS).commands] == [[], [], [], ['"$f"']]


def test_the_program_of_a_loop_is_unknown() -> None:
    """Nobody has to list programs in a loop."""
    script = parse("for c in ls rm; do $c x; done")

    assert script.unresolved_program is not None
    assert [command.words[0].text for command in script.commands] == [None]


@pytest.mark.parametrize(
    ("values", "body", "count"),
    [
        (MAX_VALUES, 1, MAX_VALUES),
        (MAX_VALUES + 1, 1, 1),
        (10, 4, 40),
        (11, 4, 4),
    ],
)
def test_a_loop_of_many_turns_is_left_unknown(values: int, body: int, count: int) -> None:
    """Past sixteen values, or forty commands in all."""
    line = f"for i in {' '.join(map(str, range(values)))}; do {'a $i;' * body} done"

    commands = parse(line).commands

    assert len(commands) == count
    assert all((command.words[1].text is None) == (count == body) for command in commands)


def test_turns_read_what_stands_before_them() -> None:
    """What feeds a command, and whose output its words are, is that of the same turn; what feeds the loop feeds all."""
    commands = parse('z | for f in 1 2; do a "$f" | b "$(c "$f")"; done').commands

    assert [(one.words[0].text, one.stdin_from, one.substitutes) for one in commands] == [
        ("z", (), ()),
        ("a", (0,), ()),
        ("c", (0, 1), ()),
        ("b", (0, 1), (2,)),
        ("a", (0,), ()),
        ("c", (0, 4), ()),
        ("b", (0, 4), (5,)),
    ]


def test_each_turn_is_judged() -> None:
    """One value that leads out needs naming; the others do not."""
    judged = analyse(['for f in a ../b; do cat "$f"; done'], WS).commands

    assert [(one.form, [need.form for need in one.needs], one.within) for one in judged] == [
        ("cat a", [], ("loop",)),
        ("cat ../b", ["../b"], ("loop",)),
    ]


def test_a_turn_may_be_catastrophic() -> None:
    """The floor looks at each value."""
    assert analyse(['for d in build /; do rm -rf "$d"; done'], WS).catastrophe is not None


def test_a_word_of_two_loops_is_known_when_both_are() -> None:
    """The turns of the inner loop are told apart all the same."""
    script = parse('for a in x y; do for b in 1 2; do p "$a$b"; done; a=z; done')

    assert [
        (one.form, [word.text for word in one.words], [word.parts for word in one.words]) for one in script.commands[:2]
    ] == [
        ('p "$a$b"', ["p", None], [(), ()]),
    ] * 2


def test_a_redirection_may_set_a_variable() -> None:
    """`{f}<x` puts a number into it; the second reader refuses such a line so far."""
    body = [Command((literal("ls"),), redirections=(Redirection("<", "{f}", literal("x"), None, "{f}<x"),))]

    assert not keeps_variable(body, body)
