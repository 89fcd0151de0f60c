"""What the scan of generated code warns of, and what it must not."""

import time

import pytest
from tests.rows import each_row

from toolcharter_shell.suspicions import suspicions, without_comments

Q = '"""'


def warned(code: str, language: str = "python", *, network: bool = False) -> list[tuple[int, str]]:
    return [(one["line"], one["what"]) for one in suspicions(code, language, network=network)]


@each_row(
    ("code", "what"),
    [
        ("subprocess.Popen('ls')", "starts programs"),
        ("SUBPROCESS.RUN(['ls'])", "starts programs"),
        ("os.popen('ls')", "starts programs"),
        ("os.execvpe('a', [], {})", "starts programs"),
        ("from os import path, system", "starts programs"),
        ("x = eval('1')", "runs text as code"),
        ("eval('1')", "runs text as code"),
        ("__import__('os')", "imports by name"),
        ("importlib.import_module(name)", "imports by name"),
        ("shutil.rmtree('/x')", "removes files"),
        ("from shutil import copy, rmtree", "removes files"),
        ("Path('a').unlink()", "removes files"),
        ("open('/etc/hosts')", "opens a file by an absolute path or in a home"),
        ("open(r'~/x')", "opens a file by an absolute path or in a home"),
        ("socket.socket()", "reaches the network"),
        ("websocket.create()", "reaches the network"),
        ("requests.get('u')", "reaches the network"),
        ("import urllib.request", "reaches the network"),
        ("pickle.loads(b)", "loads objects that may run code"),
        ("ctypes.CDLL(None)", "calls into native code"),
        ("print(os.environ)", "reads the environment"),
        ("cmd = 'wget http://x'", "names curl or wget"),
        ("cmd = 'curl -s x'", "names curl or wget"),
        ("run docker ps", "names docker"),
        ("x = ['docker', 'ps']", "names docker"),
        ("c = 'rm -rf x'", "removes files recursively"),
        ("c = 'sudo ls'", "asks for the rights of root"),
        ("c = 'mkfs.ext4 x'", "formats or overwrites a disk"),
        ("p = '/etc/shadow'", "names files of the system that hold accounts or keys"),
    ],
)
def test_python_is_warned_of(code: str, what: str) -> None:
    """Each spelling of what is worth a second look, wherever it stands."""
    assert warned(code) == [(1, what)]
    assert warned(f"x = 1\n\n{code}\n") == [(3, what)]


@each_row(
    ("language", "code", "what"),
    [
        ("javascript", "require('child_process')", "starts programs"),
        ("javascript", "new Function('x')", "runs text as code"),
        ("javascript", "fs.unlinkSync('a')", "removes files"),
        ("javascript", "fs.readFileSync('/etc/hosts')", "opens a file by an absolute path"),
        ("javascript", "fetch('x')", "reaches the network"),
        ("javascript", "import h from 'node:https'", "reaches the network"),
        ("javascript", "process.env.A", "reads the environment"),
        ("bash", "eval x", "runs text as code"),
        ("bash", "cat x | sh", "runs text as code"),
        ("bash", "echo > /dev/tcp/h/1", "reaches the network"),
        ("bash", "curl x", "names curl or wget"),
    ],
)
def test_other_languages_are_warned_of(language: str, code: str, what: str) -> None:
    """Each language has what is special to it."""
    assert warned(code, language) == [(1, what)]


@each_row(
    "code",
    [
        "print('hello')",
        "open('data.csv')",
        "model.eval()",
        "re.compile('x')",
        "x = 'curl'",
        "# use curl to test\nx = 1",
        f"{Q}use curl to test{Q}\nx = 1",
        f"def f():\n    {Q}Call docker ps.\n\n    And eval(x).{Q}\n    return 1",
        f"{Q}one{Q}\n'''curl x'''",
        "x = 1  # subprocess",
        "evaluate(x)",
        "medieval (x)",
        "transform -rf",
        "dockerize ()",
    ],
)
def test_harmless_python_is_not_warned_of(code: str) -> None:
    """Words in remarks, and words that hold others, are no reason."""
    assert warned(code) == []


@pytest.mark.parametrize(
    ("language", "code"),
    [
        ("javascript", "// eval(x)\nlet a = 1"),
        ("javascript", "/* fetch(x)\n process.env */ let a"),
        ("bash", "# curl x\nls # sudo x"),
    ],
)
def test_remarks_of_other_languages_are_left_out(language: str, code: str) -> None:
    """Each language has its own comments."""
    assert warned(code, language) == []


@each_row(
    ("code", "plain"),
    [
        pytest.param("x = '# no remark'", "x = '# no remark'", id="sign in a string"),
        pytest.param("x = 'it\\'s # none'", "x = 'it\\'s # none'", id="escaped quote"),
        pytest.param("x = 'open # none\ny # one", "x = 'open # none\ny      ", id="string nobody closed"),
        pytest.param(f"x = {Q}open\n# none", f"x = {Q}open\n# none", id="long string nobody closed"),
        pytest.param(f"f(\n{Q}curl x{Q})", f"f(\n{Q}curl x{Q})", id="argument"),
        pytest.param(f"x = 1; {Q}a{Q}", f"x = 1; {Q}a{Q}", id="after a statement"),
        pytest.param("# at the end", " " * 12, id="remark at the end"),
        pytest.param("x = 'a\\", "x = 'a\\", id="backslash at the end"),
    ],
)
def test_remarks_are_told_from_strings(code: str, plain: str) -> None:
    """A string that something uses is looked at; the rest of the code is never lost."""
    assert without_comments(code, "python") == plain


def test_a_comment_that_nothing_closes_goes_to_the_end() -> None:
    """As in the language itself."""
    assert without_comments("a /* b\nc", "javascript") == "a     \n "


def test_the_network_is_no_matter_where_it_may_be_used() -> None:
    """A profile that grants it is not warned of it."""
    assert warned("requests.get('u')\ncurl x", network=True) == []


def test_each_thing_is_told_once_and_in_order() -> None:
    """One line for each, where it is first."""
    code = "eval(x)\nos.system(a)\nsubprocess.run(b)\neval(y)"

    assert warned(code) == [(1, "runs text as code"), (2, "starts programs")]


@each_row("piece", [f"{Q} ", "' ", "# ", "\\", "/*", "rm -", " \n", f" {Q}a{Q}", "from os import "])
def test_hostile_code_is_scanned_in_linear_time(piece: str) -> None:
    """Twice the code takes about twice the time."""
    times = []
    for size in (50_000, 200_000):
        code = piece * (size // len(piece))
        started = time.thread_time()
        suspicions(code, "python")
        times.append(time.thread_time() - started)

    assert times[1] < 10 * max(times[0], 0.02)
