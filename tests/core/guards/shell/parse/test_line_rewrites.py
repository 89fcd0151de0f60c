"""Loops that `<(...)` feeds and arrays of names: judged as the pipe or the words that they are, or not at all."""

import subprocess
from pathlib import Path

import pytest
from tests.core.guards.shell.parse.test_functions import judged
from tests.rows import each_row

from toolcharter.guards.shell.parse import line_rewrites, lists
from toolcharter.guards.shell.parse.notes import Notes
from toolcharter.guards.shell.parse.scanner import Scanner
from toolcharter.guards.shell.parse.source import read_source

KNOWN = [
    'while read -r f; do wc "$f"; done < <(git ls-files)',
    'while read -r f; do wc "$f"; done < <(git ls-files | head -3)',
    'while IFS= read -r f; do cat "$f"; done < <(find src -name "*.py")',
    'while IFS= read -r -d "" f; do cat "$f"; done < <(find src -print0)',
    'while read -r f; do wc -l < "$f"; done < <(git ls-files)',
    'n=0; while read -r f; do n=$((n + 1)); cat "$f"; done < <(git ls-files); echo "$n"',
    'mapfile -t a < <(git ls-files); for f in "${a[@]}"; do cat "$f"; done',
    'mapfile -t a < <(git ls-files); echo "${#a[@]}"; for f in "${a[@]}"; do wc "$f"; done',
    'readarray -t a < <(grep -rl x src); for f in "${a[@]}"\ndo wc "$f"\ndone',
    'mapfile -t a < <(git ls-files); printf "%s\\n" "${a[@]}"',
    'mapfile -t a < <(git ls-files); wc "${a[@]}"',
    'mapfile -t a < <(git diff --name-only HEAD~1); echo "${a[@]}"',
    'a=(src/*.py); wc "${a[@]}"',
    'a=(src/*.py b.txt); wc "${a[@]}"',
    'a=(src/*.py); for f in "${a[@]}"; do wc "$f"; done',
    'a=(*.txt); echo "${#a[@]} a"; cat "${a[@]}" | wc',
    'shopt -s nullglob; a=(*.log); (( ${#a[@]} )) && cat "${a[@]}"',
    'fd -e md . docs | while read -r f; do wc "$f"; done',
    'fd -e md | while read -r f; do wc "$f"; done',
    'rg -l foo -g "*.py" src | xargs wc',
    'rg -l foo --type py | while read -r f; do rg -n foo "$f"; done',
    "git diff --name-only | xargs wc",
    'git diff --name-only --diff-filter=d HEAD | while read -r f; do wc "$f"; done',
    "git diff --name-only --diff-filter=AM main -- src | xargs cat",
    "git diff --name-only --cached --diff-filter=ACM | xargs cat",
]
HOSTILE = [
    'mapfile -t a < <(git ls-files); . ./b; printf "%s\\n" "${a[@]}"',
    'mapfile -t a < <(git ls-files); eval "a=($x)"; echo "${a[@]}"',
    'a=(*.py); source b; cat "${a[@]}"',
    'a=(*.py); cat x"${a[@]}"',
    'mapfile -t a < <(git ls-files); for f in "${a[@]}"; do cat "$f"; done >/dev/null',
    'rg -l x -g "*.py" -- src | xargs cat',
    "rg -l x -g | xargs cat",
    'fd x "$y" | xargs cat',
    "mapfile -t a < <(git ls-files)" + '; wc "${a[@]}"' * 26,
    'while read -r f; do wc "$f"; done < <(cat list)',
    'while read -r f; do wc "$f"; done < <(git ls-files; echo /etc/passwd)',
    'while read -r f; do wc "$f"; done < <(git ls-files && echo /etc/passwd)',
    'while read -r f; do wc "$f"; done < <(git ls-files & echo /etc/passwd)',
    'while read -r f; do wc "$f"; done < <(git ls-files | sed s,^,/etc/,)',
    'while read -r f; do wc "$f"; done < <(find / -name x)',
    'while read -r f; do wc "$f"; done < <(find ..)',
    'while read -r f; do wc "$f"; done < <(ls -a ..)',
    'while read -r f; do wc "/etc/$f"; done < <(ls)',
    'while read -r f; do wc "$f/../../x"; done < <(ls)',
    'while read -r f; do rm "$f"; done < <(git ls-files)',
    'while read -r f; do sh "$f"; done < <(git ls-files)',
    'while read -r f; do "$f"; done < <(git ls-files)',
    'while read -r f; do cd "$f"; done < <(ls); cat passwd',
    "while read -r f; do cd ..; done < <(ls); cat x",
    'while read -r f; do cat; wc "$f"; done < <(git ls-files)',
    'while read -r f; do f=/etc/passwd; cat "$f"; done < <(git ls-files)',
    'while read -r f; do :; done < <(git ls-files); cat "$f"',
    'x=a; while read -r f; do x=/etc/passwd; done < <(git ls-files); cat "$x"',
    "while read -r f; do unset -f ls; PATH=. ; done < <(git ls-files); ls",
    "while read -r f; do export PATH=.; done < <(git ls-files); cat a",
    'while read -r f; do exec 3<"$f"; done < <(git ls-files); cat <&3',
    'while read -r f; do wc "$f"; done < <(git ls-files) >out',
    'while read -r f; do wc "$f"; done < <(git ls-files) < list',
    'while read -r f; do wc "$f"; done < list < <(git ls-files)',
    'while read -r f; do wc "$f"; done 3< <(git ls-files)',
    'until read -r f; do wc "$f"; done < <(git ls-files)',
    "IFS=/; while read -r f; do cat $f; done < <(git ls-files)",
    'while IFS=/ read -r f; do cat "$f"; done < <(git ls-files)',
    'while read -r f; do wc "$f" > "$f"; done < <(git ls-files)',
    'while read -r f; do ln -s /etc/passwd x; cat "$f"; done < <(git ls-files)',
    'ln -s /etc x; while read -r f; do cat "$f"; done < <(git ls-files)',
    'mapfile -t a < <(cat list); for f in "${a[@]}"; do cat "$f"; done',
    'mapfile -t a < list; for f in "${a[@]}"; do cat "$f"; done',
    'mapfile a < <(git ls-files); for f in "${a[@]}"; do cat "$f"; done',
    'mapfile -t -O 1 a < <(git ls-files); for f in "${a[@]}"; do cat "$f"; done',
    'mapfile -t -C x a < <(git ls-files); for f in "${a[@]}"; do cat "$f"; done',
    'mapfile -t a < <(git ls-files); sort -o "${a[@]}"',
    'mapfile -t a < <(git ls-files); touch x; cat "${a[@]}"',
    'mapfile -t a < <(git ls-files); cat "${a[0]}"',
    "mapfile -t a < <(git ls-files); cat ${a[@]}",
    'mapfile -t a < <(git ls-files); a+=(/etc/passwd); for f in "${a[@]}"; do cat "$f"; done',
    'mapfile -t a < <(git ls-files); a=(/etc/passwd); for f in "${a[@]}"; do cat "$f"; done',
    'mapfile -t a < <(git ls-files); read -ra a <<< "/etc/passwd"; for f in "${a[@]}"; do cat "$f"; done',
    'mapfile -t a < <(git ls-files); unset "a[0]"; for f in "${a[@]}"; do rm "$f"; done',
    'mapfile -t a < <(git ls-files); printf -v "a[0]" /etc/passwd; for f in "${a[@]}"; do cat "$f"; done',
    'mapfile -t a < <(git ls-files); v=a; read -r "$v"; for f in "${a[@]}"; do cat "$f"; done',
    'mapfile -t a < <(git ls-files); g() { a=(/etc/passwd); }; g; for f in "${a[@]}"; do cat "$f"; done',
    'ls && mapfile -t a < <(git ls-files); for f in "${a[@]}"; do cat "$f"; done',
    '(mapfile -t a < <(git ls-files)); for f in "${a[@]}"; do cat "$f"; done',
    'for f in "${a[@]}"; do cat "$f"; done; mapfile -t a < <(git ls-files)',
    'mapfile -t a < <(git ls-files); for f in "${a[@]}" /etc/passwd; do cat "$f"; done',
    'mapfile -t a < <(git ls-files); for f in "x${a[@]}"; do cat "$f"; done',
    'mapfile -t a < <(git ls-files); for f in "${a[@]}"; do f=/etc/passwd; cat "$f"; done',
    'mapfile -t PATH < <(git ls-files); for f in "${PATH[@]}"; do cat "$f"; done',
    'a=(/etc/*); cat "${a[@]}"',
    'a=(../*); cat "${a[@]}"',
    'a=(src/*/../../x*); cat "${a[@]}"',
    'a=(*.py -o*); sort "${a[@]}"',
    'a=(*.py); a+=(/etc/passwd); cat "${a[@]}"',
    'a=(*.py); a[0]=/etc/passwd; cat "${a[@]}"',
    'a=(*.py); a=/etc/passwd; cat "${a[@]}"',
    'a=(*.py); cd src; cat "${a[@]}"',
    'a=(*); cd ..; cat "${a[@]}"',
    'a=(*.py); rm "${a[@]}"',
    'a=(*.py); sh "${a[@]}"',
    'a=(*.py); "${a[@]}"',
    'a=(*.py); cat "${a[0]}"',
    'a=(*.py); cat "x${a[@]}"',
    'a=(*.py) cat "${a[@]}"',
    'ls && a=(*.py); cat "${a[@]}"',
    'shopt -s extglob; a=(*.py); cat "${a[@]}"',
    'shopt -s dotglob; a=(*); cat "${a[@]}"',
    'set -f; IFS=/; a=(*); cat "${a[@]}"',
    'for a in /etc/passwd; do :; done; a=(*.py); cat "${a[@]}"; for a in /x; do cat "${a[@]}"; done',
    'a=(*.py); ((a=1)); cat "${a[@]}"',
    'a=(*.py); printf -v a /etc/passwd; cat "${a[@]}"',
    'a=(*.py); : "${a:=x}"; cat "${a[@]}"',
    'fd -x rm | while read -r f; do cat "$f"; done',
    'fd -a x | while read -r f; do rm "$f"; done',
    'fd . / | while read -r f; do cat "$f"; done',
    'fd . .. | while read -r f; do cat "$f"; done',
    'fd -L x | while read -r f; do cat "$f"; done',
    'fd --format /etc/passwd x | while read -r f; do cat "$f"; done',
    "rg -l x --pre cat | xargs cat",
    'rg -l x -g "*.py" / | xargs cat',
    "rg -l x -f list | xargs cat",
    "rg -l --null x | xargs cat",
    "rg --follow -l x | xargs cat",
    "git diff --name-only HEAD~1 | xargs cat",
    "git diff --name-only --cached | xargs cat",
    "git diff --name-only main...HEAD | xargs cat",
    "git diff --name-only --diff-filter=d a b | xargs cat",
    "git diff --name-only --diff-filter=D HEAD | xargs cat",
    "git diff --name-only --diff-filter=AD HEAD | xargs cat",
    "git diff --name-only --diff-filter=am HEAD | xargs cat",
    "git diff --name-only --diff-filter=d --diff-filter=D HEAD | xargs cat",
    "git diff --name-only --relative | xargs cat",
    "git diff --name-only -z | xargs cat",
    "git diff --name-only --no-index a /etc/passwd | xargs cat",
    "git diff --name-status | xargs cat",
    "git diff | xargs cat",
    "cd src && git diff --name-only | xargs cat",
    "git -C src diff --name-only | xargs cat",
    "git diff --name-only -- ../x | xargs cat",
    "git diff --name-only | xargs rm",
    "git diff --name-only | sed s,^,/, | xargs cat",
    "git diff --name-only -O list | xargs cat",
    "git diff --name-only --ext-diff | xargs cat",
    'git ls-files | while read -r f; do cat < "../$f"; done',
    'git ls-files | while read -r f; do cat <&0 < "$f" 3<&0; cat; done',
    "cat <*",
    "cat < src/*.py",
]
READERS = frozenset(
    [
        "cat",
        "wc",
        "ls",
        "git",
        "find",
        "echo",
        "printf",
        "grep",
        "rg",
        "fd",
        "xargs",
        "read",
        "mapfile",
        "readarray",
        "shopt",
        "head",
        "sed",
        "sort",
        "test",
        "[",
    ]
)


def is_open(line: str) -> bool:
    """Whether rules with stars for programs that read cover all of *line*."""
    found = judged(line)
    if found is None or found.unsupported or found.unresolved_program or found.catastrophe:
        return False
    names = {one.program for one in found.commands if not one.is_transparent} - {""}
    asking = {"read", "mapfile", "readarray", "shopt"}
    return names <= READERS and not any(need.form not in asking for one in found.commands for need in one.needs)


@each_row("line", KNOWN)
def test_names_are_looked_at_where_they_are_listed(line: str) -> None:
    """Rules with stars cover the line, after a look at the disk."""
    assert is_open(line)


@each_row("line", HOSTILE)
def test_names_of_elsewhere_and_what_changes_more_stay_uncovered(line: str) -> None:
    """Other feeders, setters, folders, options and uses are not taken for names in the workspace."""
    assert not is_open(line)


@pytest.mark.parametrize("line", [one for one in KNOWN if "< <(" in one or "=(" in one])
def test_both_lines_run_the_same_words(line: str, tmp_path: Path) -> None:
    """Bash hands the same words to the programs of the line as it is and of the line as it is judged."""
    scanner = Scanner(line, str(tmp_path), lists.read_list)
    scanner.is_line = scanner.lists = True
    scanner.notes = Notes()
    read_source(scanner)
    written = line_rewrites.rewrite_line(scanner)

    assert written is not None
    assert run_in_bash(written, tmp_path) == run_in_bash(line, tmp_path) != []


def run_in_bash(line: str, folder: Path) -> list[str]:
    """What `cat` and `wc` are called with, and what is shown at the end."""
    (folder / "src").mkdir(exist_ok=True)
    for name in ("src/a.py", "src/b.py", "b.txt", "c.txt", "d.log"):
        (folder / name).write_text("x\n")
    shown = "".join(f'{name}() {{ echo "$(printf "%q " {name} "$@")" >&7; }}\n' for name in ("cat", "wc"))
    git = 'git() { printf "%s\\n" src/a.py b.txt; }\n'
    script = f'exec 7>calls\n{shown}{git}{line}\nprintf "%s\\n" "${{n-}}" >&7\n'
    subprocess.run(["bash", "-c", script], cwd=folder, check=False, stdin=subprocess.DEVNULL, timeout=60)
    calls = (folder / "calls").read_text().splitlines()
    return sorted(one for one in calls if one.strip() not in {"", "0", "2"}) or ["shown"]
