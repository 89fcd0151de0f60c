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
    ('a=(x y); cat "${a[-1]}"', "cat y"),
    ('a=(x y z); cat "${a[@]:1}"', "cat y z"),
    ('a=(x y z); cat "${a[@]:1:1}"', "cat y"),
    ('a=(x y); a[1]=z; cat "${a[@]}"', "cat x z"),
    ('a=([1]=y [0]=x z); cat "${a[@]}"', "cat x z"),
    ('a=(x y); i=1; cat "${a[$i]}"', "cat y"),
    ('a=(x y); a=(z "${a[@]}"); cat "${a[@]}"', "cat z x y"),
    ('declare -a a=(x y); cat "${a[@]}"', "cat x y"),
    ('a=(x y); for i in "${!a[@]}"; do cat "${a[$i]}.txt"; done', "cat y.txt"),
    ('declare -A m; m[k]=v; cat "${m[k]}"', "cat v"),
    ('declare -A m=([k]=v [l]=w); cat "${m[l]}"', "cat w"),
    ('typeset -A m=(\n  ["k"]=v\n  [l]="w"\n)\ncat "${m["k"]}"', "cat v"),
    ('declare -A m; m=([k]=v); m[k]+=w; cat "${m[k]}"', "cat vw"),
    ('declare -A m=([k]=v); m+=([l]=w); cat "${m[l]:-x}"', "cat w"),
    ('declare -A m=([k]=v); cat "${!m[@]}" "${m[@]}"', "cat k v"),
    ('declare -A m=([k]=v [l]=w); for k in "${!m[@]}"; do cat "$k/${m[$k]}"; done', "cat l/w"),
    ('declare -A m=([k]=v); x=k; cat "${m[$x]}"', "cat v"),
    ('f() { local -A m=([k]=v); cat "${m[k]}"; }; f', "cat v"),
    ('f() { local -A m; m[$1]=v; cat "${m[$1]}" "$1"; }; f k', "cat v k"),
    ('f() { local -a a=("$@"); cat "${a[1]}"; }; f x y', "cat y"),
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
    'a=(x); b=0; cat "${a[b]}"',
    'a=(x); cat "${a[0+0]}"',
    'a=(x); cat "y${a[@]}"',
    'a=(x); cat "${a[@]: -1}"',
    'a=(x y); a[-1]=z; cat "${a[@]}"',
    "a=(x y); unset 'a[0]'; cat \"${a[@]}\"",
    'declare -A m=([k]=x); for i in 1 2; do cat "${m[k]}"; m[k]=/etc/passwd; done',
    'declare -A m=([k]=x); ls && m[k]=y; cat "${m[k]}"',
    'declare -A m=([k]=x); (m[k]=y); cat "${m[k]}"',
    "declare -A m=([k]=x); unset 'm[k]'; cat \"${m[k]}\"",
    'declare -A m=([a]=x [b]=y); cat "${m[@]}"',
    'declare -A m=([a]=x [b]=y); for f in $(cat "${m[@]}"); do echo; done',
    'declare -A m=([k]=x); cat "${m[l]}"',
    'declare -A m=(k x); cat "${m[k]}"',
    'declare -A m=([k]=x) > /nowhere/x; cat "${m[k]}"',
    'read -ra a <<< "$(ls)"; cat "${a[0]}"',
    'read -ra a <<< "$(ls)"; cat "${a[@]}"',
    'read -ra a <<< "$(ls)"; cat ${a[*]}',
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
    # Bash looks for the names itself, and the number of them tells what lies there.
    'a=(/*); echo "${#a[@]}"',
    'a=(/*) a+=();echo "${#a[@]}"',
    'a=(x); a+=(../*); echo "${#a[@]}"',
    'declare -a a=(/etc/*); echo "${#a[@]}"',
    'x="/etc/*"; a=($x); echo "${#a[@]}"',
    'a=($(cat x)); echo "${#a[@]}"',
    'cd ..; a=(*); echo "${#a[@]}"',
    "m['$(reboot)']=1; cat x",
    "m[$(ls)]=1; cat x",
    "m[a]=1; cat x",
    'a=(x y); a[08]=z; cat "${a[@]}"',
    'declare -A m=([k]=/etc/passwd); cat "${m[k]}"',
    'declare -A m=([k]=x); m[k]=/etc/passwd; cat "${m[k]}"',
    'declare -A m=([k]=x); m+=([k]=/etc/passwd); cat "${m[k]}"',
    'declare -A m=([k]=/etc/); m[k]+=passwd; cat "${m[k]}"',
    'declare -A m=([k]=/etc/passwd); for x in "${!m[@]}"; do cat "${m[$x]}"; done',
    'declare -A m=([k]=/etc/passwd); x=k; cat "${m[$x]}"',
    'declare -A m=([k]=x); declare -n r=m; r[k]=/etc/passwd; cat "${m[k]}"',
    "declare -A m; eval 'm[k]=/etc/passwd'; cat \"${m[k]}\"",
    'declare -A m=([k]=sh); "${m[k]}" x',
    'declare -A m=([k]="x -delete"); find . ${m[k]}',
    'f() { local -A m=([k]="$1"); cat "${m[k]}"; }; f /etc/passwd',
    'declare -A m; m[k]=$HOME_TOKEN; echo "${m[k]}"',
    'declare -A m; m[k]=$token; echo "${m[@]}"',
    'declare -A m; m[$token]=x; for k in "${!m[@]}"; do echo "$k"; done',
    'a=(-v "x[0]"); [ "${a[@]}" = x ]',
    'read -ra a <<< "$(ls)"; [ "${a[@]}" ]',
    'read -ra a <<< "$(ls)"; printf "${a[@]}"',
    'read -ra a <<< "$(ls)"; git commit -m "${a[*]}"',
    'cat "${#a[b]}"',
    'cat "${#a[$(ls)]}"',
    'cat "${!a[b]}"',
]
EVALUATED = [
    # Bash takes these subscripts for arithmetic, or expands them again.
    "local -A m; m[$x]=1",
    "m[$x]=1; declare -A m",
    "declare -A m < nowhere; m[$x]=1",
    "declare -A m < nowhere || m[$x]=1",
    "declare -A m | cat; m[$x]=1",
    "(declare -A m); m[$x]=1",
    "if ls; then declare -A m; fi; m[$x]=1",
    "declare -A m & m[$x]=1",
    "declare -A m; unset m; m[$x]=1",
    "declare -A m; declare -a m; m[$x]=1",
    "declare -a m; declare -A m; m[$x]=1",
    "m=(y); declare -A m; m[$x]=1",
    "m[0]=y; declare -A m; m[$x]=1",
    "mapfile -t m < f; declare -A m; m[$x]=1",
    "for i in 1 2; do if ls; then declare -A m; m[$x]=1; fi; m=(y); done",
    "for i in 1 2; do if ls; then declare -A m; m[$x]=1; fi; m[0]=y; done",
    "for i in 1 2; do if ls; then declare -A m; m[$x]=1; fi; f() { m=(y); }; f; done",
    "f() { m[$x]=1; }; f; declare -A m",
    "h() { declare -A m; g() { m[$x]=1; }; }; h; g",
    "h() { declare -A m; }; h; m[$x]=1",
    "h() { local -A m; g; }; g() { m[$x]=1; }; h",
    "declare -A m; h() { local -a m; g; }; g() { m[$x]=1; }; h",
    "declare -A m; ((m[$x]++))",
    "declare -A m; echo $((m[$x]))",
    "declare -A m; [[ -v m[$x] ]]",
    'declare -A m; unset "m[$x]"',
    "declare -A m; unset 'm[$x]'",
    'declare -A m; [ -v "m[$x]" ]',
    'declare -A m; test -v "m[$x]"',
    'declare -A m; printf -v "m[$x]" 1',
    'declare -A m; read -r "m[$x]" < f',
    'a=(1 2); echo "${a[$x]}"',
    'a=(1 2); echo "${a[x]}"',
    'a=(1 2); echo "${#a[x]}"',
    'a=(1 2); echo "${a[@]:x}"',
    "a=(1 2); a[$x]=1",
    "a=(1 2); a[x]=1",
    "a=([x]=1)",
    "a=([$x]=1)",
    "declare -a a=([x]=1)",
    "declare a=([x]=1)",
    "unset 'a[x]'",
    "[[ -v a[x] ]]",
    "a=(1); [[ -v a[x] ]]",
    'a=(1 2); for i in 0 1; do read -r i < f; echo "${a[$i]}"; done',
    "declare -n r=m; declare -A m; r[$x]=1",
    "declare -A m; mapfile -t m < f; m[$x]=1",
    "declare -A m; declare -n m; m[$x]=1",
    "command declare -A m; m[$x]=1",
    "declare -A m n; n[$x]=1",
    "for m in a b; do m[$x]=1; done",
    "[[ $x -gt 0 ]]",
    "[[ x -gt 0 ]]",
    "n=$(cat f); [[ $n -gt 0 ]]",
    'n=0; read -r n < f; [[ "$n" -eq 1 ]]',
    "declare -A m=([k]=$x); [[ ${m[k]} -gt 0 ]]",
    "declare -A m; m[k]=$x; echo $(( ${m[k]} + 1 ))",
    "declare -A m; m[k]=1; m[$x]=$x; echo $(( ${m[k]:-0} + 1 ))",
]
"""Behind `read -r x < f`, of which nobody knows what it reads."""
OPEN = [
    'declare -A m; while read -r w; do m[$w]=1; done < f; echo "${#m[@]}"',
    'declare -A m; while read -r w; do m[$w]=$(( ${m[$w]:-0} + 1 )); done < f; for k in "${!m[@]}"; do echo "$k: ${m[$k]}"; done',
    'declare -A m; while read -r w; do [[ -n "${m[$w]}" ]] && echo "twice: $w"; m[$w]=1; done < f',
    'a=(); while read -r w; do a+=("$w"); done < f; printf "%s\\n" "${a[@]}"; echo "${a[0]} ${a[*]}"',
    'read -ra a <<< "$(cat f)"; for w in "${a[@]}"; do echo "$w"; done; echo "${#a[@]}"',
    'read -r x <<< "$(cat f)"; declare -A m=([$x]=1); m[$x]+=2; echo "${m[$x]}" "${m[$x]:-0}" "${m[$x]:+y}"',
    'read -r x <<< "$(cat f)"; declare -A m=([k]="$x"); for k in "${!m[@]}"; do echo "$k ${m[$k]}"; done',
    'f() { local -A m; m[$1]=x; echo "${m[$1]}"; }; f a; f b',
    'a=(1 2 3); s=0; for i in "${!a[@]}"; do s=$((s + ${a[$i]})); done; [[ $s -gt 3 ]] && echo "$s"',
    'a=(1 2 3); for ((i = 0; i < ${#a[@]}; i++)); do echo "${a[i]} ${a[$i]}"; done',
    'n=$(cat f | wc -l); if [[ $n -gt 0 && ! "$n" -eq 2 ]]; then echo "$n"; fi; [[ -t 1 ]] || [[ $? -ne 0 ]] && echo no',
    "declare -A m=([a]=1); [[ -v m[a] ]] && echo yes; [[ -v x ]] || echo no; unset 'm[a]'; echo \"${#m[@]}\"",
]
"""Everyday lines over what stands in a file."""
SHOWN = [
    'a=(x y); echo "${#a[@]}"',
    'mapfile -t a < b.txt; echo "${#a[@]}"',
    'a=(x y); echo "${#a[0]}"',
    'a=(src/*.py); a+=(*.md); echo "${#a[@]}"',
    'declare -A m=([k]=/*); echo "${#m[@]}"',
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


@each_row(("line", "form"), KNOWN)
def test_bash_hands_over_the_same_words(line: str, form: str, tmp_path: Path) -> None:
    """Programs of the same names show the words that they get."""
    out = tmp_path / "out.txt"
    shown = "".join(f'{name}() {{ echo "$(printf "%q " {name} "$@")" >&7; }}\n' for name in ("cat", "wc"))
    script = f"exec 7>{out}\n{shown}{line}\nwait\n"
    subprocess.run(["bash", "-c", script], cwd=tmp_path, check=False, stdin=subprocess.DEVNULL, timeout=60)

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


@each_row("line", EVALUATED)
def test_no_subscript_runs_what_a_variable_holds(line: str) -> None:
    """Where it may be evaluated, the line is not covered, or what evaluates it has to be named."""
    lines = judged(f"read -r x < f; {line}")

    assert not lines or not all(is_covered for _, is_covered in lines)


@each_row("line", OPEN)
def test_covered_lines_run_nothing_that_a_file_says(line: str, tmp_path: Path) -> None:
    """Bash evaluates none of it, whatever the file holds."""
    texts = ["x[$(touch ran)]", "$(touch ran)", "x]$(touch ran)[", "a[$(touch ran)]+1", "1", "@", "`touch ran`"]
    (tmp_path / "f").write_text("\n".join([*texts, *texts]))
    subprocess.run(["bash", "-c", line], cwd=tmp_path, check=False, stdin=subprocess.DEVNULL, timeout=60)

    lines = [(form, is_covered) for form, is_covered in judged(line) if form not in {"declare", "unset"}]
    assert [form for form, is_covered in lines if not is_covered and not form.startswith("unset")] == []
    assert not (tmp_path / "ran").exists()


@each_row("line", SHOWN)
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
