"""Calls that a rule of `ask` matches: whom they wait for, what it costs them, and what no answer permits."""

from pathlib import Path
from typing import Any

import pytest

from toolcharter.api.approval import ApprovalRequest
from toolcharter.api.call import Decision, Invocation, RuleRef
from toolcharter.profile.settings import Ceiling

from .conftest import rules, spec_of


def echo(word: str = "hi") -> str:
    """Say *word*."""
    return word


def bash(command: str) -> str:
    """Run *command*; here it only says what it would run."""
    return f"ran {command}"


ECHO = spec_of(echo, capabilities={"text"}, safety="low")
BASH = spec_of(bash, kind="bash", invocation=lambda args: Invocation(commands=(args["command"],)))
MODES = ["policy", "restrict", "ask", "dangerous"]


@pytest.fixture(autouse=True)
def _state(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Approvals are kept outside the workspace."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))


class Person:
    """Answers, and remembers what was asked."""

    def __init__(self, answer: str = "allow_once") -> None:
        self.answer = answer
        self.asked: list[ApprovalRequest] = []

    def __call__(self, request: ApprovalRequest) -> str:
        """See `Approver`."""
        self.asked.append(request)
        return self.answer


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("place", ["profile", "ceiling"])
def test_a_person_is_asked_in_every_mode(place: str, mode: str, make_toolbox, events) -> None:
    """With the rule's reason and message, before the body runs; the events tell of the question and the answer."""
    asks: list[Any] = [{"rule": "echo(word=*)", "reason": "loud", "message": "Shall it speak?"}]
    held = {"ask": asks} if place == "profile" else {"ceilings": (Ceiling("admin", ask=rules(asks)),)}
    person = Person()
    toolbox = make_toolbox(ECHO, mode=mode, allow=["echo"], approver=person, **held)

    result = toolbox["echo"](word="now")

    assert (result.outcome, result.text) == ("ok", "now")
    assert [(one.reason, one.message) for one in person.asked] == [("loud", "Shall it speak?")]
    assert [event["event"] for event in events] == [
        *("hook.tool.before", "hook.policy.before", "hook.approval.request", "hook.approval.decision"),
        "hook.tool.after",
    ]
    assert (events[-1]["rule"]["text"], events[-1]["stage"]) == ("echo(word=*)", "ask")


async def test_asynchronous_callers_wait_alike(make_toolbox) -> None:
    """In the mode that asks for nothing else, for a tool that another short cut would let pass."""
    person = Person()
    toolbox = make_toolbox(ECHO, mode="dangerous", ask=["echo"], approver=person)

    result = await toolbox["echo"].acall(word="now")

    assert (result.outcome, result.text, len(person.asked)) == ("ok", "now", 1)


@pytest.mark.parametrize(
    ("person", "reason"),
    [
        pytest.param(None, "approval_unavailable", id="nobody is there"),
        pytest.param(Person("deny"), "approval_denied", id="a no"),
    ],
)
def test_without_a_yes_the_call_is_denied(person: Any, reason: str, make_toolbox) -> None:
    """In mode dangerous, too, where an allow rule covers the call."""
    toolbox = make_toolbox(ECHO, mode="dangerous", allow=["echo"], ask=["echo"], approver=person)

    assert (toolbox["echo"]().outcome, toolbox["echo"]().reason) == ("denied", reason)


def test_a_dry_run_tells_of_the_question_and_asks_nobody(make_toolbox) -> None:
    """With the rule that asks, each time."""
    person = Person()
    toolbox = make_toolbox(ECHO, ask=["echo"], approver=person)
    message = "A rule of the profile wants a person to agree."

    decisions = [toolbox.decide("echo", {}) for _ in range(2)]

    assert decisions == [Decision("ask", "ask", "asked_by_rule", message, rule=RuleRef("echo", "p.yaml:1:5"))] * 2
    assert [step.verdict for step in toolbox.explain("echo", {}).steps if step.stage == "ask"] == ["ask"]
    assert person.asked == []


def test_a_kept_approval_answers_an_ask_rule(make_toolbox) -> None:
    """Until it expires, for this very call."""
    person = Person("allow_always")
    toolbox = make_toolbox(ECHO, ask=["echo"], approver=person)

    assert [toolbox["echo"](word=word).outcome for word in ("a", "a", "b")] == ["ok"] * 3
    assert [request.args for request in person.asked] == [{"word": "a"}, {"word": "b"}]


def test_the_person_sees_the_whole_line(make_toolbox) -> None:
    """One command of it matches; all of it would run."""
    person = Person()
    toolbox = make_toolbox(BASH, ask=["bash:git push*"], allow=["bash:ls*"], approver=person)

    asked = toolbox["bash"](command="ls && git push origin")
    unasked = toolbox["bash"](command="ls")

    assert (asked.outcome, unasked.outcome) == ("ok", "ok")
    assert [request.commands for request in person.asked] == [("ls", "git push origin")]


@pytest.mark.parametrize("place", ["profile", "ceiling"])
def test_an_ask_rule_takes_no_guard_away(place: str, make_toolbox, tmp_path: Path) -> None:
    """What an allow rule covers by its letters is held against the files that are there, asked about or not."""
    (tmp_path / "link").symlink_to("/etc/passwd")
    held: Any = {"ask": ["bash:cat *"]}
    if place == "ceiling":
        held = {"ceilings": (Ceiling("admin", ask=rules(held["ask"])),)}
    person = Person()
    toolbox = make_toolbox(BASH, allow=["bash:cat *"], approver=person, **held)

    refused, asked = toolbox["bash"](command="cat link"), toolbox["bash"](command="cat notes")

    assert (refused.outcome, refused.reason) == ("denied", "path_outside_workspace")
    assert asked.outcome == "ok"
    assert [request.commands for request in person.asked] == [("cat notes",)]


def test_an_ask_rule_on_commands_refuses_what_gives_none(make_toolbox) -> None:
    """It could never match a tool that runs commands and does not say which."""
    toolbox = make_toolbox(spec_of(bash, kind="bash"), mode="dangerous", ask=["bash:git *"], approver=Person())

    result = toolbox["bash"](command="git push")

    assert (result.outcome, result.reason) == ("denied", "not_understood")


def test_kept_approvals_that_nobody_may_trust_stop_the_start(make_toolbox, monkeypatch, tmp_path: Path) -> None:
    """As in mode ask: a state folder that tools can write is refused before any call."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    folder = tmp_path / "toolcharter" / "approvals"
    folder.mkdir(parents=True, mode=0o700)
    (folder / "test.yaml").write_text("approvals: []\n")

    with pytest.raises(Exception, match="workspace"):
        make_toolbox(ECHO, ask=["echo"])
    assert make_toolbox(ECHO)["echo"]().outcome == "ok"
