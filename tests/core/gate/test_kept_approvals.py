"""Approvals that are kept: each holds for the call that a person agreed to, and for nothing that is near it."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from toolcharter.api.approval import ApprovalAnswer, ApprovalRequest
from toolcharter.api.call import Caller, Invocation
from toolcharter.gate.approvals.saved import read_approvals
from toolcharter.gate.stages import s5_approval
from toolcharter.profile.settings import Approvals

from .conftest import spec_of

ASKED_ANEW = ("denied", "approval_denied")


@pytest.fixture(autouse=True)
def state(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of kept approvals, outside every workspace."""
    folder = tmp_path_factory.mktemp("state")
    monkeypatch.setenv("XDG_STATE_HOME", str(folder))
    return folder / "toolcharter/approvals"


class Person:
    """Agrees for good to the first question, and to none after it."""

    def __init__(self, name: str = "ann") -> None:
        self.name = name
        self.asked: list[ApprovalRequest] = []

    def __call__(self, request: ApprovalRequest) -> ApprovalAnswer:
        self.asked.append(request)
        return ApprovalAnswer("allow_always" if len(self.asked) == 1 else "deny", self.name)


@pytest.fixture
def person() -> Person:
    return Person()


def running(name: str, **facts: Any) -> Any:
    """A tool that runs the line of its argument, or says that it does."""

    def run(command: str, timeout_ms: int | None = None, stdin: str | None = None) -> str:
        return f"ran {command}"

    run.__name__ = name
    return spec_of(run, kind="bash", invocation=lambda args: Invocation(commands=(args["command"],)), **facts)


BASH = running("bash")
PLANNER = Caller(agent="planner", user="u1", session="s1")
WC = {"command": "wc -l notes.md"}


@pytest.fixture
def open_box(make_toolbox: Any, person: Person) -> Callable[..., Any]:
    """Opens toolboxes in which everything is asked about."""

    def open_box(*specs: Any, **settings: Any) -> Any:
        return make_toolbox(*(specs or (BASH,)), **{"mode": "ask", "approver": person, "caller": PLANNER, **settings})

    return open_box


def met(box: Any, tool: str = "bash", args: Any = WC) -> tuple[str, str | None]:
    result = box.call(tool, args)
    return result.outcome, result.reason


def test_the_same_call_is_not_asked_about_again(open_box, person, events, state) -> None:
    """Not in this session, not in the next, and a dry run knows it; the event names the approval and its place."""
    assert met(open_box()) == ("ok", None)
    box = open_box(caller=Caller(agent="planner", user="u1", session="s2"))

    assert (met(box), box.decide("bash", WC).outcome, len(person.asked)) == (("ok", None), "allow", 1)
    (kept,) = read_approvals(state)
    assert events[-1]["rule"] == {"text": f"approval {kept.id}", "source": kept.place}
    assert (kept.shows, kept.bound.agent, kept.by) == ('command="wc -l notes.md"', "planner", "ann")


@pytest.mark.parametrize(
    ("settings", "args"),
    [
        pytest.param({}, {"command": "wc -l other.md"}, id="another line"),
        pytest.param({}, {**WC, "timeout_ms": 1000}, id="one more argument"),
        pytest.param({}, {**WC, "stdin": "x"}, id="other input"),
        pytest.param({"caller": Caller(agent="other", user="u1")}, WC, id="another agent"),
        pytest.param({"caller": Caller(user="u1")}, WC, id="an agent without a name"),
        pytest.param({"caller": Caller(agent="planner", user="u2")}, WC, id="another user"),
        pytest.param({"runner": "host"}, WC, id="another runner"),
        pytest.param({"deny": ["bash:rm *"]}, WC, id="another profile"),
        pytest.param({"approvals": Approvals(approvers=("bob",))}, WC, id="an approver who no longer counts"),
        pytest.param({"approvals": Approvals(always=False)}, WC, id="nothing is kept any more"),
    ],
)
def test_whatever_else_is_different_the_person_is_asked(open_box, settings, args) -> None:
    """Each part of what was agreed to is compared when the approval is used."""
    assert met(open_box(runner="bwrap")) == ("ok", None)

    assert met(open_box(**{"runner": "bwrap", **settings}), args=args) == ASKED_ANEW


def test_another_tool_that_runs_the_same_line_is_asked_about(open_box) -> None:
    """It may run it in another way: in the background, without a limit, as another language."""
    box = open_box(BASH, running("spawn"), running("execute_code"))

    assert met(box) == ("ok", None)
    assert [met(box, tool) for tool in ("spawn", "execute_code", "bash")] == [ASKED_ANEW, ASKED_ANEW, ("ok", None)]


def test_an_approval_ends(open_box, monkeypatch) -> None:
    """To the second."""
    assert met(open_box()) == ("ok", None)
    later = datetime.now(UTC) + timedelta(days=30)
    monkeypatch.setattr(s5_approval, "_now", lambda: later)

    assert met(open_box()) == ASKED_ANEW


@pytest.mark.parametrize("place", ["outside", "etc"])
def test_a_path_that_leads_elsewhere_by_now_is_refused(open_box, tmp_path, tmp_path_factory, place) -> None:
    """The same look at links is taken as for a call that a rule allows, in a dry run too."""
    notes = tmp_path / "notes.md"
    notes.write_text("mine")
    box = open_box()
    before = met(box)
    elsewhere = tmp_path_factory.mktemp("outside") / "secret" if place == "outside" else Path("/etc/passwd")
    notes.unlink()
    notes.symlink_to(elsewhere)

    decision = box.decide("bash", WC)

    assert (before, met(box)) == (("ok", None), ("denied", "path_outside_workspace"))
    assert (decision.outcome, decision.reason, decision.stage) == ("deny", "path_outside_workspace", "guard")


def test_what_leads_elsewhere_already_is_allowed_once_and_never_kept(open_box, person, tmp_path) -> None:
    """A person may agree to it, knowing the line; there is nothing to compare a later look with."""
    (tmp_path / "notes.md").symlink_to("/etc/passwd")

    result = met(open_box())

    assert (result, person.asked[0].always) == (("ok", None), False)
    assert (person.asked[0].why_not_always or "").startswith("It would not be valid: ")


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        pytest.param({"deny": ["bash:rm *"]}, "the profile has changed", id="profile"),
        pytest.param(
            {"runner": "host"},
            "the profile has changed and programs run on 'host' instead of 'bwrap'",
            id="runner",
        ),
        pytest.param(
            {"approvals": Approvals(approvers=("bob",))},
            "the profile has changed and ann may no longer approve it",
            id="approvers",
        ),
    ],
)
def test_the_person_is_told_why_they_are_asked_again(open_box, person, events, settings, why) -> None:
    """With who agreed, and when; in the event too."""
    open_box(runner="bwrap").call("bash", WC)
    today = f"{datetime.now(UTC):%Y-%m-%d}"

    open_box(**{"runner": "bwrap", **settings}).call("bash", WC)

    told = person.asked[1].message or ""
    assert told.endswith(f"'wc -l notes.md'. Asked again: {why} since ann approved it on {today}.")
    request = [event for event in events if event["event"] == "hook.approval.request"][1]
    assert (request["message"], request["always"]) == (told, True)


def test_another_agent_is_told_nothing_of_it(open_box, person) -> None:
    """What somebody granted to one agent is no reason to agree to another's call."""
    open_box().call("bash", WC)
    open_box(caller=Caller(agent="other", user="u1")).call("bash", WC)

    assert person.asked[1].message == person.asked[0].message


def test_no_secret_is_kept_or_logged(open_box, person, events, state) -> None:
    """Each text is scrubbed by itself: in JSON a secret in quotes looks like something else."""
    secret = "Xk7" + "q9Lm2Vt8"

    def login(note: str, password: str) -> str:
        return "in"

    note = f'sshpass -p"{secret}" ssh host'
    results = [
        met(open_box(spec_of(login)), "login", {"note": note, "password": secret}),
        met(open_box(), "bash", {"command": note}),
    ]

    assert results == [("ok", None), ("denied", "approval_unavailable")]
    assert [request.args for request in person.asked] == [
        {"note": 'sshpass -p"[11 characters masked]" ssh host', "password": "[11 characters masked]"}
    ]
    assert person.asked[0].why_not_always == "It contains text that may be a secret, which must not be stored."
    assert secret not in repr((events, person.asked))
    assert read_approvals(state) == ()


def test_a_script_whose_text_a_mask_would_hide_is_not_asked_about(open_box, person, events) -> None:
    """To the scrubber a quoted password, to a shell a command: nobody can agree to what they do not see."""

    def write_file(path: str, content: str) -> str:
        return "written"

    script = """echo 'password="1x';touch${IFS}pwned;'"'"""

    result = open_box(spec_of(write_file)).call("write_file", {"path": "deploy.sh", "content": script})

    assert (result.outcome, result.reason, person.asked) == ("denied", "approval_unavailable", [])
    assert (result.message or "").startswith("No person can be asked, because the question would not show what runs: ")
    assert (result.message or "").endswith("of 'content' look like a secret, would be masked, and could be code.")
    assert (result.hint or "").startswith("Send the call without the secret: ")
    assert [event["event"] for event in events[2:]] == ["hook.policy.deny", "hook.tool.after"]


def test_approvals_of_an_earlier_version_stop_the_start(open_box, state) -> None:
    """They were rules, which cover more than what a person agreed to; they stay for the user to remove."""
    state.mkdir(parents=True, mode=0o700)
    state.parent.chmod(0o700)
    file = state / "test.yaml"
    file.write_text("- {rule: 'bash:wc *', call: bash}\n")
    file.chmod(0o600)

    with pytest.raises(Exception, match="an earlier version saved it") as refused:
        open_box()

    assert (type(refused.value).__name__, file.exists()) == ("ConfigurationError", True)
