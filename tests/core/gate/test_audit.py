"""`events: {required: ...}`: what a call may do when its events cannot be written."""

from pathlib import Path

import pytest

from toolcharter.profile.model import Events

from .conftest import spec_of, spec_with_runtime

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
