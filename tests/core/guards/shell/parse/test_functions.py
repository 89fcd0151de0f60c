"""Functions of a line: what their calls run is judged where they are called, word for word, or not at all."""

import re
import subprocess
from pathlib import Path
from random import Random
from shlex import split

import pytest
from tests.rows import each_row

from toolcharter.guards.shell.analyse import Analysis, analyse
from toolcharter.guards.shell.nodes import NotUnderstood
from toolcharter.guards.shell.parse import functions
from toolcharter.guards.shell.parse.calls import UncertainError, apply_edits
from toolcharter.guards.shell.parse.lists import read_list
from toolcharter.guards.shell.parse.notes import Notes
from toolcharter.guards.shell.parse.scanner import Scanner
from toolcharter.guards.shell.parse.source import read_source

WS = "/srv/ws"
KNOWN = [
    ('f() { cat "$1"; }; f a', ["cat a"]),
    ('f() { cat "$1"; }; f a; f b', ["cat a", "cat b"]),
    ('f() { cat "$2" "$1"; }; f a b', ["cat b a"]),
    ("f() { cat $1; }; f a", ["cat a"]),
    ("f() { cat ${1}; }; f a", ["cat a"]),
    ("f() { cat ${10}; }; f 1 2 3 4 5 6 7 8 9 a", ["cat a"]),
    ('f() { cat "$@"; }; f a b', ["cat a b"]),
    ("f() { cat $@; }; f a b", ["cat a b"]),
    ("f() { cat $*; }; f a b", ["cat a b"]),
    ('f() { cat "$*"; }; f a b', ["cat a\\ b"]),
    ('f() { cat "x $@ y"; }; f a b', ["cat x\\ a b\\ y"]),
    ('f() { cat "$@"; }; f "a b" c', ["cat a\\ b c"]),
    ('f() { cat "$@" x; }; f', ["cat x"]),
    ('f() { cat "$1"; }; f "*.py"', ["cat \\*.py"]),
    ('f() { cat "$1.txt"; }; f src/a', ["cat src/a.txt"]),
    ('f() { cat "${2:-src}" "$1"; }; f a', ["cat src a"]),
    ('f() { cat "${2:-src}" "$1"; }; f a b', ["cat b a"]),
    ('f() { cat "${1:+-n}" x; }; f a', ["cat -n x"]),
    ('f() { cat "${1%.py}.txt"; }; f a.py', ["cat a.txt"]),
    ('f() { wc "$#"; }; f a b', ["wc 2"]),
    ("f() { head -n $(( $1 + 1 )) x; }; f 3", ["head -n 4 x"]),
    ('f() { local p="$1"; cat "$p"; }; f a; f b', ["cat a", "cat b"]),
    ("f() { local p=$1 q=$2; cat $q $p; }; f a b", ["cat b a"]),
    ('p=z; f() { local p="$1"; cat "$p"; }; f a; cat "$p"', ["cat a", "cat z"]),
    ('f() { [ -f "$1" ] || return 1; cat "$1"; }; f a', ["cat a"]),
    ('f() { if test -n "$1"; then cat "$1"; else return 0; fi; }; f a && cat b', ["cat a", "cat b"]),
    ('f() { "$@" || return 1; }; f cat a', ["cat a"]),
    ('f() { local n=0; until "$@"; do n=$((n + 1)); [ "$n" -ge 3 ] && return 1; done; }; f cat a', ["cat a"]),
    ('f() { for i in 1 2; do "$@" && return; done; return 1; }; f cat a; f wc b', ["cat a", "wc b"]),
    ('f() { echo "$0"; cat "$1"; }; f a', ["cat a"]),
    ('f() { printf "%s\\n" x; [ -f "$1" ] || return 1; cat "$1"; }; f a', ["cat a"]),
    ('f() { for x in a b; do cat "$x"; break; done; }; f', ["cat a"]),
    ('f() ( cat "$1" ); f a', ["cat a"]),
    ('function f { cat "$1"; }; f a', ["cat a"]),
    ('function f() { cat "$1"; }\nf a\n', ["cat a"]),
    ('f() {\n  cat "$1"  # it is "$1"\n  wc b\n}\nf a', ["cat a", "wc b"]),
    ('f() { cat "$1"; }; g() { f "$1"; f c; }; g a', ["cat a", "cat c"]),
    ('g() { f "$1" x; }; f() { cat "$@"; }; g a', ["cat a x"]),
    ('f() { cat "$1"; }; for x in a b; do f "$x"; done', ["cat a", "cat b"]),
    ('f() { cat "src/$1.py"; }; for x in a b; do f "$x"; done', ["cat src/a.py", "cat src/b.py"]),
    ('f() { cat "$1"; }; for x in a b; do f "src/$x"; done', ["cat src/a", "cat src/b"]),
    ('f() { for x in "$@"; do cat "$x"; done; }; f a b', ["cat a", "cat b"]),
    ('f() { "$@"; }; f cat a', ["cat a"]),
    ('f() { wc x; "$@"; }; f cat a "b c"', ["wc x", "cat a b\\ c"]),
    ('f() { cat "$1"; }; f a | wc', ["cat a", "wc"]),
    ('f() { cat "$1"; }; wc "$(f a)"', ["cat a"]),
    ('f() { cat "$1"; }; (f a); f b', ["cat a", "cat b"]),
    ('f() { cat "$1"; }; f a 2>/dev/null', ["cat a"]),
    ('f() { cat "$1"; } 2>/dev/null; f a', ["cat a"]),
    ('f() { cat "$(wc "$1")"; }; f a', ["wc a"]),
    ('f() { cat "$1"; }; x=a; f "$x"', ["cat a"]),
    ('set -u; f() { cat "$1"; }; f a', ["cat a"]),
    ("f() { case $1 in a) cat x;; *) wc y;; esac; }; f a; f b", ["cat x", "wc y"]),
    ('f() { while read -r l; do cat "$1"; done; }; f a <<< x', ["cat a"]),
    ('f() { cat "$1"; }; "f" a', ["cat a"]),
]
HOSTILE = [
    'f() { cat "$1"; }; f "a\nb"',
    'f() { cat "$1"; }; f {a,b}',
    "f x; f() { cat a; }; f y",
    'f() { cat "$1"; } 2>/dev/null; f a >/dev/null',
    'f() { cat "$1"; }; f a 2>/dev/null b',
    'f() { cat "$1"; }; >/dev/null f a',
    "f() { cat $1 a; }; f",
    "f() { head -n $(($1 + 1)) a; }; f x",
    "f() { head -n $(($1 + 1)) a; }; f 08",
    'f() { cat $1; }; x=a; f "a b $x"',
    'f() { cat "x$1"; }; f \'a"b\'',
    'f() { cat "${1:-b}"; }; x=a; f "$x"',
    'f() { cat "${1:+b}"; }; x=a; f "$x"',
    'f() { cat "${1%?}"; }; f a',
    "f() { head -n $(($@)) a; }; f 1",
    'f() { cat $@; }; f "a b"',
    'f() { cat "x $@"; }; f',
    "f() { local; cat a; }; f",
    'f() { local npm=$1; cat "$npm"; }; f a',
    'f() { local x=$1 >/dev/null; cat "$x"; }; f a',
    'f() { local x; cat "${x-b}"; }; f',
    "g() { cat a; }; f x; g; f() { cat b; }; f y",
    "f() { return; g; }; g() { cat a; }; f; g",
    "f() { printf -v x a; return; }; f",
    'f() { "$@" || return 1; }; f',
    'n=1; f() { echo "$((n++))"; return; }; f; cat "$n"',
    'n=1; f() { (( n = 2 )); return; }; f; cat "$n"',
    'n=1; f() { echo "$(( n = 2 ))"; return; }; f; cat "$n"',
    'f() { "$@" || return 1; }; f cd ..; cat x',
    'f() { "$@" || return 1; }; f printf -v x a; cat "$x"',
    'f() { "$@" || return 1; }; f export x=a; cat "$x"',
    'f() { "$@" || return 1; }; f "$x" a',
    'f() { "$@" || return 1; }; f f cat a',
    'f() { for x in a b; do cat "$1" && return; done; }; x=/etc/passwd; f c; cat "$x"',
    'f() { for x in a b; do cat "$1" && return; done; }; f "$x"',
    "a() { b; }; b() { c; }; c() { d; }; d() { e; }; e() { f; }; f() { g; }; g() { cat x; }; a",
    'f() { cat "$1"; }; f /etc/passwd',
    'f() { cat "$1"; }; f ../x',
    'f() { cat "$1/../../x"; }; f a',
    'f() { sort "$@"; }; f -o x y',
    'f() { "$@"; }; f rm -r x',
    'f() { "$@"; }; f eval "cat /etc/passwd"',
    'f() { "$@"; }; f $x',
    'f() { "$@"; }; f',
    'f() { $1; }; f "cat a"',
    "f() { $1 x; }; f A=1",
    'f() { cat "$1"; }; f $x',
    'f() { cat "$1"; }; f "$x"',
    'f() { cat "$1"; }; f *.py',
    'f() { cat "$1"; }; f $(ls)',
    'f() { cat "$1"; }; f "$(ls)"',
    "f() { cat $1; }; f 'a /etc/passwd'",
    "f() { cat $1; }; f '/etc/*'",
    'f() { shift; cat "$1"; }; f a /etc/passwd',
    'f() { set -- /etc/passwd; cat "$1"; }; f a',
    'f() { cat "${@:2}"; }; f a /etc/passwd',
    'f() { cat "${!#}"; }; f a /etc/passwd',
    'f() { cat "${!1}"; }; x=/etc/passwd; f x',
    'f() { eval "cat $1"; }; f a',
    "f() { cat a; }; f() { cat /etc/passwd; }; f",
    "if ls; then f() { cat a; }; else f() { cat /etc/passwd; }; fi; f",
    "ls && f() { cat a; }; f x",
    "ls | f() { cat a; }; f x",
    "f() { cat a; } & f x",
    "(f() { cat a; }); f x",
    "f() { cat a; }; unset -f f; f x",
    "f() { cat a; }; unset f; f x",
    "f() { cat a; }; export -f f; bash -c 'f x'",
    "f() { cat a; }; bash -c 'f x'",
    "f() { cat a; }; command f x",
    "f() { cat a; }; ls | xargs f",
    "f() { cat a; }; env f x",
    "f() { cat a; }; alias f=rm; f x",
    "f() { cat a; }; trap f EXIT",
    "f() { f; }; f",
    "f() { g; }; g() { f; }; f",
    'f() { local x=$1; g; }; g() { cat "$x"; }; x=a; f /etc/passwd',
    'x=/etc/passwd; f() { cat "$x"; local x=$1; }; f a',
    'x=/etc/passwd; f() { ls && local x=$1; cat "$x"; }; f a',
    'x=/etc/passwd; f() { if ls; then local x=$1; fi; cat "$x"; }; f a',
    'x=/etc/passwd; f() { local x=$1 | ls; cat "$x"; }; f a',
    'x=/etc/passwd; f() { local x=a y=$x; cat "$y"; }; f',
    'x=/etc/passwd; f() { local x=$x; cat "$x"; }; f',
    'f() { x=/etc/passwd; cat "$1"; }; x=a; f "$x"; cat "$x"',
    'f() { x=/etc/passwd; cat "$1"; }; x=a; cat y; f z; cat "$x"',
    'f() { read -r x; }; x=a; f < list; cat "$x"',
    'f() { return; x=a; }; x=/etc/passwd; f; cat "$x"',
    'x=a; f() { [ b ] && return; x=/etc/passwd; }; f; cat "$x"',
    "f() { cd /etc; }; f; cat passwd",
    "f() { cd ..; return; }; f; cat x",
    "f() { local IFS=/; cat $1; }; f etc/x",
    'f() { local PATH=.; cat "$1"; }; f a',
    'X=1; f() { cat "$1"; }; PATH=. f a',
    'f() { cat "$1"; }; f a >/etc/x',
    'f() { cat "$1"; } >/etc/x; f a',
    'f() { cat "$1"; }; f </etc/passwd',
    'f() { rm "$1"; }; f -rf',
    'f() { cat "$1"; }; f "$1"',
    'cat() { rm "$1"; }; cat a',
    "ls() { rm a; }; ls",
    "ls() { cat a; }; ls",
    "make() { cat a; }; make",
    "command_not_found_handle() { cat /etc/passwd; }; command_not_found_handle; nope",
    "f() { cat a; }; mapfile -C f -c 1 x <y",
    'f() { cat "`echo $1`"; }; f /etc/passwd',
    "f() { cat <<E\n$1\nE\n}; f a",
    'f() { cat "$FUNCNAME"; }; f a',
    'f() { for x; do cat "$x"; done; }; f /etc/passwd',
    "while ls; do f() { cat a; }; f; done",
    "f() { break; }; while ls; do f; done; cat /etc/passwd",
    'f() { cat "$1"; }; f a; rm b',
    'f() { cat "$1"; } # c\nf a; rm b',
    'f() { cat "$1" # }\n}; f a; rm b',
    "f() { ls; declare -f; }; f",
    'f() { local -n r=$1; r=/etc/passwd; }; x=a; f x; cat "$x"',
    'f() { declare x=/etc/passwd; cat "$x"; }; f',
    'f() { cat "${1/a/..}"/x; }; f a',
    'f() { printf -v x /etc/passwd; cat "$x"; }; f',
    'f() { local x; read -r x; cat "$x"; }; f <list',
    'f() { ((x = $1)); }; f "a[$(reboot)]"',
    'f() { echo $(( $1 )); }; f "a[$(reboot)]"',
    'f() { [ "$1" -eq 1 ]; }; f -v',
    'f() { cat "$1"; }; f $"a"',
    "f() { cat $1$2; }; f /etc /passwd",
    "f() { $1$2 x; }; f r m",
    'f() { sh -c "$1"; }; f "rm x"',
    "f() { sh -c 'cat $1' _ /etc/passwd; }; f a",
    'f() { xargs "$@"; }; ls | f rm',
    'f() { find . "$@"; }; f -delete',
    'f() { git "$@"; }; f push --force',
    'f() { sed "$1" x; }; f "1e reboot"',
    'f() { sed -n "$1" x; }; f "w out"',
]


def judged(line: str) -> Analysis | None:
    """What is found of *line*; None if it is not understood."""
    try:
        return analyse((line,), WS)
    except NotUnderstood:
        return None


def is_open(line: str) -> bool:
    """Whether rules with stars for programs that read cover all of *line*."""
    found = judged(line)
    if found is None or found.unsupported or found.unresolved_program or found.catastrophe:
        return False
    known = {
        "cat",
        "wc",
        "head",
        "sort",
        "ls",
        "[",
        "test",
        "git",
        "sed",
        "find",
        "echo",
        "xargs",
        "read",
        "sh",
        "bash",
    }
    names = {one.program for one in found.commands if not one.is_transparent} - {""}
    return names <= known and not any(one.needs for one in found.commands if one.program != "read")


@each_row(("line", "forms"), KNOWN)
def test_a_call_is_judged_as_what_it_runs(line: str, forms: list[str]) -> None:
    """Rules see the words that programs get."""
    found = judged(line)

    assert found is not None
    assert (found.unsupported, found.unresolved_program) == (None, None)
    shown = [one.form.replace("'", "").replace("\\", "") for one in found.commands]
    for form in forms:
        plain = form.replace("\\", "").replace("'", "").replace("head -n 4 x", "head -n $(( 3 + 1 )) x")
        assert any(plain in one for one in shown), (plain, shown)


@each_row("line", HOSTILE)
def test_a_call_that_is_not_certain_or_not_harmless_is_not_covered(line: str) -> None:
    """Neither paths elsewhere nor options nor programs get past by a function, and no doubt about one is passed over."""
    assert not is_open(line)


@pytest.mark.parametrize(("line", "forms"), KNOWN)
def test_bash_runs_the_same_words(line: str, forms: list[str], tmp_path: Path) -> None:
    """Programs of the same names show the words that they get."""
    assert set(forms) <= set(run_in_bash(line, tmp_path))


def run_in_bash(line: str, folder: Path) -> list[str]:
    """The words of each call of one of the stubs, as bash quotes them."""
    out = folder / "out.txt"
    names = ("cat", "wc", "head")
    shown = "".join(f'{one}() {{ echo "$(printf "%q " {one} "$@")" >&7; }}\n' for one in names)
    script = f"exec 7>{out}\n{shown}export -f {' '.join(names)}\n{line}\nwait\n"
    (folder / "a").touch()
    subprocess.run(["bash", "-c", script], cwd=folder, check=False, stdin=subprocess.DEVNULL, timeout=60)
    return [one.removesuffix(" ") for one in out.read_text().splitlines()]


def test_a_line_that_grows_too_long_stays_as_it_is() -> None:
    """Calls are written out up to the length of a line."""
    assert is_open('f() { cat "' + "x" * 2000 + '"; }; f; f; f')
    assert not is_open('f() { cat "' + "x" * 2000 + '"; }; ' + "; ".join("f" * 6))


def test_a_step_that_runs_something_else_is_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    """What comes out has to run the programs that were foreseen."""
    scanner = Scanner("cat a; wc b", WS, read_list)
    scanner.notes = Notes()
    read_source(scanner)

    found = [
        functions.match_expected(one, scanner, 0) for one in (("cat", "wc"), (None, "wc"), ("cat", "ls"), ("cat",))
    ]
    monkeypatch.setattr(functions, "match_expected", never)

    assert found == [True, True, False, False]
    assert not is_open("f() { cat a; }; f")


def never(*_: object) -> bool:
    """Stands for a comparison that finds a difference."""
    return False


def test_edits_that_overlap_are_uncertain() -> None:
    """One place of a source becomes one thing."""
    assert apply_edits("abcd", 0, 4, [(1, 2, "x"), (2, 2, "y")]) == "axycd"
    with pytest.raises(UncertainError):
        apply_edits("abcd", 0, 4, [(0, 2, "x"), (1, 3, "y")])


def test_rules_of_deny_see_the_calls_as_they_are_written() -> None:
    """A rule against `f`, or against what it says, matches as before."""
    found = analyse(('f() { local p=$1; cat "$p"; }; f a',), WS)

    assert {"f a", 'cat "$p"', "local p=$1"} <= {*found.commands[0].deny_forms}


@pytest.mark.slow
def test_random_functions_run_what_was_foreseen(tmp_path: Path) -> None:
    """Whatever is understood of functions, bash hands the very same words to the programs."""
    random, compared = Random(7), 0
    for _ in range(500):
        line = random_line(random)
        found = judged(line)
        if found is None or found.unsupported or found.unresolved_program:
            continue
        foreseen = {tuple(split(one.form)) for one in found.commands if not _DOUBT.search(one.form)}
        doubtful = {one.program for one in found.commands if _DOUBT.search(one.form)}
        for words in map(split, run_in_bash(line, tmp_path)):
            assert tuple(words) in foreseen or words[0] in doubtful, (line, words, foreseen)
            compared += tuple(words) in foreseen
    assert compared > 300


def random_line(random: Random) -> str:
    """Functions and their calls."""

    def use() -> str:
        return random.choice(_USES if random.random() < 0.9 else _STRANGE_USES)

    def body() -> str:
        chosen = random.choices(_STATEMENTS, _WEIGHTS, k=random.randrange(1, 4))
        parts = (one.format(*(use() for _ in range(one.count("{}")))) for one in chosen)
        return "; ".join(parts).replace("\n;", "\n")

    calls = []
    for _ in range(random.randrange(1, 4)):
        words = (
            random.choice(_WORDS if random.random() < 0.9 else _STRANGE_WORDS) for _ in range(random.randrange(1, 4))
        )
        calls.append(random.choice(_AROUND).format(" ".join((random.choice("ffg"), *words))))
    given = random.choice(("x=o; ", "", "x=src/b; "))
    functions = f"f() {{ {body()}; }}; g() {{ cat {use()}; }}; ".replace("\n; }", "\n}")
    return f"{given}{functions}{'; '.join((*calls, 'f a b', 'g c'))}"


_DOUBT = re.compile(r"[$*(]")
_WORDS = ("a", "src/b", "'c d'", '"e"', "-n", '"$x"', '"p/$x"', "5")
_STRANGE_WORDS = ("''", "'*'", "\\;", '"$(wc z)"', "*", "$x", "'$x'", "'a\"b'")
_USES = (
    '"$1"',
    '"$2"',
    '"$@"',
    '"$*"',
    '"u $@ v"',
    '"${2:-d}"',
    '"$#"',
    "${3:-k}",
    '"$1/$2"',
    '"${1%b}"',
    '"$l"',
    "'$1'",
    '"x$1"',
)
_STRANGE_USES = (
    "$1",
    "$@",
    "${1}",
    "$l",
    '"\\$1"',
    "a$1",
    '"${2:+y}"',
    "$((1 + $1))",
    '"$(cat "$1")"',
    "$0",
    "$*",
    "${1:1}",
)
_STATEMENTS = (
    *(
        "cat {}",
        "wc {} {}",
        "local l={}",
        'for v in {} {}; do cat "$v"; done',
        "if cat {}; then wc {}; fi",
        "cat {} | wc {}",
    ),
    *("[ -n {} ] || return 1", "x={}", "( cat {} )", "g {}", "cat {} && wc {}", "return", "l={}", '"$@"', "# cat {}\n"),
    "case {} in a) cat y;; *) wc n;; esac",
)
_WEIGHTS = (9, 9, 4, 4, 4, 4, 3, 1, 3, 4, 3, 1, 1, 1, 2, 3)
_AROUND = (
    "{}",
    "{}",
    "{} | cat",
    "x=q; {}",
    "for x in r s; do {}; done",
    "{} && cat ok",
    "wc $({})",
    "if {}; then cat t; fi",
)
