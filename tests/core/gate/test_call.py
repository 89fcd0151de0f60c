"""`CallContext`: what is set once, what the first end of a call is, and what a call is begun with."""

import os
import threading
from enum import Enum
from pathlib import Path
from time import monotonic

import pytest

from toolcharter.api.call import Caller, ToolResult
from toolcharter.errors import ToolError
from toolcharter.gate.call import (
    CURRENT,
    CallContext,
    CallIds,
    MarkReached,
    begin_call,
    denial_text,
    to_json_values,
)

CALLER = Caller(agent="ann", session="s")


def made(*, dry: bool = False) -> CallContext:
    ctx = CallContext("act", CALLER, "call-1", 10.0, 20.0)
    ctx.dry = dry
    return ctx


@pytest.fixture
def under_way():
    """Makes a call the one whose body runs here."""
    tokens = []
    yield lambda ctx: tokens.append(CURRENT.set(ctx))
    for token in reversed(tokens):
        CURRENT.reset(token)


def test_the_first_outcome_stays() -> None:
    """A body that ends twice has ended as it said first, with the fault noted once."""
    ctx = made()

    texts = [ctx.ok("done", size=1), ctx.error("broken", size=2), ctx.deny("not_now")]

    assert texts == ["done", "ERROR: broken", "ERROR: denied_by_policy reason=not_now"]
    assert (ctx.outcome, ctx.text, ctx.reason, dict(ctx.fields)) == ("ok", "done", None, {"size": 1})
    assert ctx.faults == ("ended_twice",)


def test_nothing_is_recorded_for_a_call_that_is_closed() -> None:
    """What a thread that was given up says later changes nothing."""
    ctx = made()
    ctx.try_finish()

    ctx.ok("late", data={"a": 1})

    assert (ctx.outcome, ctx.text, ctx.data, ctx.faults) == (None, "", None, ("ended_twice",))


@pytest.mark.parametrize(
    ("reason", "message", "text"),
    [
        pytest.param("not_now", None, "ERROR: denied_by_policy reason=not_now", id="a reason alone"),
        pytest.param("not_now", "Wait.", "ERROR: denied_by_policy reason=not_now\nWait.", id="with a message"),
    ],
)
def test_the_model_reads_the_reason_of_a_denial(reason: str, message: str | None, text: str) -> None:
    """Whether its tool denied the call or a stage of the gate."""
    by_tool, by_gate = made(), made()

    by_tool.deny(reason, message)
    by_gate.refuse("check", reason, message)

    assert denial_text(reason, message) == by_tool.text == by_gate.text == text
    assert (by_tool.stage, by_gate.stage) == ("tool", "check")
    assert by_tool.outcome == by_gate.outcome == "denied"


def test_an_error_begins_with_the_word_once() -> None:
    """A tool that writes it itself gets no second one."""
    first, second = made(), made()

    assert (first.error("it broke"), second.error("ERROR: it broke")) == ("ERROR: it broke", "ERROR: it broke")
    assert (first.message, second.message) == ("it broke", "ERROR: it broke")


def test_the_mark_ends_a_dry_run_alone() -> None:
    """In a real call the body goes on behind it; so does a child of a dry run, which is no body of its own."""
    real, dry, child = made(), made(dry=True), made(dry=True)
    child.close_child = lambda ctx: None

    real.policy_passed()
    child.policy_passed()
    with pytest.raises(MarkReached):
        dry.policy_passed()

    assert (real.passed, dry.passed, child.passed) == (True, True, True)


def test_a_child_closes_with_its_outcome() -> None:
    """No gate above it would close it; each way to end does, once."""
    closed: list[tuple[str | None, str]] = []
    for end in ("ok", "error", "deny"):
        child = made()
        child.close_child = lambda ctx: closed.append((ctx.outcome, ctx.text))
        getattr(child, end)("said")
        child.ok("again")

    assert closed == [("ok", "said"), ("error", "ERROR: said"), ("denied", "ERROR: denied_by_policy reason=said")]


def test_one_of_many_threads_ends_a_call() -> None:
    """Exactly one writes its `after`."""
    ctx, barrier, first = made(), threading.Barrier(8), []

    def finish() -> None:
        barrier.wait()
        first.append(ctx.try_finish())

    threads = [threading.Thread(target=finish) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(first) == [False] * 7 + [True]
    assert ctx.closed


def test_a_call_that_is_given_up_is_answered_by_a_copy() -> None:
    """The copy is the same call for its events and for the registry; what the body still does reaches the original."""
    ctx = made()
    ctx.action, ctx.parent_id, ctx.tail, ctx.commands = "look", "call-0", b"{}", ("ls",)
    ctx.first_half_written = True

    copy = ctx.abandon()
    ctx.fields = {"late": True}

    same = ("tool", "caller", "call_id", "started", "deadline", "action", "parent_id", "tail", "commands", "live_key")
    assert [getattr(copy, name) for name in same] == [getattr(ctx, name) for name in same]
    assert (copy.abandoned, copy.first_half_written, dict(copy.fields)) == (True, True, {})
    assert (ctx.closed, copy.try_finish(), ctx.try_finish()) == (True, True, False)


def test_a_call_that_has_just_ended_is_not_ended_by_its_copy() -> None:
    """Its `after` is being written already; the copy may not write another."""
    ctx = made()
    ctx.try_finish()

    assert ctx.abandon().try_finish() is False


@pytest.mark.parametrize(
    ("result", "ended"),
    [
        pytest.param(ToolResult("ok", "t", reason="r", message="m"), ("ok", None, None, "t"), id="ok has no reason"),
        pytest.param(ToolResult("error", "t", reason="r", message="m"), ("error", "r", "m", "t"), id="error"),
        pytest.param(
            ToolResult("error", "t"),
            (
                "error",
                "unexpected_failure",
                "The tool returned a result without a valid outcome and reason.",
                "ERROR: unexpected_failure\nThe tool returned a result without a valid outcome and reason.",
            ),
            id="error without a reason",
        ),
    ],
)
def test_the_result_of_another_call_is_taken_over(result: ToolResult, ended: tuple[str | None, ...]) -> None:
    """As far as it is one."""
    ctx = made()

    ctx.adopt(result)

    assert (ctx.outcome, ctx.reason, ctx.message, ctx.text) == ended
    assert ctx.stage == (None if ended[0] == "ok" else "tool")


def test_a_result_that_came_too_late_is_forgotten() -> None:
    """Neither its data nor what it said to the person is left."""
    ctx = made()
    ctx.ok("done", data={"a": 1}, user_text="for you", exit_code=0, truncated=True)

    ctx.discard_result()

    assert (ctx.outcome, ctx.data, ctx.user_text, ctx.exit_code, ctx.truncated) == (None, None, None, None, False)


def test_a_call_is_begun_below_the_one_whose_body_runs(under_way) -> None:
    """Its parent and the caller at the top are that one's, unless the host names a parent. It ends with its parent at the latest."""
    parent = CallContext("outer", CALLER, "call-0", 0.0, monotonic() + 60.0)
    parent.nesting = 2
    under_way(parent)

    inner = begin_call("act", Caller(agent="sub"), 5.0, None, None)
    named = begin_call("act", CALLER, 5.0, "mine", "theirs")

    assert (inner.parent_id, inner.nesting, inner.root, inner.caller.agent) == ("call-0", 3, CALLER, "sub")
    assert (named.call_id, named.parent_id) == ("mine", "theirs")
    assert inner.deadline - inner.started == pytest.approx(5.0)
    assert begin_call("act", CALLER, 600.0, None, None).deadline == parent.deadline


def test_a_dry_run_begins_no_real_call(under_way) -> None:
    """A body that is only rehearsed may rehearse another tool, and call none."""
    under_way(made(dry=True))

    assert begin_call("act", CALLER, 5.0, None, None, dry=True).dry
    with pytest.raises(ToolError, match=r"before ctx\.policy_passed"):
        begin_call("act", CALLER, 5.0, None, None)


def test_identifiers_are_numbered_and_differ_in_a_child_process() -> None:
    """A fork's child begins another row."""
    ids = CallIds()
    before = [ids(), ids()]
    ids.renew()
    after = ids()

    prefixes = {identifier.rpartition("-")[0] for identifier in (*before, after)}
    assert [identifier.rpartition("-")[2] for identifier in (*before, after)] == ["1", "2", "1"]
    assert len(prefixes) == 2


class Colour(Enum):
    RED = "red"


def test_arguments_are_json_for_rules() -> None:
    """Plain ones are handed on as they are; a path or an enumeration is its text."""
    plain = {"a": 1, "b": "x", "c": None, "d": 1.5, "e": True}

    assert to_json_values(plain) is plain
    assert to_json_values({"at": Path("a") / "b", "colour": Colour.RED, "all": (1, 2)}) == {
        "at": f"a{os.sep}b",
        "colour": "red",
        "all": [1, 2],
    }
