"""What a model, a body or a careless author tries against policy, guards and notifications, and what becomes of it."""

import asyncio
import logging
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from pydantic import Base64Bytes

from toolcharter.api.call import Invocation
from toolcharter.guards.rates import RateLimits
from toolcharter.guards.session import ActiveSessionGuards
from toolcharter.profile.model import Limits
from toolcharter.profile.rules import parse_rule
from toolcharter.profile.settings import (
    AfterCall,
    Ceiling,
    DependsOn,
    Notify,
    Rate,
    Rates,
    ReadBeforeWrite,
    Repeats,
    SessionGuards,
    SkipDuplicate,
)

from .conftest import spec_of


def names(events: list[dict[str, Any]]) -> list[str]:
    return [event["event"].removeprefix("hook.") for event in events]


def put(data: Base64Bytes) -> str:
    """Put *data*."""
    return f"put {data!r}"


PUT = spec_of(put)
UNSPEAKABLE = {"data": "/w=="}
"""Valid, and what becomes of it has no JSON form: the byte 0xFF is no text."""


class TestArgumentsWithoutAJsonForm:
    @pytest.mark.parametrize("deny", [pytest.param([], id="runs"), pytest.param(["put(data=x)"], id="denied")])
    def test_they_break_no_call_that_somebody_wants_to_know_of(self, make_toolbox, events, caplog, deny) -> None:
        """A model that may choose such bytes can neither raise an exception behind a call nor go untold."""
        toolbox = make_toolbox(PUT, deny=deny, notify=(Notify((parse_rule("other"),)),))

        with caplog.at_level(logging.WARNING, logger="toolcharter.notify"):
            result = toolbox.call("put", UNSPEAKABLE)
            toolbox.close()

        told = [record.notification["notify"]["match"] for record in caplog.records if hasattr(record, "notification")]
        assert (result.outcome, result.reason) == (("denied", "not_understood") if deny else ("ok", None))
        assert names(events)[-1] == "tool.after"
        assert told == ["(could not be judged)"]

    @pytest.mark.parametrize("is_async", [False, True])
    @pytest.mark.parametrize(
        "memory",
        [
            pytest.param(SessionGuards(skip_duplicate=(SkipDuplicate(parse_rule("put")),)), id="skip_duplicate"),
            pytest.param(
                SessionGuards(depends_on=(DependsOn(parse_rule("other"), parse_rule("put")),)), id="depends_on"
            ),
        ],
    )
    def test_guards_with_memory_deny_what_they_cannot_look_at(self, make_toolbox, events, memory, is_async) -> None:
        """Where no rule looks at arguments, a guard's pattern does: it fails closed, and the call leaves its events."""
        toolbox = make_toolbox(PUT, session_guards=memory)

        call = toolbox.acall("put", UNSPEAKABLE) if is_async else None
        result = asyncio.run(call) if call else toolbox.call("put", UNSPEAKABLE)
        decision = toolbox.decide("put", UNSPEAKABLE)

        assert (result.outcome, result.reason) == ("denied", "not_understood")
        assert names(events) == ["tool.before", "policy.before", "policy.deny", "tool.after"]
        assert events[-1]["stage"] == "guard"
        assert (decision.outcome, decision.stage, decision.reason) == ("deny", "guard", "not_understood")

    def test_a_message_that_cannot_be_judged_does_not_cost_the_result(self, make_toolbox) -> None:
        """The body has run by then; what it did is told, and the message is not."""
        toolbox = make_toolbox(PUT, session_guards=SessionGuards(after_call=(AfterCall(parse_rule("put"), "Look."),)))

        texts = [toolbox.call("put", args).text for args in (UNSPEAKABLE, {"data": "YQ=="})]

        assert texts == [r"put b'\xff'", "put b'a'\nNOTE: Look."]

    def test_other_calls_go_on(self, make_toolbox) -> None:
        """The memory of the session stays whole."""
        memory = SessionGuards(repeated_calls=Repeats(deny=3), skip_duplicate=(SkipDuplicate(parse_rule("other")),))
        toolbox = make_toolbox(PUT, session_guards=memory)

        outcomes = [toolbox.call("put", args).outcome for args in (UNSPEAKABLE, {"data": "YQ=="}, {"data": "YQ=="})]

        assert outcomes == ["denied", "ok", "ok"]


def read(path: str) -> str:
    """Read *path*."""
    return path


def write(path: str) -> str:
    """Write *path*."""
    return path


WRITE = spec_of(write, aliases=("store", "Keep"))


class TestOtherNames:
    @pytest.mark.parametrize("by", ["profile", "ceiling"])
    def test_a_limit_for_an_alias_limits_the_tool(self, make_toolbox, by) -> None:
        """What looks limited is: an alias is another name of the tool, in limits as in rules."""
        limits = {"store": Limits(max_output_chars=4), "write": Limits(max_output_chars=3)}
        rates = Rates(tools={"keep": Rate(calls_per_minute=1), "write": Rate(calls_per_minute=5)})
        settings: dict[str, Any] = {"tool_limits": limits, "rates": rates}
        toolbox = make_toolbox(WRITE, **(settings if by == "profile" else {"ceilings": (Ceiling("c", **settings),)}))

        results = [toolbox.call("write", {"path": "abcdefgh" * 20}) for _ in range(2)]

        assert (results[0].truncated, results[1].reason) == (True, "rate_limited")

    def test_a_tool_that_writes_by_an_alias_has_to_read_first(self, make_toolbox, tmp_path) -> None:
        """`writes` and `reads` mean the tool by whatever name."""
        (tmp_path / "f").write_text("x")
        reading = ReadBeforeWrite("strict", reads=("look",), writes=("STORE",))
        look = spec_of(read, aliases=("look",))
        toolbox = make_toolbox(WRITE, look, session_guards=SessionGuards(read_before_write=reading))

        reasons = [toolbox.call(tool, {"path": "f"}).reason for tool in ("write", "read", "keep")]

        assert reasons == ["precondition_failed", None, None]


def bash(command: str) -> str:
    """Run *command*."""
    return f"ran {command}"


BASH = spec_of(bash, kind="bash", invocation=lambda args: Invocation(commands=(args["command"],)))


class TestWhatNobodySees:
    @pytest.mark.parametrize("settings", [{"mode": "dangerous"}, {"allow": ["bash", "run"]}])
    def test_a_tool_that_does_not_tell_its_commands_runs_none(self, make_toolbox, settings) -> None:
        """A rule on commands could never match: what is of kind `bash` says what it would run, or is refused."""

        def run(command: str) -> str:
            return f"ran {command}"

        toolbox = make_toolbox(spec_of(run, kind="bash"), deny=["bash:*sudo*"], **settings)

        result = toolbox.call("run", {"command": "sudo ls"})

        assert (result.outcome, result.reason) == ("denied", "not_understood")

    @pytest.mark.parametrize(
        ("tool", "args", "told"),
        [
            pytest.param("bash", {"command": "sudo ls"}, ["bash:*sudo*", "*"], id="a command"),
            pytest.param("bash", {"command": "sudo ls; 'x"}, ["(could not be judged)", "*"], id="not understood"),
            pytest.param("write", {"path": "sudo"}, ["*"], id="no commands"),
            pytest.param("nope", {"command": "sudo ls"}, ["*"], id="no such tool"),
        ],
    )
    def test_a_refused_call_is_told_of(self, make_toolbox, caplog, tool, args, told) -> None:
        """Whoever waits for attempts hears of those that cannot be read, and of tools that there are not."""
        entries = tuple(Notify((parse_rule(text),), outcomes=("denied", "ok")) for text in ("bash:*sudo*", "*", "read"))
        toolbox = make_toolbox(BASH, WRITE, notify=entries)

        with caplog.at_level(logging.WARNING, logger="toolcharter.notify"):
            toolbox.call(tool, args)
            toolbox.close()

        heard = [record.notification for record in caplog.records if hasattr(record, "notification")]
        assert [notification["notify"]["match"] for notification in heard] == told
        assert {notification["tool"] for notification in heard} == {tool}


class TestChangedArguments:
    def test_a_body_cannot_change_the_default_of_the_next_call(self, make_toolbox) -> None:
        """What policy saw of a call without the argument is what the body gets, however the last body left it."""

        def collect(**given: Any) -> str:
            given["paths"].append("/etc/secret")
            return str(given)

        parameters = {"type": "object", "properties": {"paths": {"type": "array", "default": []}}}
        rule = {"rule": "collect", "when": {"paths": {"minItems": 1}}}
        toolbox = make_toolbox(spec_of(collect, parameters=parameters), deny=[rule])

        texts = [toolbox.call("collect", {}).text for _ in range(3)]

        assert texts == ["{'paths': ['/etc/secret']}"] * 3


FORKING = """
import os, signal, threading
from toolcharter.guards.session import ActiveSessionGuards
from toolcharter.guards.rates import RateKeys, RateLimits
from toolcharter.profile.settings import SessionGuards, Rate, Rates, Repeats

limits = RateLimits([Rates(total=Rate(calls_per_minute=1))])
memory = ActiveSessionGuards(SessionGuards(repeated_calls=Repeats(deny=2)), matcher=None, identify=None)
bound, held, done = limits.bind("git", None), threading.Event(), threading.Event()

def hold():
    with limits._lock, memory._lock:
        held.set()
        done.wait()

threading.Thread(target=hold).start()
held.wait()
child = os.fork()
if child == 0:
    signal.alarm(120)
    answers = [bound.acquire(RateKeys("s", "a")) is None for _ in range(2)]
    print(answers, memory.after("s", None, "ok", ""), flush=True)
    os._exit(0)
done.set()
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_a_fork_while_a_call_is_counted_blocks_no_call_of_the_child() -> None:
    """The thread that holds the lock is the parent's alone; in the child nobody would ever let go of it."""
    # Python 3.12 and later warn of every fork in a process with threads.
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", FORKING]

    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert (done.stdout.split("\n"), done.stderr) == (["[True, False] ()", "0", ""], "")


def test_a_forks_child_lets_go_of_its_locks() -> None:
    """The same in this process, where nobody can fork: each lock that is held is free afterwards."""
    nobody: Any = None
    limits = RateLimits([Rates(total=Rate(calls_per_minute=1))])
    memory = ActiveSessionGuards(SessionGuards(), matcher=nobody, identify=nobody)
    limits._lock.acquire()
    memory._lock.acquire()

    limits.renew()
    memory.renew()

    with ThreadPoolExecutor() as others:
        taken = others.submit(lambda: (limits._lock.acquire(blocking=False), memory._lock.acquire(blocking=False)))
    assert taken.result() == (True, True)
