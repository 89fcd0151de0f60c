"""A plugin with one telling tool, in this process and in an environment of its own."""

import importlib
import json
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from click.testing import CliRunner, Result

import toolcharter
from toolcharter.cli.group import toolcharter as group
from toolcharter.events.contract import FRAMES

MODULE = dedent('''
    """Says words."""

    import json
    import time
    from enum import StrEnum

    from toolcharter import *


    class EchoPolicy(ToolPolicy):
        allowed: tuple[str, ...] = ()
        fail_at_close: bool = False


    class EchoReason(StrEnum):
        WORD_NOT_ALLOWED = "word_not_allowed"


    def build(workspace, policy, rt):
        def close():
            raise RuntimeError("stuck")

        if policy.fail_at_close:
            rt.on_close(close)

        def echo(
            word: str, times: int = 1, loud: bool = False, tags: list[str] = [], ratio: float | None = None
        ) -> str:
            """Say a word.

            Args:
                word: Which.
            """
            ctx = rt.start("echo", word=word)
            if word not in policy.allowed:
                return ctx.deny(EchoReason.WORD_NOT_ALLOWED, "Not this word.", hint="Say another.")
            ctx.policy_passed()
            if word == "interrupt":
                raise KeyboardInterrupt
            if word == "sleep":
                time.sleep(60)
            user_text = "for you: \\x1b[31mred" if word == "red" else None
            return ctx.ok(json.dumps([word, times, loud, tags, ratio]), user_text=user_text)

        return echo


    @hookimpl
    def register_tools():
        return [
            ToolSpec(
                "echo", EchoPolicy, build, reasons=EchoReason, capabilities={"text"}, safety="low", staged=True,
                argument_aliases={"count": "times"},
            )
        ]
''')
README = """
| reason | outcome | retry | meaning |
|---|---|---|---|
| `word_not_allowed` | denied | no | The word is not in the list. |
"""
ASKER = '''
"""Answers."""
from toolcharter import *

class Approver:
    closed = False

    @hookimpl
    def answer_approval(self, request):
        return "deny"

    def close(self):
        with open("closed", "a") as file:
            file.write("closed ")

@hookimpl
def register_extensions():
    return [ExtensionSpec("asker", ExtensionPolicy, lambda workspace, policy: Approver())]
'''
PROFILE = """
profile: demo
description: Says words.
tools:
  echo: {allowed: [hi, interrupt, sleep, red]}
"""
QUIET = ("--profile", "./demo.yaml", "--events", "file:events.jsonl")


def install(
    site: Path, distribution: str = "toolcharter-demo", module: str = MODULE, group: str = "toolcharter"
) -> None:
    """Lay a distribution with the entry point `echo` into *site*, as an installer does."""
    package = distribution.replace("-", "_")
    (site / package).mkdir(parents=True)
    (site / package / "__init__.py").write_text(module)
    metadata = site / f"{package}-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.0\n\n{README}")
    (metadata / "entry_points.txt").write_text(f"[{group}]\necho = {package}\n")
    importlib.invalidate_caches()


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A site directory with the demo plugin, the only one that this process finds."""
    folder = tmp_path / "site-packages"
    install(folder)
    monkeypatch.delenv("TOOLCHARTER_PLUGINS", raising=False)
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setattr("toolcharter.loader.scan.site_dirs", lambda: frozenset({str(folder)}))
    monkeypatch.setattr("toolcharter.loader.scan.search_path", lambda _: (str(folder),))
    before = set(sys.modules)
    yield folder
    for name in set(sys.modules) - before:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


@pytest.fixture
def desk(site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a profile that lists the demo tool."""
    folder = tmp_path / "desk"
    folder.mkdir()
    (folder / "demo.yaml").write_text(PROFILE)
    monkeypatch.chdir(folder)
    monkeypatch.setattr("toolcharter.profile.find.shipped_profiles", lambda: folder / "shipped")
    return folder


@pytest.fixture
def run(desk: Path) -> Callable[..., Result]:
    """Run the command in this process."""

    def run_in_process(*words: str, stdin: str | bytes = "") -> Result:
        result = CliRunner().invoke(group, words, input=stdin)
        if result.exception and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return run_in_process


def lines_of(text: str | bytes) -> list[dict[str, Any]]:
    """JSON lines, without what differs from run to run."""
    changing = {"call_id", "elapsed_ms"}
    return [{k: v for k, v in json.loads(line).items() if k not in changing} for line in text.splitlines()]


def calls_in(text: str | bytes) -> list[dict[str, Any]]:
    """The events of calls among event lines, without `toolbox.open` and `toolbox.close`."""
    return [event for line in text.splitlines() if (event := json.loads(line))["event"] not in FRAMES]


def events_in(folder: Path) -> list[str]:
    return [event["event"] for event in calls_in((folder / "events.jsonl").read_text())]


def ended(outcome: str, text: str, **fields: Any) -> dict[str, Any]:
    """A result line as `run` writes it, without what differs from run to run."""
    empty = {
        "user_text": None,
        "data": None,
        "reason": None,
        "message": None,
        "hint": None,
        "retryable": False,
        "exit_code": None,
        "truncated": False,
        "redactions": 0,
    }
    return {"outcome": outcome, "text": text, **empty, **fields}


class Shell:
    """An environment with the core and the demo plugin, whose command runs as a process."""

    def __init__(self, folder: Path) -> None:
        venv.create(folder / "venv", symlinks=True)
        self.python = folder / "venv/bin/python"
        version = f"python{sys.version_info.major}.{sys.version_info.minor}"
        site = folder / "venv/lib" / version / "site-packages"
        install(site)
        core = [str(Path(toolcharter.__file__).parents[1]), sysconfig.get_path("purelib")]
        (site / "core.pth").write_text("\n".join(core))
        self.desk = folder / "desk"
        self.desk.mkdir()
        (self.desk / "demo.yaml").write_text(PROFILE)

    def command(self, *words: str) -> list[str]:
        return [str(self.python), "-m", "toolcharter.cli", *words]

    def start(self, *words: str, **options: Any) -> "subprocess.Popen[bytes]":
        environment: Mapping[str, str] = {"PATH": "/usr/bin:/bin", "TERM": "xterm"}
        return subprocess.Popen(self.command(*words), cwd=self.desk, env=environment, **options)


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)
