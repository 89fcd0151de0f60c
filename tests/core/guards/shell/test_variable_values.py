"""What a line has set itself is known in its words, where nothing can set it again."""

import subprocess
from pathlib import Path

import pytest
from tests.rows import each_row

from toolcharter.guards.shell.analyse import analyse

KNOWN = [
    ('f=a.txt; wc -l "$f"', "wc -l a.txt"),
    ("f=a.txt; wc -l $f", "wc -l a.txt"),
    ('d=src && ls "$d"/forms', "ls src/forms"),
    ('d=src\nf=b.txt\ncat "$d/$f"', "cat src/b.txt"),
    ('d=src; for f in a b; do cat "$d/$f"; done', "cat src/b"),
    ('f=a.txt; if ls; then cat "$f"; fi', "cat a.txt"),
    ('f=a.txt; (cat "$f")', "cat a.txt"),
    ('f="a b"; cat "$f"', "cat 'a b'"),
    ('{ f=a.txt; cat "$f"; } | wc', "cat a.txt"),
    ('f=a.txt; read -r l; cat "$f"', "cat a.txt"),
    ('f=a.txt; cat "${f%.txt}"', "cat a"),
    ("f=a.tar.gz; cat ${f%%.*}", "cat a"),
    ("f=a.tar.gz; cat ${f%.*}.x", "cat a.tar.x"),
    ('f=src/b/a.txt; cat "${f##*/}"', "cat a.txt"),
    ('f=src/b/a.txt; cat "${f#*/}"', "cat b/a.txt"),
    ('f=src/b/a.txt; cat "${f%/*}"', "cat src/b"),
    ('f=src/b/a.txt; cat "${f%%/*}"', "cat src"),
    ('f=src/a.txt; cat "${f#src/}"', "cat a.txt"),
    ('f=a.txt; cat "${f#b}" "${f%b}" "${f##*b}" "${f%%b*}"', "cat a.txt a.txt a.txt a.txt"),
    ('f=aaa; cat "${f#a}" "${f##a}" "${f#*a}" "${f##*a}x" "${f%a*}"', "cat aa aa aa x aa"),
    ('f=src/a.txt; cat "${f//a/b}"', "cat src/b.txt"),
    ('f=a-a-a; cat "${f/a/b}" "${f//a/}" "${f/-a-/}"', "cat b-a-a -- aa"),
    ('f=a.txt; cat "${f:-b c}" "${f-/etc/passwd}"', "cat a.txt a.txt"),
    ('f=a.txt; cat "${f^}" "${f^^}"', "cat A.txt A.TXT"),
    ('f=A.TXT; cat "${f,}" "${f,,}"', "cat a.TXT a.txt"),
    ('f=a.txt; cat "${f:0:1}" "${f:2}" "${f:2:9}"', "cat a txt txt"),
    ('f=src/a/b; cat "${f//\\//-}" "${f/\\//-}"', "cat src-a-b src-a/b"),
]
UNKNOWN = [
    'a.out && f=a.txt; cat "$f"',
    'ls || { f=a.txt; }; cat "$f"',
    'if ls; then f=a.txt; fi; cat "$f"',
    'while ls; do f=a.txt; done; cat "$f"',
    'case a in b) f=a.txt;; esac; cat "$f"',
    'f=a.txt | ls; cat "$f"',
    '{ f=a.txt; } | ls; cat "$f"',
    'f=a.txt & cat "$f"',
    'f=a.txt && ls & cat "$f"',
    '(f=a.txt); cat "$f"',
    'ls $(f=a.txt); cat "$f"',
    'f=a.txt ls; cat "$f"',
    'cat "$f"; f=a.txt',
    'f=a.txt; f=/etc/passwd; cat "$f"',
    'f=a.txt; f+=x; cat "$f"',
    'f=a.txt; for f in /etc/passwd; do :; done; cat "$f"',
    'f=a.txt; while ls; do cat "$f"; f=/etc/passwd; done',
    'f=a.txt; read -r f; cat "$f"',
    'f=\u00e4.txt; cat "${f^^}"',
    'f=\u00e4.txt; cat "${f:0:2}"',
    'f=a.txt; cat "${f: -1}"',
    'f=a.txt; cat "${f^^[a]}"',
    'f=a.txt; cat "${f:x}"',
    'f=a.txt; read -r f; cat "${f^^}"',
    '(f=a.txt); cat "${f:0:1}"',
    "f=a.txt; read -r $'\\x66'; cat \"$f\"",
    'v=f; f=a.txt; read -r "$v"; cat "$f"',
    'f=a.txt; printf -v f %s /etc/passwd; cat "$f"',
    'f=a.txt; unset f; cat "$f"',
    'f=a.txt; declare f=/etc/passwd; cat "$f"',
    'f=a.txt; declare -n r=f; r=/etc/passwd; cat "$f"',
    'f=a.txt; mapfile -t f; cat "$f"',
    'f=a.txt; let f=1; cat "$f"',
    'f=a.txt; ((f=1)); cat "$f"',
    'f=a.txt; echo $((f=1)); cat "$f"',
    'f=a.txt; unset "a[f=1]"; cat "$f"',
    "f=a.txt; trap 'f=/etc/passwd' DEBUG; cat \"$f\"",
    'f=a.txt; eval ls; cat "$f"',
    'f=a.txt; . ./x; cat "$f"',
    'f=a.txt; command read f; cat "$f"',
    'f=a.txt; g() { f=/etc/passwd; }; g; cat "$f"',
    'f=a.txt; : "${f:=b}"; unset f; : "${f:=/etc}"; cat "$f"',
    'f=a.txt; f() { :; }; cat "$f"',
    "IFS=.; f=a.txt; cat $f",
    'f="a b"; cat $f',
    "f='*'; cat $f",
    "f=; cat $f",
    'f=~/a; cat "$f"',
    'PATHS=a.txt; cat "$PATHS"',
    'f=$(ls); cat "$f"',
    'f=; cat "${f:-/etc/passwd}"',
    'f=; cat "${f-/etc/passwd}"',
    'f=a.txt; cat "${f+/etc/passwd}"',
    'f=a.txt; cat "${f%[t]*}"',
    'f=a.txt; cat "${f%?}"',
    'f=a.txt; cat "${f#*}"',
    'f=a.txt; cat "${f%.*t}"',
    'f=a.txt; cat "${f%$x}"',
    'f=a.txt; cat "${f/a/&&}"',
    'f=a.txt; cat "${f/#a/b}"',
    'f=a.txt; cat "${f/?/b}"',
    'f=a.txt; cat "${f/a/$HOME}"',
    'f="a b"; cat ${f%c}',
    'f=a.txt; read -r f; cat "${f%.txt}"',
    'f=x/etc/passwd; cat "${f#x}"',
    'f=a/x/b; cat "${f//x/..}/../../c"',
    'f=a.txt; cat "${f/a.txt//etc/passwd}"',
    'f=a.txt; f=/etc/passwd; cat "${f##*.}"',
    'f=$(ls); cat "${f%.txt}"',
    'cat "${f%.txt}"; f=a.txt',
]
SHOWN = [
    'n=$(ls); echo "$n"',
    'n=$(ls | wc -l) && echo "has $n"',
    'f=a.txt; echo "${f%.txt}"',
    'make; rc=$?; echo "$rc"',
]
NOT_SHOWN = [
    "n=$(cat f); echo $n",
    'ls && n=$(ls); echo "$n"; ls',
    'n=$(ls) | ls; echo "$n"',
    'echo "$n"',
    'n=$TOKEN; echo "$n"',
    'n=$(ls)$TOKEN; echo "$n"',
    'n=$(ls); echo "$n$TOKEN"',
    'n=a; echo "${n:-$TOKEN}"',
]

PLACES = [
    "if [ -d a ]; then (cd a && ls x); fi",
    "for i in 1 2; do (cd a && ls x); done",
    "for d in a b; do (cd $d && ls x); done",
    'for d in a b; do (cd "p/$d" && ls x); done',
    "while read -r l; do (cd a; ls x); done <notes",
    "for d in a b; do (cd $d && for e in c d; do (cd $e && ls x); done); done",
]
NO_PLACES = [
    "for d in a b; do cd $d; ls x; done",
    "for d in a ../b; do (cd $d && ls x); done",
    "for d in a /; do (cd $d && ls x); done",
    "for d in a b; do (cd $d && ls x); d=..; done",
    "for d in a b; do (read d; cd $d && ls x); done",
    'for d in a b; do (cd "$d/$x" && ls x); done',
    "for d in $(ls); do (cd $d; ls x); done",
    "for d in a b; do (if ls; then cd ..; fi; cd $d; ls x); done",
    "f() { (cd a && ls x); }; for i in 1 2; do cd b; f; done",
    "for i in 1 2; do (cd a; ls x); cd b; done",
    "for d in - b; do (cd $d; ls x); done",
]
COUNTED = [
    "make -j$(nproc)",
    'make -j"$(nproc)" -C src',
    "make -j $(nproc) test",
    "make --jobs=$(nproc)",
    "cmake --build build -j$(nproc)",
    "pytest -n$(nproc)",
    "head -n$(nproc) a.txt",
]
NOT_COUNTED = [
    "make -j$(cat a.txt)",
    "make -f$(nproc)",
    "make -j$(nproc --all; cat a.txt)",
    "make -$(nproc)",
    "make -j$(nproc)$x",
    "IFS=1; make -j$(nproc)",
    "rg -m$(wc -l <a.txt) x",
]

NAMES = [
    'for c in $(docker ps -q); do docker inspect "$c"; done',
    "for c in $(docker ps -aq); do docker logs --tail 5 $c; done",
    'for c in $(docker ps --format {{.Names}}); do docker top "$c"; done',
    's=up; for c in $(docker ps --filter status=$s -q); do docker inspect "$c"; done',
]
NO_NAMES = [
    'for c in $(docker ps); do docker inspect "$c"; done',
    'for c in $(docker ps -q); do docker inspect "-$c"; done',
    'for c in $(docker ps -q); do docker inspect "${c%x}"; done',
    'for c in $(docker ps -q); do c=-x; docker inspect "$c"; done',
    'for c in $(docker ps -q | cut -c2-); do docker inspect "$c"; done',
    'for c in $(docker ps -q; cat x); do docker inspect "$c"; done',
    "IFS=a; for c in $(docker ps -q); do docker inspect $c; done",
    'for c in $(docker ps --format {{.Label}}); do docker inspect "$c"; done',
    'for c in $(cat x); do docker inspect "$c"; done',
    'for c in $(docker ps --filter name=$s -q); do docker inspect "$c"; done',
    's=a; s=$(cat x); for c in $(docker ps --filter name=$s -q); do docker inspect "$c"; done',
]
OF_TEXTS = [
    "[[ $(git status --porcelain) ]] && ls",
    "[[ -n $(git status --porcelain) ]] && ls",
    "[[ ! $(git status --porcelain) ]] && ls",
    "[[ $(git rev-parse HEAD) == $(git rev-parse main) ]]",
    '[ "$(git status --porcelain)" ] && ls',
    '[ ! "$(git status --porcelain)" ] && ls',
]
NOT_OF_TEXTS = [
    "[ $(git status --porcelain) ]",
    "[[ $TOKEN ]]",
    "[[ $(git status)$TOKEN ]]",
    "[[ $(cat a.txt) -eq 3 ]]",
    "[[ -f $(cat a.txt) ]]",
    '[ ! -f "$(cat a.txt)" ]',
]

NUMBERS = [
    "make; [ $? -ne 0 ]",
    'make; rc=$?; [ "$rc" -eq 0 ]',
    "make; status=$?; if [ $status -ne 0 ]; then ls; fi",
    'n=$(wc -l <a.txt); if [ "$n" -gt 100 ]; then ls; fi',
    'n=$(ls | grep x | wc -l); test $n -gt 1 -a "$n" -lt 9',
    'n="$(wc -c <a.txt)"; [ 3 -le "$n" ]',
]
NO_NUMBERS = [
    '[ "$n" -gt 1 ]',
    'n=$(cat a.txt); [ "$n" -gt 1 ]',
    'n=$(wc -l a.txt); [ "$n" -gt 1 ]',
    'n=$(cat b.txt; wc -l <a.txt); [ "$n" -gt 1 ]',
    'n=$(wc -l <a.txt; cat b.txt); [ "$n" -gt 1 ]',
    'n=$(ls | { cat b.txt; wc -l; }); [ "$n" -gt 1 ]',
    'n=$(wc -l <a.txt 2>&1); [ "$n" -gt 1 ]',
    'n=$({ wc -l <a.txt; } 2>&1); [ "$n" -gt 1 ]',
    'n=$(ls | wc -l | cat - b.txt); [ "$n" -gt 1 ]',
    'n=$(./wc -l <a.txt); [ "$n" -gt 1 ]',
    'n=$(PATH=. wc -l <a.txt); [ "$n" -gt 1 ]',
    'n=$(wc --files0-from=x); [ "$n" -gt 1 ]',
    'n=$(wc -l <a.txt)$(cat b.txt); [ "$n" -gt 1 ]',
    'm=$(wc -l <a.txt) n=$(cat b.txt); [ "$n" -gt 1 ]',
    'n=x$(wc -l <a.txt); [ "$n" -gt 1 ]',
    'n=$(wc -l <a.txt); [ "x$n" -gt 1 ]',
    'n=$(wc -l <a.txt); [ "$n$m" -gt 1 ]',
    'n=$(wc -l <a.txt); n=$(cat b.txt); [ "$n" -gt 1 ]',
    'n=$(wc -l <a.txt); read -r n; [ "$n" -gt 1 ]',
    'n=$(wc -l <a.txt); [ -f "$n" ]',
    'n=$(wc -l <a.txt); [ -v "$n" ]',
    'wc() { cat b.txt; }; n=$(wc -l <a.txt); [ "$n" -gt 1 ]',
    'for n in [0-9]*; do [ "$n" -gt 1 ]; done',
    'n=$(wc -l <a.txt) | ls; [ "$n" -gt 1 ]',
]


def judged(line: str) -> list[tuple[str, bool]]:
    """The forms of all commands of *line*, and whether each needs nothing named, in a line that a rule may cover."""
    found = analyse((line,), "/srv/ws")
    is_open = found.unsupported is None and found.unresolved_program is None
    return [(one.form, is_open and not one.needs) for one in found.commands]


@each_row(("line", "form"), KNOWN)
def test_what_is_certainly_set_is_known(line: str, form: str) -> None:
    """Rules see the words that the program gets."""
    assert form in [one for one, _ in judged(line)]


@each_row("line", UNKNOWN)
def test_what_is_not_certain_stays_unknown(line: str) -> None:
    """Another branch, process, order, setter or split: no `cat` of the variable is covered."""
    cats = [covered for form, covered in judged(line) if form.startswith("cat")]

    assert (cats != [], any(cats)) == (True, False)


@pytest.mark.parametrize("line", SHOWN)
def test_what_the_line_printed_may_be_shown(line: str) -> None:
    """Text that is shown may hold what commands of the line have printed."""
    echoes = [covered for form, covered in judged(line) if form.startswith("echo")]

    assert (echoes != [], all(echoes)) == (True, True)


@each_row("line", NOT_SHOWN)
def test_what_the_line_found_may_not_be_shown(line: str) -> None:
    """A variable of the environment may hold a secret; without quotes, output becomes options and names."""
    echoes = [covered for form, covered in judged(line) if form.startswith("echo")]

    assert (echoes != [], any(echoes)) == (True, False)


def test_what_a_file_says_is_not_kept() -> None:
    """A detour over a variable is none for the text of a commit."""
    line = 'v=$(cat a.txt); git commit -m "$v" -m "$(date)"'

    assert ('git commit -m "$v" -m "$(date)"', False) in judged(line)


@pytest.mark.parametrize(("line", "form"), KNOWN)
def test_bash_hands_over_the_same_words(line: str, form: str, tmp_path: Path) -> None:
    """Programs of the same names show the words that they get."""
    names = {"cat", "wc", "ls"}
    shown = "".join(f'{name}() {{ echo "$(printf "%q " {name} "$@")" >&7; }}\n' for name in names)
    (tmp_path / "words.sh").write_text(shown)
    out = tmp_path / "out.txt"
    script = f"exec 7>{out}\n. {tmp_path / 'words.sh'}\n{line}\n"
    subprocess.run(["bash", "-c", script], cwd=tmp_path, check=False, stdin=subprocess.DEVNULL, timeout=60)

    assert form.replace("'a b'", "a\\ b") in [one.strip() for one in out.read_text().splitlines()]


def test_a_condition_before_any_command_sets_nothing() -> None:
    """`((1))` is no command, and stands first here."""
    assert [one.form for one in analyse(("(( 1 )); wc -l a.txt",), "/ws").commands] == ["wc -l a.txt"]


@pytest.mark.parametrize(("line", "is_harmless"), [("a=$(ls)", False), ('a=$(ls); echo "$a"', True)])
def test_output_that_is_kept_and_not_used_has_to_be_mentioned(line: str, *, is_harmless: bool) -> None:
    """Nothing is gained by it, unless something outside the line reads the variable."""
    kept = next(one for one in analyse((line,), "/ws").commands if one.form == "a=$(ls)")

    assert kept.is_transparent == is_harmless


def covered_tests(line: str) -> list[bool]:
    """Whether each test in *line* needs nothing named."""
    return [covered for form, covered in judged(line) if form.startswith(("[ ", "test "))]


@each_row("line", NUMBERS)
def test_certain_numbers_may_be_compared(line: str) -> None:
    """A status, and what `wc` prints of its input, hold no name that bash would evaluate."""
    assert covered_tests(line) == [True]


@each_row("line", NO_NUMBERS)
def test_what_may_be_no_number_is_not_compared(line: str) -> None:
    """Bash evaluates `a[$(...)]` in an operand of `-gt`, wherever it comes from."""
    assert covered_tests(line) == [False]


@pytest.mark.parametrize("line", [line for line in NUMBERS if line.startswith("n=")])
def test_bash_sees_digits_there(line: str, tmp_path: Path) -> None:
    """What is taken for a number is one to bash, also where the file is missing."""
    shown = line.partition(";")[0] + '; printf "%s" "$n"'
    found = [
        subprocess.run(
            ["bash", "-c", shown], cwd=folder, check=False, capture_output=True, text=True, timeout=60
        ).stdout
        for folder in (tmp_path, Path(__file__).parent)
    ]

    assert all(not one.strip() or one.strip().isdigit() for one in found)


def covered_uses(line: str, *begins: str) -> list[bool]:
    """Whether each command of *line* that begins so needs nothing named."""
    return [covered for form, covered in judged(line) if form.startswith(begins) and "$" in form]


@each_row("line", NAMES)
def test_names_that_docker_prints_are_no_options(line: str) -> None:
    """They begin with a letter or a digit, so that they are operands wherever a text is one."""
    assert covered_uses(line, "docker inspect", "docker logs", "docker top") == [True]


@each_row("line", NO_NAMES)
def test_what_may_be_an_option_is_no_name(line: str) -> None:
    """A format, a part of a name, another value, and what a file says, may begin with a dash."""
    assert covered_uses(line, "docker inspect") == [False]


@each_row("line", OF_TEXTS)
def test_what_commands_print_may_be_compared(line: str) -> None:
    """Between `[[` and `]]` bash parts no words; of one operand it asks whether there is any text."""
    assert covered_uses(line, "[") == [True]


@each_row("line", NOT_OF_TEXTS)
def test_what_is_evaluated_or_looked_up_is_not_compared(line: str) -> None:
    """Nor what the environment holds, nor what may become more words than one."""
    assert covered_uses(line, "[") == [False]


@each_row("line", PLACES)
def test_a_subshell_leaves_the_folder_of_nobody_else(line: str) -> None:
    """Wherever it stands it begins where the line is, and what it enters is known turn by turn."""
    assert {covered for form, covered in judged(line) if form == "ls x"} == {True}


@each_row("line", NO_PLACES)
def test_a_folder_that_is_not_certain_is_told_by_none(line: str) -> None:
    """Another value, a folder elsewhere, and what goes on in the shell itself."""
    listed = [covered for form, covered in judged(line) if form == "ls x"]

    assert (listed != [], any(listed)) == (True, False)


@each_row("line", COUNTED)
def test_the_number_of_processors_is_a_number(line: str) -> None:
    """As the value of an option, attached or not."""
    assert [covered for form, covered in judged(line) if "$(" in form] == [True]


@each_row("line", NOT_COUNTED)
def test_no_other_output_is_taken_for_it(line: str) -> None:
    """What may be empty would make the next word the value."""
    assert [covered for form, covered in judged(line) if "$(" in form] == [False]
