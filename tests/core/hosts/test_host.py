"""`Host`: tools as schemas, calls, results, approvals that are answered later."""

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from toolcharter import ApprovalAnswer, ApprovalRequest, Caller, Delegation
from toolcharter.hosts import Host, HostResult, StateRejected
from toolcharter.hosts.pending import PendingApprovals

from .conftest import Place


def agree(_request: ApprovalRequest) -> ApprovalAnswer:
    """Permits everything."""
    return ApprovalAnswer("allow_once")


PASSED = ["hook.tool.before", "hook.policy.before", "hook.tool.after"]
DENIED = ["hook.tool.before", "hook.policy.before", "hook.policy.deny", "hook.tool.after"]


def test_the_tools_are_those_that_the_caller_sees(host: Host) -> None:
    """In the profile's order, each time the same."""
    names = [tool.name for tool in host.tools()]

    assert names == ["read_file", "write_file", "delete_file", "bash"]
    assert [tool.name for tool in host.tools(Caller(agent="b"))] == names


def test_a_call_gives_text_and_structured_content(host: Host, place: Place) -> None:
    """The host's own identifiers are those of the events."""
    result = host.call("read_file", {"path": "notes.txt"}, call_id="c1", caller=Caller(agent="b"))

    assert (result.is_error, result.pending) == (False, None)
    assert "first" in result.text
    assert place.events("c1") == PASSED
    assert {event["agent"] for event in place.fields("hook.tool.after")} == {"b"}


@pytest.mark.parametrize(
    ("name", "args", "reason", "outcome"),
    [
        ("read_file", {"path": "../x"}, "path_outside_workspace", "denied"),
        ("read_file", {"pfad": "x"}, "invalid_arguments", "error"),
        ("read_file", {"path": "none.txt"}, "path_not_found", "error"),
        ("bash", {"command": "touch x"}, "not_in_allow", "denied"),
        ("no_such_tool", {}, "unknown_tool", "denied"),
    ],
    ids=["denied", "arguments", "error", "rule", "unknown"],
)
def test_a_refusal_says_why(host: Host, name: str, args: dict[str, str], reason: str, outcome: str) -> None:
    """Marked as an error, with the reason for programs and a text for the model."""
    result = host.call(name, args)

    assert result.is_error
    assert result.structured is not None
    assert (result.structured["outcome"], result.structured["reason"]) == (outcome, reason)
    assert result.structured["hint"] == result.result.hint
    assert result.text


def test_data_that_is_no_object_lies_under_result(host: Host) -> None:
    """Hosts such as MCP take objects only."""
    result = host.govern("search_notes", {}, lambda _: [1, 2])

    assert (result.structured, result.text) == ({"result": [1, 2]}, "[1,2]")


def test_a_call_that_needs_a_person_is_answered_later(host: Host, place: Place) -> None:
    """Nothing runs until the answer comes; then the call is made again, once."""
    asked = host.call("delete_file", {"path": "notes.txt"}, call_id="c1")

    assert asked.is_error
    assert asked.pending is not None
    assert (asked.pending.request.tool, asked.pending.request.args) == ("delete_file", {"path": "notes.txt"})
    assert asked.result.reason == "approval_unavailable"
    assert (place.workspace / "notes.txt").exists()

    done = host.answer(asked.pending.state, ApprovalAnswer("allow_once", "alice"))

    assert (done.is_error, done.pending) == (False, None)
    assert not (place.workspace / "notes.txt").exists()
    assert place.fields("hook.approval.decision")[-1]["approver"] == "alice"
    with pytest.raises(StateRejected, match="answered before"):
        host.answer(asked.pending.state, "allow_once")


async def test_two_calls_of_one_number_have_their_own_questions(host: Host, place: Place) -> None:
    """Agents number their calls, and two agents at one host may do so alike."""
    paths = [f"{number}.txt" for number in range(8)]
    for path in paths:
        (place.workspace / path).write_text("x")

    asked = await asyncio.gather(*(host.acall("delete_file", {"path": path}, call_id="c1") for path in paths))

    assert [one.pending and one.pending.request.args for one in asked] == [{"path": path} for path in paths]
    assert asked[5].pending is not None
    assert not (await host.aanswer(asked[5].pending.state, "allow_once")).is_error
    assert sorted(path.name for path in place.workspace.glob("[0-9].txt")) == [
        path for path in paths if path != "5.txt"
    ]


def test_a_call_has_no_question_of_one_within_it(host: Host) -> None:
    """A body may make a call of the same number; whoever makes that one gets its question."""
    inner: list[HostResult] = []

    def body(_: object) -> str:
        inner.append(host.call("delete_file", {"path": "notes.txt"}, call_id="c1"))
        return "done"

    outer = host.govern("search_notes", {}, body, call_id="c1")

    assert (outer.pending, outer.text) == (None, "done")
    assert inner[0].pending is not None


def test_a_refused_approval_runs_nothing(host: Host, place: Place) -> None:
    """The model is told that a person refused."""
    asked = host.call("delete_file", {"path": "notes.txt"})
    assert asked.pending is not None

    done = host.answer(asked.pending.state, "deny")

    assert (done.result.reason, done.pending) == ("approval_denied", None)
    assert (place.workspace / "notes.txt").exists()


async def test_it_is_answered_from_asynchronous_code(host: Host, place: Place) -> None:
    """The same in a loop."""
    asked = await host.acall("delete_file", {"path": "notes.txt"})
    assert asked.pending is not None

    done = await host.aanswer(asked.pending.state, "allow_once")

    assert not done.is_error
    assert not (place.workspace / "notes.txt").exists()


def test_a_changed_state_is_rejected(host: Host, place: Place) -> None:
    """So is one of another host, and text that is none."""
    asked = host.call("delete_file", {"path": "notes.txt"})
    assert asked.pending is not None
    head, _, tail = asked.pending.state.partition(".")

    with place.open() as other, pytest.raises(StateRejected, match="not made by this host"):
        other.answer(asked.pending.state, "allow_once")
    changed = (
        f"{head[:-8]}AAAAAAAA.{tail}",
        f"{head}.{tail[:-8]}AAAAAAA=",
        f"{head}.{tail}-x",
        f"{head[:8]} {head[8:]}.{tail}",
    )
    for state in (*changed, f"{head}.{tail}\ud800", f"{head}.ä", f"{head}.", "x.y", "", "ä"):
        with pytest.raises(StateRejected):
            host.answer(state, "allow_once")
    assert (place.workspace / "notes.txt").exists()


def test_hosts_that_share_a_key_answer_each_others_questions(place: Place) -> None:
    """One process asks, another goes on."""
    key = bytes(range(32))
    with place.open(state_key=key) as first, place.open(state_key=key) as second:
        asked = first.call("delete_file", {"path": "notes.txt"})
        assert asked.pending is not None

        assert not second.answer(asked.pending.state, "allow_once").is_error


def test_an_expired_state_is_rejected(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    """After an hour the model has to call again."""
    monkeypatch.setattr("toolcharter.hosts.pending.MAX_AGE_S", -1.0)
    asked = host.call("delete_file", {"path": "notes.txt"})
    assert asked.pending is not None

    with pytest.raises(StateRejected, match="expired"):
        host.answer(asked.pending.state, "allow_once")


def test_an_answer_does_not_hold_for_another_profile(place: Place) -> None:
    """The profile that the person saw is part of what they agreed to."""
    key = bytes(32)
    with place.open(state_key=key) as first:
        asked = first.call("delete_file", {"path": "notes.txt"})
    assert asked.pending is not None
    place.profile.write_text(place.profile.read_text().replace("timeout_s: 20", "timeout_s: 21"))

    with place.open(state_key=key) as second:
        again = second.answer(asked.pending.state, "allow_once")

    assert again.pending is not None
    assert (place.workspace / "notes.txt").exists()


def test_an_answer_holds_for_the_question_that_was_asked(host: Host) -> None:
    """A check may ask something else about the same call by now, such as about a tool that has changed."""
    asked = host.call("delete_file", {"path": "notes.txt"}).pending
    assert asked is not None
    approvals = PendingApprovals()
    pending = approvals.pending(asked.request, "delete_file", {"path": "notes.txt"}, Caller(), None)
    assert pending is not None
    question, yes = approvals.redeem(pending.state, None, has_body=False), ApprovalAnswer("allow_once")

    approvals.grant(question, "2", yes)

    assert approvals(asked.request._replace(call_id="2", message="It has changed.")) is None
    assert approvals(asked.request._replace(call_id="2", reason="tool_changed")) is None
    assert approvals(asked.request._replace(call_id="2")) == yes


@pytest.mark.parametrize("tools", [("delete_file", "read_file"), ("read_file",)])
def test_an_answer_makes_the_call_of_the_agent_that_asked(host: Host, place: Place, tools: tuple[str, ...]) -> None:
    """One that another agent has started has what it got of that one, and no more."""
    first = Caller(agent="first")
    started = Caller(agent="second", depth=1, delegation=Delegation(first, tools))

    asked = host.call("delete_file", {"path": "notes.txt"}, caller=started)

    assert (asked.pending is not None) == ("delete_file" in tools)
    if asked.pending is not None:
        assert not host.answer(asked.pending.state, "allow_once").is_error
        assert place.fields("hook.tool.after")[-1]["agent"] == "second"
    assert (place.workspace / "notes.txt").exists() == ("delete_file" not in tools)


def test_a_rule_that_denies_is_not_overruled_by_an_answer(place: Place) -> None:
    """The call passes every stage again."""
    with place.open() as host:
        asked = host.call("delete_file", {"path": "notes.txt"})
        assert asked.pending is not None
        (place.workspace / "notes.txt").unlink()

        done = host.answer(asked.pending.state, "allow_once")

    assert done.result.reason == "path_not_found"


def test_an_approver_of_the_hosts_own_is_asked_at_once(place: Place) -> None:
    """Then nothing is pending."""
    with place.open(approver=agree) as host:
        done = host.call("delete_file", {"path": "notes.txt"})

    assert (done.is_error, done.pending) == (False, None)


def test_a_hundred_calls_at_once(host: Host, place: Place) -> None:
    """Each has its own events, in order."""

    def read(number: int) -> HostResult:
        return host.call("read_file", {"path": "notes.txt"}, call_id=f"c{number}")

    with ThreadPoolExecutor(20) as threads:
        results = list(threads.map(read, range(100)))

    assert not any(result.is_error for result in results)
    assert [place.events(f"c{number}") for number in range(100)] == [PASSED] * 100


async def test_a_cancelled_call_leaves_its_closing_event(host: Host, place: Place) -> None:
    """Cancelling the task cancels the call."""
    begun = asyncio.Event()

    async def body(_: object) -> str:
        begun.set()
        await asyncio.sleep(60)
        return "late"

    task = asyncio.ensure_future(host.agovern("search_notes", {}, body, call_id="c1"))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert place.events("c1")[-1] == "hook.tool.after"
    assert place.fields("hook.tool.after")[-1]["outcome"] == "error"


def test_secrets_are_masked(host: Host, place: Place) -> None:
    """In the text and in the structured content."""
    secret = "ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"[:36]
    (place.workspace / "notes.txt").write_text(f"token {secret}\n")

    result = host.call("read_file", {"path": "notes.txt"})

    assert secret not in result.text + json.dumps(result.structured)
    assert "[REDACTED]" in result.text


def test_a_subscriber_learns_of_new_tools(host: Host) -> None:
    """No reload, no message; the subscription can be ended."""
    seen: list[Host] = []
    end = host.subscribe(seen.append)
    end()

    assert seen == []
