"""What an array holds is known where the line has set it for certain, and nowhere else."""

import subprocess
from pathlib import Path

import pytest
from tests.rows import each_row

from toolcharter.guards.shell.analyse import analyse
from toolcharter.guards.shell.nodes import NotUnderstood

KNOWN = [
    ('a=(x y z); cat "${a[@]}"', "cat x y z"),
    ("a=(x y z); cat ${a[@]}", "cat x y z"),
    ('a=(x "y z"); cat "${a[@]}"', "cat x y\\ z"),
    ('a=(x y z); cat "${a[*]}"', "cat x\\ y\\ z"),
    ('a=(a.txt src/a); cat "${a[1]}"', "cat src/a"),
    ('a=(x y); cat "src/${a[0]}.txt"', "cat src/x.txt"),
    ("a=(x y); cat ${a[1]}", "cat y"),
    ('a=(x y); cat "${!a[@]}"', "cat 0 1"),
    ('a=(x y); a+=(z); cat "${a[@]}"', "cat x y z"),
    ('a=(); a+=(z); cat "${a[@]}"', "cat z"),
    ('a=(x\ny\nz)\ncat "${a[@]}"', "cat x y z"),
    ('a=({x,y}.txt); cat "${a[@]}"', "cat x.txt y.txt"),
    ('a=(x y); for f in "${a[@]}"; do cat "src/$f"; done', "cat src/y"),
    ('a=(x); b=(y); cat "${a[@]}" "${b[@]}"', "cat x y"),
    ('a=(x y); cat "${a[@]}" | wc', "cat x y"),
    ('a=(x y) && cat "${a[@]}"', "cat x y"),
    ('{ a=(x y); cat "${a[@]}"; }', "cat x y"),
    ('a=(x y); a+=(z) & cat w; cat "${a[0]}"', "cat w"),
    ('a=(x y); (cat "${a[@]}")', "cat x y"),
    ('a=(x y); echo "${#a[@]} of a set"; cat "${a[@]}"', "cat x y"),
    ("a=(x y); echo 'not a b'; cat \"${a[@]}\"", "cat x y"),
]
UNKNOWN = [
    'a=(x); printf "-v" a /etc/passwd; cat "${a[@]}"',
    'a=(x); printf "-v" "a[0 ]" /etc/passwd; cat "${a[@]}"',
    'a=(x); ls "b" a "c d"; cat "${a[@]}"',
    'a=(x); ls "a = /etc/passwd"; cat "${a[@]}"',
    'a=(x); ls "$(ls) a b"; cat "${a[@]}"',
    "a=(x); ls \\' a b \\'; cat \"${a[@]}\"",
    'a=(x); ls "b # a c"; cat "${a[@]}" # " a',
    'cat "${a[@]}"',
    'cat "${a[0]}"',
    'cat "${a[@]}"; a=(x)',
    'a=(x "$y"); cat "${a[@]}"',
    'a=($(ls)); cat "${a[@]}"',
    'a=(~/x); cat "${a[@]}"',
    'a=(x); a=(/etc/passwd); cat "${a[@]}"',
    'a+=(x); cat "${a[@]}"',
    'a=(x); a=/etc/passwd; cat "${a[@]}"',
    'a=(x); a+=/etc/passwd; cat "${a[@]}"',
    'a=(x); for a in /etc/passwd; do :; done; cat "${a[@]}"',
    'a=(x); while ls; do cat "${a[@]}"; a+=(/etc/passwd); done',
    'a=(x); for f in 1 2; do cat "${a[@]}"; a+=(/etc/passwd); done',
    'ls && a=(x); cat "${a[@]}"',
    'ls || a=(x); cat "${a[@]}"',
    'if ls; then a=(x); fi; cat "${a[@]}"',
    'a=(x) & cat "${a[@]}"',
    'a=(x y); a+=(z) & cat "${a[@]}"',
    'a=(x y); { a+=(z); } | ls; cat "${a[@]}"',
    '(a=(x)); cat "${a[@]}"',
    'ls $(a=(x)); cat "${a[@]}"',
    'ls `a=(x)`; cat "${a[@]}"',
    'a=(x) | ls; cat "${a[@]}"',
    'a=(x) ls; cat "${a[@]}"',
    'a=(x); read -a a; cat "${a[@]}"',
    'a=(x); mapfile -t a < b; cat "${a[@]}"',
    'v=a; a=(x); read -r "$v"; cat "${a[@]}"',
    'a=(x); printf -v a %s /etc/passwd; cat "${a[@]}"',
    'a=(x); unset a; cat "${a[@]}"',
    'a=(x); declare -n r=a; r=/etc/passwd; cat "${a[@]}"',
    'a=(x); : "${a:=y}"; cat "${a[@]}"',
    'a=(x); : "${a[0]:=y}"; cat "${a[@]}"',
    'a=(x); ((a=1)); cat "${a[@]}"',
    'a=(x); eval "a=(/etc)"; cat "${a[@]}"',
    'a=(x); . ./b; cat "${a[@]}"',
    'a=(x); f() { a=(/etc); }; f; cat "${a[@]}"',
    "a=(x); trap 'a=(/etc)' DEBUG; cat \"${a[@]}\"",
    "IFS=.; a=(x.y); cat ${a[@]}",
    'a=("x y"); cat ${a[@]}',
    "a=('*'); cat ${a[@]}",
    'a=(x); cat "${a[1]}"',
    'a=(x); cat "${a[-1]}"',
    'a=(x); b=0; cat "${a[b]}"',
    'a=(x); cat "${a[0+0]}"',
    'a=(x); cat "y${a[@]}"',
    'a=(x); cat "${a[@]:1}"',
    'a=(x); cat "${a[@]%x}"',
    'a=(x); cat "${!a}"',
    'a=(x); cat "$a"',
    'PATH=(x); cat "${PATH[@]}"',
]
REFUSED = [
    'a=(/etc/passwd); cat "${a[@]}"',
    'a=(../../x); cat "${a[@]}"',
    'a=(x); a[0]=/etc/passwd; cat "${a[@]}"',
    'a=(x); a+=(/etc/passwd); cat "${a[@]}"',
    'a=(x /etc/passwd); for f in "${a[@]}"; do cat "$f"; done',
    'a=(/etc passwd); cat "${a[0]}/passwd"',
    'b=(-o); cat x; sort "${b[@]}" out x',
    "a=(PATH); PATH=(x y); cat x",
    "m['$(reboot)']=1; cat x",
    "m[$(ls)]=1; cat x",
    "m[a]=1; cat x",
    "a=([0]=x); cat x",
    'cat "${#a[b]}"',
    'cat "${#a[$(ls)]}"',
    'cat "${!a[b]}"',
]
SHOWN = [
    'a=(x y); echo "${#a[@]}"',
    'mapfile -t a < b.txt; echo "${#a[@]}"',
    'a=(x y); echo "${#a[0]}"',
]


def judged(line: str) -> list[tuple[str, bool]]:
    """The forms of all commands of *line*, and whether each needs nothing named, in a line that a rule may cover."""
    try:
        found = analyse((line,), "/srv/ws")
    except NotUnderstood:
        return []
    is_open = found.unsupported is None and found.unresolved_program is None and found.catastrophe is None
    return [(one.form, is_open and not one.needs) for one in found.commands]


@each_row(("line", "form"), KNOWN)
def test_what_an_array_holds_is_known(line: str, form: str) -> None:
    """Rules see the words that the program gets."""
    assert (form.replace("x\\ y\\ z", "'x y z'").replace("y\\ z", "'y z'")) in [one for one, _ in judged(line)]


@pytest.mark.parametrize(("line", "form"), KNOWN)
def test_bash_hands_over_the_same_words(line: str, form: str, tmp_path: Path) -> None:
    """Programs of the same names show the words that they get."""
    out = tmp_path / "out.txt"
    shown = "".join(f'{name}() {{ echo "$(printf "%q " {name} "$@")" >&7; }}\n' for name in ("cat", "wc"))
    script = f"exec 7>{out}\n{shown}{line}\nwait\n"
    subprocess.run(["bash", "-c", script], cwd=tmp_path, check=False, stdin=subprocess.DEVNULL, timeout=10)

    assert form in [one.strip() for one in out.read_text().splitlines()]


@each_row("line", UNKNOWN)
def test_what_is_not_certain_stays_unknown(line: str) -> None:
    """Another process, branch, order, setter, subscript or split: no `cat` of the array is covered."""
    cats = [is_covered for form, is_covered in judged(line) if form.startswith("cat")]

    assert (cats != [], any(cats)) == (True, False)


@each_row("line", REFUSED)
def test_words_of_an_array_are_judged_as_words(line: str) -> None:
    """Neither a path elsewhere nor an option gets past by a detour, and no subscript is evaluated."""
    assert not judged(line) or not all(is_covered for _, is_covered in judged(line))


@pytest.mark.parametrize("line", SHOWN)
def test_how_many_there_are_may_be_shown(line: str) -> None:
    """It is a number, whoever has set the array."""
    echoes = [is_covered for form, is_covered in judged(line) if form.startswith("echo")]

    assert (echoes != [], all(echoes)) == (True, True)


@pytest.mark.parametrize("line", ['a=(ls); "${a[@]}"', "a=(ls); ${a[0]} x", 'a=(ls x); "${a[@]}" y'])
def test_an_array_names_no_program(line: str) -> None:
    """Which program runs has to be written where it runs."""
    assert analyse((line,), "/srv/ws").unresolved_program is not None


def test_a_setter_in_disguise_makes_the_array_unknown() -> None:
    """The line is not understood, in every mode: `r"ead"` is `read`."""
    with pytest.raises(NotUnderstood, match="write its words out"):
        analyse(('a=(x); r"ead" b c < x; com"mand" x; cat "${a[@]}"',), "/srv/ws")
