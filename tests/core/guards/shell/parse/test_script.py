"""What a shell line is read as: every command that it runs, and what in it cannot be determined."""

import pytest
from tests.rows import each_row
from tests.samples import row_params, sample_rows

from toolcharter.guards.shell.nodes import PROCESS_SUBSTITUTION, Command, NotUnderstood, Script, Word
from toolcharter.guards.shell.parse.script import command_of_argv, parse

UNSUPPORTED, UNRESOLVED = "unsupported", "unresolved_program"


def forms(script: Script) -> list[str]:
    return [command.form for command in script.commands]


def marks(script: Script) -> set[str]:
    return {mark for mark in (UNSUPPORTED, UNRESOLVED) if getattr(script, mark) is not None}


@each_row(
    ("source", "expected"),
    [
        ("", []),
        ("git status", ["git status"]),
        ("  ls\t-la  ", ["ls -la"]),
        ("ls;pwd", ["ls", "pwd"]),
        ("a && b || c & d\ne", ["a", "b", "c", "d", "e"]),
        ("a | b |& c", ["a", "b", "c"]),
        ("a &&\n # why\n b |\n c", ["a", "b", "c"]),
        ("ls # it's all", ["ls"]),
        ("# only a comment", []),
        ("! grep -q x y", ["grep -q x y"]),
        ("time ls -l | wc", ["ls -l", "wc"]),
        ("time -p ls", ["ls"]),
        ("( ls; pwd )", ["ls", "pwd"]),
        ("{ ls; pwd; }", ["ls", "pwd"]),
        ("{ ls; } > out 2>&1", ["ls", ">out 2>&1"]),
        ("if a; then b; elif c; then d; else e; fi", ["a", "b", "c", "d", "e"]),
        ("if a; then b; fi", ["a", "b"]),
        ("while a; do b; done < in", ["a", "b", "<in"]),
        ("until a; do b; done", ["a", "b"]),
        ("for f in x y # why\ndo a; done", ["a"]),
        ("for f; do a; done", ["a"]),
        ('case "$1" in (x | y) a;; z) b;;& *) c; esac', ["a", "b", "c"]),
        ("case x in esac", []),
        ("x=a; case $x in a) b;; esac", ["x=a", "b"]),
        ('for f in x y; do case "$f" in x) a;; esac; done', ["a"]),
        ("f() { ls; }", ["ls"]),
        ("function f { ls; }", ["ls"]),
        ("function f() ( ls )", ["ls"]),
        ("echo a\\\\\\ b 'c d' \"e $ f\" ''", ["echo 'a\\ b' 'c d' 'e $ f' ''"]),
        ('echo "\\a \\$ \\`" a\'b\'"c" "x\\\ny"', ["echo '\\a $ `' abc xy"]),
        ("ls \\\n  -la \\\n| wc", ["ls -la", "wc"]),
        ("$'\\x6cs' $'a\\tb'", ["ls 'a\tb'"]),
        ("ls {a,b}/c x{,.bak} {} @{u} {a", ["ls a/c b/c x x.bak {} '@{u}' {a"]),
        ("a{,}b '{x,y}'{1,'2 3'}", ["ab ab '{x,y}1' '{x,y}2 3'"]),
        ("echo {1..3} a{9..7}b", ["echo 1 2 3 a9b a8b a7b"]),
        ("echo {1..64} {0..0}", [f"echo {' '.join(map(str, range(1, 65)))} 0"]),
        ("echo {1..65}", ["echo {1..65}"]),
        ("echo {01..3} {a..c} {1..9..2} x{C..A}", ["echo 01 02 03 a b c 1 3 5 7 9 xC xB xA"]),
        ("echo {08..100..46} {9..1..4} {a..f..2} {0..0..5}", ["echo 008 054 100 9 5 1 a c e 0"]),
        ("echo {1..'2'} {a..C} {1..3..0} {1..9..-2} {-1..1}", ["echo {1..'2'} {a..C} {1..3..0} {1..9..-2} {-1..1}"]),
        ("cat <<E\n\\$(a) \\`b\\` \\\\ c\nE", ["cat <<E"]),
        ("'[' '{}' ']' '!' '[[' \\]] '{' '[]'", ["[ {} ] ! [[ ]] '{' '[]'"]),
        ("echo 'it'\\''s'", ["echo 'it'\"'\"'s'"]),
        ("A=1 B='x y' C= ls", ["A=1 B='x y' C='' ls"]),
        ("A=$x", ["A=$x"]),
        ("A+=b ls", ["A+=b ls"]),
        (">out", [">out"]),
        ("ls 2>&1 >>a 3<b", ["ls 2>&1 >>a 3<b"]),
        ("ls >| 'a b' &>/dev/null", ["ls >|'a b' &>/dev/null"]),
        ("ls 2>&-", ["ls 2>&-"]),
        ("wc -l <<< 'a;b'", ["wc -l <<<'a;b'"]),
        ("cat <<'E' | wc\n$(a)\nE\nls", ["cat <<'E'", "wc", "ls"]),
        ('cat <<-"E"\n\tx\n\tE', ['cat <<-"E"']),
        ("python3 - <<E\nx\nE", ["python3 - <<E"]),
        ("cat <<E\n$x $(a)\nE", ["a", "cat <<E"]),
        ("echo $(a | b) `c \\`d\\``", ["a", "b", "d", "c `d`", "echo $(a | b) `c \\`d\\``"]),
        ('echo "$(a "$(b)")"', ["b", 'a "$(b)"', 'echo "$(a "$(b)")"']),
        ('x="`a`"', ["a", 'x="`a`"']),
        ("diff <(a) >(b)", ["a", "b", "diff <(a) >(b)"]),
        ("ls 2> >(a) < <(b)", ["a", "b", "ls 2> >(a) < <(b)"]),
        ("echo $(case x in x) a;; esac)", ["a", "echo $(case x in x) a;; esac)"]),
        ("echo $x ${x} ${x:-y} ${x#*/} ${#x} ${#} $1 $?", ["echo $x ${x} ${x:-y} ${x#*/} ${#x} ${#} $1 $?"]),
        ("echo ${x:-\"a $(b)\"} ${x:-'c'} ${x:-`d`}", ["b", "d", "echo ${x:-\"a $(b)\"} ${x:-'c'} ${x:-`d`}"]),
        ("echo $((1 + (2 * 3)))", ["echo $((1 + (2 * 3)))"]),
        ("ls ~ ~/a a=~ *.py a[0-9] '*'", ["ls ~ ~/a a=~ *.py a[0-9] '*'"]),
        ("[ -f x ] && [[ -f y && ( a < b ) ]]", ["[ -f x ]", "[[ -f y '&&' '(' a '<' b ')' ]]"]),
        ("for f in x\ndo a; done", ["a"]),
        ("\"a\"'b'", ["ab"]),
        ("x=1 # why\nls", ["x=1", "ls"]),
        ("echo a{'..',b} {a,b}$?", ["echo a{'..',b} {a,b}$? {a,b}$?"]),
        ("echo café “x”", ["echo 'café' '“x”'"]),
        ("echo '\uff1b'", ["echo '\uff1b'"]),
        ("export A=1 B", ["export A=1 B"]),
        ("unset A", ["unset A"]),
        ("sleep 1 & wait", ["sleep 1", "wait"]),
        ("git commit -m \"$(cat <<'E'\na) b\nE\n)\"", ["cat <<'E'", "git commit -m \"$(cat <<'E'\na) b\nE\n)\""]),
    ],
)
def test_commands_of_a_line_are_read(source: str, expected: list[str]) -> None:
    """Every command of a line is seen, in order, in normal form, and nothing of it is strange."""
    script = parse(source)

    assert (forms(script), marks(script)) == (expected, set())


@each_row(
    ("source", "expected", "mark"),
    [
        ("$x a", ["$x a"], UNRESOLVED),
        ("$(a) b", ["a", "$(a) b"], UNRESOLVED),
        ("'' a", ["'' a"], UNRESOLVED),
        ("l* a", ["l* a"], UNRESOLVED),
        ("~/a", ["~/a"], UNRESOLVED),
        ("x=rm; $x -rf /", ["x=rm", "$x -rf /"], UNRESOLVED),
        ("f() { ls; }; f", ["ls", "f"], UNSUPPORTED),
        ("f() { ls; }; eval 'f'", ["ls", "eval f"], UNSUPPORTED),
        ("(( x )) && a", ["a"], UNSUPPORTED),
        ("echo $((x))", ["echo $((x))"], UNSUPPORTED),
        ("echo $(( $(a) ))", ["a", "echo $(( $(a) ))"], UNSUPPORTED),
        ("echo $((`a`))", ["a", "echo $((`a`))"], UNSUPPORTED),
        ("echo ${!x}", ["echo ${!x}"], UNSUPPORTED),
        ('echo "${x@P}"', ['echo "${x@P}"'], UNSUPPORTED),
        ("echo ${PATH:=y}", ["echo ${PATH:=y}"], UNSUPPORTED),
        ("echo ${x/$y/b}", ["echo ${x/$y/b}"], UNSUPPORTED),
        ("echo ${#x[i]}", ["echo ${#x[i]}"], UNSUPPORTED),
        ("x=(a b\n)", ["x=(a b\n)"], UNSUPPORTED),
        ("[[ $x -eq 1 ]]", ["[[ $x -eq 1 ]]"], UNSUPPORTED),
        ("select x in a; do b; done", ["b"], UNSUPPORTED),
        ("case $x in a) b;; esac", ["b"], UNSUPPORTED),
        ("case $HOME in a) b;; esac", ["b"], UNSUPPORTED),
        ("for f in $x; do a; done", ["a"], UNSUPPORTED),
        ('case a in "${x}") b;; esac', ["b"], UNSUPPORTED),
        ("for ((i=0;i<x;i++)); do b; done", ["b"], UNSUPPORTED),
        ("for f in ../*; do a; done", ["a"], UNSUPPORTED),
        ("for f in a ../b*; do a; done", ["a"], UNSUPPORTED),
        ("for f in .*/*; do a; done", ["a"], UNSUPPORTED),
        ('for f in "$HOME"/*; do a; done', ["a"], UNSUPPORTED),
        ("for f in ~/*; do a; done", ["a"], UNSUPPORTED),
        ("while a; do for f in */*; do b; done; cd x; done", ["a", "b", "cd x"], UNSUPPORTED),
        ('for f in *; do f=x; a "$f"; done', ["f=x", 'a "$f"'], UNSUPPORTED),
        ('for f in *; do read f; a "$f"; done', ["read f", 'a "$f"'], UNSUPPORTED),
        ('trap x DEBUG; for f in *; do a "$f"; done', ["trap x DEBUG", 'a "$f"'], UNSUPPORTED),
    ],
)
def test_what_cannot_be_told_is_marked(source: str, expected: list[str], mark: str) -> None:
    """What no rule may cover is unsupported, a program that cannot be determined is unresolved, and all commands are seen still."""
    script = parse(source)

    assert (forms(script), marks(script)) == (expected, {mark})


@each_row(
    "source",
    [
        # Bash refuses these, too.
        "ls ;; pwd", "; ls", "ls | | wc", "a && ", "! ", "( ls", "ls )", "{ ls", "{ ls }", "if a; then b", "fi", "for f in x; a", "for f in x (a); do b; done", 'echo $"a$x"', "`a`" * 51,
        "for 1 in x; do a; done", "case x in a) b", "case x a", "f() ls", "function", "ls >", "cat <<E", "cat <<E\nx", "echo 'a", 'echo "a', "echo $'a",
        "echo `a", "echo $(a", "echo ${x", "echo ${", "echo $((1", "echo ${x:-", "ls \\", "x=(a", "ls (a)", "(a) b", "time", "time -p",
        # Bash's versions differ, or the readers do, or it is too unusual to be worth a mistake.
        "echo ${x:-'a}'", '"${x:-"a"}"', "echo ${x:-\\a}", "echo ${-x", "echo $[1]", "coproc a", "! ! a", "time ! a", "time -- a",
        "a[1]=2", "x=([1]=a)", "x=(a)b", "ls a<(b)", "l\\\ns", 'echo "$\\\n(a)"', "$\\\n(a)",
        'echo "`a \\"b\\"`"', "cat <<A <<B\na\nA\nb\nB", "cat <<''\n\n", "cat <<$x\n$x\n", "cat <<E 'x\ny'\nE\n'", "cat <<E \\\nx\nE", "cat <<E\na\\\nb\nE",
        "cat <<E\n$(\nE\n)", "echo $(cat <<E)\nE\n", "echo $(cat <<E\nE)\nE\n)", "cat <<E $(a\nE\n)", "cat <<E\nx $(a\nE\n)", "for PATH in x; do ls; done",
        "for no_proxy in x; do ls; done", "for f.g in x; do ls; done", "for ((i=$(a);;)); do a; done",
        "$((ls) | (wc))", "((a); b)", "f() { ls; }; then", "f[]() { a; }", "exec {v}>a", "echo x 3<>f", "é", "'a b' c", "echo \uff1b",
        "@(a)", "echo !(a)", 'echo $"a"', "a\\\n; b", "function f ls", "cat <<E; ls\nE",
    ],
)  # fmt: skip
def test_what_is_not_understood_is_refused(source: str) -> None:
    """A line that does not parse, or that bash and its readers may take differently, is never half understood."""
    with pytest.raises(NotUnderstood):
        parse(source)


@each_row(
    "source",
    [
        "ls {a,b}", "ls a{1..2}b", "ls {$x,b}", "ls {a,", "ls $'a'", "ls &>a", "ls &>>a", "ls |& wc", "ls <<<a", "ls <(a)", "ls >(a)", "ls 10>a",
        "[[ -f a ]]", "function f { ls; }", "select x in a; do ls; done", "((1))", "for ((;1;)); do ls; done", "for ((i=0;i<3;i++)); do ls; done",
        "a+=b", "a=(b)",
        "alias l=ls\nl", "command alias l=ls\nl", "builtin $x l=ls\nl", "echo `ls {a,b}`", "echo $(ls {a,b})",
    ],
)  # fmt: skip
def test_what_is_bash_alone_is_refused_for_other_shells(source: str) -> None:
    """They would read it in another way, or other than it looks."""
    parse(source)

    with pytest.raises(NotUnderstood):
        parse(source, is_posix=True)


def test_a_program_that_expands_to_nothing_is_no_program() -> None:
    """Braces can take the program's name away, so that the next word runs, or nothing."""
    assert forms(parse(">x {,} a")) == ["a >x"]
    assert marks(parse(">x {,}")) == {UNRESOLVED}


@each_row(
    ("source", "expected"),
    [
        pytest.param("'a b'", Word("'a b'", "a b", prefix="a b"), id="quoted"),
        pytest.param("a*'*'b", Word("a*'*'b", pattern="a*\\*b", prefix="a", splits=True), id="glob"),
        pytest.param("'*'[ab]", Word("'*'[ab]", pattern="\\*[ab]", prefix="*", splits=True), id="bracket"),
        pytest.param("[a", Word("'[a'", "[a", prefix="[a"), id="no bracket"),
        pytest.param("~/a", Word("~/a", prefix="~", hints=("~/a",)), id="tilde"),
        pytest.param("of=~", Word("of=~", prefix="of=~", hints=("of=~",)), id="tilde behind an equals sign"),
        pytest.param("'~'/a", Word("'~/a'", "~/a", prefix="~/a"), id="quoted tilde"),
        pytest.param("$x", Word("$x", splits=True), id="parameter"),
        pytest.param('"$x"', Word('"$x"'), id="quoted parameter"),
        pytest.param("$?", Word("$?", pattern="[0-9]*"), id="number"),
        pytest.param('"$-"', Word('"$-"'), id="letters"),
        pytest.param('"a$(b)"', Word('"a$(b)"', prefix="a", is_output=True), id="output"),
        pytest.param('"$?$(b)"', Word('"$?$(b)"', is_output=True), id="output behind a number"),
        pytest.param('"$x$(b)"', Word('"$x$(b)"'), id="output behind a parameter"),
        pytest.param('"$@"', Word('"$@"', splits=True), id="all parameters"),
        pytest.param('"${x:-$@}"', Word('"${x:-$@}"', splits=True), id="all parameters by default"),
        pytest.param('"${a[@]}"', Word('"${a[@]}"', splits=True), id="array"),
        pytest.param('a"$x"b', Word('a"$x"b', prefix="a"), id="prefix"),
        pytest.param("a*$x", Word("a*$x", prefix="a", splits=True), id="glob before a parameter"),
        pytest.param("*'a'$?", Word("*'a'$?", splits=True), id="glob before a number"),
        pytest.param("~$?", Word("~$?", prefix="~"), id="tilde before a number"),
        pytest.param('"$HOME"/a', Word('"$HOME"/a', hints=("~/a",), is_output=True), id="home"),
        pytest.param("${HOME:-/x}", Word("${HOME:-/x}", splits=True, hints=("~", "/x")), id="default"),
        pytest.param('"${x+/y}"', Word('"${x+/y}"'), id="alternative"),
        pytest.param("$(a)", Word("$(a)", splits=True), id="substitution"),
        pytest.param(
            "<(a)", Word("<(a)", pattern=PROCESS_SUBSTITUTION, prefix=PROCESS_SUBSTITUTION), id="process substitution"
        ),
        pytest.param("$((1+2))", Word("$((1+2))", pattern="[0-9]*", is_number=True), id="number without a sign"),
        pytest.param("a{1..x}", Word("a{1..x}", prefix="a", splits=True, hints=("a{1..x}",)), id="sequence"),
        pytest.param("{a,b", Word("{a,b", prefix="", splits=True, hints=("{a,b",)), id="open brace"),
        pytest.param("''{a", Word("''{a", splits=True, hints=("{a",)), id="open brace behind quotes"),
        pytest.param("$x{a", Word("$x{a", splits=True), id="open brace behind a parameter"),
        pytest.param("a}{", Word("a}{", prefix="a}", splits=True, hints=("a}{",)), id="brace closed first"),
    ],
)
def test_a_word_is_known_as_far_as_it_can_be(source: str, expected: Word) -> None:
    """A word is one text for certain, a glob, or unknown but for how it begins."""
    assert parse(f"echo {source}").commands[-1].words[1:] == (expected,)


def test_expanded_braces_keep_what_is_unknown() -> None:
    """Each word of braces is as certain as its own parts."""
    assert parse("rm $x/{a,*}").commands[0].words[1:] == (
        Word("$x/{a,*}", splits=True),
        Word("$x/{a,*}", splits=True),
    )
    assert parse("rm '/'{a,*}").commands[0].words[1:] == (
        Word("/a", "/a", prefix="/a"),
        Word("/*", pattern="/*", prefix="/", splits=True),
    )


@each_row(
    ("source", "expected"),
    [
        pytest.param('d=/; rm "$d"', ("/",), id="assignment"),
        pytest.param('d=/; d+=x; rm "$d"', ("/", "/x"), id="addition"),
        pytest.param('d+=x; rm "$d"', ("x",), id="addition to nothing"),
        pytest.param("a=/ b=$a; rm $b/$a", ("///",), id="one by another"),
        pytest.param('export d=/; rm "$d"', ("/",), id="declaration"),
        pytest.param('declare d+="/ x" -r; rm "$d"', ("/ x",), id="addition by declaration"),
        pytest.param('for d in / ~; do rm "$d"; done', ("/", "~"), id="loop"),
        pytest.param('d=$(a); rm "$d"', (), id="substitution"),
        pytest.param("d=/ ; echo `rm $d`", ("/",), id="between backticks"),
    ],
)
def test_variables_hint_at_their_values(source: str, expected: tuple[str, ...]) -> None:
    """What is assigned in the same line is a hint, and never a text."""
    words = [word for command in parse(source).commands for word in command.words if "$" in word.form]

    assert [(word.hints, word.text) for word in words if not word.form.startswith("`")] == [(expected, None)]


def test_a_loop_variable_stands_for_the_glob_of_its_loop() -> None:
    """In a loop over one glob, a quoted variable is that glob; unquoted, its blanks would part it."""
    commands = parse('for f in src/*.py; do a "$f" "x/$f" $f; done; b "$f"').commands

    assert [word.pattern for word in commands[0].words[1:]] == ["src/*.py", "x/src/*.py", None]
    assert [word.prefix for word in commands[0].words[1:]] == ["src/", "x/", ""]
    assert commands[0].words[1].hints == ("src/*.py",)
    assert commands[1].words[1].pattern is None


@each_row(
    ("source", "expected"),
    [
        pytest.param("cd src && a; b", {"a": ("src",), "b": ("src", ".")}, id="and"),
        pytest.param("cd src; a", {"a": ("src", ".")}, id="semicolon"),
        pytest.param("cd src || a", {"a": (".",)}, id="or"),
        pytest.param("cd src || exit; a", {"a": ("src", ".")}, id="or exit"),
        pytest.param("! cd src && a", {"a": (".",)}, id="negated"),
        pytest.param("cd src && cd ../lib && a", {"a": ("lib",)}, id="twice"),
        pytest.param("cd /ws/src && a", {"a": ("src",)}, id="absolute"),
        pytest.param("cd /ws && a", {"a": (".",)}, id="workspace"),
        pytest.param("cd /wsx && a", {"a": ()}, id="sibling"),
        pytest.param("cd /ws/../x && a", {"a": ()}, id="absolute way out"),
        pytest.param("cd .. && a", {"a": ()}, id="way out"),
        pytest.param("cd src/../.. && a || b", {"a": (), "b": ()}, id="longer way out"),
        pytest.param("cd && a", {"a": ()}, id="home"),
        pytest.param("cd - && a", {"a": ()}, id="back"),
        pytest.param("cd $x && a", {"a": ()}, id="unknown"),
        pytest.param("$x; a", {"a": ()}, id="unknown program"),
        pytest.param("pushd src; a", {"a": ("src", ".")}, id="stack"),
        pytest.param("eval 'cd ..'; a", {"a": ()}, id="eval"),
        pytest.param("command cd src; a", {"a": ()}, id="command"),
        pytest.param("command -v cd; command ls; a", {"a": (".",)}, id="command that stays"),
        pytest.param("set -e; a", {"a": (".",)}, id="set"),
        pytest.param("set -P; a", {"a": ()}, id="physical"),
        pytest.param("CDPATH=/etc; cd x && a", {"a": ()}, id="search path"),
        pytest.param("(cd src && a); b", {"a": ("src",), "b": (".",)}, id="subshell"),
        pytest.param("cd src | a; b", {"a": (".",), "b": (".",)}, id="pipeline"),
        pytest.param("a | cd src; b", {"a": (".",), "b": (".",)}, id="end of a pipeline"),
        pytest.param("cd src & a", {"a": (".",)}, id="background"),
        pytest.param("echo $(cd src; a) && b", {"a": ("src", "."), "b": (".",)}, id="substitution"),
        pytest.param("cd src && echo `a`", {"a": ("src",)}, id="backticks"),
        pytest.param("{ cd src; a; } && b", {"a": ("src", "."), "b": ("src", ".")}, id="group"),
        pytest.param("if cd src; then a; fi; b", {"a": (), "b": ()}, id="condition"),
        pytest.param("if a; then a; fi; b", {"a": (".",), "b": (".",)}, id="condition that stays"),
        pytest.param("while a; do cd src; done; b", {"a": (), "b": ()}, id="loop"),
        pytest.param("for x in y; do a; done; b", {"a": (".",), "b": (".",)}, id="loop that stays"),
        pytest.param("f() { cd src; a; }; b", {"a": (), "b": ()}, id="function"),
        pytest.param("f() { a; }; b", {"a": (), "b": (".",)}, id="function that stays"),
        pytest.param("&&".join(f"cd a{n}||a" for n in range(9)) + "; b", {"a": (), "b": ()}, id="too many"),
    ],
)
def test_folders_are_followed_by_their_letters(source: str, expected: dict[str, tuple[str, ...]]) -> None:
    """Where a command may run is told only for plain moves within the workspace."""
    commands = parse(source, "/ws").commands

    assert {one.form: one.folders for one in commands if one.form in expected} == expected


@each_row(
    ("source", "stdin_from", "substitutes"),
    [
        pytest.param("a | b | c", {"b": "a", "c": "ab"}, {}, id="pipeline"),
        pytest.param("a | { b; c; } | d", {"b": "a", "c": "a", "d": "abc"}, {}, id="group"),
        pytest.param("a | while b; do c; done", {"b": "a", "c": "a"}, {}, id="loop"),
        pytest.param("a $(b) `c`", {}, {"a": "bc"}, id="substitutions"),
        pytest.param("a <(b)", {"a": "b"}, {}, id="process substitution"),
        pytest.param("a > >(b)", {"b": "a"}, {}, id="process substitution that reads"),
        pytest.param("while a; do b; done < <(c)", {"a": "c", "b": "c"}, {}, id="redirected loop"),
        pytest.param("a <<< $(b)", {"a": "b"}, {"a": "b"}, id="here-string"),
        pytest.param("a <<E\n$(b)\nE", {"a": "b"}, {"a": "b"}, id="here-document"),
        pytest.param("a | b `c | d`", {"b": "a", "c": "a", "d": "ac"}, {"b": "cd"}, id="pipeline between backticks"),
    ],
)
def test_it_is_known_what_a_command_may_read(
    source: str, stdin_from: dict[str, str], substitutes: dict[str, str]
) -> None:
    """Each command names those whose output it may read, and those whose output is among its words."""
    commands = parse(source).commands
    names = [command.words[0].form if command.words else "" for command in commands]

    def named(positions: tuple[int, ...]) -> str:
        return "".join(sorted(names[position] for position in positions))

    assert {
        name: named(one.stdin_from) for name, one in zip(names, commands, strict=True) if name and one.stdin_from
    } == stdin_from
    assert {
        name: named(one.substitutes) for name, one in zip(names, commands, strict=True) if one.substitutes
    } == substitutes


def test_it_is_known_where_a_command_stands() -> None:
    """A command knows its place, from the outermost in, and where it begins."""
    commands = parse("f() { for x in y; do ( a & ); b; done; }; c `d` $(e) &").commands

    assert [(one.form, one.within, one.at) for one in commands] == [
        ("a", ("function f", "loop", "subshell", "background"), 23),
        ("b", ("function f", "loop"), 30),
        ("d", ("background", "substitution"), 47),
        ("e", ("background", "substitution"), 50),
        ("c `d` $(e)", ("background",), 42),
    ]


@each_row(
    ("source", "text"),
    [
        pytest.param("a <<E\nx\n\\$y \\z\nE", "x\n$y \\z\n", id="escapes"),
        pytest.param("a <<'E'\n$x\nE", "$x\n", id="quoted delimiter"),
        pytest.param('a <<-"E"\n\tx\n\tE\n', "x\n", id="tabs"),
        pytest.param("a <<-\\E\n\tx\n\tE\n", "x\n", id="escaped delimiter"),
        pytest.param("a <<-E\nx\nE", "x\n", id="expanded without tabs"),
        pytest.param("a <<-E\nx \\z\nE", None, id="expanded with escapes"),
        pytest.param("a <<E\nx$y\nE", None, id="parameter"),
        pytest.param("a <<< x", "x\n", id="here-string"),
        pytest.param("a <<< $x", None, id="unknown here-string"),
        pytest.param("a < x", None, id="file"),
    ],
)
def test_it_is_known_what_is_fed(source: str, text: str | None) -> None:
    """A here-text is one text for certain, or none."""
    assert [one.text for one in parse(source).commands[-1].redirections] == [text]


def test_positions_are_characters() -> None:
    """Characters count, and not their bytes."""
    assert [one.at for one in parse("echo 'é'; ls 'é'").commands] == [0, 10]


def test_a_vector_is_what_it_is() -> None:
    """Nothing in an argument vector is special."""
    assert command_of_argv(("a b", "*", "$x", "é", "")) == Command(
        (
            Word("'a b'", "a b", prefix="a b"),
            Word("'*'", "*", prefix="*"),
            Word("'$x'", "$x", prefix="$x"),
            Word("'é'", "é", prefix="é"),
            Word("''", "", prefix=""),
        )
    )


@pytest.mark.parametrize("words", [(), ("",), ("a", "b\0"), ("a", "\ud800")])
def test_a_vector_that_no_kernel_takes_is_refused(words: tuple[str, ...]) -> None:
    """An argument vector names a program, and holds what an argument can hold."""
    with pytest.raises(NotUnderstood):
        command_of_argv(words)


@each_row("row", row_params(sample_rows("security/shell_allow")))
def test_ordinary_lines_are_understood(row: dict[str, str]) -> None:
    """What people let agents run is understood, and nothing of it is strange."""
    assert marks(parse(row["cmd"])) == set()


@each_row("row", row_params([*sample_rows("security/shell_deny"), *sample_rows("security/deny_catalog")]))
def test_hostile_lines_are_read_or_refused(row: dict[str, str]) -> None:
    """A hostile line gives commands, or is not understood; nothing else comes of it."""
    try:
        script = parse(row["cmd"])
    except NotUnderstood:
        return

    assert script.commands


@each_row(
    ("source", "words", "descriptors"),
    [
        ("echo 0>x", ("echo",), ["0"]),
        ("wc -l 0<x", ("wc", "-l"), ["0"]),
        ("wc 0<&3 2>&1 0>&1", ("wc",), ["0", "2", "0"]),
        ("echo 0 >x", ("echo", "0"), [""]),
        ("echo '0'>x", ("echo", "0"), [""]),
        ("echo a0>x", ("echo", "a0"), [""]),
        ('echo "a"0>x', ("echo", "a0"), [""]),
    ],
)
def test_zero_before_a_redirection_is_a_descriptor(source: str, words: tuple[str, ...], descriptors: list[str]) -> None:
    """As any other digit is, unless it is part of a word; the second reader takes it for a word."""
    (command,) = parse(source).commands

    assert tuple(word.text for word in command.words) == words
    assert [one.descriptor for one in command.redirections] == descriptors


@pytest.mark.parametrize("line", ["'['[ -f a", "\\[[ -f a ]]", '"[[" -f a ]]', "if '['[ ;then ls; fi", "[''[ a"])
def test_a_quoted_bracket_begins_no_test(line: str) -> None:
    """Bash then looks for a program of that name, as `strace` shows."""
    with pytest.raises(NotUnderstood, match="begins no test"):
        parse(line)
