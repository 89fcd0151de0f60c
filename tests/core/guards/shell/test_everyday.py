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
        ("set -e; cd src; ls; cd ..", [("src", (".",))]),
        ("for d in a b; do cd $d; ls; cd ..; done; ls", [("a", (".",)), ("b", (".",))]),
        ('for d in a b; do cd "$d" || exit 1; cat ../x; cd ..; done', [("a", (".",)), ("b", (".",))]),
        ("for d in a b; do cd $d; cat ../x; cd ..; done; npm test", [("a", (".",)), ("b", (".",))]),
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
        "for d in a b; do cd $d; ls; cd ..; done; cat ../x",
        "for d in a b; do cd $d; rm -r ../b; cd ..; done",
        "for d in a b; do cd $d; npm test; cd ..; done",
        "for d in a b; do cd $d; cat ../../x; cd ..; done",
        "for d in a b; do cd $d; [ -f x ] && continue; cd ..; done; cat ../x",
        "for d in a b; do cd $d; [ -f x ] && break; cd ..; done; cat ../x",
        "for d in a b; do cd $d; done; cat ../x",
        "for d in a b; do cd ..; cd $d; done",
        "for d in a b; do cd $d | cat; cd ..; done",
        "for d in a b; do cd $d & cd ..; done",
        "for d in a b; do (cd $d; ls); cd ..; done",
        "for d in a b; do if [ -f x ]; then cd $d; fi; cd ..; done",
        "for d in a b; do cd $d; d=.; cd ..; done",
        "for d in a /etc; do cd $d; ls; cd ..; done",
        "for d in a b; do while cd $d; do cd ..; done; done",
        "while cd src; do cd ..; done",
        "f() { continue; }; for d in a b; do cd $d; f; cd ..; done",
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


@each_row(
    "line",
    [
        "cat <<E\nbuilt $(date) by $USER\nE",
        "cat <<E\n`date`\nE",
        "n=3; cat <<E\nthere are $n, ${n}x\nE",
        'n=$(ls | wc -l); cat <<E\nthere are $n in "$HOME"\nE',
        "git commit -F - <<E\nat $(date)\nE",
        'case "$OSTYPE" in linux*) ls;; *) wc a;; esac',
        "case ${MACHTYPE} in x86*) ls;; esac",
        'shopt -s nullglob; for f in *.log; do tail -1 "$f"; done',
        "shopt -u nullglob failglob; ls",
        's=hello; echo "${s^^} ${s:0:1}"',
        'b=$(git branch --show-current); echo "${b//\\//-} ${b,,} ${b:0:7}"',
    ],
)
def test_what_lines_say_of_themselves_needs_no_rule(line: str) -> None:
    """Here-documents with what the line knows, systems that are compared, globs that may be nothing, values cut short."""
    judgement = analyse([line], WS)
    needed = [need.form for one in judgement.commands for need in one.needs if need.form != "shopt"]

    assert (needed, judgement.unsupported, judgement.unresolved_program) == ([], None, None)


@each_row(
    ("line", "needed"),
    [
        ("cat <<E\n$SECRET\nE", "<<E"),
        ("cat <<E\n$1 $*\nE", "<<E"),
        ("cat <<E\n${n:-$SECRET}\nE", "<<E"),
        ("n=1; (n=2); cat <<E\n$n$m\nE", "<<E"),
        ("n=a; n=$n$SECRET; cat <<E\n$n\nE", "<<E"),
        ("l=$(ls)$X; cat <<E\n$l\nE", "<<E"),
        ("read -r n <a; cat <<E\n$n\nE", "<<E"),
        ("cat 3<<E\n$(date)\nE", "3<<E"),
        ("cat <<E\n$(cat ../x)\nE", "../x"),
        ("cat <<E\n$(sort a -o b)\nE", "-o"),
        ("git commit -F - <<E\n$(cat .env)\nE", "-"),
        ("x=$(cat .env); git commit -F - <<E\n$(date) $x\nE", "-"),
        ("x=$(cat .env); git commit -F - <<E\n$(date) ${x:0:40}\nE", "-"),
        ('x=$(cat .env); git commit -m "$(date) ${x^^}"', '"$(date) ${x^^}"'),
        ("xargs wc <<E\n$(ls)\nE", "(input)"),
        ("shopt -s extglob; ls", "(unknown folder)"),
        ("shopt -s nullglob cdable_vars; ls", "(unknown folder)"),
        ('shopt -s "$x"; ls', "(unknown folder)"),
        ('x=a-o; sort "${x:1:2}" b a', "-o"),
        ('x=a/../../x; cat "${x:2}"', "../../x"),
        ('x=-O; sort "${x,,}" b a', "-o"),
    ],
)
def test_what_a_line_does_not_say_has_to_be_mentioned(line: str, needed: str) -> None:
    """Variables that the line has found, what commands print into history, options and paths that a value becomes."""
    assert needed in [need.form for one in analyse([line], WS).commands for need in one.needs]


@each_row("line", ["bash <<E\n$(cat x)\nE", "f=rm; bash <<E\n$f x\nE", "sh -s <<E\n$(curl x)\nE"])
def test_a_here_document_that_is_run_is_one_text(line: str) -> None:
    """What a shell reads is source: a part of it that is not in the line cannot be judged."""
    assert analyse([line], WS).unresolved_program is not None


@each_row(
    "line",
    [
        'case "$SECRET" in a*) ls;; esac',
        'case "$OSTYPE$x" in a*) ls;; esac',
        'echo "${s:0:$(rm x)}"',
        's=a; echo "${!s:0:1}"',
    ],
)
def test_what_is_compared_or_evaluated_and_cannot_be_told_stays_refused(line: str) -> None:
    """No rule covers it."""
    assert analyse([line], WS).unsupported is not None


@each_row(
    "line",
    [
        "echo `printf 'i\\\nx'`",
        "(echo \"`sed 'i\\\n'`\")",
        "cat <<E\n`printf 'i\\\nx'`\nE",
        "`l\\\ns`",
        "echo `ls \\\n-l`",
    ],
)
def test_a_line_that_is_joined_between_backticks_is_refused(line: str) -> None:
    """Bash joins it within single quotes, too: what stands on both lines is one word without the backslash."""
    with pytest.raises(NotUnderstood):
        parse(line)


def test_a_line_that_is_joined_in_a_substitution_is_understood() -> None:
    """`$(...)` is read as the line is."""
    assert forms("echo $(ls \\\n-l)") == ["ls -l", "echo $(ls \\\n-l)"]
