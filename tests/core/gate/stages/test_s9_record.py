"""Stage 9: the events of a call, what it may do when they cannot be written, and the notifications about it."""

import logging
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from tests.core.gate.conftest import ACT, ECHO, spec_of, spec_with_runtime

from toolcharter.loader.openers import Opener
from toolcharter.profile.model import Events
from toolcharter.profile.rules import parse_rule
from toolcharter.profile.settings import (
    Notify,
)

REQUIRED = Events(required=True)


class Unreliable:
    """A sink that fails on the writes whose numbers it is given."""

    def __init__(self, *failing: int) -> None:
        self.failing = failing
        self.writes: list[list[str]] = []

    def write(self, lines: bytes) -> None:
        number = len(self.writes)
        self.writes.append([part.split(b'"')[3].decode() for part in lines.splitlines()])
        if number in self.failing:
            raise OSError("disk full")

    def close(self) -> None:
        """Nothing is held."""


ran: list[str] = []


def act() -> str:
    ran.append("act")
    return "done"


@pytest.fixture(autouse=True)
def _nothing_ran() -> None:
    ran.clear()


def test_without_its_first_half_a_required_call_does_not_run(make_toolbox) -> None:
    """No audit, no action: the body is not entered and the denial says why."""
    sink = Unreliable(0)
    toolbox = make_toolbox(spec_of(act), event_settings=REQUIRED, sinks=[sink])

    result = toolbox.call("act", {})

    assert (result.outcome, result.reason, result.retryable, ran) == ("denied", "audit_unavailable", True, [])
    assert sink.writes == [
        ["hook.tool.before", "hook.policy.before"],
        ["hook.policy.deny", "hook.tool.after"],
    ]
    assert toolbox.lost_events == 2
    assert str(toolbox.lost_because) == "disk full"


def test_without_its_second_half_a_required_call_is_an_error(make_toolbox) -> None:
    """The call has run, but nobody can tell what came of it: its result is withheld, no retry."""
    toolbox = make_toolbox(spec_of(act), event_settings=REQUIRED, sinks=[Unreliable(1)])

    result = toolbox.call("act", {})

    assert (result.outcome, result.reason, result.retryable, ran) == ("error", "audit_lost", False, ["act"])
    assert result.text == (
        "ERROR: audit_lost\nThe call ran, but its closing events could not be written; its result is withheld."
    )


def test_the_toolbox_refuses_until_the_sink_recovers(make_toolbox) -> None:
    """After a loss, calls are denied as long as the sink fails, and run again when it takes lines."""
    toolbox = make_toolbox(spec_of(act), event_settings=REQUIRED, sinks=[Unreliable(1, 2, 3)])

    reasons = [toolbox.call("act", {}).reason for _ in range(3)]

    assert reasons == ["audit_lost", "audit_unavailable", None]
    assert ran == ["act", "act"]


def test_one_failing_sink_of_two_is_enough(make_toolbox) -> None:
    """`required` means every sink."""
    good, bad = Unreliable(), Unreliable(0)
    toolbox = make_toolbox(spec_of(act), event_settings=REQUIRED, sinks=[good, bad])

    result = toolbox.call("act", {})

    assert (result.reason, ran) == ("audit_unavailable", [])
    assert good.writes == [
        ["hook.tool.before", "hook.policy.before"],
        ["hook.policy.deny", "hook.tool.after"],
    ]


def test_without_required_losses_are_counted(make_toolbox) -> None:
    """A profile that does not require events runs on, and knows what it lost."""
    toolbox = make_toolbox(spec_of(act), sinks=[Unreliable(0, 1)])

    result = toolbox.call("act", {})

    assert (result.outcome, ran, toolbox.lost_events) == ("ok", ["act"], 3)


def test_a_refusal_that_cannot_be_written_stays_a_refusal(make_toolbox) -> None:
    """Nothing ran, so nothing is lost but the lines."""
    toolbox = make_toolbox(spec_of(act), event_settings=REQUIRED, sinks=[Unreliable(0)])

    result = toolbox.call("nope", {})

    assert (result.outcome, result.reason, toolbox.lost_events) == ("denied", "unknown_tool", 4)


def test_a_malformed_call_that_cannot_be_written_stays_malformed(make_toolbox) -> None:
    """Nothing ran, so nothing is withheld."""
    toolbox = make_toolbox(spec_of(act), event_settings=REQUIRED, sinks=[Unreliable(0)])

    result = toolbox.call("act", {"x": 1})

    assert (result.outcome, result.reason, toolbox.lost_events) == ("error", "invalid_arguments", 2)


def opens_a_child(rt):
    def tool():
        rt.start("step").ok("done")
        ran.append("after the child")
        return "all done"

    return tool


@pytest.mark.parametrize(
    ("failing", "outcome", "seen"),
    [
        pytest.param(1, ("denied", "audit_unavailable"), [], id="its-first-half"),
        pytest.param(2, ("error", "audit_lost"), ["after the child"], id="its-second-half"),
    ],
)
def test_child_calls_need_their_events_too(failing, outcome, seen, make_toolbox) -> None:
    """A child without its first half does not begin; one without its second half spoils its parent."""
    toolbox = make_toolbox(spec_with_runtime(opens_a_child), event_settings=REQUIRED, sinks=[Unreliable(failing)])

    result = toolbox.call("opens_a_child", {})

    assert ((result.outcome, result.reason), ran) == (outcome, seen)


def test_a_full_device_stops_a_required_call(make_toolbox) -> None:
    """The same with a real sink that takes nothing."""
    device = Path("/dev/full")
    if not device.exists():
        pytest.skip("the system has no /dev/full")
    toolbox = make_toolbox(spec_of(act), event_settings=REQUIRED, sinks=[f"file:{device}"])

    result = toolbox.call("act", {})

    assert (result.reason, ran) == ("audit_unavailable", [])
    assert "No space left on device" in str(toolbox.lost_because)


class TestNotify:
    def test_a_call_that_matches_is_told_after_it_has_ended(self, make_toolbox, caplog) -> None:
        """The log gets the closing event and the pattern."""
        toolbox = make_toolbox(ECHO, ACT, notify=(Notify((parse_rule("act:push"),), outcomes=("ok",)),))

        with caplog.at_level(logging.WARNING, "toolcharter.notify"):
            toolbox.call("act", {"action": "push"})
            toolbox.call("act", {})
            toolbox.decide("act", {"action": "push"})
            toolbox.close()

        told = [record.notification for record in caplog.records]
        assert [(one["tool"], one["action"], one["event"], one["notify"]) for one in told] == [
            ("act", "push", "hook.tool.after", {"match": "act:push"})
        ]


def test_notifications_that_are_lost_are_counted(make_toolbox) -> None:
    """Its channel leads nowhere; the call does not care, and the toolbox says so once it is closed."""
    entry = Notify((parse_rule("*"),), "webhook", "http://127.0.0.1:1/hook")
    deaf = Mock(connect=Mock(side_effect=OSError("nobody listens")))
    toolbox = make_toolbox(ECHO, notify=(entry,), channels={"webhook": Opener("acme-webhook 1.0", lambda _: deaf)})

    result = toolbox.call("echo", {})
    before = (make_toolbox(ECHO).lost_notifications, make_toolbox(ECHO).lost_notification_because)
    toolbox.close()

    assert (result.outcome, before, toolbox.lost_notifications) == ("ok", (0, None), 1)
    assert str(toolbox.lost_notification_because) == "nobody listens"


BEFORE = ["hook.tool.before", "hook.policy.before"]
ENDED = [*BEFORE, "hook.tool.after"]


def test_an_interrupt_in_the_first_half_ends_the_call(make_toolbox) -> None:
    """Ctrl-C while a before is written: the body does not run, and the call has its after."""
    seen: list[str] = []

    def sink(event: dict[str, Any]) -> None:
        seen.append(event["event"])
        if len(seen) == 2:
            raise KeyboardInterrupt

    def act() -> str:
        seen.append("body")
        return "done"

    with pytest.raises(KeyboardInterrupt):
        make_toolbox(spec_of(act), sinks=[sink]).call("act", {})

    assert seen == ENDED


def test_an_interrupt_in_a_sink_leaves_no_call_under_way(make_toolbox) -> None:
    """Ctrl-C while an after is written: closing does not wait for that call."""
    seen: list[str] = []

    def sink(event: dict[str, Any]) -> None:
        seen.append(event["event"])
        if event["event"] == "hook.tool.after":
            raise KeyboardInterrupt

    def act() -> str:
        return "done"

    toolbox = make_toolbox(spec_of(act), sinks=[sink])

    with pytest.raises(KeyboardInterrupt):
        toolbox.call("act", {})

    assert seen == ENDED
    assert toolbox._state.calls.live == {}


def test_a_reason_outside_the_closed_list_is_a_fault(make_toolbox, events) -> None:
    """In use, an undeclared reason is passed on and marked."""

    def odd(rt):
        def tool():
            return rt.start("odd").deny("made_up")

        return tool

    toolbox = make_toolbox(spec_with_runtime(odd, reasons=("name_not_allowed",)))

    assert toolbox.call("odd", {}).reason == "made_up"
    assert events[-1]["fault"] == ["undeclared_reason"]


@pytest.mark.parametrize("reason", ["read_failure", "path_not_found", "tool_error"])
def test_core_and_guard_reasons_need_no_declaration(reason, make_toolbox, events) -> None:
    """A tool may pass on what the guards behind `rt` report."""

    def plain(rt):
        def tool():
            return rt.start("plain").error("ERROR: x", reason=reason)

        return tool

    toolbox = make_toolbox(spec_with_runtime(plain, reasons=()))

    toolbox.call("plain", {})

    assert "fault" not in events[-1]


def test_a_staged_body_that_never_marks_is_a_fault(make_toolbox, events) -> None:
    """A promise to mark that is not kept shows on the after."""

    def sloppy(rt):
        def tool():
            return rt.start("sloppy").ok("done")

        return tool

    toolbox = make_toolbox(spec_with_runtime(sloppy, staged=True))

    toolbox.call("sloppy", {})

    assert events[-1]["fault"] == ["mark_missing"]


@pytest.mark.parametrize(
    "value",
    [pytest.param("\ud800", id="a-lone-surrogate"), pytest.param(3, id="a-number-for-text")],
)
def test_a_text_that_cannot_be_written_still_closes_the_call(value, make_toolbox, events) -> None:
    """Whatever a tool records, its call has an after."""

    def odd(rt):
        def tool():
            return rt.start("odd").ok(value, note=value)

        return tool

    toolbox = make_toolbox(spec_with_runtime(odd))

    result = toolbox.call("odd", {})

    assert result.text.encode()
    assert [event["event"] for event in events] == ["hook.tool.before", "hook.policy.before", "hook.tool.after"]


@pytest.mark.parametrize(
    "field",
    [
        pytest.param({"x": 2**70}, id="a-huge-number"),
        pytest.param({"x": "\ud800"}, id="a-surrogate"),
        pytest.param({"x": object()}, id="an-object"),
        pytest.param({"x": float("nan")}, id="not-a-number"),
        pytest.param({"x": {1: 2}}, id="a-key-that-is-no-text"),
    ],
)
def test_extra_fields_that_are_no_json_still_close_the_call(field, make_toolbox, events) -> None:
    """A field that no event line can carry is shown as text or left out."""

    def odd(rt):
        def tool():
            return rt.start("odd").ok("done", **field)

        return tool

    toolbox = make_toolbox(spec_with_runtime(odd))

    assert toolbox.call("odd", {}).outcome == "ok"
    assert events[-1]["event"] == "hook.tool.after"


def test_extra_fields_without_bound_are_left_out(make_toolbox, events) -> None:
    """A tool cannot make event lines of any length."""

    def flood(rt):
        def tool():
            return rt.start("flood").ok("done", **{f"f{n}": "x" * 300 for n in range(1000)})

        return tool

    make_toolbox(spec_with_runtime(flood)).call("flood", {})

    assert list(events[-1]["fields"]) == ["omitted_bytes"]
