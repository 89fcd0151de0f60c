"""`scripts/fuzz_shell.py`: lines mean what they should, what they do is seen, and what is not granted is found."""

import subprocess
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from random import Random

import pytest
from tests.cases.shell_tree import plant
from tests.rows import each_row

import fuzz_shell
from shell_fuzz.judge import ALLOWED, Judge, is_foreseen, program_names
from shell_fuzz.lines import Lines
from shell_fuzz.oracle import Rights, violations
from shell_fuzz.sandbox import TOKEN, Observed
from shell_fuzz.shrink import shrink_line
from shell_fuzz.spelling import spell
from shell_fuzz.trace import calls
from shell_fuzz.xtrace import vectors
from toolcharter.guards.shell.parse.script import parse

RULES = ("bash:ls", "bash:ls *", "bash:cat *", "bash:echo *", "bash:git *")
RIGHTS = Rights("/r/ws", frozenset({"ls", "cat", "git", "id", "rg", "python"}), ("/usr/bin",), ("/venv",))
BASH = '1 execve("/usr/bin/bash", ["bash", "-c", "x"], 0x7 /* 9 vars */) = 0\n'
CAT = BASH + '1 execve("/usr/bin/cat", ["cat"], 0x7 /* 9 vars */) = 0\n'
HERE = "AT_FDCWD</r/ws>"


def seen(trace: str = BASH, changed: tuple[str, ...] = (), stdout: str = "", stderr: str = "") -> Observed:
    return Observed(is_finished=True, changed=changed, trace=trace, xtrace="", stdout=stdout, stderr=stderr)


@each_row("text", ["a", "", "it's", 'a "b" $c `d`', "\\n\n\t", "é☃", "-x;&|", "*?[a]", "~", "#", "!"])
def test_bash_reads_every_spelling_as_the_text(text: str) -> None:
    """However a text is quoted, the program gets the text."""
    random = Random(1)
    words = [spell(text, random) for _ in range(60)]

    printed = subprocess.run(
        ["bash", "-c", "printf '%s\\0' " + " ".join(words)],
        capture_output=True,
        check=True,
        env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"},
    ).stdout.decode()

    assert set(printed.split("\0")[:-1]) == {text}


def test_lines_are_the_same_for_the_same_seed() -> None:
    """A finding can be found again."""
    supplies = [Lines(seed, ("ls", "find", "git", "test", "xargs", "cd"), ("ls",), ("ls;x",)) for seed in (1, 1, 2)]

    first, again, other = ([lines.next() for _ in range(300)] for lines in supplies)

    assert (first == again, first == other) == (True, False)


def test_lines_that_were_learnt_are_mutated() -> None:
    """What was allowed comes again, changed."""
    lines = Lines(1, ("ls",), ("ls",), ("ls",))
    for _ in range(4000):
        lines.learn("cat unmistakable.txt")

    assert sum("unmistakable" in lines.next() for _ in range(50)) > 5


def test_commands_of_a_trace_are_read_as_bash_ran_them(tmp_path: Path) -> None:
    """Words come back from `set -x` as they were, assignments and heads of compounds are no commands."""
    source = (
        "x=1; for f in 'a b' $'c\\nd\\x01'; do echo \"$f\" '' é \\'; done; [[ -n x ]]; LC_ALL=C true '+ y\n+ z'; ((1))"
    )
    log = tmp_path / "log"
    with log.open("wb") as file:
        subprocess.run(
            ["bash", "--norc", "-x", "-c", source],
            stderr=file,
            env={"LC_ALL": "C.UTF-8"},
            check=True,
            capture_output=False,
        )

    found = list(vectors(log.read_text()))

    assert found == [
        ("echo", "a b", "", "é", "'"),
        ("echo", "c\nd\x01", "", "é", "'"),
        ("true", "+ y\n+ z"),
    ]


@each_row(
    ("argv", "line", "expected"),
    [
        pytest.param("cat a", "cat a", True, id="literal"),
        pytest.param("cat b", "cat a", False, id="another-word"),
        pytest.param("cat", "cat a", False, id="fewer-words"),
        pytest.param("cat a b", "cat a", False, id="more-words"),
        pytest.param("cat a b", 'x=1; cat "$x" b', True, id="one-unknown-word"),
        pytest.param("cat", "x=1; cat $x", True, id="no-word-of-one-that-splits"),
        pytest.param("cat a b c", "x=1; cat $x c", True, id="many-words-of-one-that-splits"),
        pytest.param("cat a.md b.md", "cat *.md", True, id="names-that-match"),
        pytest.param("cat", "cat *.md", False, id="a-pattern-is-a-word-at-least"),
        pytest.param("cat ya", 'x=1; cat "x$x"', False, id="another-beginning"),
    ],
)
def test_a_command_is_foreseen_if_each_word_is(argv: str, line: str, expected: bool) -> None:  # noqa: FBT001 - a table
    """Certain words must be equal, others what they may become."""
    assert is_foreseen(argv.split(), parse(line).commands) is expected


def test_calls_are_put_together_and_their_paths_made_absolute() -> None:
    """What strace writes in two parts is one call; a path counts from where its process stands, a child's from its parent's."""
    trace = "\n".join(
        [
            '1 chdir("src") = 0',
            "1 clone(child_stack=NULL) = 2",
            f'2 openat({HERE[:-1]}/src>, "x", O_RDONLY <unfinished ...>',
            '1 access("../y", R_OK) = -1 ENOENT (No such file or directory)',
            "2 <... openat resumed>) = 3</r/ws/real\\x20x>",
            '2 unlinkat(3</r/ws/d>, "z\\303\\251", 0) = 0',
            f'2 renameat2({HERE}, "a", 4</r>, "b", 0) = 0',
            f'2 symlinkat("/target", {HERE}, "l") = 0',
            "2 fchmod(3</r/ws/d>, 0644) = 0",
            '1 newfstatat(3</r/ws>, "", {}, AT_EMPTY_PATH) = 0',
            "1 +++ exited with 0 +++",
            "noise",
            '2 mkdir("never", 0777 <unfinished ...>',
        ]
    )

    found = [
        (call.process, call.name, call.paths, call.succeeded, call.opened, call.child) for call in calls(trace, "/r/ws")
    ]

    assert found == [
        (1, "chdir", ("/r/ws/src",), True, None, 0),
        (1, "clone", (), True, None, 2),
        (1, "access", ("/r/ws/y",), False, None, 0),
        (2, "openat", ("/r/ws/src/x",), True, "/r/ws/real x", 0),
        (2, "unlinkat", ("/r/ws/d/zé",), True, None, 0),
        (2, "renameat2", ("/r/ws/a", "/r/b"), True, None, 0),
        (2, "symlinkat", ("/r/ws/l",), True, None, 0),
        (2, "fchmod", ("/r/ws/d",), True, None, 0),
        (2, "mkdir", ("/r/ws/never",), True, None, 0),
    ]


@each_row(
    ("observed", "expected"),
    [
        pytest.param(seen(), [], id="nothing"),
        pytest.param(seen(CAT), [], id="allowed-program"),
        pytest.param(
            seen(BASH + '1 execve("/usr/bin/touch", ["touch"], 0x7) = -1 ENOENT (No)'),
            ["starts /usr/bin/touch"],
            id="tried",
        ),
        pytest.param(seen(BASH + '1 execve("/usr/bin/time", ["time", "ls"], 0x7) = 0'), [], id="transparent"),
        pytest.param(
            seen(
                BASH
                + '1 execve("/usr/bin/time", ["time", "touch"], 0) = 0\n1 execve("/usr/bin/touch", ["touch"], 0) = 0'
            ),
            ["starts /usr/bin/touch"],
            id="behind-transparent",
        ),
        pytest.param(seen(BASH + '1 execve("/r/ws/time", ["time"], 0x7) = 0'), ["starts /r/ws/time"], id="own-time"),
        pytest.param(seen(BASH + '1 execve("/r/ws/ls", ["ls"], 0x7) = 0'), ["starts /r/ws/ls"], id="of-the-workspace"),
        pytest.param(seen(BASH + "1 execve(NULL, NULL, NULL) = 0"), ["starts NULL, NULL, NULL"], id="no-path"),
        pytest.param(seen(BASH + '1 execve("/usr/lib/git-core/git", ["git", "log"], 0) = 0'), [], id="git-of-git"),
        pytest.param(
            seen(BASH + '1 execve("/usr/lib/git-core/git", ["git", "gc"], 0) = 0'),
            ["starts /usr/lib/git-core/git"],
            id="gc",
        ),
        pytest.param(
            seen(CAT + f'1 openat({HERE}, "p", O_WRONLY|O_CREAT, 0666) = 3</r/ws/p>'),
            ["cat: openat changes /r/ws/p"],
            id="writes",
        ),
        pytest.param(seen(CAT + f'1 openat({HERE}, "/dev/null", O_WRONLY) = 3</dev/null>'), [], id="writes-nowhere"),
        pytest.param(seen(CAT + '1 unlink("p") = -1 ENOENT (No)'), ["cat: unlink changes /r/ws/p"], id="deletes"),
        pytest.param(
            seen(
                BASH
                + '1 execve("/usr/bin/git", ["git"], 0) = 0\n1 unlink(".git/index.lock") = 0\n1 unlink(".git/config") = 0'
            ),
            ["git: unlink changes /r/ws/.git/config"],
            id="git-keeps-its-data",
        ),
        pytest.param(
            seen(
                BASH
                + '1 execve("/usr/bin/python", ["python"], 0) = 0\n1 mkdir("src/__pycache__") = 0\n1 mkdir("y") = 0'
            ),
            ["python: mkdir changes /r/ws/y"],
            id="caches",
        ),
        pytest.param(
            seen(CAT + f'1 openat({HERE}, "link", O_RDONLY) = 3</r/outside/s>'),
            ["cat reads /r/outside/s"],
            id="reads-outside",
        ),
        pytest.param(
            seen(CAT + f'1 openat({HERE}, "../outside/s", O_RDONLY) = -1 ENOENT (No)'),
            ["cat looks at /r/outside/s"],
            id="tries-to-read-outside",
        ),
        pytest.param(
            seen(CAT + f'1 newfstatat({HERE}, "/etc/passwd", 0x7, 0) = 0'),
            ["cat looks at /etc/passwd"],
            id="looks-outside",
        ),
        pytest.param(
            seen(BASH + f'1 newfstatat({HERE}, "/etc/passwd", 0x7, 0) = 0\n1 access("/r/home", F_OK) = 0'), [], id="who"
        ),
        pytest.param(
            seen(
                BASH
                + '1 execve("/usr/bin/id", ["id"], 0) = 0\n1 access("/etc/userdb", F_OK) = 0\n1 access("/etc/x", F_OK) = 0'
            ),
            ["id looks at /etc/x"],
            id="id",
        ),
        pytest.param(
            seen(
                BASH
                + '1 execve("/usr/bin/find", ["find"], 0) = 0\n1 access("/etc/userdb/%s.group", F_OK) = -1 ENOENT (No)\n'
                + '1 access("/etc/userdb/a/b", F_OK) = -1 ENOENT (No)'
            ),
            ["starts /usr/bin/find", "find looks at /etc/userdb/a/b"],
            id="find",
        ),
        pytest.param(
            seen(
                BASH
                + '1 execve("/usr/bin/rg", ["rg"], 0) = 0\n1 access("/r/.ignore", F_OK) = 0\n1 access("/r/x", F_OK) = 0'
            ),
            ["rg looks at /r/x"],
            id="rg",
        ),
        pytest.param(
            seen(
                BASH + '1 execve("/usr/bin/python", ["python"], 0) = 0\n1 access("/etc/x", F_OK) = 0\n'
                f'1 openat({HERE}, "/venv/x", O_RDONLY) = 3</venv/x>\n1 openat({HERE}, "/etc/x", O_RDONLY) = 3</etc/x>'
            ),
            ["python reads /etc/x"],
            id="python",
        ),
        pytest.param(
            seen(
                CAT
                + f'1 openat({HERE}, "/r/home/.jq", O_RDONLY) = 3</r/home/.jq>\n1 openat({HERE}, "l", O_RDONLY) = 3</usr/lib/l>'
            ),
            [],
            id="of-the-system-and-the-user",
        ),
        pytest.param(
            seen(
                CAT
                + '1 clone(child_stack=NULL) = 2\n3 unlink("q") = 0\n2 clone(child_stack=NULL) = 3\n2 unlink("p") = 0'
            ),
            ["cat: unlink changes /r/ws/q", "cat: unlink changes /r/ws/p"],
            id="child",
        ),
        pytest.param(
            seen(CAT + "1 connect(3<socket:[1]>, {sa_family=AF_INET, sin_port=htons(9)}, 16) = 0"),
            ["connects 3<socket:[1]>, {sa_family=AF_INET, sin_port=htons(9)}, 16"],
            id="connects",
        ),
        pytest.param(
            seen(
                CAT + '1 connect(3, {sa_family=AF_UNIX, sun_path="/var/run/nscd/socket"}, 110) = 0\n'
                '1 connect(3, {sa_family=AF_UNIX, sun_path="/s"}, 110) = 0'
            ),
            ['connects 3, {sa_family=AF_UNIX, sun_path="/s"}, 110'],
            id="sockets-of-the-host",
        ),
        pytest.param(
            seen(
                CAT + f'1 openat({HERE}, "/", O_RDONLY|O_CLOEXEC) = 3</>\n'
                f'1 openat({HERE}, "/", O_RDONLY|O_DIRECTORY) = 3</>\n1 openat({HERE}, "/run", O_PATH) = 3</run>'
            ),
            ["cat reads /", "cat reads /run"],
            id="folders-that-are-listed",
        ),
        pytest.param(
            seen(
                BASH + f'1 openat({HERE}, "/", O_RDONLY|O_CLOEXEC|O_PATH|O_DIRECTORY) = 3</>\n'
                '1 openat(3</>, "bin", O_RDONLY|O_NOFOLLOW|O_CLOEXEC|O_PATH) = 4</bin>\n'
                '1 openat(3</>, "usr", O_RDONLY|O_NOFOLLOW|O_CLOEXEC|O_PATH) = 4</usr>\n'
                '1 openat(4</usr>, "bin", O_RDONLY|O_NOFOLLOW|O_CLOEXEC|O_PATH) = 5</usr/bin>\n'
                '1 openat(3</>, "lib", O_RDONLY|O_NOFOLLOW|O_CLOEXEC|O_PATH) = 4</lib>\n'
                f'1 openat({HERE}, "/bin", O_RDONLY|O_DIRECTORY) = 3</bin>'
            ),
            ["bash reads /bin"],
            id="folders-on-the-way-to-users",
        ),
        pytest.param(
            seen(changed=("ws/pwned", "ws/.git/HEAD", "ws/.git/config", "ws/src/__pycache__/x")),
            ["changes ws/pwned", "changes ws/.git/config"],
            id="files",
        ),
        pytest.param(seen(stdout=f"x {TOKEN}"), [f"prints {TOKEN}"], id="secret"),
        pytest.param(
            seen(stderr="bash: line 1: tuch: command not found\nbash: line 1: ls: command not found\n"),
            ["looks for the program 'tuch'"],
            id="missing-program",
        ),
    ],
)
def test_all_that_is_not_granted_is_found(observed: Observed, expected: list[str]) -> None:
    """Programs, changes, reads, connections and secrets: each by what was seen."""
    assert violations(observed, RIGHTS) == expected


def test_what_can_be_left_out_is_left_out() -> None:
    """The shortest line that still does it."""
    assert shrink_line("ls -l; cat a.txt && touch pwned # x", lambda line: "touch" in line) == "touch"


def test_the_judge_says_what_the_gate_says(tmp_path: Path) -> None:
    """A rule, a path that leads outside, a line that does not parse; and the names that rules know."""
    judge = Judge(plant(tmp_path.resolve()).workspace, RULES)
    lines = ("ls", "cat link_secret", "touch x", "ls 'x")

    verdicts = [judge.verdict(line).reason for line in lines]

    assert verdicts == [ALLOWED, "path_outside_workspace", "not_in_allow", "not_understood"]
    assert program_names(RULES) == ("ls", "cat", "echo", "git")


@pytest.fixture
def bench(tmp_path: Path):
    root, place = tmp_path.resolve() / "tree", tmp_path.resolve() / "sandbox"
    root.mkdir()
    place.mkdir()
    with ExitStack() as stack:
        bench = fuzz_shell.Bench(plant(root), place, stack)
        bench.sandbox.seconds = 60.0  # A busy machine is no finding.
        yield bench


@pytest.mark.needs_program("bwrap", package="bubblewrap")
@pytest.mark.needs_program("strace")
def test_what_lines_do_is_seen_and_undone(bench: fuzz_shell.Bench) -> None:
    """Each line meets the same folders, whatever those before it have done, and all that it may not do is found."""
    workspace = bench.tree.workspace
    found = [
        bench.run(line)[1]
        for line in (
            "ls; cat README.md | wc -l",
            "touch pwned",
            "ls pwned",
            "cat link_secret",
            "echo $GITHUB_TOKEN",
            "git commit -q --allow-empty -m x",
            "cat </dev/tcp/127.0.0.1/9",
        )
    ]

    assert found[0] == found[2] == found[5] == []
    assert set(found[1]) >= {"starts /usr/bin/touch", f"touch: openat changes {workspace}/pwned", "changes ws/pwned"}
    assert found[3] == [f"cat reads {workspace.parent}/outside/secret.txt", "prints SENTINELsecret"]
    assert found[4] == [f"prints {TOKEN}"]
    assert len(found[6]) == 1
    assert found[6][0].startswith("connects")
    assert not (workspace / "pwned").exists()


@pytest.mark.needs_program("bwrap", package="bubblewrap")
@pytest.mark.needs_program("strace")
def test_commands_that_the_guard_has_not_seen_are_found(
    bench: fuzz_shell.Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What bash runs is compared with what was judged, word for word; a finding is as short as can be."""
    monkeypatch.setattr(bench.judge, "is_foreseen", lambda argv, _: is_foreseen(argv, parse("echo b").commands))
    _, what, compared = bench.run("echo a; echo b")

    finding = bench.shrink("echo a; echo b", what)

    assert (what, compared) == (["bash runs ('echo', 'a'), which the guard has not seen"], 2)
    assert finding.line in {"echo", "echo "}


@pytest.mark.needs_program("bwrap", package="bubblewrap")
@pytest.mark.needs_program("strace")
def test_a_line_that_takes_too_long_is_ended(bench: fuzz_shell.Bench) -> None:
    """The next one runs as if nothing had been."""
    bench.sandbox.seconds = 0.5
    endless = bench.run("while true; do true; done")[0]
    bench.sandbox.seconds = 60.0
    usual = bench.run("echo x")[0]

    assert [(one.is_finished, one.stdout) for one in (endless, usual)] == [(False, ""), (True, "x\n")]


@pytest.mark.needs_program("bwrap", package="bubblewrap")
@pytest.mark.needs_program("strace")
def test_a_worker_counts_what_it_has_done() -> None:
    """So many lines are judged and run as were asked for; the guard holds."""
    count = fuzz_shell.work(fuzz_shell.Work(5, 60, 6, 600))

    assert (count.reasons.total(), count.executed, count.findings) == (60, 6, ())


def test_a_run_is_reported_with_its_counts() -> None:
    """What was judged, why it was refused, what was run, and each finding."""
    finding = fuzz_shell.Finding("ls x", ("starts /x",))
    counts = [
        fuzz_shell.Count(Counter({"allowed": 2, "not_in_allow": 1}), 1, 0, 3, ()),
        fuzz_shell.Count(Counter({"allowed": 1}), 1, 1, 4, (finding,)),
    ]

    page = fuzz_shell.report(9, counts)

    assert page.splitlines()[4:] == [
        "| what | lines |",
        "|---|---|",
        "| judged | 4 |",
        "| allowed | 3 |",
        "| refused: `not_in_allow` | 1 |",
        "| run under bash, traced | 2 |",
        "| of those, ended after their time | 1 |",
        "| findings | 1 |",
        "",
        "7 commands that bash ran were compared with those that the guard saw.",
        "",
        "- `'ls x'`: starts /x",
    ]
    assert not fuzz_shell.is_full(counts)
