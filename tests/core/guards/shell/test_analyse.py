"""What a call would run, all of it: what commands start, what shells are handed, where it runs and what reads what."""

from pathlib import Path

import pytest
from tests.rows import each_row

from toolcharter.api.command import AnalysedCommand, PathAccess, Requirement
from toolcharter.guards.shell import analyse as shell_analyse
from toolcharter.guards.shell.analyse import MAX_COMMANDS, MAX_DEPTH, Analysis, analyse
from toolcharter.guards.shell.nodes import NotUnderstood, Script
from toolcharter.guards.shell.programs.tables import CORE_TABLES

WORKSPACE = "/w/ws"


def run(*commands: object) -> Analysis:
    return analyse(commands, WORKSPACE)


def outline(line: object) -> list[str]:
    """The normal forms of all commands, each behind what it stands in."""
    return [": ".join((*one.within, one.form)) for one in run(line).commands]


SHELLS = ["su", "su -", "su root", "su - root -s", "runuser -", "runuser u", "sudo -s", "sudo -ni", "doas -s"]


@each_row("line", [line.replace(" -s", "") if line.startswith("su -") else line for line in SHELLS])
def test_a_shell_of_another_user_runs_what_it_reads(line: str) -> None:
    """Without a command, it is as a bare `sh`."""
    assert (
        run(line).unresolved_program
        == f"{line.split(maxsplit=1)[0]!r} runs what it reads, and that cannot be determined."
    )


@each_row(
    "line", ["su root x y", "su -c ls", "runuser -u u ls", "sudo", "sudo -s ls", "sudo -l", "doas ls", "su --help"]
)
def test_another_user_may_run_a_command(line: str) -> None:
    """Then the input is that command's."""
    assert run(line).unresolved_program is None


def test_words_behind_a_string_that_env_splits_continue_it() -> None:
    """They are one command, and the floor sees it whole."""
    assert outline("env -S 'ls -l' 'a b'") == ["env -S 'ls -l' 'a b'", "env: ls -l 'a b'"]
    assert run("env -S 'rm -rf' /").catastrophe is not None
    assert run('env -S "rm" "$x"').unresolved_program == 'rm "$x" is shell source that cannot be determined.'


@pytest.mark.parametrize(
    "line",
    [
        "eval 'ls() { rm x; }'; ls",
        "sh -c 'f() { ls; }; eval f'",
        "bash -c 'ls() { rm x; }'; env ls",
        "eval 'f() { ls; }' && (f)",
    ],
)
def test_a_function_under_the_name_of_a_program_is_strange(line: str) -> None:
    """Wherever it is defined, and whatever starts the program."""
    assert run(line).unsupported == "A function runs under the name of a program."


@each_row(
    "line",
    [
        "sh -c 'ls {a,b}'",
        "/bin/dash -c 'ls &> x'",
        "sh <<'E'\nls |& wc\nE\n",
        "sh -c \"eval 'ls {a,b}'\"",
        "sh -c 'for i in 1; do trap \"ls {a,b}\" EXIT; done'",
        "su -c 'ls {a,b}'",
        "busybox sh -c 'ls {a,b}'",
        "bash -c \"sh -c 'ls {a,b}'\"",
        "find . -exec sh -c 'ls {a,b}' \\;",
    ],
)
def test_what_other_shells_read_differently_is_not_understood(line: str) -> None:
    """Unless bash is sure to read it."""
    with pytest.raises(NotUnderstood, match="means something else to other shells than bash"):
        run(line)


@each_row(
    ("line", "last"),
    [
        ("bash -c 'ls {a,b}'", "ls a b"),
        ("eval 'ls {a,b}'", "ls a b"),
        ("f() { (while a; do eval 'ls {a,b}'; done &); }", "ls a b"),
        ("sh -c \"bash -c 'ls {a,b}'\"", "ls a b"),
        ('sh -c \'ls {} {a} "{a,b}"; awk "{print a, b}"\'', "awk '{print a, b}'"),
    ],
)
def test_what_bash_reads_is_bash(line: str, last: str) -> None:
    """Its own source, that of the line, and all on which shells agree."""
    assert run(line).commands[-1].form == last


@each_row(
    ("line", "expected"),
    [
        ("ls -l | wc", ["ls -l", "wc"]),
        (("ls", "-l", "a b"), ["ls -l 'a b'"]),
        (("echo", "$(id); id"), ["echo '$(id); id'"]),
        (
            "env A=1 nice timeout 9 ls",
            [
                "env A=1 nice timeout 9 ls",
                "env: A=1 nice timeout 9 ls",
                "env: nice: timeout 9 ls",
                "env: nice: timeout: ls",
            ],
        ),
        ("find . -name x -exec cat {} +", ["find . -name x -exec cat {} +", "find: cat {}"]),
        ("xargs wc -l", ["xargs wc -l", "xargs: wc -l (input)"]),
        ("sh -c 'ls; pwd'", ["sh -c 'ls; pwd'", "sh: ls", "sh: pwd"]),
        (
            "bash -c 'while a; do sh -c ls; done'",
            ["bash -c 'while a; do sh -c ls; done'", "bash: loop: a", "bash: loop: sh -c ls", "bash: loop: sh: ls"],
        ),
        ("eval ls '-l;' pwd", ["eval ls '-l;' pwd", "eval: ls -l", "eval: pwd"]),
        ("trap 'ls' EXIT", ["trap ls EXIT", "trap: ls"]),
        ("sh <<'E'\nls\nE\n", ["sh <<'E'", "sh: ls"]),
        ("sh 2>&1 <<'E'\nls\nE\n", ["sh 2>&1 <<'E'", "sh: ls"]),
        ("bash -s x <<<'ls -l'", ["bash -s x <<<'ls -l'", "bash: ls -l"]),
        (("sh", "-c", "ls | wc"), ["sh -c 'ls | wc'", "sh: ls", "sh: wc"]),
        ("A=1", ["A=1"]),
        (">out", [">out"]),
        ("", []),
    ],
)
def test_everything_that_would_run_is_told(line: object, expected: list[str]) -> None:
    """Whoever starts it: each command once, what is started behind what starts it."""
    assert outline(line) == expected


def test_all_commands_of_a_call_are_one_judgement() -> None:
    """Lines and vectors of one invocation stand behind each other."""
    judgement = run("ls; pwd", ("cat", "a"), "sh -c id")

    assert [one.form for one in judgement.commands] == ["ls", "pwd", "cat a", "sh -c id", "id"]


def test_a_command_is_told_whole() -> None:
    """Its form, what a rule has to mention, where it looks, its program and whether it is known."""
    needs = (Requirement("/etc/hosts", "/etc/hosts lies outside the workspace"),)

    assert run("cd sub && LC_ALL=C cat /etc/hosts a.txt").commands[1] == AnalysedCommand(
        "LC_ALL=C cat /etc/hosts a.txt",
        needs,
        (PathAccess("a.txt", folders=("sub",)),),
        "cat",
        ("sub",),
        bare="cat /etc/hosts a.txt",
        deny_forms=("cat /etc/hosts a.txt",),
    )
    assert run("frob build").commands == (AnalysedCommand("frob build", program="frob", is_known=False),)
    assert run(">out").commands == (
        AnalysedCommand(
            ">out",
            (Requirement(">out", ">out is a redirection that writes or joins"),),
            (PathAccess("out", change="write"),),
        ),
    )


@each_row(
    ("line", "bare"),
    [
        ("LC_ALL=C ls", "ls"),
        ("LC_ALL=C LANG=C ls >/dev/null", "ls"),
        ("ls 2>&1", "ls"),
        ("ls >out 2>&1", "ls >out"),
        ("LC_ALL=C PATH=. ls 2>/dev/null", "LC_ALL=C PATH=. ls"),
        ("ls 2>err", None),
        ("ls <a", None),
        ("LD_PRELOAD=x ls", None),
        ("LC_ALL=C PATH=. ls", None),
        ("LC_ALL=C", None),
        ("ls", None),
        ("[[ -f a && b != c ]]", "test -f a '&&' b '!=' c"),
    ],
)
def test_only_harmless_assignments_may_be_left_out(line: str, bare: str | None) -> None:
    """A rule may match the command without what stands before it, if all of that is harmless, and what goes nowhere."""
    assert run(line).commands[0].bare == bare


@each_row(
    ("line", "expected"),
    [
        ("command ls", [True, False]),
        ("command ls >out", [False, False]),
        ("A=1 command ls", [False, False]),
        ("/usr/bin/time ls", [False, False]),
        ("nohup ls", [False, False]),
        ("sh -c ls", [False, False]),
    ],
)
def test_only_a_plain_starter_needs_no_rule(line: str, expected: list[bool]) -> None:
    """One that does nothing but start the other command; with anything to be mentioned it needs a rule itself."""
    assert [one.is_transparent for one in run(line).commands] == expected


@pytest.mark.parametrize(
    ("line", "path"),
    [("./ls -l", "./ls"), ("bin/ls", "bin/ls"), ("/bin/ls", "/bin/ls"), ("env /bin/ls", "/bin/ls")],
)
def test_a_program_named_by_its_path_has_to_be_written_out(line: str, path: str) -> None:
    """It is no other program, whatever it is called."""
    assert Requirement(path, f"{path} is a path, which a rule has to write out") in run(line).commands[-1].needs


@each_row(
    "line",
    [
        "$x",
        '"$x" -l',
        "''",
        "env $x",
        "x=ls; $x",
        "l*",
        "find . -exec {} \\;",
        'sh -c "$x"',
        "sh -c $x",
        "eval $x",
        "sh",
        "echo ls | sh",
        "bash -s",
        "sh <script",
        "sh <<<ls <script",
        "sh <<<$x",
        "env sh <script",
        "env sh <<<$x",
        "echo ls | env sh",
        "sh <<E\n$x\nE\n",
        "sh -c 'eval $x'",
        # Behind a short option these are clusters: -h -e -l -p, and one with -s.
        "bash -e -help <a.sh",
        "cat a.sh | bash -x -help",
        "bash -e -version <a.sh",
        "bash -help",
        "bash -version <a.sh",
    ],
)
def test_what_cannot_be_told_has_no_name(line: str) -> None:
    """A program, or a shell's source, that is no literal: refused in every mode."""
    assert run(line).unresolved_program is not None


@pytest.mark.parametrize("line", ["bash --help", "bash --version", "bash --norc --version"])
def test_a_shell_that_tells_of_itself_reads_nothing(line: str) -> None:
    """Only with two dashes do these words mean the same wherever they stand."""
    assert run(line).unresolved_program is None


def test_the_first_doubt_is_told() -> None:
    """Of several."""
    assert run("$a; $b; sh").unresolved_program == "$a names the program, and cannot be determined."
    assert run("sh; $b").unresolved_program == "$b names the program, and cannot be determined."
    assert run("ls; eval $x; sh").unresolved_program == "$x is shell source that cannot be determined."
    assert run("sh").unresolved_program == "'sh' runs what it reads, and that cannot be determined."


@pytest.mark.parametrize("line", ["sh -c 'a=$((x))'", "eval 'ls $((x))'"])
def test_what_is_strange_in_a_text_is_strange_in_the_line(line: str) -> None:
    """What nobody has taught the guard is not covered because a shell is handed it."""
    assert run(line).unsupported is not None


@each_row(
    ("line", "folders"),
    [
        ("cd a && sh -c 'ls'", ("a",)),
        ("cd a && sh -c 'cd b && ls'", ("a/b",)),
        ("sh -c 'cd /w/ws/b && ls'", ("b",)),
        ("cd a && sh -c 'cd /w/ws/b && ls'", ()),
        ("cd a; sh -c 'cd b; ls'", ("a/b", "a", "b", ".")),
        ("cd $x; sh -c 'ls'", ()),
        ("sh -c 'cd $x; ls'", ()),
        ("env -C a ls", ("a",)),
        ("trap ls EXIT", (".",)),
        ("trap ls 0", (".",)),
        ("trap 'ls $(pwd)' EXIT", (".",)),
        ("trap ls INT", ()),
        ("trap ls EXIT INT", ()),
        ("trap ls DEBUG", ()),
        ("trap -- ls EXIT", ()),
        ("cd a && trap ls EXIT", ()),
        ("(cd a); trap ls EXIT", ()),
        ("popd; trap ls EXIT", ()),
        ("set -P; trap ls EXIT", ()),
        ("$x; trap ls EXIT", ()),
        ("trap 'cd a; ls' EXIT", ("a", ".")),
    ],
)
def test_a_text_runs_where_its_shell_stands(line: str, folders: tuple[str, ...]) -> None:
    """Below each folder that its starter may be in; a trap's, wherever the shell has gone by then."""
    assert run(line).commands[-1].folders == folders


@each_row(
    ("line", "folders"),
    [
        ("trap 'echo b' EXIT; ls", (".",)),
        ("trap '' INT; ls", (".",)),
        ("trap - INT; ls", (".",)),
        ("trap - EXIT; ls", (".",)),
        ("trap 'cd ..' INT; ls", ()),
        ("trap 'cd ..' DEBUG; ls", ()),
        ("trap 'cd ..' ERR EXIT; ls", ()),
        ('trap "$x" EXIT; ls', ()),
        ("trap ls $x; ls", ()),
        ("command trap 'cd ..' DEBUG; ls", ()),
        ("pushd src; ls", ("src", ".")),
        ("pushd src >/dev/null && ls && popd", ("src",)),
        ("pushd src && pushd sub && ls", ("src/sub",)),
        ("pushd src; popd; ls", ()),
        ("pushd; ls", ()),
        ("pushd -n src; ls", ()),
        ("pushd +1; ls", ()),
        ("pushd -1; ls", ()),
        ("pushd ..; ls", ()),
        ("pushd /; ls", ()),
        ("pushd a b; ls", ()),
        ('pushd "$x"; ls', ()),
    ],
)
def test_a_stack_of_folders_and_a_trap_move_no_further_than_they_say(line: str, folders: tuple[str, ...]) -> None:
    """A text that runs when the shell ends moves no command before; one of another signal may run at any time."""
    seen = [one.folders for one in run(line).commands if one.form == "ls" and "trap" not in one.within]

    assert seen == [folders]


def test_what_a_trap_takes_back_is_no_program() -> None:
    """`-` says that a signal does again what it did at first."""
    assert [one.form for one in run("trap - INT").commands] == ["trap - INT"]


def test_a_move_in_a_text_cannot_hide_where_a_path_leads() -> None:
    """An absolute move leaves the starter's folder: what follows is not seen from below it."""
    last = run("cd x && sh -c 'cd /w/ws/sub && cat ../../secret'").commands[-1]

    assert last.reaches == ()
    assert [need.form for need in last.needs] == ["(unknown folder)", "../../secret"]


@each_row(
    ("line", "pattern"),
    [
        ("cat **/x", "*/x"),
        ("cat a/***", "a/*"),
        ("cat '**'*''*\\**", "\\*\\**\\**"),
        ('for f in **/x; do cat "$f"; done', "*/x"),
        ("find . -name x -exec cat {} +", "./**/x"),
    ],
)
def test_only_find_looks_at_any_depth(line: str, pattern: str) -> None:
    """Two stars of a shell line are one: without options, bash takes them for one, and follows links to folders."""
    assert run(line).commands[-1].reaches == (PathAccess(pattern, is_pattern=True),)


@each_row(
    ("line", "deny_forms"),
    [
        ("rm x", ()),
        (">x", ()),
        ("A=1 rm x >y", ("rm x",)),
        ("/bin/rm -rf x", ("rm -rf x",)),
        ("A=1 ./sub/rm x", ("./sub/rm x", "rm x")),
        ("git push", ()),
        ("git", ()),
        ("git --no-pager -C . push origin", ("git push origin",)),
        ("git -C push push", ("git push",)),
        ("git remote -v add x", ()),
        ("/usr/bin/git -c a.b=c push", ("git -c a.b=c push", "git push")),
        ("[[ -f a ]]", ("test -f a",)),
        ("[ -f a ]", ("test -f a",)),
        (("/bin/[", "-f", "a", "]"), ("[ -f a ]", "test -f a")),
        (("[", "-f", "a"), ("test -f a",)),
    ],
)
def test_deny_rules_also_see_what_a_command_comes_to(line: object, deny_forms: tuple[str, ...]) -> None:
    """A path before a program, and options before a subcommand, hide neither from a rule that denies them."""
    assert run(line).commands[0].deny_forms == deny_forms


@pytest.mark.parametrize(
    ("line", "folders"),
    [
        ("git -C sub status", (".", "sub")),
        ("cd sub && git -C x status", ("sub", "sub/x")),
        ('git -C "$x" status', (".",)),
        ("git status", (".",)),
    ],
)
def test_a_program_may_run_where_its_own_options_move_it(line: str, folders: tuple[str, ...]) -> None:
    """A rule may name `-C`: the repository there is then looked at, too."""
    assert run(line).commands[-1].folders == folders


@each_row(
    ("line", "reaches"),
    [
        ("for f in *; do :; done", []),
        ("for f in a b/c; do :; done", []),
        ("for f in */*; do :; done", [PathAccess("./*", is_pattern=True)]),
        (
            "for f in a/*.py /w/ws/b/*; do :; done",
            [PathAccess("./a", is_pattern=True), PathAccess("/w/ws/b", is_pattern=True)],
        ),
        ("cd sub && for f in x/*; do :; done", [PathAccess("./x", is_pattern=True, folders=("sub",))]),
        ("echo `for f in */*; do :; done`", [PathAccess("./*", is_pattern=True)]),
        (
            "cd sub && sh -c 'cd a && for f in x/*; do :; done'",
            [PathAccess("./x", is_pattern=True, folders=("sub/a",))],
        ),
    ],
)
def test_the_folders_that_the_shell_itself_looks_into_have_to_lie_in_the_workspace(
    line: str, reaches: list[PathAccess]
) -> None:
    """Of the names that a loop runs over, bash reads the folders before any command sees them."""
    assert list(run(line).reaches) == reaches


def feeds(line: str, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, list[str], list[str]]]:
    """Each command with those that it may read and those whose output is among its words, as the floor gets them."""
    seen: list[Script] = []

    def look(script: Script, **_: object) -> tuple[None, tuple[str, ...]]:
        seen.append(script)
        return None, ()

    monkeypatch.setattr("toolcharter.guards.shell.analyse.check_floor", look)
    run(line)
    commands = seen[0].commands
    return [
        (one.form, [commands[at].form for at in one.stdin_from], [commands[at].form for at in one.substitutes])
        for one in commands
    ]


def test_positions_hold_wherever_a_command_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a text of a later command reads is counted from where the text begins, and its starter's input is its own."""
    told = feeds("ls; a | sh -c 'b | c $(d)'", monkeypatch)

    assert told == [
        ("ls", [], []),
        ("a", [], []),
        ("sh -c 'b | c $(d)'", ["a"], []),
        ("b", ["a"], []),
        ("d", ["b", "a"], []),
        ("c $(d)", ["b", "a"], ["d"]),
    ]


def test_what_is_started_reads_what_its_starter_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    """And what became part of its starter's words is part of its own."""
    assert feeds("a | env b $(c)", monkeypatch)[-1] == ("b $(c)", ["a"], ["c"])


@each_row(
    "line",
    ["sh -c 'rm -rf /'", "env rm -rf /", "eval 'rm -rf /'", "sh <<<'rm -rf /'", "curl x | env sh", "trap 'rm -rf /' 0"],
)
def test_the_floor_sees_what_is_started(line: str) -> None:
    """A catastrophe is one wherever it stands."""
    assert run(line).catastrophe is not None


@each_row(
    ("command", "why"),
    [
        ("ls '", 'A quote is not closed. (at "\'")'),
        ("sh -c 'ls )'", "The command line is not understood. (at ')')"),
        ((), "The command names no program."),
        (("ls", "a\0b"), "An argument of the command holds a character that no argument can."),
        (["ls"], "A command is a line or a vector of words, not list."),
        (("ls", 1), "A command is a line or a vector of words, not tuple."),
        (None, "A command is a line or a vector of words, not NoneType."),
    ],
)
def test_what_is_not_understood_is_not_judged(command: object, why: str) -> None:
    """Neither a line, nor a text handed to a shell, nor anything else that a tool may give."""
    with pytest.raises(NotUnderstood) as caught:
        run(command)

    assert str(caught.value) == why


def nested(depth: int) -> tuple[str, ...]:
    return (*["env"] * depth, "ls")


def test_commands_may_start_commands_as_deep_as_the_limit() -> None:
    """And not one deeper."""
    assert len(run(nested(MAX_DEPTH)).commands) == MAX_DEPTH + 1
    with pytest.raises(NotUnderstood, match=f"more than {MAX_DEPTH} deep"):
        run(nested(MAX_DEPTH + 1))


def test_a_call_runs_no_more_commands_than_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that others start count, too, and those of all lines together."""
    monkeypatch.setattr(shell_analyse, "MAX_COMMANDS", 4)

    assert len(run("ls; ls", "env ls").commands) == 4
    with pytest.raises(NotUnderstood, match="more than 4 commands"):
        run("ls; ls; ls; ls; ls")
    with pytest.raises(NotUnderstood, match="more than 4 commands"):
        run("ls; ls", "ls; env ls")
    assert MAX_COMMANDS == 200


def test_tables_of_plugins_are_asked(tmp_path: Path) -> None:
    """What is known of a program may come from elsewhere."""
    table = tmp_path / "frob.toml"
    table.write_text('programs = ["frob"]\nsource = "test"\nstyle = "gnu"\noperands = ["text*"]\n')

    judged = analyse(["frob build --fix"], WORKSPACE, CORE_TABLES.with_added([table])).commands[0]

    assert (judged.is_known, [need.form for need in judged.needs]) == (True, ["--fix"])


@each_row(
    ("line", "expected"),
    [
        ("uniq in out", {("out", 1)}),
        ("uniq in uniq", {("uniq", 2)}),
        ("git tag git", {("git", 2)}),
        ("git branch branch", {("branch", 2)}),
        ("uniq in uniq >uniq", {("uniq", 2), (">uniq", 1)}),
    ],
)
def test_a_word_that_has_to_be_named_is_told_with_how_often_it_stands(
    line: str, expected: set[tuple[str, int]]
) -> None:
    """The `git` of the rule `git *` is the program, and no tag that is called so."""
    (command,) = run(line).commands

    assert {(need.form, need.times) for need in command.needs} == expected


@each_row(
    "line",
    [
        "rg00 x",
        "npm-- x",
        "gcc-12 -o out x.c",
        "nft01 x",
        "mapfile. x",
        "git clone && cd x && ls",
        "d=$(mktemp -d) && trap ",
        "trap; cd src; ls",
        "while IFS=x; do ls; done",
        "f() { local -a; ls; }; f",
        "declare -A; ls",
    ],
)
def test_odd_lines_are_judged(line: str) -> None:
    """A program whose name only begins like one that is known, and a command without its words, are commands, too."""
    assert run(line).commands


@each_row(
    ("line", "forms"),
    [
        ("env sh <<<ls", ["ls"]),
        ("sudo bash <<E\nls\ncat a\nE", ["ls", "cat a"]),
        ("ssh host bash -s <<E\nls\nE", ["ls"]),
        ("timeout 5 nice bash <<<ls", ["ls"]),
        ("sh -c 'bash' <<<ls", ["ls"]),
        ("cat a | bash -n", []),
    ],
)
def test_a_shell_reads_what_its_starter_is_given(line: str, forms: list[str]) -> None:
    """Its source is known where that is, and nothing runs of what is only checked."""
    found = run(line)

    assert found.unresolved_program is None
    assert [one.form for one in found.commands if one.within and one.program not in {"sh", "bash", "nice"}] == forms


@each_row(
    "line",
    [
        "ssh host 'ls; bash' <<<ls",
        "xargs -a x sh -s <<<ls",
        "trap bash EXIT <<<ls",
        "x | sudo bash",
        "sudo bash <script",
        # A line of it is a password.
        "sudo -S bash <<<ls",
        "sudo -nS bash <<<ls",
        "sudo --stdin bash <<<ls",
        "sudo $x bash <<<ls",
        "su -c bash <<<ls",
    ],
)
def test_a_shell_that_may_read_something_else_has_unknown_source(line: str) -> None:
    """Another command may have read the text, or the input is no text of the line."""
    assert run(line).unresolved_program is not None


def test_a_function_without_commands_runs_nothing() -> None:
    """Bash refuses its empty body; the line is judged all the same."""
    assert run("f() { g; }; g() { }; f").commands == ()
