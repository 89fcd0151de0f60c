"""What somebody would try who has read how approvals work: replays, races, forgeries, and calls that end meanwhile."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from time import monotonic
from typing import Annotated, Any

import pytest
from pydantic import AfterValidator

from toolcharter.api.approval import ApprovalAnswer, ApprovalRequest
from toolcharter.api.call import Ask, Call, Invocation
from toolcharter.errors import SyncCallInLoop
from toolcharter.gate import state as gate_state
from toolcharter.gate.approvals import saved
from toolcharter.gate.approvals.prompt import Question
from toolcharter.gate.approvals.saved import read_approvals, remove_approvals
from toolcharter.gate.stages import s5_approval

from .conftest import spec_of, spec_with_runtime

LIMIT_S = 120
"""Longer than anything here takes: a test that hangs fails instead."""


def echo(word: str = "hi") -> str:
    """Say *word*."""
    return word


ECHO = spec_of(echo, capabilities={"text"}, safety="low")


@pytest.fixture
def state(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of kept approvals, outside every workspace."""
    folder = tmp_path_factory.mktemp("state")
    monkeypatch.setenv("XDG_STATE_HOME", str(folder))
    return folder / "toolcharter" / "approvals"


@pytest.fixture
def spawn() -> Iterator[Callable[..., Any]]:
    """Runs a function in a thread, and gives a function that waits for what it returns or raises."""
    threads: list[threading.Thread] = []

    def spawn(function: Callable[[], Any]) -> Callable[[], Any]:
        ended: list[Any] = []

        def work() -> None:
            try:
                ended.append(function())
            except BaseException as error:  # noqa: BLE001 - the test looks at it
                ended.append(error)

        thread = threading.Thread(target=work, daemon=True)
        threads.append(thread)
        thread.start()

        def join() -> Any:
            thread.join(LIMIT_S)
            assert ended, "the thread hangs"
            return ended[0]

        return join

    yield spawn
    for thread in threads:
        thread.join(LIMIT_S)


def names(events: list[dict[str, Any]]) -> list[str]:
    return [event["event"].removeprefix("hook.") for event in events]


ASKED = ["tool.before", "policy.before", "approval.request"]
CANCELLED = [*ASKED, "approval.decision", "tool.after"]


class Waiting:
    """An approver who is asked, and answers when the test says so."""

    def __init__(self, answer: Any = "allow_always") -> None:
        self.answer = answer
        self.asked = threading.Event()
        self.go = threading.Event()

    def __call__(self, _request: ApprovalRequest) -> Any:
        self.asked.set()
        self.go.wait(LIMIT_S)
        return self.answer


class AsyncWaiting(Waiting):
    """The same as asynchronous code."""

    async def __call__(self, _request: ApprovalRequest) -> Any:
        self.asked.set()
        await asyncio.to_thread(self.go.wait, LIMIT_S)
        return self.answer


class Recording:
    """An approver who remembers what it was asked."""

    def __init__(self, answer: str) -> None:
        self.answer = answer
        self.asked: list[ApprovalRequest] = []

    def __call__(self, request: ApprovalRequest) -> Any:
        self.asked.append(request)
        return self.answer


class TestClosing:
    """A toolbox that closes while somebody is asked."""

    @pytest.mark.parametrize("kind", [Waiting, AsyncWaiting])
    @pytest.mark.parametrize("way", ["call", "acall"])
    def test_the_call_ends_and_its_body_never_runs(
        self, kind, way, make_toolbox, events, state, spawn, monkeypatch
    ) -> None:
        """Whoever answers afterwards answers nobody: nothing runs, nothing is kept, and the waiting thread is free."""
        monkeypatch.setattr(gate_state, "CLOSE_WAIT_S", 0.05)
        ran: list[str] = []

        def act(word: str) -> str:
            ran.append(word)
            return word

        approver = kind()
        toolbox = make_toolbox(spec_of(act), mode="ask", approver=approver)
        join = spawn(
            (lambda: toolbox.call("act", {"word": "a"}))
            if way == "call"
            else (lambda: asyncio.run(toolbox.acall("act", {"word": "a"})))
        )
        assert approver.asked.wait(LIMIT_S)

        toolbox.close()
        before = monotonic()
        if way == "acall" and kind is AsyncWaiting:
            approver.go.set()  # `asyncio.run` waits for threads
        result = join()
        approver.go.set()

        assert (result.outcome, result.reason) == ("error", "cancelled")
        assert monotonic() - before < LIMIT_S / 2
        assert (names(events), ran) == (CANCELLED, [])
        assert (events[3]["answer"], events[3]["reason"], events[4]["reason"]) == ("none", "cancelled", "cancelled")
        assert list(state.rglob("*.yaml")) == []

    def test_nobody_is_asked_once_it_has_closed(self, make_toolbox, events, state, spawn, monkeypatch) -> None:
        """A call that was on its way to a person ends where it is; no event comes after its last."""
        monkeypatch.setattr(gate_state, "CLOSE_WAIT_S", 0.05)
        waits, go, approver = threading.Event(), threading.Event(), Recording("allow_once")

        def check(call: Any) -> None:
            waits.set()
            go.wait(LIMIT_S)

        toolbox = make_toolbox(ECHO, mode="ask", approver=approver, checks={"a": check})
        join = spawn(lambda: toolbox.call("echo", {}))
        assert waits.wait(LIMIT_S)

        toolbox.close()
        go.set()

        assert (join().reason, approver.asked) == ("cancelled", [])
        assert names(events) == ["tool.before", "policy.before", "tool.after"]

    def test_a_question_that_comes_too_late_is_none(self, make_toolbox, state) -> None:
        """Neither is one that is withdrawn before somebody waits for it."""
        woken: list[str] = []
        toolbox = make_toolbox(ECHO, mode="ask", approver=Recording("allow_once"))
        desk = toolbox._state.approval
        desk.close()
        question = Question(Recording("allow_once"), None, 0.0)  # type: ignore[arg-type]
        question.withdraw()
        question.set_wake(lambda: woken.append("woken"))

        result = toolbox.call("echo", {})

        assert (result.reason, result.message) == ("approval_unavailable", "The toolbox was closed.")
        assert woken == ["woken"]

    def test_a_call_that_a_check_holds_up_never_runs_its_body(self, make_toolbox, spawn, monkeypatch) -> None:
        """The same for whatever else a call waits for before its body."""
        monkeypatch.setattr(gate_state, "CLOSE_WAIT_S", 0.05)
        waits, go, ran = threading.Event(), threading.Event(), []

        def check(call: Any) -> None:
            waits.set()
            go.wait(LIMIT_S)

        def act() -> None:
            ran.append(1)

        toolbox = make_toolbox(spec_of(act), checks={"a": check})
        join = spawn(lambda: toolbox.call("act", {}))
        assert waits.wait(LIMIT_S)

        toolbox.close()
        go.set()

        assert (join().reason, ran) == ("cancelled", [])


class TestInterrupts:
    """Whoever made the call goes away."""

    def test_ctrl_c_while_somebody_is_asked(self, make_toolbox, events, state, monkeypatch) -> None:
        """It reaches the caller; the question has its one decision, and the call its end."""
        toolbox = make_toolbox(ECHO, mode="ask", approver=lambda _request: "allow_once")

        def interrupted(*_: Any) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr("toolcharter.gate.approvals.prompt.Question.start", interrupted)

        with pytest.raises(KeyboardInterrupt):
            toolbox.call("echo", {})

        assert names(events) == CANCELLED
        assert (events[3]["answer"], events[3]["reason"]) == ("none", "cancelled")

    def test_a_cancelled_task(self, make_toolbox, events, state) -> None:
        """The same from asynchronous code; the approver is cancelled as well."""
        seen: list[str] = []

        async def scenario() -> None:
            asked = asyncio.Event()

            async def approve(_request: ApprovalRequest) -> str:
                asked.set()
                try:
                    await asyncio.sleep(LIMIT_S)
                except asyncio.CancelledError:
                    seen.append("cancelled")
                    raise
                return "allow_once"

            toolbox = make_toolbox(ECHO, mode="ask", approver=approve)
            task = asyncio.create_task(toolbox.acall("echo", {}))
            await asked.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await asyncio.sleep(0)

        asyncio.run(scenario())

        assert (names(events), seen) == (CANCELLED, ["cancelled"])

    def test_a_synchronous_call_inside_a_loop(self, make_toolbox, events, state) -> None:
        """An asynchronous approver cannot be awaited there; the error names what to use, and the events are whole."""

        async def approve(_request: ApprovalRequest) -> str:
            return "allow_once"

        toolbox = make_toolbox(ECHO, mode="ask", approver=approve)

        async def scenario() -> None:
            with pytest.raises(SyncCallInLoop, match="acall"):
                toolbox.call("echo", {})

        asyncio.run(scenario())

        assert names(events) == CANCELLED


class TestCallingBack:
    """An approver who uses the toolbox."""

    @pytest.mark.parametrize("way", ["call", "acall"])
    def test_an_approver_is_not_asked_about_its_own_calls(self, way, make_toolbox, events, state) -> None:
        """It would be asked about asking, without end; what nobody has to agree to it may call."""
        results: list[Any] = []

        def approve(request: ApprovalRequest) -> str:
            results.append(toolbox.call("echo", {"word": "inner"}))
            results.append(toolbox.call("look", {}))
            return "allow_once"

        async def aapprove(request: ApprovalRequest) -> str:
            results.append(await toolbox.acall("echo", {"word": "inner"}))
            results.append(await toolbox.acall("look", {}))
            return "allow_once"

        def look() -> str:
            return "seen"

        toolbox = make_toolbox(
            ECHO, spec_of(look), mode="ask", allow=["look"], approver=approve if way == "call" else aapprove
        )

        result = toolbox.call("echo", {}) if way == "call" else asyncio.run(toolbox.acall("echo", {}))

        assert result.outcome == "ok"
        assert [(one.reason, one.outcome) for one in results] == [("approval_unavailable", "denied"), (None, "ok")]

    def test_a_nested_call_is_asked_about_on_its_own(self, make_toolbox, state) -> None:
        """Agreement to a call is none to what its body calls."""

        def outer(rt: Any) -> Callable[[], str]:
            return lambda: str(rt.call("echo", {"word": "inner"}).reason)

        asked: list[str] = []

        def approve(request: ApprovalRequest) -> str:
            asked.append(request.tool)
            return "allow_once" if request.tool == "outer" else "deny"

        toolbox = make_toolbox(spec_with_runtime(outer), ECHO, mode="ask", approver=approve)

        assert (toolbox.call("outer", {}).text, asked) == ("approval_denied", ["outer", "echo"])


class TestKeptRules:
    def test_a_question_of_a_check_is_no_other_with_the_same_word(self, make_toolbox, state) -> None:
        """A check that borrows the reason of the profile's own question is still asked about each time."""
        asked: list[bool] = []

        def approve(request: ApprovalRequest) -> str:
            asked.append(request.always)
            return "allow_always"

        plain = make_toolbox(ECHO, mode="ask", approver=lambda _request: "allow_always")
        plain.call("echo", {})
        checked = make_toolbox(
            ECHO, mode="ask", approver=approve, checks={"a": lambda call: Ask("not_in_allow", "Really?")}
        )

        outcomes = [checked.call("echo", {}).outcome for _ in range(2)]
        decision = checked.decide("echo", {})

        assert (outcomes, asked) == (["ok", "ok"], [False, False])
        assert (decision.outcome, decision.stage, decision.message) == ("ask", "check", "Really?")

    @pytest.mark.parametrize(
        ("approved", "other"),
        [
            pytest.param(2**53 + 1, 2**53, id="large"),
            pytest.param(2**53, 2**53 + 1, id="large, the other way"),
            pytest.param(2**63 - 1, 2**63 - 2, id="largest"),
            pytest.param(1, True, id="true is not 1"),
            pytest.param(False, 0, id="0 is not false"),
            pytest.param(0.1, 0.1 + 2**-56, id="next float"),
            pytest.param("1", 1, id="text"),
            pytest.param(None, "", id="null"),
            pytest.param("a", "A", id="case"),
            pytest.param("\u00e9", "e\u0301", id="normal form"),
            pytest.param("*", "x", id="star"),
            pytest.param([1, [2**53 + 1]], [1, [2**53]], id="nested"),
            pytest.param({"a": 1}, {"a": 1, "b": None}, id="one more"),
            pytest.param(["a"], ["a", "b"], id="longer"),
        ],
    )
    def test_a_kept_rule_covers_what_was_approved_and_nothing_near(self, approved, other, make_toolbox, state) -> None:
        """However alike two values look."""

        def take(value: Any) -> str:
            return repr(value)

        answers = ["deny", "allow_always"]
        toolbox = make_toolbox(spec_of(take), mode="ask", approver=lambda _request: answers.pop())

        assert toolbox.call("take", {"value": approved}).outcome == "ok"
        assert toolbox.call("take", {"value": approved}).outcome == "ok"
        assert toolbox.call("take", {"value": other}).reason == "approval_denied"

    def test_two_readers_never_end_with_the_older_file(self, make_toolbox, state, spawn, monkeypatch) -> None:
        """One has read a rule, another one that it was forgotten; whoever is last, the rule is gone."""
        toolbox = make_toolbox(ECHO, mode="ask", approver=lambda _request: "allow_always")
        toolbox.call("echo", {})
        reading, go, load = threading.Event(), threading.Event(), saved.load_valid

        def slow(*args: Any) -> Any:
            found = load(*args)
            if threading.current_thread() is not threading.main_thread():
                reading.set()
                go.wait(LIMIT_S)
            return found

        late = make_toolbox(ECHO, mode="ask", approver=lambda _request: "deny")
        file = state / "test.yaml"
        file.write_text(file.read_text() + "# touched\n")
        monkeypatch.setattr(s5_approval, "load_valid", slow)
        join = spawn(lambda: late.call("echo", {}))
        assert reading.wait(LIMIT_S)

        remove_approvals(state, "test", [each.id for each in read_approvals(state)])
        between = late.call("echo", {}).reason
        go.set()
        join()

        assert (between, late.call("echo", {}).reason) == ("approval_denied", "approval_denied")

    def test_toolboxes_that_keep_at_the_same_time_lose_nothing(self, make_toolbox, state, spawn) -> None:
        """Each thread of each toolbox adds its rule."""
        toolboxes = [make_toolbox(ECHO, mode="ask", approver=lambda _request: "allow_always") for _ in range(2)]
        start = threading.Barrier(8)

        def work(number: int) -> Any:
            start.wait(LIMIT_S)
            return toolboxes[number % 2].call("echo", {"word": str(number)}).outcome

        joins = [spawn(lambda number=number: work(number)) for number in range(8)]

        assert [join() for join in joins] == ["ok"] * 8
        assert len(read_approvals(state)) == 8


class TestArguments:
    def test_what_is_approved_cannot_be_changed_on_the_way_to_the_body(
        self, make_toolbox, state, spawn, monkeypatch
    ) -> None:
        """A check may hold on to a list; the body gets what the approval was redeemed for, or does not run."""
        held: list[list[str]] = []
        ran: list[list[str]] = []

        def act(words: list[str]) -> str:
            ran.append(list(words))
            return "ran"

        toolbox = make_toolbox(
            spec_of(act),
            mode="ask",
            approver=lambda _request: "allow_always",
            checks={"a": lambda call: held.append(call.args["words"])},
        )
        keeping, go_on = threading.Event(), threading.Event()

        def slow(*args: Any) -> None:
            keeping.set()
            go_on.wait(LIMIT_S)
            saved.save_approval(*args)

        # Between the approval and the body.
        monkeypatch.setattr(s5_approval, "save_approval", slow)
        join = spawn(lambda: toolbox.call("act", {"words": ["a"]}))
        assert keeping.wait(LIMIT_S)
        held[0].append("--force")
        go_on.set()
        result = join()

        assert (result.outcome, ran) == ("ok", [["a"]])

    def test_what_cannot_be_held_apart_does_not_run(self, make_toolbox, state) -> None:
        """A value of a plugin's own that cannot be copied could change behind the approval."""
        ran: list[Any] = []

        class Fixed(str):
            __slots__ = ()

            def __deepcopy__(self, _memo: Any) -> "Fixed":
                raise TypeError("not me")

        def act(word: Annotated[str, AfterValidator(Fixed)]) -> str:
            ran.append(word)
            return "ran"

        toolbox = make_toolbox(spec_of(act), mode="ask", approver=Recording("allow_once"))

        assert (toolbox.call("act", {"word": "a"}).reason, ran) == ("approval_denied", [])

    def test_a_rehearsal_does_not_change_what_is_approved(self, make_toolbox, state) -> None:
        """Above its mark a body may sort or take from its own lists; the call's stay as they were."""
        shown: list[Any] = []
        ran: list[Any] = []

        def act(rt: Any) -> Callable[[list[str]], str]:
            def go(words: list[str]) -> str:
                ctx = rt.start("act")
                words.append("seen")
                ctx.policy_passed()
                ran.append(list(words))
                return ctx.ok("done")

            return go

        def approve(request: ApprovalRequest) -> str:
            shown.append(request.args["words"])
            return "allow_once"

        toolbox = make_toolbox(spec_with_runtime(act, staged=True), mode="ask", approver=approve)

        assert toolbox.call("act", {"words": ["a"]}).text == "done"
        assert (shown, ran) == ([["a"]], [["a", "seen"]])

    def test_nothing_that_is_asked_holds_a_secret(self, make_toolbox, events, state) -> None:
        """Neither values nor names nor the action; the digest is of the real ones."""
        approver = Recording("deny")
        secret = "ghp_" + "A1b2C3d4E5" * 3 + "f6G7h8"

        def act(action: str, more: dict[str, Any]) -> str:
            return "ran"

        toolbox = make_toolbox(spec_of(act), mode="ask", approver=approver)
        for more in ({"a": [secret]}, {"a": [secret[:-1] + "9"]}, {secret: "a name is not masked: nobody is asked"}):
            toolbox.call("act", {"action": secret.lower(), "more": more})

        assert not any(secret.lower() in repr((request, events)).lower() for request in approver.asked)
        assert approver.asked[0].digest != approver.asked[1].digest
        assert [request.args["more"] for request in approver.asked] == [{"a": ["[40 characters masked]"]}] * 2
        assert [request.always for request in approver.asked] == [False, False]

    def test_a_megabyte_is_asked_about_like_all_else(self, make_toolbox, state) -> None:
        """Whole, and without a hang; it is too long to be kept."""
        approver = Recording("allow_always")
        text = "x" * 2**20

        toolbox = make_toolbox(ECHO, mode="ask", approver=approver)
        result = toolbox.call("echo", {"word": text})

        assert (result.outcome, approver.asked[0].args["word"] == text, approver.asked[0].always) == ("ok", True, False)

    def test_an_alias_is_no_other_call(self, make_toolbox, state) -> None:
        """Tool and argument under another name are the same call, and covered by the same rule."""
        approver = Recording("allow_once")
        spec = spec_of(echo, aliases=("say",), argument_aliases={"text": "word"})
        toolbox = make_toolbox(spec, mode="ask", approver=approver)

        for name, args in (("echo", {"word": "a"}), ("SAY", {"text": "a"}), ("echo", {"word": "a", "text": None})):
            assert toolbox.call(name, args).outcome == "ok"

        assert len({request.digest for request in approver.asked}) == 1

    def test_a_default_given_is_the_default_left_out(self, make_toolbox, state) -> None:
        """What the body gets is what counts."""
        approver = Recording("allow_once")
        toolbox = make_toolbox(ECHO, mode="ask", approver=approver)

        for args in ({}, {"word": "hi"}, {"word": None}):
            assert toolbox.call("echo", args).outcome == "ok"

        assert len({request.digest for request in approver.asked}) == 1


class TestCommands:
    def test_a_line_that_no_rule_can_cover_is_never_kept_nor_covered(self, make_toolbox, state) -> None:
        """What stands around a command may change what it does: a kept rule is for the plain command alone."""

        def bash(command: str) -> str:
            return "ran"

        asked: list[ApprovalRequest] = []

        def approve(request: ApprovalRequest) -> str:
            asked.append(request)
            return "allow_always" if request.always else "deny"

        spec = spec_of(bash, kind="bash", invocation=lambda args: Invocation(commands=(args["command"],)))
        toolbox = make_toolbox(spec, mode="ask", approver=approve)
        lines = ("wc -l a", "wc -l a", "(( x )); wc -l a")

        reasons = [toolbox.call("bash", {"command": line}).reason for line in lines]

        assert reasons == [None, None, "approval_denied"]
        assert [request.always for request in asked] == [True, False]


class TestWhatPeopleWrite:
    # Put together at run time: it looks like a token, and is none.
    token = "ghp_" + "a1B2" * 9

    @pytest.mark.parametrize("word", ["deny", "allow_once", "allow_always"])
    def test_an_answer_is_scrubbed_before_it_is_logged_or_kept(self, make_toolbox, events, state, word) -> None:
        """What somebody types beside an answer reaches no sink with a secret in it, and no text breaks the call."""
        answer = ApprovalAnswer(word, f"ann\ud800 {self.token}", f"use {self.token}\udfff")
        toolbox = make_toolbox(ECHO, mode="ask", approver=lambda request: answer)

        result = toolbox.call("echo", {})

        kept_by = [each.by for each in read_approvals(state)]
        told = next(event for event in events if event["event"] == "hook.approval.decision")
        assert told["approver"] == "ann\\ud800 [REDACTED]"
        assert result.outcome == ("denied" if word == "deny" else "ok")
        assert kept_by == (["ann\\ud800 [REDACTED]"] if word == "allow_always" else [])
        assert self.token not in repr((events, result, kept_by))

    def test_a_question_is_scrubbed_before_it_is_asked_or_logged(self, make_toolbox, events, state) -> None:
        """A check's question may hold what its plugin has seen; its reason becomes a word."""
        asked: list[ApprovalRequest] = []

        def check(call: Call) -> Ask:
            return Ask(f"Why\ud800 {self.token}", f"Sure\ud800 of {self.token}?")

        def approve(request: ApprovalRequest) -> str:
            asked.append(request)
            return "allow_once"

        result = make_toolbox(ECHO, checks={"a": check}, approver=approve).call("echo", {})

        assert (result.outcome, asked[0].message) == ("ok", "Sure\\ud800 of [REDACTED]?")
        assert asked[0].reason == "malformed_why_ud800_redacted"
        assert self.token not in repr((events, asked))
