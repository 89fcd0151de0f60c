"""The toy distribution of the golden calls: one tool or extension for each thing that a call can meet.

A test installs this folder as `toolcharter_golden` into an environment of its own; this module imports the package root and nothing below it.
"""

import asyncio
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pydantic import Field

from toolcharter import (
    ApprovalAnswer,
    Ask,
    CheckPolicy,
    Denied,
    Deny,
    ExtensionSpec,
    Invocation,
    ToolError,
    ToolPolicy,
    ToolRuntime,
    ToolSpec,
    hookimpl,
)

RELEASE = threading.Event()
"""Set at the end of a scenario, so that threads which were given up can end."""
STARTED = threading.Event()
"""Set by a body that is about to wait."""
RAN: list[str] = []
"""Which bodies have done their work."""
SECRET = "gh" + "p_" + "a1B2" * 9


class EchoPolicy(ToolPolicy):
    """Which words may be said."""

    refused: tuple[str, ...] = ()
    """Words that the tool refuses."""


def build_echo(_workspace: Path, policy: EchoPolicy, rt: ToolRuntime) -> Callable[..., str]:
    """Make the staged, synchronous tool."""

    def echo(word: str = "hi", action: str | None = None) -> str:
        """Say a word.

        Args:
            word: Which.
            action: How.
        """
        ctx = rt.start("echo", word=word)
        if word in policy.refused:
            return ctx.deny("word_refused", f"{word} is refused.", hint="Say another word.", listed=len(policy.refused))
        ctx.policy_passed()
        RAN.append(f"echo {word}")
        return ctx.ok(word)

    return echo


def build_aecho(_workspace: Path, policy: EchoPolicy, rt: ToolRuntime) -> Callable[..., Any]:
    """Make the staged, asynchronous tool."""

    async def aecho(word: str = "hi") -> str:
        """Say a word later.

        Args:
            word: Which.
        """
        ctx = rt.start("aecho", word=word)
        await asyncio.sleep(0)
        if word in policy.refused:
            return ctx.deny("word_refused", f"{word} is refused.")
        ctx.policy_passed()
        await asyncio.sleep(0)
        RAN.append(f"aecho {word}")
        return ctx.ok(word)

    return aecho


def build_body(_workspace: Path, _policy: ToolPolicy, rt: ToolRuntime) -> Callable[..., Any]:
    """Make a tool whose body ends in the way that it is told."""

    def body(how: str) -> Any:
        """End in one way.

        Args:
            how: Which.
        """
        return _ENDS[how](rt)

    return body


def _secrets(rt: ToolRuntime) -> str:
    ctx = rt.start("body")
    return ctx.ok(f"key {SECRET}", data={"key": [SECRET]}, user_text=f"yours: {SECRET}", note=SECRET)


def _after_the_end(rt: ToolRuntime) -> str:
    rt.start("body").ok("done")
    raise ValueError("too late")


def _twice(rt: ToolRuntime) -> str:
    ctx = rt.start("body")
    ctx.ok("once")
    return ctx.ok("twice")


def _past_the_deadline(rt: ToolRuntime) -> str:
    while time.monotonic() <= rt.deadline:
        time.sleep(0.005)
    return "late"


def _raise(error: BaseException) -> Callable[[ToolRuntime], Any]:
    def raising(_rt: ToolRuntime) -> Any:
        raise error

    return raising


def _interrupted(_rt: ToolRuntime) -> str:
    signal.raise_signal(signal.SIGINT)
    time.sleep(60)
    return "not interrupted"


_ENDS: dict[str, Callable[[ToolRuntime], Any]] = {
    "text": lambda _rt: "plain",
    "nothing": lambda _rt: None,
    "object": lambda _rt: {"answer": 42, "list": [1, "two", None]},
    "long": lambda _rt: "0123456789" * 20,
    "secrets": _secrets,
    "all fields": lambda rt: rt.start("body").ok(
        "shown", data={"a": 1}, user_text="for people", exit_code=0, truncated=True, extra=1
    ),
    "tool error": _raise(ToolError("no such shop", reason="shop_not_found", hint="Look elsewhere.", retryable=True)),
    "recorded error": lambda rt: rt.start("body").error("it is shut", reason="shop_shut", exit_code=3, extra=[1]),
    "denied": _raise(Denied("name_not_allowed", "Not this one.", hint="Another.")),
    "exception": _raise(LookupError("a bug")),
    "system exit": _raise(SystemExit(3)),
    "interrupt": _interrupted,
    "after the end": _after_the_end,
    "twice": _twice,
    "late": _past_the_deadline,
    "true": lambda rt: rt.run(["true"]),
    "false": lambda rt: rt.run(["false"]),
}


def build_abody(_workspace: Path, _policy: ToolPolicy, rt: ToolRuntime) -> Callable[..., Any]:
    """Make an asynchronous tool whose body ends in the way that it is told."""

    async def abody(how: str) -> Any:
        """End in one way.

        Args:
            how: Which.
        """
        await asyncio.sleep(0)
        if how == "forever":
            STARTED.set()
            await asyncio.get_running_loop().create_future()
        if how == "child":
            return (await rt.acall("echo", {"word": "inner"})).text
        return _ENDS[how](rt)

    return abody


def build_isolated(_workspace: Path, _policy: ToolPolicy, _rt: ToolRuntime) -> Callable[..., str]:
    """Make a tool that may block for ever."""

    def isolated(how: str = "hang") -> str:
        """Block, or not.

        Args:
            how: Which.
        """
        STARTED.set()
        if how == "hang":
            RELEASE.wait()
        return "unblocked"

    return isolated


def build_parent(_workspace: Path, _policy: ToolPolicy, rt: ToolRuntime) -> Callable[..., str]:
    """Make a tool that calls others."""

    def parent(tool: str, word: str = "inner") -> str:
        """Call *tool* below this call.

        Args:
            tool: Which.
            word: What it gets.
        """
        if tool == "start":
            child = rt.start("step", word=word)
            return child.ok("stepped")
        if tool == "unended":
            rt.start("step", word=word)
            return "the step never ended"
        if tool == "parent":
            return rt.call("parent", {"tool": "echo", "word": word}).text
        inner = rt.call(tool, {"word": word})
        return f"{inner.outcome} {inner.reason}: {inner.text}"

    return parent


def build_forever(_workspace: Path, _policy: ToolPolicy, rt: ToolRuntime) -> Callable[..., str]:
    """Make a tool that calls itself without end."""

    def forever(word: str = "x") -> str:
        """Call this tool again.

        Args:
            word: Anything.
        """
        return f"{rt.call('forever', {'word': word}).reason}"

    return forever


def build_files(_workspace: Path, _policy: ToolPolicy, rt: ToolRuntime) -> Callable[..., str]:
    """Make a tool that reads and writes files through the path guard."""

    def files(path: str, action: str = "read", content: str = "") -> str:
        """Read or write one file.

        Args:
            path: Which.
            action: read or write.
            content: What is written.
        """
        ctx = rt.start("files", path=path)
        if action == "write":
            with rt.paths.open_place(path) as place:
                ctx.policy_passed()
                place.write(content.encode())
            return ctx.ok("written")
        with rt.paths.open_file(path) as file:
            ctx.policy_passed()
            return ctx.ok(file.read(1000).decode())

    return files


def build_early(_workspace: Path, _policy: ToolPolicy, rt: ToolRuntime) -> Callable[..., str]:
    """Make a tool that breaks its promise."""

    def early() -> str:
        """Act before the mark."""
        rt.run(["true"])
        ctx = rt.start("early")
        ctx.policy_passed()
        return ctx.ok("acted")

    return early


def build_changing(_workspace: Path, _policy: ToolPolicy, rt: ToolRuntime) -> Callable[..., str]:
    """Make a tool whose own checks look at a file."""

    def changing() -> str:
        """Pass while `stop` is not there."""
        ctx = rt.start("changing")
        with rt.paths.open_file("state") as file:
            state = file.read(100).decode().strip()
        if state == "stop":
            return ctx.deny("stopped", "The file says stop.")
        ctx.policy_passed()
        return ctx.ok(f"went on: {state}")

    return changing


def build_command(_workspace: Path, _policy: ToolPolicy, _rt: ToolRuntime) -> Callable[..., str]:
    """Make a tool of kind bash that runs nothing."""

    def command(line: str) -> str:
        """Say what would run.

        Args:
            line: A command line.
        """
        RAN.append(f"command {line}")
        return f"ran {line}"

    return command


def build_printing(_workspace: Path, _policy: ToolPolicy, _rt: ToolRuntime) -> Callable[..., str]:
    """Make a tool of kind cli, whose output may be JSON."""

    def printing(text: str, action: str = "print") -> str:
        """Print a text.

        Args:
            text: Which.
            action: What the command does.
        """
        return text

    return printing


def build_quick(_workspace: Path, _policy: ToolPolicy, rt: ToolRuntime) -> Callable[..., str]:
    """Make the staged tool of three lines."""

    def quick(word: str) -> str:
        """Say a word.

        Args:
            word: Which.
        """
        ctx = rt.start("quick", word=word)
        ctx.policy_passed()
        return ctx.ok(word)

    return quick


def build_aquick(_workspace: Path, _policy: ToolPolicy, rt: ToolRuntime) -> Callable[..., Any]:
    """Make the same as an asynchronous tool."""

    async def aquick(word: str) -> str:
        """Say a word.

        Args:
            word: Which.
        """
        ctx = rt.start("aquick", word=word)
        ctx.policy_passed()
        return ctx.ok(word)

    return aquick


_LOW: dict[str, Any] = {"capabilities": {"text"}, "safety": "low"}
_SPECS: list[ToolSpec[Any]] = [
    ToolSpec(
        "echo",
        EchoPolicy,
        build_echo,
        staged=True,
        aliases=("say",),
        argument_aliases={"text": "word"},
        reasons={"word_refused"},
        **_LOW,
    ),
    ToolSpec("aecho", EchoPolicy, build_aecho, staged=True, reasons={"word_refused"}, **_LOW),
    ToolSpec("quick", ToolPolicy, build_quick, staged=True, **_LOW),
    ToolSpec("aquick", ToolPolicy, build_aquick, staged=True, **_LOW),
    ToolSpec("body", ToolPolicy, build_body, **_LOW),
    ToolSpec("abody", ToolPolicy, build_abody, **_LOW),
    ToolSpec("isolated", ToolPolicy, build_isolated, isolate=True, **_LOW),
    ToolSpec("parent", ToolPolicy, build_parent, **_LOW),
    ToolSpec("forever", ToolPolicy, build_forever, **_LOW),
    ToolSpec(
        "files",
        ToolPolicy,
        build_files,
        staged=True,
        capabilities={"read": {"fs:read"}, "write": {"fs:write"}},
        safety="medium",
        group="fs",
    ),
    ToolSpec("early", ToolPolicy, build_early, staged=True, **_LOW),
    ToolSpec("changing", ToolPolicy, build_changing, staged=True, **_LOW),
    ToolSpec(
        "command",
        ToolPolicy,
        build_command,
        kind="bash",
        capabilities={"proc:exec"},
        invocation=lambda args: Invocation(commands=(args["line"],)),
    ),
    ToolSpec("printing", ToolPolicy, build_printing, kind="cli", safety="medium"),
]


@hookimpl
def register_tools() -> list[ToolSpec[Any]]:
    """Offer the tools."""
    return _SPECS


class WatchPolicy(CheckPolicy):
    """What the check answers."""

    answers: dict[str, str] = Field(default_factory=dict)
    """By word, what the check does."""


class Watch:
    """Answers each call as its word says."""

    def __init__(self, policy: WatchPolicy) -> None:
        self._answers = policy.answers

    @hookimpl
    def check_call(self, call: Any) -> Any:
        """See the hook."""
        how = self._answers.get(str(call.args.get("word")))
        if how is None:
            return None
        return _later(how) if how.startswith("later ") else _answer(how)


async def _later(how: str) -> Any:
    await asyncio.sleep(0)
    if how == "later never":
        await asyncio.get_running_loop().create_future()
    return _answer(how.removeprefix("later "))


def _answer(how: str) -> Any:
    if how == "deny":
        return Deny("watched", "The watch says no.", hint="Ask the watch.")
    if how == "ask":
        return Ask("watched", "The watch wants a person.")
    if how == "raise":
        raise RuntimeError("the watch is broken")
    if how == "denied":
        raise Denied("watched", "The watch raises no.")
    return 7 if how == "wrong" else None


@hookimpl
def register_extensions() -> list[ExtensionSpec[Any]]:
    """Offer the check."""
    return [ExtensionSpec("watch", WatchPolicy, lambda _workspace, policy: Watch(policy), reasons={"watched"})]


class Person:
    """An approver who gives the answers that a scenario lists, and notes what was asked."""

    def __init__(self, *answers: Any) -> None:
        self._answers = list(answers)
        self.asked: list[Any] = []

    @property
    def answers_left(self) -> int:
        """How many answers are left."""
        return len(self._answers)

    def __call__(self, request: Any) -> Any:
        """See `Approver`."""
        self.asked.append(request)
        answer = self._answers.pop(0)
        return answer(request) if callable(answer) else answer


def answer_by(answer: Any, name: str, message: str | None = None) -> ApprovalAnswer:
    """An answer of somebody."""
    return ApprovalAnswer(answer, approver=name, message=message)
