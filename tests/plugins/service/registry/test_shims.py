"""Tools as programs: what is typed reaches the tool, what it answers is printed, and nothing secret lies in a file."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.core.guards.store.memory_engine import MemoryEngine
from tests.plugins.service.serving import configured, serving
from tests.rows import each_row

from toolcharter.guards.store.handle import StoreHandle
from toolcharter_service.auth import Role
from toolcharter_service.auth.tokens import NewToken, create_token
from toolcharter_service.http.app import create_app
from toolcharter_service.registry.catalog import register
from toolcharter_service.registry.rules import Actor, parse_record
from toolcharter_service.registry.shim_program import UsageError, read_words, status_of
from toolcharter_service.registry.shims import Shim, shims, write_shims
from toolcharter_service.service import Service

pytestmark = pytest.mark.slow

PROFILE = """
profile: shimmed
description: HDN's tools, and one that is registered.
runner: host
extensions: {registry: {extend: true}}
tools: {read_file: {}, write_file: {}, list_files: {}, text_search: {}, bash: {}}
allow: ["bash:echo *", "bash:false", "custom:*"]
"""
TOKEN = "".join(chr(97 + number * 5 % 26) for number in range(30))
PROPERTIES: dict[str, Any] = {
    "text": {"type": "string"},
    "count": {"type": "integer"},
    "flag": {"type": "boolean"},
    "many": {"type": "array"},
    "any": {},
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("shims")


@pytest.fixture(scope="module")
def programs(place: Path) -> Iterator[Path]:
    """The shims of a service that runs."""
    service = Service(configured(place, {"bot": PROFILE}), stores=StoreHandle(MemoryEngine))
    created = create_token("acme", NewToken(name="shims", roles=(Role.CALLER, Role.VIEWER), agents=("bot",)), "test")
    service.store("").put(created.record)
    actor = Actor("ann")
    record = {"id": "both", "exec": {"type": "cmd", "cmd": "printf", "args": ["[%s]", "{a}", "{b}"]}, "permissions": []}
    register(service.store("acme"), parse_record(record, actor=actor, now="2026"), actor, "2026")
    with serving(create_app(service)) as url:
        (place / "token").write_text(f"{created.text}\n")
        done = CliRunner().invoke(shims, [str(place / "bin"), "--url", url], env={"TOOLCHARTER_TOKEN": created.text})
        assert done.exit_code == 0, done.output
        yield place / "bin"


def run(programs: Path, name: str, *words: str, stdin: str = "", **environ: str) -> tuple[int, str, str]:
    done = subprocess.run(
        [programs / name, *words],
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
        env={
            "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
            "TOOLCHARTER_TOKEN_FILE": str(programs.parent / "token"),
            **environ,
        },
    )
    return done.returncode, done.stdout, done.stderr


def test_hdns_tools_by_their_short_names(programs: Path) -> None:
    """Each prints the tool's JSON."""
    assert run(programs, "file_write", "--path", "a b.txt", "--content=it's $HOME; `id`\n")[:2] == (
        0,
        '{"written":17}\n',
    )
    assert json.loads(run(programs, "file_read", "-path", "a b.txt")[1]) == {"content": "it's $HOME; `id`\n"}
    assert json.loads(run(programs, "text_search", "--pattern", "t.o", stdin="one\ntwo\n")[1]) == {"matches": ["two"]}


def test_exit_status(programs: Path) -> None:
    """That of the tool's program; 1 for a refusal, 2 for what cannot be a call."""
    assert run(programs, "exec", "--cmd", "false")[:2] == (1, '{"stdout":"","stderr":"","exit_code":1}\n')
    status, out, err = run(programs, "exec", "--cmd", "rm -rf /")
    assert (status, out, json.loads(err)["reason"]) == (1, "", "denied_by_floor")
    assert run(programs, "http_get", "--url")[0] == 2
    assert run(programs, "http_get", "--uri", "x")[0] == 2
    assert run(programs, "file_read")[0] == 2
    assert run(programs, "codegen", "--spec", "x")[0] == 1
    assert run(programs, "http_get", "--help")[0] == 0


def test_a_registered_tool(programs: Path) -> None:
    """By its id; each value stays one word."""
    assert run(programs, "both", "--a", "x y;z", "--b", '{"k": [1]}')[:2] == (
        0,
        '{"output":"[x y;z][{\\"k\\":[1]}]"}\n',
    )
    assert run(programs, "both", "--args", '{"a": "1", "b": "2"}')[1] == '{"output":"[1][2]"}\n'


def test_nothing_secret_is_in_the_files(programs: Path, place: Path) -> None:
    """The token is asked for at each call, from the environment or a file; nobody else can write a program."""
    token = (place / "token").read_text().strip()
    for file in programs.iterdir():
        assert token not in file.read_text()
        assert file.stat().st_mode & 0o777 == 0o755


def test_the_token_comes_from_a_file_or_a_variable(programs: Path, place: Path) -> None:
    """A file that is not there is told, and a wrong token is refused."""
    token = (place / "token").read_text().strip()
    assert run(programs, "ls", "--path", ".")[0] == 0
    assert run(programs, "ls", "--path", ".", TOOLCHARTER_TOKEN=token, TOOLCHARTER_TOKEN_FILE="")[0] == 0
    status, _, err = run(programs, "ls", "--path", ".", TOOLCHARTER_TOKEN=TOKEN)
    assert (status, json.loads(err)["reason"], TOKEN in err) == (1, "unauthenticated", False)
    status, _, err = run(programs, "ls", "--path", ".", TOOLCHARTER_TOKEN_FILE="/nowhere")
    assert (status, "/nowhere" in err) == (2, True)


def test_a_token_leaves_no_machine_in_the_clear(tmp_path: Path) -> None:
    """Neither the list nor a call."""
    shim = Shim("t", "", {}, {"url": "http://tools.example.org"})
    write_shims(tmp_path, [shim])

    status, _, err = run(tmp_path, "t", TOOLCHARTER_TOKEN=TOKEN)
    listed = CliRunner().invoke(
        shims, [str(tmp_path), "--url", "http://tools.example.org"], env={"TOOLCHARTER_TOKEN": TOKEN}
    )

    assert (status, "https" in err, TOKEN in err) == (2, True, False)
    assert (listed.exit_code, "https" in listed.output) == (2, True)


def test_modules_beside_a_shim_are_not_imported(programs: Path, tmp_path: Path) -> None:
    """Nor those of the folder that it is called in."""
    for folder in (programs, tmp_path):
        (folder / "json.py").write_text("raise SystemExit(77)")
    done = subprocess.run(
        [programs / "ls", "--help"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        check=False,
        capture_output=True,
    )
    (programs / "json.py").unlink()

    assert done.returncode == 0


def test_what_is_no_shim_stays(tmp_path: Path) -> None:
    """A file of somebody else is not written over, nor what a link leads to; a shim whose tool is gone goes."""
    (tmp_path / "mine").write_text("#!/bin/sh\n")
    (tmp_path / "outside").write_text("kept")
    (tmp_path / "linked").symlink_to(tmp_path / "outside")
    all_of_them = [Shim(name, "", {}, {"url": "http://127.0.0.1"}) for name in ("mine", "linked", "old", "-x", "new")]

    first = write_shims(tmp_path, all_of_them)
    second = write_shims(tmp_path, [one for one in all_of_them if one.tool != "old"])

    assert (first.written, len(first.notes)) == (("new", "old"), 3)
    assert (second.written, second.removed) == (("new",), ("old",))
    assert ((tmp_path / "mine").read_text(), (tmp_path / "outside").read_text()) == ("#!/bin/sh\n", "kept")


def test_short_names_that_are_taken(tmp_path: Path) -> None:
    """Another tool's own name wins."""
    all_of_them = [
        Shim(name, "", {}, {"url": "http://127.0.0.1"}) for name in ("tool_ls", "ls", "tool_own", "tool_exec")
    ]

    assert write_shims(tmp_path, all_of_them).written == ("exec", "ls", "tool_ls", "tool_own")


def test_a_profile_in_process(tmp_path: Path) -> None:
    """Without a service, through the same gate."""
    (tmp_path / "p.yaml").write_text("profile: p\ndescription: Reads.\ntools: {read_file: {}}\n")
    (tmp_path / "ws").mkdir()
    (tmp_path / "ws" / "a.txt").write_text("content")
    words = [str(tmp_path / "bin"), "--profile", str(tmp_path / "p.yaml"), "--workspace", str(tmp_path / "ws")]
    assert CliRunner().invoke(shims, words).exit_code == 0
    state = {"XDG_STATE_HOME": str(tmp_path / "state"), "HOME": str(tmp_path)}

    status, out, _ = run(tmp_path / "bin", "read_file", "--path", "a.txt", **state)
    refused, nothing, err = run(tmp_path / "bin", "read_file", "--path", "/etc/passwd", **state)

    assert (status, json.loads(out)["content"]) == (0, "content")
    assert (refused, nothing, json.loads(err.splitlines()[-1])["reason"]) == (1, "", "path_outside_workspace")


@each_row(
    ("words", "expected"),
    [
        pytest.param(["--text", "5"], {"text": "5"}, id="a text stays one"),
        pytest.param(["--text", "--flag"], {"text": "--flag"}, id="a value like an option"),
        pytest.param(["--count=5", "--flag"], {"count": 5, "flag": True}, id="by type"),
        pytest.param(["--flag=false"], {"flag": False}, id="a flag that is off"),
        pytest.param(["--many", "a", "--many", "b"], {"many": ["a", "b"]}, id="a list in parts"),
        pytest.param(["--many", '["a", 1]'], {"many": ["a", 1]}, id="a list as JSON"),
        pytest.param(["--any", "x", "--args", '{"text": "y"}'], {"any": "x", "text": "y"}, id="all at once"),
    ],
)
def test_words(words: list[str], expected: dict[str, Any]) -> None:
    """As the schema reads them."""
    assert read_words(words, PROPERTIES) == expected


@each_row("words", [["text"], ["--nope", "x"], ["--text"], ["--count", "x"], ["--args", "[]"], ["--", "x"]])
def test_words_that_are_no_call(words: list[str]) -> None:
    """Are told."""
    with pytest.raises(UsageError):
        read_words(words, PROPERTIES)


def test_status_of_an_answer() -> None:
    """What no exit status can be is a failure."""
    answers = ['{"exit_code": 3}', '{"exit_code": 0}', '{"exit_code": -9}', '{"exit_code": 999}', "[1]", "{}", "x"]

    assert [status_of(one) for one in answers] == [3, 0, 1, 1, 0, 0, 0]
