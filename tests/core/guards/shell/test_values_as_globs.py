"""Loops over what variables and commands hold: bash looks for the names that a glob in it stands for, wherever they lie."""

from tests.rows import each_row

from toolcharter.guards.shell.analyse import Analysis, analyse

WS = "/home/dev/ws"
ELSEWHERE = [
    "x='/etc/*'; for f in $x; do echo hi; done",
    "x='/etc/*'; for f in ${x}; do echo hi; done",
    "x='/../../etc/*'; for f in src$x; do echo hi; done",
    "x=$(cat f); for f in $x; do echo hi; done",
    "for f in $(cat f); do echo hi; done",
    "for f in $(cat f) a; do echo hi; done",
    'for f in a $(cat f); do echo "$f"; done',
    "read -r x <<< '/etc/*'; for f in $x; do echo hi; done",
    "read -r x <<< '../../etc'; for f in src/$x/*.py; do echo hi; done",
    "x=a; x=../../etc; for f in src/$x/*; do echo hi; done",
    "for d in ../../etc; do for f in src/$d/*; do echo hi; done; done",
    'for d in ../../etc; do for f in "src/$d"/*; do echo hi; done; done',
    "x='/etc/*'; for f in ${x%.txt}; do echo hi; done",
    "x='/etc/*'; for f in ${x:0:6}; do echo hi; done",
    "for g in '/etc/*'; do for f in $g; do echo hi; done; done",
    "x='/etc/*'; y=$x; for f in $y; do echo hi; done",
    "x=/etc; y='*'; for f in $x/$y; do echo hi; done",
    "printf -v x '/etc/*'; for f in $x; do echo hi; done",
    "x='/etc/'; x+='*'; for f in $x; do echo hi; done",
    'x=\'/etc/*\'; for f in "a"$x"b"; do echo hi; done',
    "x='/etc/*'; for f in \"a\"$x; do echo hi; done",
    "x='/etc/*'; for f in \"a$x\" $x; do echo hi; done",
    "for f in `cat f`; do echo hi; done",
    "x='/etc/*'; for f in ${x^^}; do echo hi; done",
    "x='/etc/*'; for f in ${x//a/b}; do echo hi; done",
    "mapfile -t a < <(cat f); for f in ${a[@]}; do echo hi; done",
    "mapfile -t a < <(cat f); for f in ${a[*]}; do echo hi; done",
    'mapfile -t a < <(cat f); for f in "${a[@]}"$x; do echo hi; done',
    "x='src/* /etc/*'; for f in $x; do echo hi; done",
    "x='src/*/../../*'; for f in $x; do echo hi; done",
    "x='~/*'; for f in $x; do echo hi; done",
    "IFS=:; x='a:/etc/*'; for f in $x; do echo hi; done",
    "x='[/]etc/*'; for f in $x; do echo hi; done",
    "x='.*/*'; for f in $x; do echo hi; done",
    "x='*/.*/*'; for f in $x; do echo hi; done",
    "x='{/etc/*,a}'; for f in $x; do echo hi; done",
    "x='src/* a'; read -r x <<< '/etc/*'; for f in $x; do echo hi; done",
    "x='src/* a'; x='/etc/*'; for f in $x; do echo hi; done",
    "x='a b'; for i in 1 2; do for f in $x; do echo \"$f\"; done; x='/etc/*'; done",
]
HERE = [
    "x='/etc/*'; for f in \"$x\"; do echo hi; done",
    "x='/etc/*'; for f in \"a $x\"; do echo hi; done",
    'mapfile -t a < <(cat f); for f in "${a[@]}"; do echo "$f"; done',
    'for c in $(docker ps -q); do echo "$c"; done',
    "for c in $(docker ps -q) web; do echo hi; done",
    'x=src; for f in $x/*.py; do wc -l "$f"; done',
    'for i in $(seq 3); do echo "$i"; done',
    'for i in $((1+2)); do echo "$i"; done',
    'f() { for i in "$@"; do echo "$i"; done; }; f a b',
    "x='a b'; for f in $x; do echo \"$f\"; done",
    "x='src/*.py docs'; for f in $x; do echo \"$f\"; done",
    'x="a.py b.py"; for f in $x; do wc -l "$f"; done',
]


def asks_for_nothing(found: Analysis) -> bool:
    """Whether rules for the programs cover all of it."""
    known = not (found.catastrophe or found.unresolved_program or found.unsupported)
    return known and not any(one.needs for one in found.commands)


@each_row("line", ELSEWHERE)
def test_a_loop_over_a_glob_that_is_not_written_there_is_refused(line: str) -> None:
    """No command of it shows where bash has looked, so that no rule covers it."""
    assert not asks_for_nothing(analyse([line], WS))


@each_row("line", HERE)
def test_a_loop_over_words_that_the_line_tells_is_covered(line: str) -> None:
    """Words in quotes, names without signs of a glob, and globs that lead nowhere else."""
    assert asks_for_nothing(analyse([line], WS))


def test_the_words_of_a_value_are_judged_one_by_one() -> None:
    """As bash parts them; what they stand for is looked at on disk."""
    found = analyse(["x='a.py src/*.py'; for f in $x; do echo \"$f\"; done"], WS)

    assert [one.path for one in found.reaches] == ["./src"]
