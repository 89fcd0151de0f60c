"""Nothing of one tenant counts for another: counts, what guards remember, leases and kept approvals, and events say whose it is."""

from pathlib import Path
from typing import Any

import pytest
from tests.core.gate.conftest import MakeToolbox, echo, spec_of

from toolcharter import ApprovalAnswer, ApprovalRequest, Caller, Claim
from toolcharter.guards.paths.locks import WorkspaceLeases
from toolcharter.profile.settings import Approvals, Rate, Rates, Repeats, SessionGuards

ECHO = spec_of(echo, capabilities={"text"}, safety="low")
ONE, OTHER, NONE = (Caller(agent="a", session="s", user="u", tenant=name) for name in ("one", "other", ""))
CALLERS = (ONE, OTHER, NONE)


def test_counts_of_calls_are_apart(make_toolbox: MakeToolbox) -> None:
    """The same agent, session and user of another tenant has its own."""
    toolbox = make_toolbox(ECHO, rates=Rates(Rate(calls_per_session=1)))

    outcomes = [[toolbox.for_caller(caller).call("echo", {}).outcome for _ in range(2)] for caller in CALLERS]

    assert outcomes == [["ok", "denied"]] * 3


def test_what_guards_remember_is_apart(make_toolbox: MakeToolbox) -> None:
    """A call of one tenant is no repetition of another's."""
    toolbox = make_toolbox(ECHO, session_guards=SessionGuards(repeated_calls=Repeats(deny=2)))

    outcomes = [[toolbox.for_caller(caller).call("echo", {}).reason for _ in range(2)] for caller in CALLERS]

    assert outcomes == [[None, "repeated_call"]] * 3


def test_approvals_that_were_kept_are_apart(
    make_toolbox: MakeToolbox, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a person has agreed to for good for one tenant is asked anew for another."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
    asked: list[str] = []

    def agree(request: ApprovalRequest) -> ApprovalAnswer:
        asked.append(request.caller.tenant)
        return ApprovalAnswer("allow_always", "amy")

    toolbox = make_toolbox(ECHO, mode="ask", approver=agree, approvals=Approvals())

    outcomes = [toolbox.for_caller(caller).call("echo", {}).outcome for caller in (*CALLERS, *CALLERS)]

    assert outcomes == ["ok"] * 6
    assert asked == ["one", "other", ""]


def test_leases_are_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also of callers who say nothing but their tenant, in one process."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "ws").mkdir()
    leases = [
        WorkspaceLeases(tmp_path / "ws", lambda caller=caller: caller, lambda: float("inf"))  # type: ignore[misc]
        for caller in (Caller(), Caller(tenant="one"), Caller(tenant="other"))
    ]

    leases[1].acquire([Claim("a", "a", "a")], 60.0, lambda held: held)

    assert [len(each.others()) for each in leases] == [1, 0, 1]
    assert leases[2].release() == []
    assert leases[1].release() == ["a"]


def test_events_say_whose_call_it_is(make_toolbox: MakeToolbox, events: list[dict[str, Any]]) -> None:
    """Those of a caller without a tenant have no such field."""
    toolbox = make_toolbox(ECHO)

    toolbox.for_caller(ONE).call("echo", {})
    toolbox.for_caller(NONE).call("echo", {})

    assert [event.get("tenant") for event in events] == ["one"] * 3 + [None] * 3
    names = list(events[0])
    assert names[names.index("tenant") + 1] == "session"


def test_events_say_where_people_talk_to_the_caller(make_toolbox: MakeToolbox, events: list[dict[str, Any]]) -> None:
    """What is empty has no field."""
    somebody = Caller(channel="telegram", chat="-100", peer="group", agent_type="predefined")

    make_toolbox(ECHO).for_caller(somebody).call("echo", {})
    make_toolbox(ECHO).for_caller(Caller(channel="", chat=None)).call("echo", {})

    facts = ("channel", "chat", "peer", "agent_type")
    assert [[event[fact] for fact in facts] for event in events[:3]] == [
        ["telegram", "-100", "group", "predefined"]
    ] * 3
    names = list(events[0])
    assert names[names.index("channel") :][:5] == [*facts, "session"]
    assert not any(fact in event for event in events[3:] for fact in facts)
