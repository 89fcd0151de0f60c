"""Tools that return, raise or record what no tool should: each call still ends once, with a result of plain types."""

import asyncio
from dataclasses import dataclass
from typing import Any

import pytest

from toolcharter.api.call import Ask, Call, Deny, ToolResult
from toolcharter.profile.model import Limits

from .conftest import spec_of, spec_with_runtime

BEFORE = ["hook.tool.before", "hook.policy.before"]
ENDED = [*BEFORE, "hook.tool.after"]
TOKEN = "ghp_" + "aB3dE6gH9j" * 3 + "aB3dE6"


class Mute:
    """Has no text."""

    def __str__(self) -> str:
        raise LookupError("no text")

    __repr__ = __str__


class MuteError(Exception):
    __str__ = Mute.__str__


class Liar(str):
    """A text that says it is empty."""

    __slots__ = ()

    def __len__(self) -> int:
        return 0

    def __str__(self) -> str:
        return self


@dataclass
class Point:
    x: int


async def never_awaited() -> str:
    return "never"


def one_by_one() -> Any:
    yield "never"


def raises_mute() -> Any:
    raise MuteError


FAILED = "ERROR: unexpected_failure: "
UNRUN = "which is never run; return a result"
BAD_RESULT = "ERROR: unexpected_failure\nThe tool returned a result without a valid outcome and reason."
RETURNED = [
    pytest.param(raises_mute, ("error", FAILED + "MuteError", None), id="exception-without-text"),
    pytest.param(Mute, ("error", FAILED + "LookupError: no text", None), id="object-without-text"),
    pytest.param(
        lambda: never_awaited(),  # noqa: PLW0108 - not the function itself: this is the mistake
        ("error", f"{FAILED}TypeError: the body returned a coroutine, {UNRUN}", None),
        id="coroutine",
    ),
    pytest.param(
        one_by_one, ("error", f"{FAILED}TypeError: the body returned a generator, {UNRUN}", None), id="generator"
    ),
    pytest.param(lambda: {"x": float("nan")}, ("ok", '{"x":null}', {"x": None}), id="not-a-number"),
    pytest.param(lambda: [Point(1)], ("ok", '[{"x":1}]', [{"x": 1}]), id="data-class"),
    pytest.param(lambda: Liar("long"), ("ok", "lo", None), id="text-that-lies-about-its-length"),
    pytest.param(lambda: ToolResult("odd", "x"), ("error", BAD_RESULT, None), id="result-of-no-outcome"),  # type: ignore[arg-type]
    pytest.param(lambda: ToolResult("denied", "x"), ("error", BAD_RESULT, None), id="denial-without-reason"),
    pytest.param(lambda: ToolResult("ok", "x", reason="r", message="m"), ("ok", "x", None), id="ok-with-a-reason"),
]


@pytest.mark.parametrize("how", ["sync", "async"])
@pytest.mark.parametrize(("returned", "expected"), RETURNED)
def test_what_a_body_returns(returned, expected, how, make_toolbox, events) -> None:
    """A result is plain text and JSON, or the call failed; nothing escapes the gate."""

    def act() -> Any:
        return returned()

    limit = Limits(max_output_chars=2) if expected[1] == "lo" else None
    toolbox = make_toolbox(spec_of(act), limits=limit)

    result = toolbox.call("act", {}) if how == "sync" else asyncio.run(toolbox.acall("act", {}))

    assert (result.outcome, result.text, result.data) == expected
    assert (result.reason, result.message) == (events[-1]["reason"], events[-1]["message"])
    assert result.reason == (None if expected[0] == "ok" else "unexpected_failure")
    assert [event["event"] for event in events] == ENDED


def recording(record):
    def act(rt):
        def tool() -> None:
            record(rt.start("act"))

        return tool

    return spec_with_runtime(act)


RECORDED = [
    pytest.param(
        lambda ctx: ctx.deny("No \ud800 way!", "m\ud800"),
        ("denied", "malformed_no_ud800_way", "m\\ud800"),
        id="surrogates",
    ),
    pytest.param(lambda ctx: ctx.deny(f"not {TOKEN}"), ("denied", "malformed_not_redacted", None), id="secret"),
    pytest.param(lambda ctx: ctx.error("m", reason="x" * 1000), ("error", "malformed_" + "x" * 54, "m"), id="long"),
    pytest.param(lambda ctx: ctx.error("m", reason='a\n{"event":1}'), ("error", "malformed_a_event_1", "m"), id="line"),
    pytest.param(lambda ctx: ctx.deny(""), ("denied", "malformed_", None), id="empty"),
]


@pytest.mark.parametrize(("record", "expected"), RECORDED)
def test_a_reason_is_a_word(record, expected, make_toolbox, events) -> None:
    """A reason that is none is made one, scrubbed, and the fault is the tool's."""
    result = make_toolbox(recording(record)).call("act", {})

    assert (result.outcome, result.reason, result.message) == expected
    assert [event["reason"] for event in events[2:]] == [expected[1]] * len(events[2:])
    assert events[-1]["fault"] == ["malformed_reason"]
    assert TOKEN not in result.text


def test_a_hint_is_scrubbed(make_toolbox) -> None:
    """The model reads hints: they are scrubbed as the text is."""
    result = make_toolbox(recording(lambda ctx: ctx.error("m", hint=f"try {TOKEN}"))).call("act", {})

    assert result.hint == "try [REDACTED]"


def test_odd_types_in_a_record(make_toolbox, events) -> None:
    """What a result promises of its fields holds whatever the tool gave."""
    toolbox = make_toolbox(recording(lambda ctx: ctx.error("m", hint=5, retryable="yes", exit_code="1", note=Mute())))

    result = toolbox.call("act", {})

    assert (result.hint, result.retryable, result.exit_code) == ("5", True, None)
    assert events[-1]["fields"] == {"unencodable": "['note']"}


def test_what_a_tool_keeps_of_its_data_changes_nothing(make_toolbox) -> None:
    """`data` is handed over, not shared: what was scrubbed is what stays."""
    kept = {"a": 1}
    result = make_toolbox(recording(lambda ctx: ctx.ok("", data=kept))).call("act", {})

    kept["a"] = 2

    assert result.data == {"a": 1}


def test_a_check_cannot_change_the_arguments(make_toolbox) -> None:
    """What one check has seen is what the next one sees and the body gets."""

    def act(word: str) -> str:
        return word

    def check_call(call: Call) -> None:
        call.args["word"] = "other"  # type: ignore[index]

    toolbox = make_toolbox(spec_of(act), checks={"rude": check_call})

    result = toolbox.call("act", {"word": "mine"})

    assert (result.reason, result.message) == ("check_failed", "The check of 'rude' raised TypeError.")


@pytest.mark.parametrize("answer", [Deny(Mute()), Deny("r", 5), Deny("r", hint=Mute()), Ask("r", Mute())])  # type: ignore[arg-type]
def test_a_check_that_answers_no_text_has_failed(answer, make_toolbox) -> None:
    """What cannot be shown denies all the same."""
    result = make_toolbox(spec_of(one_by_one_no_more), checks={"a": lambda call: answer}).call("one_by_one_no_more", {})

    assert (result.outcome, result.reason, result.message) == (
        "denied",
        "check_failed",
        "The check of 'a' answered with a field that is no text.",
    )


@pytest.mark.parametrize("answer", [Deny("r", f"m {TOKEN}", f"h {TOKEN}"), Ask("r", f"m {TOKEN}")])
def test_a_decision_is_scrubbed(answer, make_toolbox) -> None:
    """What a dry run tells leaves the gate as a result does."""
    decision = make_toolbox(spec_of(one_by_one_no_more), checks={"a": lambda call: answer}).decide(
        "one_by_one_no_more", {}
    )

    assert (decision.reason, decision.message) == ("r", "m [REDACTED]")
    assert decision.hint == ("h [REDACTED]" if isinstance(answer, Deny) else None)


def test_the_reason_of_a_check_is_a_word_too(make_toolbox) -> None:
    """A plugin's check is held to the same form."""
    toolbox = make_toolbox(spec_of(one_by_one_no_more), checks={"a": lambda call: Deny("Not now!")})

    assert toolbox.call("one_by_one_no_more", {}).reason == "malformed_not_now"


def one_by_one_no_more() -> str:
    return "done"


# Ends that are not the caller's


def exits_in_a_task() -> Any:
    async def act() -> None:
        async def leave() -> None:
            raise SystemExit(4)

        async with asyncio.TaskGroup() as group:
            group.create_task(leave())

    return act


def test_an_exit_on_the_loop_frees_its_caller(make_toolbox, events) -> None:
    """`sys.exit` in a task of the toolbox's loop fails that call, and the loop serves the next one."""
    toolbox = make_toolbox(spec_of(exits_in_a_task()), spec_of(never_awaited))

    result = toolbox.call("act", {})

    assert (result.outcome, result.reason, result.text) == ("error", "unexpected_failure", FAILED + "SystemExit: 4")
    assert toolbox.call("never_awaited", {}).text == "never"
    assert [event["event"] for event in events] == ENDED * 2


def test_an_interrupt_in_a_group_is_the_caller_s(make_toolbox, events) -> None:
    """Ctrl-C passes through the gate in whatever it is wrapped."""

    def act() -> None:
        raise BaseExceptionGroup("several", [ValueError(), KeyboardInterrupt()])

    with pytest.raises(BaseExceptionGroup):
        make_toolbox(spec_of(act)).call("act", {})

    assert events[-1]["reason"] == "cancelled"


async def test_a_cancellation_of_the_body_s_own_is_a_failure(make_toolbox, events) -> None:
    """Awaiting something that was cancelled does not cancel the caller's task."""

    async def act() -> None:
        future = asyncio.get_running_loop().create_future()
        future.cancel()
        await future

    result = await make_toolbox(spec_of(act)).acall("act", {})

    assert (result.outcome, result.reason, result.text) == ("error", "unexpected_failure", FAILED + "CancelledError: ")
    assert [event["event"] for event in events] == ENDED


# Dry runs

ACTED: list[str] = []


def act() -> str:
    ACTED.append("act")
    return "acted"


async def test_the_mark_in_a_task_group_ends_a_rehearsal(make_toolbox) -> None:
    """The mark counts wherever it is reached; another failure beside it does not pass for it."""

    def grouped(rt):
        async def tool(fail: bool = False) -> str:  # noqa: FBT001, FBT002 - a tool's argument is given by name
            ctx = rt.start("grouped")

            async def mark() -> None:
                ctx.policy_passed()

            async def leave() -> None:
                raise GeneratorExit

            async with asyncio.TaskGroup() as group:
                if fail:
                    group.create_task(leave())
                group.create_task(mark())
            return ctx.ok("done")

        return tool

    toolbox = make_toolbox(spec_with_runtime(grouped, staged=True))

    assert (await toolbox.adecide("grouped", {})).tool_checks == "passed"
    assert (await toolbox.acall("grouped", {})).outcome == "ok"
    failed = await toolbox.adecide("grouped", {"fail": True})
    assert (failed.outcome, failed.reason, failed.tool_checks) == ("error", "unexpected_failure", "error")


def test_a_rehearsed_body_runs_no_other_tool_past_its_runtime(make_toolbox, events) -> None:
    """A tool that holds a toolbox of its own cannot act with it in a dry run."""
    ACTED.clear()
    held = make_toolbox(spec_of(act))

    def outer(rt):
        def tool() -> str:
            ctx = rt.start("outer")
            held.call("act", {})
            ctx.policy_passed()
            return ctx.ok("done")

        return tool

    decision = make_toolbox(spec_with_runtime(outer, staged=True)).decide("outer", {})

    assert (decision.outcome, decision.reason) == ("error", "unexpected_failure")
    assert (ACTED, events) == ([], [])
