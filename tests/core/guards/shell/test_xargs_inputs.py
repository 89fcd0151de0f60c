"""Words that xargs reads from a command whose output can be told, as far as lines tell."""

import pytest
from tests.rows import each_row

from toolcharter.api.command import ListedNames, PathAccess
from toolcharter.guards.shell.analyse import analyse
from toolcharter.guards.shell.nodes import Inner
from toolcharter.guards.shell.parse.script import parse
from toolcharter.guards.shell.xargs_inputs import xargs_input

WS = "/home/dev/ws"


def asked(line: str) -> tuple[list[str], list[str], list[ListedNames]]:
    """What the last command of *line* asks for: needs, reaches, and names on disk."""
    last = analyse([line], WS).commands[-1]
    return [need.form for need in last.needs], [reach.path for reach in last.reaches], list(last.listings)


def below(path: str, **more: object) -> ListedNames:
    return ListedNames(path, **more)  # type: ignore[arg-type]


@each_row(
    ("line", "reaches", "listings"),
    [
        ("find . | xargs wc", ["./**"], [below(".")]),
        ("find | xargs wc", ["./**"], [below(".")]),
        ("find . -print0 | xargs -0 wc", ["./**"], []),
        ("find src docs -name '*.py' | xargs wc", ["src/**/*.py", "docs/**/*.py"], [below("src", name="*.py"), below("docs", name="*.py")]),
        ("find . -type f | xargs wc", ["."], [below(".")]),
        ("find . -type f -name x -print | xargs wc", ["."], [below(".", name="x")]),
        ("find . -print -type f | xargs wc", ["./**"], [below(".")]),
        ("find . -print -o -print | xargs wc", ["./**"], [below(".")]),
        ("find . -name a -o -type f | xargs wc", ["./**"], [below(".")]),
        ("find . ! -type f | xargs wc", ["./**"], [below(".")]),
        ("find . -name a -not -path './b/*' -print0 | xargs -0 wc", ["./**/a"], []),
        ("find . -path ./b -prune -o -name a -print0 | xargs -0 wc", ["./**/a"], []),
        ("find . -path ./b -prune -o -type f -print0 | xargs -0 wc", ["."], []),
        ("find . -path ./b -prune -o -name a | xargs wc", ["./**"], [below(".")]),
        ("find . -name a -o -print0 | xargs -0 wc", ["./**"], []),
        ("find . -not -name a -print0 | xargs -0 wc", ["./**"], []),
        ("find . -not -path -name -print0 | xargs -0 wc", ["./**"], []),
        ("find . -path -o -name a -print0 | xargs -0 wc", ["./**/a"], []),
        ("find . 2>/dev/null | xargs wc 2>/dev/null", ["./**"], [below(".")]),
        ("find . -print0 | xargs -0 -I{} cat {} x", ["./**", "x"], []),
        ("find . -print0 | xargs -0n1 uniq", ["./**"], []),
        ("find . -print0 | xargs -0 -r -P 2 -t -n 5 -- wc -l", ["./**"], []),
        ("find . -print0 | xargs --null --no-run-if-empty --verbose wc", ["./**"], []),
        ("cd src && find . | xargs wc", ["./**"], [below(".", folders=("src",))]),
        ("diff <(find . | xargs wc) a", ["./**"], [below(".")]),
        ("ls | xargs cat", ["*"], [below(".", kind="in", is_bare=True)]),
        ("ls -1t | xargs cat", ["*"], [below(".", kind="in", is_bare=True)]),
        ("ls *.md a | xargs cat", ["*.md", "a"], [below("*.md", kind="files", is_bare=True), below("a", kind="files", is_bare=True)]),
        ("ls -d s* | xargs cat", ["s*"], [below("s*", kind="matches", is_bare=True)]),
        ("grep -rl add . | xargs cat", ["."], [below(".")]),
        ("grep -rlZ add | xargs -0 cat", ["."], [below(".", is_bare=True, is_split=False)]),
        ("grep -l --include=x add *.py | xargs cat", ["*.py"], [below("*.py", kind="matches", is_bare=True)]),
        ("rg -l add | xargs cat", ["."], [below(".", is_bare=True)]),
        ("rg --files src | xargs cat", ["src"], [below("src")]),
        ("rg -l0 add src | xargs -0 cat", ["src"], []),
        ("git ls-files | xargs wc", ["."], [below(".", kind="index", is_bare=True)]),
        ("git grep -l add | xargs wc", ["."], [below(".", kind="index", is_bare=True)]),
        ("git grep -il add -- 'src/*.py' | xargs ruff check", ["."], [below(".", kind="index", is_bare=True)]),
        ("git ls-files '*.py' | xargs flake8", ["."], [below(".", kind="index", is_bare=True)]),
        ("git ls-files | grep -E '[.](ts|py)$' | xargs wc", ["."], [below(".", kind="index", is_bare=True)]),
        ("git ls-files 2>/dev/null | sort -ru | head -n 5 | xargs wc", ["."], [below(".", kind="index", is_bare=True)]),
        ("find . | grep -v -e -x | tail -n +2 | tac | uniq | xargs wc", ["./**"], [below(".")]),
        ("ls | fgrep -iw x | cat | head -3 | xargs wc", ["*"], [below(".", kind="in", is_bare=True)]),
        ("git ls-files -z -- '*.py' | xargs -0 wc", ["."], [below(".", kind="index", is_bare=True, is_split=False)]),
        ("echo a b | xargs cat x", ["x", "a", "b"], []),
        ("echo a b | xargs -n1 cat", ["a", "b"], []),
        ("echo a b | xargs -I{} cat {}", ["a b"], []),
        ("printf '%s\\n' a b | xargs -I% cat %", ["a", "b"], []),
        ("printf '%s\\0' a b | xargs -0 cat", ["a", "b"], []),
    ],
)  # fmt: skip
def test_what_is_read_can_be_told(line: str, reaches: list[str], listings: list[ListedNames]) -> None:
    """Nothing has to be mentioned but what a plain line would have to mention; the names are for the world to look at."""
    assert asked(line) == ([], reaches, listings)


@each_row(
    "line",
    [
        # What it prints is not only names, or other names.
        *("find -L . | xargs cat", "find . -ls | xargs cat", "find . -printf x | xargs cat", "find . -help | xargs cat"),
        *("find . -exec cat {} ';' | xargs cat", "find . -fprint x | xargs cat", "find . -follow | xargs cat"),
        *('find "$x" | xargs cat', "find s* | xargs cat", 'find . -name "$x" | xargs cat', "find . -name | xargs cat"),
        *("find ~ | xargs cat", "find =x | xargs cat", "find a b c d e f g h i | xargs cat", "find -D x . | xargs cat"),
        *("find . -print -print0 | xargs -0 cat", "find . -print0 | xargs cat", "find . | xargs -0 cat"),
        *("find . 2>&1 | xargs cat", "find . |& xargs cat", "LC_ALL=C find . | xargs cat", "/usr/bin/find . | xargs cat"),
        *("ls -a | xargs cat", "ls -l | xargs cat", "ls src/ -a | xargs cat", "ls -d | xargs cat", "ls ~x | xargs cat"),
        *("ls -R | xargs cat", 'ls "$x" | xargs cat', "ls -1 -d | xargs cat", "ls [a-z] | xargs cat"),
        *("grep -r add | xargs cat", "grep -l add | xargs cat", "grep -Rl add . | xargs cat", "grep -l | xargs cat"),
        *('grep -l "$x" a | xargs cat', 'grep -rl add "$x" | xargs cat', "grep -rl add -- a | xargs cat"),
        *("rg add | xargs cat", "rg -lL add | xargs cat", "rg -l | xargs cat", 'rg -l "$x" | xargs cat', "rg --pre x -l a | xargs cat"),
        *("git ls-files -o | xargs cat", "git ls-files .. | xargs cat", "git ls-files :/ | xargs cat", "git -C a ls-files | xargs cat"),
        *("git log | xargs cat", "git ls-files --full-name | xargs cat", "git | xargs cat"),
        *("echo -n a | xargs cat", "echo | xargs cat", "echo 'a b' | xargs cat", 'echo "$x" | xargs cat', "echo 'a\\' | xargs cat"),
        *("printf a | xargs cat", "printf '%s' a b | xargs cat", "printf | xargs cat", "printf '%s\\n' '-x' | xargs cat"),
        *("cat a | xargs cat", "xargs cat", "xargs cat <a", "find . | xargs cat <a"),
        # Something else may stand between, or read a part of it.
        *("find . | { head -n 1; xargs cat; }", "find . | { xargs cat; } <a", "find . | { xargs cat; xargs cat; }"),
        *("for i in 1 2; do find .; done | xargs cat", "find . | while true; do xargs cat; done", "{ ls; find .; } | xargs cat"),
        *("for i in 1; do find .; done | for j in 1; do xargs cat; done", "xargs cat <(find .)", "xargs cat < <(find .)"),
        *("find . | echo $(xargs cat)", "{ cd src; find .; } | xargs cat", "find . | env xargs cat", "find . | xargs cat 2>&1"),
        # What stands between does more than to drop lines, or has another input.
        *("ls | sort a | xargs cat", "ls | sort <a | xargs cat", "ls | sort -t x | xargs cat", "ls | head -c 9 | xargs cat"),
        *("ls | tail -f | xargs cat", "ls | uniq -c | xargs cat", "ls | cat -n | xargs cat", "ls | cut -c 2- | xargs cat"),
        *("ls | grep -o x | xargs cat", "ls | grep -n x | xargs cat", "ls | grep x a | xargs cat", "ls | grep -f x | xargs cat"),
        *("ls | grep -e x -e y | xargs cat", "ls | grep -c x | xargs cat", "ls | grep -A1 x | xargs cat", "ls | grep | xargs cat"),
        *('ls | grep "$x" | xargs cat', "ls | grep $(echo x) | xargs cat", "ls | grep -ex y | xargs cat", "ls | grep '' | xargs cat"),
        *("ls | X=1 sort | xargs cat", "ls | sort 2>&1 | xargs cat", "ls | ./sort | xargs cat", "ls | sed s/a// | xargs cat"),
        *("ls | (sort) | xargs cat", "ls | { sort; } 2>&1 | xargs cat", "ls | { sort; cat; } | xargs cat", "ls |& sort | xargs cat"),
        *("{ ls; find .; } | sort | xargs cat", "find . -print0 | sort | xargs -0 cat", "echo a b | sort | xargs cat"),
        *("sort | xargs cat", "ls | sort | xargs cat <a", "ls | { sort | xargs cat; }; cat a | xargs cat"),
        *("git grep add | xargs cat", "git grep -l add HEAD | xargs cat", "git grep -L add | xargs cat", "git grep -l | xargs cat"),
        *("git grep -l add -- ../x | xargs cat", "git grep -lz add | xargs cat", "git grep -l --untracked add | xargs cat"),
        *("find . | xargs ruff check --fix", "find . | xargs eslint -c x", "find . | xargs mypy"),
        # Options that make other words.
        *("find . | xargs -d , cat", "find . | xargs -a x cat", "find . | xargs -E x cat", "find . | xargs -L1 cat"),
        *("find . | xargs -i cat {}", "find . | xargs -s 9 cat", "find . | xargs -n 0 cat", 'find . | xargs -n "$x" cat'),
        *("find . | xargs -I{} -n1 cat {}", "find . | xargs -n1 -n2 cat", "find . | xargs -I '' cat", "find . | xargs -I{} cat x{}"),
        *("find . | xargs -I{} cat {} {}.bak", "find . | xargs - cat", "find . | xargs -I{} - cat {}"),
        # Something may make or change names meanwhile.
        *("touch x; find . | xargs cat", "git add . && git ls-files | xargs cat", "find . | xargs rm", "find . | xargs cat >x"),
        *("find . | xargs cat & touch x", "find . -exec touch x ';' | xargs cat", "find . | xargs cat & find . -exec touch x ';'"),
        *("sort -o x y; find . | xargs cat", "f() { ls; }; find . | xargs cat", "find . | xargs frob"),
        *("PATH=.; find . | xargs cat", "POSIXLY_CORRECT=1; find . | xargs cat", "x=$(touch a); find . | xargs cat"),
        # What it starts starts or evaluates something.
        *("find . | xargs sh", "find . | xargs sh -c ls", "find . | xargs env cat", "find . | xargs xargs cat", "find . | xargs uniq"),
        *("find . | xargs find . -exec cat {} ';'", "find . | xargs time cat", "find . | xargs git", "find . | xargs sort -o"),
        *("find /etc | xargs cat", "find .. | xargs cat", "echo /etc/passwd | xargs cat", "echo -o x | xargs sort", "find . | xargs sed"),
        "echo x --files0-from=../a | xargs wc",
    ],
)  # fmt: skip
def test_what_cannot_be_told_has_to_be_named(line: str) -> None:
    """Then no rule covers what xargs starts, unless it names the input, or what starts it is refused."""
    judgement = analyse([line], WS)

    assert judgement.unresolved_program or judgement.unsupported or any(one.needs for one in judgement.commands)
    assert not any(one.listings for one in judgement.commands)


@each_row(
    ("line", "needs"),
    [
        ("git log | xargs echo a", []),
        ("git log | xargs printf '%s;'", []),
        ("git log | xargs -I{} echo a/{}", []),
        ("git log | xargs -I{} git commit -m {}", ["{}"]),
        ("git log | xargs printf", ["(input)"]),
        ("git log | xargs git commit -m", ["(input)"]),
        ("git log | xargs cat", ["(input)"]),
    ],
)
def test_input_that_is_only_shown_may_be_anything(line: str, needs: list[str]) -> None:
    """Where it cannot become an option, a path or a word of another kind."""
    assert [need.form for one in analyse([line], WS).commands for need in one.needs] == needs


def test_the_program_stays_unknown() -> None:
    """A name on disk is no program."""
    assert analyse(["find . | xargs -I{} {} x"], WS).unresolved_program is not None
    assert analyse(["find . -print0 | xargs -0 sh -c"], WS).unresolved_program is not None


def test_rules_see_the_same_form() -> None:
    """What is known of the input changes no normal form."""
    judged = analyse(["find . -print0 | xargs -0 wc -l", "find . -print0 | xargs -0 -I{} wc {}"], WS).commands

    assert [one.form for one in judged if one.program == "wc"] == ["wc -l (input)", "wc {}"]
    assert judged[2].reaches == (PathAccess("./**", is_pattern=True),)


def test_a_command_before_counts_too() -> None:
    """All lines of one call run in one place."""
    assert analyse(["touch x", "find . -print0 | xargs -0 cat"], WS).commands[-1].needs


@pytest.mark.parametrize("options", ["-n1", "-I{}"])
def test_two_readings_of_xargs_have_to_agree(options: str) -> None:
    """Where the table sees another command than we do, nothing is told."""
    commands = parse(f"find . | xargs {options}").commands

    found = xargs_input(commands, 1, Inner(commands[0].words))

    assert found is None or options == "-n1"
