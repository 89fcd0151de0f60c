"""What commands ask for, by the tables that come with toolcharter: lines as bash would read them."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rows import each_row

from toolcharter.api.command import PathAccess, Requirement
from toolcharter.guards.shell.nodes import Assignment, Command, Reading, Requirements, Word
from toolcharter.guards.shell.parse.script import parse
from toolcharter.guards.shell.programs.requirements import read_command

WS = "/home/dev/ws"


def reading_of(line: str) -> Reading:
    """Of the last command of *line*."""
    script = parse(line, WS)
    assert script.unresolved_program is None
    return read_command(script.commands[-1], workspace=WS)


def needs_of(line: str) -> list[str]:
    return [need.form for need in reading_of(line).demand.needs]


@each_row(
    "line",
    [
        "ls",
        "ls -la --color=never src",
        "ls -lah --sort=size -I '*.pyc' -- -odd",
        "dir -C",
        "cat -An README.md -",
        "head -5 README.md",
        "head -n-5 -q a b",
        "head --lines 3 a",
        "tail -n +3 a",
        "tail -c20 a",
        "wc -lwc a b",
        "nl -ba -w3 a",
        "sort -t, -k2,2n -k1 a",
        "sort -rnu a b",
        "sort --rev a",
        "sort --key=2 --par 4 a",
        "uniq -c -f1",
        "uniq -5 a",
        "cut -d: -f1,3 --output-delimiter=' ' a",
        "tr -d '\\r'",
        "tr -cs a-z '\\n'",
        "tac a",
        "rev a",
        "date +%F",
        "date -u -d '2 days ago' '+%s'",
        "date -Iseconds",
        "date -r README.md",
        "basename -s .py /etc/x.py",
        "dirname /usr/bin/x",
        "stat -c %s a",
        "file -bi a",
        "du -sh src tests",
        "du -d1 --exclude='*.o' .",
        "df -h .",
        "diff -u a b",
        "diff -rq -x '*.pyc' src tests",
        "diff -U5 a b",
        "cmp -s a b",
        "comm -12 a b",
        "column -t -s, a",
        "fold -w 80 -s a",
        "fold -80 a",
        "paste -sd+ a",
        "seq 10 -1 1",
        "seq -s, -1.5 .5 2",
        "expr 1 + 2",
        "expr -5 '*' '(' 2 ')'",
        "test -f a",
        "test ! -d src -a -n x",
        "[ -e a -o 3 -lt 4 ]",
        "[ a = b ]",
        "[ -t 1 ]",
        "[ a -nt b ]",
        "which -a ls git",
        "type -P ls",
        "uname -a",
        "id -un",
        "hostname -s",
        "tree -L 2 -I node_modules src",
        "tree -daL2 -aI node_modules",
        "md5sum a b",
        "sha256sum --tag a",
        "base64 -d a",
        "base64 -w0 a",
        "od -An -tx1 -N 16 a",
        "od -w8 a",
        "xxd -l 16 a",
        "xxd -ps a",
        "hexdump -C a",
        "strings -n 8 a",
        "strings -8 a",
        "join -t, -1 2 a b",
        "shuf -n 3 a",
        "shuf -e a/../../b c",
        "numfmt --to=iec 1000",
        "fmt -60 a",
        "pr -2 +3 a",
        "expand -t4 a",
        "echo --help-me -x /etc/passwd",
        "echo -- -n",
        "printf '%s\\n' -x /etc",
        "printf -- '-%d' 3",
        "pwd -P",
        "true x y",
        "readlink -f a",
        "realpath --relative-to=src a",
        "touch -c a b",
        "mkdir -p a/b",
        "cp -r a b c",
        "cp -t c a b",
        "mv a b",
        "mv -t . a",
        "rm -rf build",
        "ln -s a b",
        "chmod +x a",
        "chmod -x a",
        "tee -a a",
        "truncate -s 0 a",
        "dd if=a of=b bs=1k count=3",
        "install -m 755 a b",
        "sleep 1",
        "cd src",
        f"ls {WS}/src",
        "exit 3",
        "wait",
        "LC_ALL=C TZ=UTC sort a",
        "ls &>/dev/null",
        "ls 2>&1",
        "echo $? a$# $$",
        'echo "$(date +%F)" "on `pwd`"',
        'printf "%s\\n" "$(ls)"',
        'git commit -m "$(cat <<E\nx\nE\n)"',
        'git commit -m "`git log -1`"',
        'for f in a b; do echo "$f: $(wc -l a)"; done',
        "echo *.md a/*",
        "echo <(ls)",
    ],
)
def test_ordinary_purpose_asks_no_rule_to_name_anything(line: str) -> None:
    """What a program is for, within the workspace."""
    assert needs_of(line) == []


@each_row(
    ("line", "needs"),
    [
        ("ls --unknown", ["--unknown"]),
        ("ls -lY", ["-lY"]),
        ("ls --col", []),
        ("ls --ti=x", ["--ti=x"]),
        ("ls -RL", ["-RL"]),
        ("ls --hyper", ["--hyper"]),
        ("ls ..", [".."]),
        ("ls ~", ["~"]),
        ("ls '~'", ["'~'"]),
        ("cat /proc/self/environ", ["/proc/self/environ"]),
        ("cat -- /etc/passwd a", ["/etc/passwd"]),
        ("cat ../outside/*", ["../outside/*"]),
        ('cat "$x"', ['"$x"']),
        ("cat $x", ["$x"]),
        ("cat --$x", ["--$x"]),
        ("cat -*", ["-*"]),
        ("head --lines=1 -v=2", ["-v=2"]),
        ("head --quiet=1 a", ["--quiet=1"]),
        ("tail -f a", ["-f"]),
        ("tail -5f a", ["-5f"]),
        ("tail --fol=name a", ["--fol=name"]),
        ("wc --files0-from=x", ["--files0-from=x"]),
        ("wc --files0 ../x", ["--files0", "../x"]),
        ("sort -o out a", ["-o"]),
        ("sort -nrout a", ["-nrout"]),
        ("sort a -o ../out", ["-o", "../out"]),
        ("sort --outp out a", ["--outp"]),
        ("sort --compress-prog=sh a", ["--compress-prog=sh", "--compress-prog=sh"]),
        ("sort --compress-program sh a", ["--compress-program", "sh"]),
        ("sort -T /tmp a", ["-T", "/tmp"]),
        ("sort --parallel=many a", ["--parallel=many"]),
        ("uniq a b", ["b"]),
        ("uniq a ../b", ["../b", "../b"]),
        ("uniq *", ["*"]),
        ("uniq a b c", ["b", "c"]),
        ("date -s tomorrow", ["-s"]),
        ("date 01010000", ["01010000"]),
        ("date -f a", ["-f"]),
        ("date -f/etc/passwd", ["-f/etc/passwd", "-f/etc/passwd"]),
        ("date -r /etc/passwd", ["/etc/passwd"]),
        ("file -f a", ["-f"]),
        ("file -zm a b", ["-zm", "-zm"]),
        ("file -C", ["-C"]),
        ("du -L .", ["-L"]),
        ("du -X /etc/x .", ["/etc/x"]),
        ("diff --to-file=/etc/passwd a", ["--to-file=/etc/passwd"]),
        ("diff -l a b", ["-l"]),
        ("comm a b c", ["c"]),
        ("hostname evil", ["evil"]),
        ("tree -o x", ["-o"]),
        ("tree -R -L 1", ["-R"]),
        ("tree -la", ["-la"]),
        ("tree -Lo 2 out", ["-Lo"]),
        ("tree -aPl x", ["-aPl"]),
        ("sha256sum -c sums", ["-c"]),
        ("xxd -r a b", ["-r", "b"]),
        ("xxd a b", ["b"]),
        ("xxd -pr a", ["-pr"]),
        ("strings @args", ["@args"]),
        ("split a x", ["split", "x"]),
        ("split --filter='sh -c x' a", ["split", "'--filter=sh -c x'", "'--filter=sh -c x'"]),
        ("shuf -o out a", ["-o"]),
        ("printenv HOME", ["printenv"]),
        ("printf -v PATH y", ["-v", "PATH"]),
        ("printf -v 'a[$(reboot)]' y", ["-v", "'a[$(reboot)]'"]),
        ('printf -v x "%n" y', ["-v", "x", "%n"]),
        ("printf -- 'a%n' PATH", ["a%n"]),
        ("which -a ls /etc/x", ["/etc/x"]),
        ("date -d 'TZ=\"/etc/x\" now'", ["'TZ=\"/etc/x\" now'"]),
        ("printf '%q' \"${GITHUB_TOKEN}\"", ['"${GITHUB_TOKEN}"']),
        ("echo $x", ["$x"]),
        ("echo /home/*", ["/home/*"]),
        ("test -v x", ["-v", "x"]),
        ("[ -R x ]", ["-R", "x"]),
        ("[ 'a[$(x)]' -eq 1 ]", ["'a[$(x)]'"]),
        ("[ 1 -lt '' ]", ["''"]),
        ("[ -e /etc/passwd ]", ["/etc/passwd"]),
        ("[ a -ef ../b ]", ["../b"]),
        ('test -n "$x"', []),
        ('[[ -n "$x" ]]', []),
        ("test -n $x", ["$x"]),
        ('[[ -n "$x$y" ]]', ['"$x$y"']),
        ('[[ $x == "$x" ]]', ["$x", '"$x"']),
        ("pytest test_*.py e*y tests/*", ["e*y", "tests/*"]),
        ("[[ -f /etc/x && a != b ]]", ["/etc/x"]),
        ("[ -f /etc/* ]", ["/etc/*"]),
        ("cd", ["cd"]),
        ("cd -", ["-"]),
        ("cd ..", [".."]),
        ("touch ../a", ["../a"]),
        ("touch .git/hooks/x", [".git/hooks/x"]),
        ("mkdir .toolcharter", [".toolcharter"]),
        ("rm -rf .", ["."]),
        ("rm -rf src/..", ["src/.."]),
        (f"rm -rf {WS}", [WS]),
        ("rm .g*", [".g*"]),
        ("rm /dev/null", ["/dev/null"]),
        ("cp /etc/passwd .", ["/etc/passwd"]),
        ("cp a /etc", ["/etc"]),
        ("cp -t/etc a", ["-t/etc"]),
        ("cp -s a b", ["-s"]),
        ("mv a ..", [".."]),
        ("ln -s /etc/passwd a", ["/etc/passwd"]),
        ("chmod --ref=/etc/x a", ["--ref=/etc/x", "--ref=/etc/x"]),
        ("chmod --reference=a b", ["--reference=a"]),
        ("chmod u+s a", ["u+s"]),
        ("chmod -R 4755 a", ["4755"]),
        ("install -m 4755 a b", ["4755"]),
        ("install -m u=rwxs a b", ["u=rwxs"]),
        ("tee .git/config", [".git/config"]),
        ("dd if=/dev/sda of=x", ["if=/dev/sda"]),
        ("dd of=/dev/sda", ["of=/dev/sda"]),
        ("dd x=y", ["x=y"]),
        ("install -s a b", ["-s"]),
        ("install --strip-program=./x a b", ["--strip-program=./x", "--strip-program=./x"]),
        ("mktemp", ["mktemp"]),
        ("export x=1", ["export"]),
        ("export 'a[$(x)]=1'", ["export", "'a[$(x)]=1'"]),
        ("unset 'a[$(x)]'", ["unset", "'a[$(x)]'"]),
        ("read -r x+=", ["read"]),
        ("mapfile -C x y", ["mapfile", "-C", "x"]),
        ("set -k", ["set"]),
        ("set -- a b", ["set"]),
        ("set -eo posix", ["set"]),
        ("set -o", ["set"]),
        ("set -e x", ["set"]),
        ('set -e "$x"', ["set", '"$x"']),
        ("set -e ''", ["set"]),
        ("set -e -P", ["set"]),
        ("set -e -o pipefailx", ["set"]),
        ("set", ["set"]),
        ("wait -p 'a[$(x)]'", ["-p", "'a[$(x)]'"]),
        ('echo "$-"', ['"$-"']),
        ('echo "$TOKEN$(ls)"', ['"$TOKEN$(ls)"']),
        ('echo "${x:-$(ls)}"', ['"${x:-$(ls)}"']),
        ("echo $(ls)", ["$(ls)"]),
        ('echo "$(ls)"*', ['"$(ls)"*']),
        ("echo ~$?", ["~$?"]),
        ("echo ../* /etc/* ~/*", ["../*", "/etc/*", "~/*"]),
        ('printf "$(ls)"', ['"$(ls)"']),
        ('git commit -m "$TOKEN"', ['"$TOKEN"']),
        ("git commit -m $(ls)", ["$(ls)"]),
        ('cat "$(ls)"', ['"$(ls)"']),
        ('grep "$(ls)" a', ['"$(ls)"']),
        ("PYTHONPATH=1", ["PYTHONPATH=1"]),
        ("x=1 y=2 ls", ["x=1", "y=2"]),
        ("PATH=. ls", ["PATH=."]),
        ("LC_ALL=../x ls", ["LC_ALL=../x"]),
        ("> out", [">out"]),
        ("ls > out 2>&1 < /etc/passwd", [">out", "</etc/passwd"]),
    ],
)
def test_what_goes_beyond_it_has_to_be_named(line: str, needs: list[str]) -> None:
    """Word by word, as the normal form shows it."""
    assert needs_of(line) == needs


@each_row(
    ("line", "reaches"),
    [
        pytest.param("cat a - b", [PathAccess("a"), PathAccess("b")], id="paths, and the input"),
        pytest.param("cat '' /dev/null", [], id="no path, and nothing"),
        pytest.param("ls *.md", [PathAccess("*.md", is_pattern=True)], id="a pattern"),
        pytest.param("cd src && ls ..", [PathAccess("..", folders=("src",))], id="from another folder"),
        pytest.param(
            "echo * a/*.md", [PathAccess("./a", is_pattern=True)], id="names that the shell looks up to be shown"
        ),
        pytest.param(f"echo {WS}/a/*", [PathAccess(f"{WS}/a", is_pattern=True)], id="the same by the whole path"),
        pytest.param("sort --random-source=a", [PathAccess("a")], id="a value"),
        pytest.param(
            "sort -T=a",
            [PathAccess("=a", change="change"), PathAccess("a", change="change")],
            id="a value that may begin with its sign",
        ),
        pytest.param(
            "diff a b*",
            [
                PathAccess("a"),
                PathAccess("a/**", is_pattern=True),
                PathAccess("b*", is_pattern=True),
                PathAccess("b*/**", is_pattern=True),
            ],
            id="trees",
        ),
        pytest.param('for f in src/*.py; do wc "$f"; done', [PathAccess("src/*.py", is_pattern=True)], id="a loop"),
        pytest.param(
            "cp a* b", [PathAccess("a*", is_pattern=True), PathAccess("b", change="into")], id="sources and a target"
        ),
        pytest.param("wc > a", [PathAccess("a", change="write")], id="a file that is written"),
        pytest.param("wc > /tmp/a 2> /dev/null", [], id="a file elsewhere, which a rule names, and nothing"),
        pytest.param("wc < a", [PathAccess("a")], id="input"),
        pytest.param("[[ -f a && ( b -nt c ) ]]", [PathAccess("a"), PathAccess("b"), PathAccess("c")], id="conditions"),
        pytest.param(
            "diff a /dev/stdin", [PathAccess("a"), PathAccess("a/**", is_pattern=True)], id="a tree, and the input"
        ),
    ],
)
def test_paths_in_the_workspace_are_reaches(line: str, reaches: list[PathAccess]) -> None:
    """Their letters are well; where their links lead is for others to judge."""
    assert [*reading_of(line).demand.reaches] == reaches


@each_row(
    ("line", "is_transparent"),
    [
        ("true", True),
        (":", True),
        ("exit 3", True),
        ("break", True),
        ("return -1", True),
        ("true x", False),
        ("exit $x", False),
        ("true > out", False),
        ("/bin/true", False),
        ("LC_ALL=C true", True),
        ("x=1 true", False),
        ("ls", False),
        ("set -e", True),
        ("set -euo pipefail", True),
        ("set -u -o pipefail", True),
        ("set +e", True),
        ("set -e >out", False),
        ("x=1 set -e", False),
        ("set -x", True),
        ("set -a", False),
    ],
)
def test_control_of_the_shell_needs_no_rule_with_numbers_alone(line: str, *, is_transparent: bool) -> None:
    """By its bare name, and if nothing about it needs naming."""
    assert reading_of(line).is_transparent is is_transparent


def test_program_by_its_path_is_read_by_the_same_table() -> None:
    """What lies in the workspace is another program, whatever it is called."""
    known, unknown = reading_of("/usr/bin/sort -o a b").demand, reading_of("./sort a b").demand

    assert (known.is_known, [need.form for need in known.needs]) == (True, ["-o"])
    assert unknown == Requirements(is_known=False)


@each_row(
    ("line", "needs", "reaches"),
    [
        pytest.param("frob build a.rs", [], [], id="words"),
        pytest.param("frob build --all -j4 a.rs", ["--all", "-j4"], [], id="options"),
        pytest.param("frob - -- -x a.rs", [], [], id="operands that begin like options"),
        pytest.param("frob src/a", [], ["src/a"], id="a path"),
        pytest.param("frob --out=src/a", ["--out=src/a"], ["--out=src/a", "src/a"], id="a path in an option"),
        pytest.param("frob -Isrc/a", ["-Isrc/a"], ["-Isrc/a", "src/a"], id="a path behind letters, or an absolute one"),
        pytest.param("frob -I./a", ["-I./a"], ["-I./a", "./a"], id="a path behind a letter"),
        pytest.param("frob -xf/etc/x", ["-xf/etc/x"], ["-xf/etc/x", "f/etc/x"], id="outside, behind letters"),
        pytest.param("frob -xf..", ["-xf.."], [], id="the parent, behind letters"),
        pytest.param("frob ..", [".."], [], id="the parent"),
        pytest.param("frob a..b", [], [], id="dots"),
        pytest.param("frob --out=/etc/x", ["--out=/etc/x"], ["--out=/etc/x"], id="outside, in an option"),
        pytest.param("frob -I/etc/x", ["-I/etc/x"], ["-I/etc/x"], id="outside, behind a letter"),
        pytest.param("frob --dir=..", ["--dir=.."], [], id="the parent in an option"),
        pytest.param("frob @/etc/x", ["@/etc/x"], ["@/etc/x"], id="outside, behind a sign"),
        pytest.param("frob --a=b,~/x", ["'--a=b,~/x'"], ["--a=b,~/x"], id="home"),
        pytest.param("frob https://x.example/y", ["https://x.example/y"], ["https://x.example/y"], id="an address"),
        pytest.param("frob *.rs", ["*.rs"], [], id="a pattern"),
        pytest.param('frob "$x"', ['"$x"'], [], id="what cannot be determined"),
    ],
)
def test_program_without_a_table_keeps_its_paths_in_the_workspace(line, needs, reaches) -> None:
    """Nothing else is known about it."""
    demand = reading_of(line).demand

    assert not demand.is_known
    assert [need.form for need in demand.needs] == needs
    assert [reach.path for reach in demand.reaches] == reaches


@pytest.mark.parametrize("folders", [(), ("..",), (".", "../x"), ("/etc",)])
def test_command_in_a_folder_outside_is_never_ordinary(folders: tuple[str, ...]) -> None:
    """No word of the command says where it runs, so that no rule can name it."""
    ls = Word("ls", "ls", prefix="ls")

    demand = read_command(Command((ls,), folders=folders), workspace=WS).demand

    assert demand == Requirements(
        (Requirement("(unknown folder)", "it cannot be determined that it runs in the workspace"),)
    )


def test_program_that_cannot_be_told_has_to_be_named() -> None:
    """A variable is no program."""
    demand = read_command(Command((Word('"$x"'),)), workspace=WS).demand

    assert demand == Requirements(
        (Requirement('"$x"', '"$x" names the program, and cannot be determined'),), is_known=False
    )


def test_assignment_that_cannot_be_told_has_to_be_named() -> None:
    """Even where the name is harmless."""
    value = Assignment("LC_ALL", Word('"$x"'), 'LC_ALL="$x"')
    command = Command((Word("ls", "ls", prefix="ls"),), (value,))

    assert [need.form for need in read_command(command, workspace=WS).demand.needs] == ['LC_ALL="$x"']


@pytest.mark.parametrize(
    ("line", "scripts"),
    [("trap 'rm a' EXIT", ["rm a"]), ('trap "$x" EXIT', [None]), ("trap -p", [])],
)
def test_shell_source_is_handed_on(line: str, scripts: list[str | None]) -> None:
    """Also source that cannot be determined, which nobody may run."""
    assert [word.text for word in reading_of(line).scripts] == scripts


@pytest.mark.parametrize(("line", "runs_input"), [("source /dev/stdin", True), ("source a", False), ("cat", False)])
def test_input_may_be_shell_source(line: str, *, runs_input: bool) -> None:
    """Then it is parsed as such, or refused."""
    assert reading_of(line).runs_input is runs_input


WORDS = st.lists(
    st.one_of(
        st.text("-=+/.~@:*an1", max_size=8).map(lambda text: Word(text, text, prefix=text)),
        st.text("-/.na", max_size=4).map(lambda prefix: Word("$x", prefix=prefix, splits=True)),
        st.text("-/.*[]?\\n", max_size=6).map(lambda glob: Word(glob, pattern=glob, splits=True)),
    ),
    max_size=6,
)
PROGRAMS = st.sampled_from(
    ["sort", "ls", "test", "find", "git", "xargs", "env", "date", "tr", "strings", "dd", "nice", "cd", "pytest", "frob"]
)


@given(PROGRAMS, WORDS)
def test_word_that_cannot_be_told_is_never_ordinary(program: str, words: list[Word]) -> None:
    """Whatever stands around it: it is named, part of a command that is judged in turn, or shell source."""
    command = Command((Word(program, program, prefix=program), *words))

    reading = read_command(command, workspace=WS)

    named = {need.form for need in reading.demand.needs} | {word.form for one in reading.inner for word in one.words}
    unknown = {word.form for word in words if word.text is None and word.pattern is None}
    assert unknown <= named


@given(PROGRAMS, WORDS)
def test_reach_never_leaves_the_workspace_by_its_letters(program: str, words: list[Word]) -> None:
    """Neither a path nor a pattern."""
    command = Command((Word(program, program, prefix=program), *words))

    for reach in read_command(command, workspace=WS).demand.reaches:
        assert not reach.path.startswith(("../", "/", "~"))
        assert reach.path != ".."


@pytest.mark.slow
@each_row("unit", ["-n", "a", "--unk", "../x", "-C a", "x=y", "-exec {} ;", "a/../", "-k"])
@each_row("program", ["sort", "find", "git", "test", "env", "frob", "ls"])
def test_many_words_take_linear_time(program: str, unit: str) -> None:
    """Eight times as many take not much more than eight times as long."""

    def cost_s(times: int) -> float:
        words = tuple(Word(text, text, prefix=text) for text in [program, *unit.split() * times])
        command = Command(words)
        start = time.process_time()
        read_command(command, workspace=WS)
        return time.process_time() - start

    small = min(cost_s(250) for _ in range(3))

    assert min(cost_s(2000) for _ in range(3)) < 8 * 4 * small + 0.01


def test_process_substitution_is_input() -> None:
    """For what reads, and nobody else may name a descriptor."""
    assert reading_of("comm <(ls) <(ls src)") == Reading(Requirements())
    assert reading_of("wc -l < <(ls)") == Reading(Requirements())
    assert needs_of("tee <(ls)") == ["<(ls)"]
    assert needs_of("sort >(ls)") == [">(ls)"]
    assert needs_of("comm /dev/fd/* /dev/fd/3") == ["/dev/fd/*", "/dev/fd/3"]
    assert needs_of('for f in /dev/fd/*; do cat "$f"; done') == ['"$f"']


@each_row(
    ("line", "needs"),
    [
        ("echo $((1 + 2)) x$((7 / 2))", []),
        ('head -n "$((2 * (3 + 4)))" a', []),
        ("echo $((1 < 2)) $((1 * 2)) $((3 > 1 ? 4 : 5))", []),
        ("echo $((1 - 2))", []),
        ("cat $((1 - 2))", ["$((1 - 2))"]),
        ("cat $((~1))", ["$((~1))"]),
        ("cat $((1 << 63))", ["$((1 << 63))"]),
        ("cat $((9 ** 9))", ["$((9 ** 9))"]),
        ("cat $((99999999 * 9999999))", []),
        ("cat $((99999999 * 99999999))", ["$((99999999 * 99999999))"]),
        ("IFS=1; echo $((1))", ["$((1))"]),
    ],
)
def test_numbers_that_begin_with_no_dash_are_harmless_texts(line: str, needs: list[str]) -> None:
    """What may be negative could be an option, as could what overflows."""
    assert needs_of(line) == needs
