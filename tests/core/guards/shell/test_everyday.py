"""What agents write all day is understood, and covered by the rules that one writes for it."""

import pytest
from tests.rows import each_row

from toolcharter.guards.shell.analyse import analyse
from toolcharter.guards.shell.nodes import NotUnderstood
from toolcharter.guards.shell.parse.script import parse

WS = "/home/dev/ws"


def forms(line: str) -> list[str]:
    return [one.form for one in parse(line).commands]


@each_row(
    ("line", "commands"),
    [
        ("[[ a =~ ^v[0-9]+$ ]]", ["[[ a '=~' '^v[0-9]+$' ]]"]),
        (r"[[ $v =~ ^v([0-9]+)\.([0-9]+)$ ]] && ls", [r"[[ $v '=~' '^v([0-9]+)\.([0-9]+)$' ]]", "ls"]),
        ("[[ a =~ (a|b) && -f x ]]", ["[[ a '=~' '(a|b)' '&&' -f x ]]"]),
        ("[[ a =~ 'a b' || b =~ $re ]]", ["[[ a '=~' 'a b' '||' b '=~' $re ]]"]),
        ("cat >f <<<x", ["cat >f <<<x"]),
        ("cat >> notes.md <<< 'a b'", ["cat >>notes.md <<<'a b'"]),
        ('sort 2>/dev/null <<<"$(ls)" >f', ["ls", 'sort 2>/dev/null <<<"$(ls)" >f']),
        ("time { ls; }", ["ls"]),
        ("time -p { ls; wc -l a; }", ["ls", "wc -l a"]),
        ("time (ls)", ["ls"]),
        ("a; time for f in b c; do ls $f; done", ["a", "ls b", "ls c"]),
        ("time if a; then b; fi", ["a", "b"]),
        ("cat <<'E'\n$x\nE", ["cat <<'E'"]),
        ('cat <<"E"\n$x\nE', ['cat <<"E"']),
        ("cat <<\\E\n$x\nE", ["cat <<\\E"]),
        ("cat >f <<'E'\n`x` $(y) \\\nE", ["cat >f <<'E'"]),
        ("declare -A m", ["declare -A m"]),
    ],
)
def test_both_readers_see_the_same_commands(line: str, commands: list[str]) -> None:
    """Regular expressions, here-strings behind redirections, timed groups and quoted delimiters are understood."""
    assert forms(line) == commands


@pytest.mark.parametrize(
    "line",
    [
        "[[ a =~ $(touch x) ]]",
        "[[ a =~ x$(touch x) ]]",
        '[[ a =~ "$(touch x)" ]]',
    ],
)
def test_what_a_regular_expression_starts_is_seen(line: str) -> None:
    """A substitution in it is a command like any other."""
    assert "touch x" in forms(line)


@each_row(
    "line",
    [
        "[[ a =~ ( ]]",
        "[[ a =~ a]] ]]",
        "[[ a =~ a;b ]]",
        "[[ a =~ a b ]]",
        "[[ a =~ a>(b) ]]",
        "[[ a =~",
        "a | time { b; }",
    ],
)
def test_what_two_readers_may_take_for_something_else_stays_refused(line: str) -> None:
    """Only plain signs make a regular expression, and `time` stands where it only can."""
    with pytest.raises(NotUnderstood):
        parse(line)


def test_another_shell_takes_a_timed_group_for_something_else() -> None:
    """To dash, `time` is a program and `{` its argument."""
    with pytest.raises(NotUnderstood):
        analyse(["sh -c 'time { rm x; }'"], WS)


def test_the_commands_of_a_timed_group_have_to_be_covered() -> None:
    """`time` is no cover for what it times."""
    needed = [need.form for one in analyse(["time { sort a -o b; cat ../c; }"], WS).commands for need in one.needs]

    assert needed == ["-o", "../c"]


@each_row(
    ("line", "folders"),
    [
        ("cd src; cd ..; ls", [("src", (".",))]),
        ("cd src; ls; cd ..; cat README.md", [("src", (".",))]),
        ("cd src; cat ../README.md", [("src", (".",))]),
        ("cd src && ls; cd .. && ls", [("src", (".",))]),
        ("cd src; cd deep; cat ../../a | wc -l", [("src", (".",)), ("deep", ("src",))]),
    ],
)
def test_a_folder_that_is_there_is_entered(line: str, folders: list[tuple[str, tuple[str, ...]]]) -> None:
    """Where nothing changes what there is, a look at the disk tells that `cd` succeeds, and `..` is seen from there."""
    commands = analyse([line], WS).commands
    listed = [(one.path, one.folders) for command in commands for one in command.listings if one.path != ".."]

    assert [need for command in commands for need in command.needs] == []
    assert listed == folders
    assert {one.kind for command in commands for one in command.listings} == {"folder"}


@each_row(
    "line",
    [
        "rm -r src; cd src; cat ../x",
        "mv src y; cd src; cat ../x",
        "npm test; cd src; cat ../x",
        "cd src; ls >x; cat ../x",
        "cd src; cat ../../x",
        "cd src; cd ../..; ls",
        "cd src & cat ../x",
        "cd src && ls & cat ../x",
        "cd src || cd ..; cat ../x",
        "(cd src); cat ../x",
        "cd src | cat; cat ../x",
        "if cd src; then ls; fi; cat ../x",
        "cd; cat ../x",
        "cd -P src; cat ../x",
        'cd "$x"; cat ../x',
    ],
)
def test_a_folder_that_may_not_be_entered_is_no_ground_to_leave_it(line: str) -> None:
    """Where `cd` may fail, or not count, `..` leads out of the workspace."""
    judgement = analyse([line], WS)

    assert judgement.unsupported or [need for command in judgement.commands for need in command.needs]


def test_a_rule_may_mention_a_folder_outside() -> None:
    """`bash:cd /opt/proj` covers that command: the folder is all that it asks for."""
    (command,) = analyse(["cd /opt/proj"], WS).commands

    assert (command.form, [need.form for need in command.needs]) == ("cd /opt/proj", ["/opt/proj"])
