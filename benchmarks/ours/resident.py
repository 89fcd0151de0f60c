"""The resident gate of `toolcharter guard`: starts a server, and hooks that ask it."""

import atexit
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from time import perf_counter

from toolcharter_guard import client

folder = tempfile.TemporaryDirectory(prefix="tc-")
home = Path(folder.name)
(home / "project").mkdir()
os.chdir(home / "project")
os.environ.update(HOME=folder.name, XDG_RUNTIME_DIR=folder.name, XDG_STATE_HOME=f"{home}/state")
WORDS = ["toolcharter", "guard", "hook", "codex", "--profile", "guarded", "--events", f"file:{home}/events.jsonl"]
HOOK = [sys.executable, "-I", "-S", str(client.__file__), *WORDS]
SAID = {"hook_event_name": "PreToolUse", "tool_name": "Bash", "session_id": "s", "cwd": f"{home}/project"}
COMMANDS = [
    "git status",
    "git push origin main",
    "cat src/app.py | head -5",
    "rg -n TODO src",
    "cat ../x",
    "ls -la src",
]
MESSAGES = [json.dumps({**SAID, "tool_input": {"command": command}}).encode() for command in COMMANDS]

server = subprocess.Popen([sys.executable, "-P", "-m", "toolcharter", "guard", "serve", "--", *WORDS])
atexit.register(server.wait)
atexit.register(server.terminate)  # Handlers run in reverse order.
wanted = client.identity(WORDS, os.environ)
path = client.socket_path(client.socket_folder(os.environ), wanted)
for _ in range(600):
    if Path(path).exists():
        break
    time.sleep(0.05)


def decided(number: int) -> list[float]:
    """Return the sorted seconds from question to answer for *number* shell lines, some of which are denied."""
    took = []
    for turn in range(number):
        # The agent's calls are numbered, so the gate sees each line for the first time.
        message = MESSAGES[turn % len(MESSAGES)].replace(b'"session_id"', b'"tool_use_id": "c%d", "session_id"' % turn)
        started = perf_counter()
        answer = client._ask_server(path, wanted, message)  # noqa: SLF001 - the hook calls it after its start
        took.append(perf_counter() - started)
        assert answer is not None
        assert answer[0] == 0
        if answer[1].strip() == b"{}":
            ended = message.replace(b"PreToolUse", b"PostToolUse").replace(b'"cwd"', b'"tool_response": "x", "cwd"')
            client._ask_server(path, wanted, ended)  # noqa: SLF001 - as above
    return sorted(took)


def percentile_99(number: int) -> float:
    """Return the 99th percentile of *number* decisions, in milliseconds."""
    return decided(number)[number * 99 // 100] * 1000


def median(number: int) -> float:
    """Return the median of *number* decisions, in milliseconds."""
    return decided(number)[number // 2] * 1000


def hook() -> None:
    """Run one hook, as an agent starts it."""
    done = subprocess.run(HOOK, input=MESSAGES[1], stdout=subprocess.PIPE, check=True)
    assert b"no_push" in done.stdout


def nothing() -> None:
    """Run a Python that does nothing."""
    subprocess.run([sys.executable, "-c", "pass"], input=b"", stdout=subprocess.PIPE, check=True)


OPERATIONS = {"hook": hook, "nothing": nothing}
REPORTS = {"p99_ms": percentile_99, "median_ms": median}
