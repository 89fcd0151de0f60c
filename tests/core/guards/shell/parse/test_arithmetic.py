"""Arithmetic counts for certain, or no rule covers the line: bash runs commands by what names in it hold."""

import subprocess
from pathlib import Path

import pytest

from toolcharter.guards.shell.analyse import analyse
from toolcharter.guards.shell.nodes import NotUnderstood
from toolcharter.guards.shell.setters import parse_arithmetic

COUNTING = [
    'x=7; y=3; echo "$((x + y)) $((x * y)) $((x % y)) $(( (x - 1) / 2 ))"',
    "i=0; for f in *.md; do i=$((i+1)); done; echo $i",
    "i=0; while [ $i -lt 5 ]; do echo $i; i=$((i + 1)); done",
    "i=0; while ((i < 5)); do ((i++)); done; echo $i",
    "for ((i=0; i<3; i++)); do echo $i; done",
    "n=10; for ((i=n; i>=0; i-=2)); do echo $((n - i)); done",
    'n=$(wc -l <a.md); echo "$((n * 100 / (n + 1)))%"',
    "n=$(grep -c x a.md); (( n > 3 )) && echo many",
    "n=$(ls | grep -c x); echo $((n / 2))",
    'start=$(date +%s); ls; echo "$(( $(date +%s) - start ))"',
    "((total = 4 * 5)); echo $((total))",
    "n=0; until ls || [ $n -ge 3 ]; do ((n+=1)); done",
    "a=5; if (( a % 2 == 1 )); then echo odd; fi",
    "echo $((RANDOM % 10)) $((SECONDS))",
    "for i in 1 2 3; do echo $((i * 2)); done",
    "for i in $(seq 1 3); do echo $((i * $i)); done",
    "make; rc=$?; echo $((rc + 1))",
    "a=1; b=$((a + 1)); c=$((b + $a)); echo $c",
    "pass=0; if ls; then pass=$((pass+1)); else pass=$((pass-1)); fi; echo $pass",
]
EVALUATING = [
    "echo $((x))",
    "x='a[$(reboot)]'; echo $((x))",
    "x=y; echo $((x))",
    "x=0x1f; echo $((x))",
    "x=$TOKEN; echo $((x))",
    "x=$(cat a); echo $((x))",
    "x=$(grep -c x a b); echo $((x))",
    "x=$(grep -c x *); echo $((x))",
    "x=$(grep -rc x a); echo $((x))",
    'x=$(grep -c "$p" a); echo $((x))',
    "x=$(grep -c -f a b); echo $((x))",
    "x=$(grep x a); echo $((x))",
    "x=$(date); echo $((x))",
    "x=$(date +%s; cat a); echo $((x))",
    "x=$(cat a | date +%s); echo $((x))",
    "x=$(date +%s 2>&1); echo $((x))",
    "x=$(./nproc); echo $((x))",
    "read -r x <<<5; echo $((x))",
    "while read -r x; do echo $((x)); done",
    "while read -r x; do ((n += x)); done",
    "x=1; read -r x; echo $((x))",
    "x=1; echo $((x)); x='a[$(reboot)]'",
    "x=1; for i in 1 2; do echo $((x)); x=$(cat a); done",
    "x=1; x+=y; echo $((x))",
    "x=1; y=$((x)); x=$(cat a); echo $((y))",
    "[ -f a ] && x=1; echo $((x))",
    "[ -f a ] || x=1; echo $((x))",
    "if ls; then x=1; fi; echo $((x))",
    "while ls; do x=1; done; echo $((x))",
    "(x=1); echo $((x))",
    "x=1 | ls; echo $((x))",
    "{ x=1; } | echo $((x))",
    "x=1 & echo $((x))",
    "x=1 ls; echo $((x))",
    "x=1; declare x=y; echo $((x))",
    "x=1; declare -n x=y; echo $((x))",
    "x=1; unset x; echo $((x))",
    "x=1; printf -v x y; echo $((x))",
    "x=1; eval ls; echo $((x))",
    "x=1; trap 'x=y' DEBUG; echo $((x))",
    "x=1; f() { x=y; }; echo $((x))",
    "x=1; for x in a; do echo $((x)); done",
    "x=1; for x in $(cat a); do echo $((x)); done",
    "x=1; mapfile -t x; echo $((x))",
    "x=(1); echo $((x))",
    "x=1; echo $((x[0]))",
    "x=1; echo $((a[x]))",
    "x=1; echo $((x$x))",
    "x=1; echo $((a$x))",
    "x=1; echo $((a$#))",
    "x=1; echo $(($x[0]))",
    "x=1; echo $((16#$x))",
    "x=1; echo $((${x}y))",
    "x=1; echo $((${x:-y}))",
    "x=1; echo $((${!x}))",
    "x=1; echo $(($(cat a)))",
    "x=1; echo $((`cat a`))",
    "echo $((PATH))",
    "echo $((PATH = 1))",
    "((PATH = 1))",
    "((RANDOM = 1))",
    "for ((PATH = 1; PATH < 3; PATH++)); do ls; done",
    "for ((i=0; i<x; i++)); do ls; done",
    "for ((i=0; i<a[0]; i++)); do ls; done",
    "((x++)); echo $((x))",
    "[ -f a ] && ((x = 1)); echo $((x))",
    "((y == 1 && (x = 1))); echo $((x))",
    "a=0; x=$((1 / a))\necho $((x))",
    "a=0; ((x = 1 % a))\necho $((x))",
    "sh -c 'x=1; echo $((x))'",
    "echo `x=1; echo $((x))`",
]


def is_open(line: str) -> bool:
    """Whether rules may cover *line*, and nothing in it has to be mentioned."""
    try:
        found = analyse((line,), "/srv/ws")
    except NotUnderstood:
        return False
    return (
        found.unsupported is None and found.unresolved_program is None and not any(one.needs for one in found.commands)
    )


@pytest.mark.parametrize("line", COUNTING)
def test_numbers_may_be_counted(line: str) -> None:
    """Each name holds a number wherever it is read."""
    assert is_open(line)


@pytest.mark.parametrize("line", EVALUATING)
def test_what_may_hold_more_is_not_evaluated(line: str) -> None:
    """Another value, branch, process or setter; a subscript; a base."""
    assert not is_open(line)


@pytest.mark.parametrize(
    ("line", "form"),
    [
        ("i=0; i=$((i+1)); head -n $i a", "head -n $i a"),
        ("for ((i=1;i<3;i++)); do head -n $i a; done", "head -n $i a"),
        ("i=0; ((i+=2)); cat $i", "cat $i"),
        ("i=0; i=$((i+1)); cat a$i", "cat a$i"),
    ],
)
def test_a_count_may_be_an_operand(line: str, form: str) -> None:
    """It begins with no dash and is no path that leads out."""
    assert next(one for one in analyse((line,), "/srv/ws").commands if one.form == form).needs == ()


@pytest.mark.parametrize(
    "line",
    [
        "i=0; i=$((i-1)); cat $i",
        "i=3; ((i--)); cat $i",
        "i=3; ((i*=1000000000)); cat $i",
        "i=3; i=$((i * i)); cat $i",
        "i=3; i=$((i + i)); cat $i",
        "i=3; i=$((i + 9999999)); cat $i",
        "i=-5; i=$((i + 1)); cat $i",
        "j=-5; i=$((j + 1)); cat $i",
        "for ((i=3;i>=0;i--)); do cat $i; done",
        "i=$((1 - 2)); cat $i",
    ],
)
def test_what_may_be_less_than_nothing_is_no_operand(line: str) -> None:
    """It could be an option."""
    last = analyse((line,), "/srv/ws").commands[-1]

    assert last.form.startswith("cat")
    assert last.needs


@pytest.mark.parametrize(
    "line",
    [
        line
        for line in COUNTING
        if not {"make", "RANDOM", "SECONDS", "date"} & {*line.replace(";", " ").replace("$((", " ").split()}
    ],
)
def test_bash_sees_numbers_there(line: str, tmp_path: Path) -> None:
    """Nothing but digits and signs where each of them is read, though the environment holds something else."""
    (tmp_path / "a.md").write_text("x\ny\n")
    env = {"PATH": "/usr/bin:/bin", **dict.fromkeys("nixyabc", "a[$(touch pwned)]")}

    ran = subprocess.run(["bash", "-c", line], cwd=tmp_path, env=env, check=False, stdin=subprocess.DEVNULL, timeout=60)

    assert ran.returncode in {0, 1}
    assert not (tmp_path / "pwned").exists()


@pytest.mark.parametrize("text", ["a[1]", "1#2", "0x1", "x y$", "a.b", "`a`", "1e3", "'a'", "PATH + 1"])
def test_other_letters_are_not_understood(text: str) -> None:
    """Subscripts, bases and quotes."""
    assert parse_arithmetic(text) is None
