"""Whatever requests, answers, time, edits and restarts come in whatever order: what ran is what was approved.

Real toolboxes, threads and files; only the clocks are the machine's. No thread is raced: one thread runs at a time, and
hands over to the next at a named point. A call hands over to the machine when it has read the clock for the last time and
waits for its answer, or when it has ended; the machine hands over by an answer, or by closing a toolbox. While the machine
acts, no call reads the clock.
"""

import asyncio
import queue
import tempfile
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from toolcharter import hookimpl
from toolcharter.api.approval import ApprovalAnswer, ApprovalRequest
from toolcharter.api.call import Call, Caller, ToolResult
from toolcharter.errors import ToolboxClosed
from toolcharter.gate.approvals.ledger import Ledger, call_digest
from toolcharter.gate.approvals.saved import read_approvals, remove_approvals
from toolcharter.gate.build.open import Plan, open_toolbox
from toolcharter.gate.toolbox import Toolbox
from toolcharter.loader.hooks import new_manager
from toolcharter.loader.load import LoadedPlugins, LoadedTool
from toolcharter.profile.model import Profile
from toolcharter.profile.settings import Approvals

from .conftest import spec_of, spec_with_runtime

pytestmark = pytest.mark.slow

LIMIT_S = 600.0
"""Longer than any step takes, however busy the machine is: a call that hangs fails."""
TIMEOUT_S = 7200.0
"""A call waits in real time, too; no example lasts as long."""
KEEP_DAYS = 1.0

ANSWERS: dict[str, tuple[Any, str | None]] = {
    "once": (ApprovalAnswer("allow_once", "ann"), None),
    "always": (ApprovalAnswer("allow_always", "ann"), None),
    "deny": (ApprovalAnswer("deny", "ann", "No."), "approval_denied"),
    "a stranger": (ApprovalAnswer("allow_once", "eve"), "approval_denied"),
    "a stranger for ever": (ApprovalAnswer("allow_always", "eve"), "approval_denied"),
    "the caller": (ApprovalAnswer("allow_once", "Bot"), "approval_denied"),
    "nobody in particular": ("allow_once", "approval_denied"),
    "another word": (ApprovalAnswer("allow", "ann"), "approval_unavailable"),  # type: ignore[arg-type]
    "a number": (1, "approval_unavailable"),
    "an error": (ValueError("no"), "approval_unavailable"),
    "nobody": (None, "approval_unavailable"),
}
"""What may be answered, and the reason of the denial that it is."""


class Clock:
    """Monotonic and wall time, which only the machine moves."""

    def __init__(self) -> None:
        self.elapsed = 0.0

    def monotonic(self) -> float:
        return 1000.0 + self.elapsed

    def now(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=self.elapsed)


@dataclass
class Box:
    """One toolbox with what it has said and done."""

    toolbox: Toolbox
    key: tuple[int, int]
    workspace: Path
    events: list[dict[str, Any]] = field(default_factory=list)


@dataclass
class Pending:
    """One call that waits for its answer."""

    box: Box
    tool: str
    words: list[str]
    call_id: str
    asked_at: float
    request: ApprovalRequest
    join: Callable[[], ToolResult]
    edited: bool = False


@dataclass
class Agreed:
    """One approval that was kept, as the machine believes."""

    box: tuple[int, int]
    """Workspace and profile."""
    tool: str
    words: list[str]
    until: datetime


class ApprovalMachine(RuleBasedStateMachine):
    """Holds the gate against a model of what may run."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = Clock()
        self.patch = pytest.MonkeyPatch()
        self.folder = tempfile.TemporaryDirectory()
        root = Path(self.folder.name).resolve()
        self.state = root / "state/toolcharter/approvals"
        self.workspaces = [root / "one", root / "two"]
        for workspace in self.workspaces:
            workspace.mkdir()
        self.patch.setenv("XDG_STATE_HOME", str(root / "state"))
        self.patch.setattr("toolcharter.gate.state.CLOSE_WAIT_S", 0.0)
        for module in ("stages.s5_approval", "approvals.prompt"):
            self.patch.setattr(f"toolcharter.gate.{module}.monotonic", self.clock.monotonic)
        self.patch.setattr("toolcharter.gate.waiting.monotonic", self._about_to_wait)
        self.patch.setattr("toolcharter.gate.stages.s5_approval._now", self.clock.now)
        self.patch.setattr("toolcharter.gate.stages.s5_approval.Ledger", partial(Ledger, clock=self.clock.monotonic))
        self.boxes: dict[tuple[int, int], Box] = {}
        self.all_boxes: list[Box] = []
        self.pending: list[Pending] = []
        self.kept: dict[str, Agreed] = {}
        self.ever_kept: list[Agreed] = []
        self.held: dict[str, list[str]] = {}
        """The very list of each call, as a check has seen it."""
        self.ran: list[tuple[str, list[str]]] = []
        self.requests: queue.Queue[ApprovalRequest] = queue.Queue()
        self.waits: queue.Queue[None] = queue.Queue()
        """One for each time that a call has looked at the clock and is about to wait."""
        self.hand_over: dict[str, Callable[[Any], object]] = {}
        """What gives an answer to the approver that waits for it, by call."""
        self.calls = 0

    # What the toolboxes are made of.

    def _box(self, place: int, variant: int) -> Box:
        if (place, variant) not in self.boxes:
            self.boxes[place, variant] = self._open(place, variant)
            self.all_boxes.append(self.boxes[place, variant])
        return self.boxes[place, variant]

    def _open(self, place: int, variant: int) -> Box:
        workspace = self.workspaces[place]

        def plain(words: list[str]) -> str:
            self.ran.append(("plain", list(words)))
            return "ran"

        async def awaited(words: list[str]) -> str:
            await asyncio.sleep(0)
            self.ran.append(("awaited", list(words)))
            return "ran"

        def staged(rt: Any) -> Callable[[list[str]], str]:
            def go(words: list[str]) -> str:
                ctx = rt.start("staged", words=words)
                words.append("rehearsed")  # a body may do with its arguments what it likes
                ctx.policy_passed()
                self.ran.append(("staged", words[:-1]))
                return str(ctx.ok("ran"))

            return go

        def check_call(call: Call) -> None:
            self.held[call.call_id] = call.args["words"]

        specs = [spec_of(plain), spec_of(awaited), spec_with_runtime(staged, staged=True)]
        manager = new_manager()
        manager.register(SimpleNamespace(check_call=hookimpl(check_call)), "holds")
        tools = {spec.name: LoadedTool(spec, "toolcharter-test", "1.0") for spec in specs}
        loaded = LoadedPlugins(tools, {}, {}, {"toolcharter-test": f"1.{variant}"}, manager, (), {})
        profile = Profile(
            "test", mode="ask", approvals=Approvals(timeout_s=TIMEOUT_S, approvers=("ann", "bot"), keep_days=KEEP_DAYS)
        )
        plan = Plan(profile, loaded, {spec.name: spec.policy.from_profile({}) for spec in specs}, {}, (), workspace)
        events: list[dict[str, Any]] = []
        approver = self._approve if variant == 0 else self._aapprove
        caller = Caller(agent="bot")
        toolbox = open_toolbox(plan, workspace=workspace, caller=caller, sinks=[events.append], approver=approver)
        return Box(toolbox, (place, variant), workspace, events)

    def _about_to_wait(self) -> float:
        now = self.clock.monotonic()  # Before the machine goes on, and moves the clock.
        self.waits.put(None)
        return now

    def _approve(self, request: ApprovalRequest) -> Any:
        answers: queue.Queue[Any] = queue.Queue()
        self.hand_over[request.call_id] = answers.put
        self.requests.put(request)
        return _raised(answers.get())

    async def _aapprove(self, request: ApprovalRequest) -> Any:
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Any] = loop.create_future()

        def hand_over(given: Any) -> None:
            with suppress(RuntimeError):  # The loop has gone, and with it whoever waited.
                loop.call_soon_threadsafe(lambda: None if answer.done() else answer.set_result(given))

        self.hand_over[request.call_id] = hand_over
        self.requests.put(request)
        return _raised(await answer)

    # What happens.

    @rule(
        place=st.integers(0, 1),
        variant=st.integers(0, 1),
        tool=st.sampled_from(["plain", "awaited", "staged"]),
        words=st.lists(st.sampled_from(["a", "b"]), max_size=2),
        is_async=st.booleans(),
    )
    def ask(self, *, place: int, variant: int, tool: str, words: list[str], is_async: bool) -> None:
        """Anything."""
        self._ask(place, variant, tool, words, is_async=is_async)

    def _ask(self, place: int, variant: int, tool: str, words: list[str], *, is_async: bool) -> None:
        """A call that nobody has agreed to for good waits; another has run."""
        box = self._box(place, variant)
        self.calls += 1
        call_id = f"c{self.calls}"
        assert self.waits.qsize() == 0, "a call has read the clock once more than the machine knows of"
        before = len(self.ran)
        join = _spawn(partial(_call, box.toolbox, tool, {"words": list(words)}, call_id, is_async=is_async))
        if self._is_agreed((place, variant), tool, words):
            assert join().outcome == "ok"
            assert self.ran[before:] == [(tool, words)]
            return
        request = self.requests.get(timeout=LIMIT_S)
        assert (request.tool, request.args, request.call_id) == (tool, {"words": words}, call_id)
        assert len(self.ran) == before
        for _ in range(
            1 + variant
        ):  # An asynchronous approver is waited for twice: until it begins, and until it ends.
            self.waits.get(timeout=LIMIT_S)
        self.pending.append(Pending(box, tool, words, call_id, self.clock.elapsed, request, join))

    @precondition(lambda self: self.ever_kept)
    @rule(data=st.data(), near=st.sampled_from(["same", "same", "words", "place", "profile"]))
    def ask_again(self, *, data: Any, near: str) -> None:
        """What was kept once, perhaps forgotten or expired by now, or something near it."""
        kept = data.draw(st.sampled_from(self.ever_kept))
        place, variant = kept.box
        words = [*kept.words, "a"] if near == "words" else kept.words
        self._ask(place ^ (near == "place"), variant ^ (near == "profile"), kept.tool, words, is_async=False)

    def _is_late(self, asked: Pending) -> bool:
        return self.clock.elapsed - asked.asked_at > TIMEOUT_S

    def _is_agreed(self, box: tuple[int, int], tool: str, words: list[str]) -> bool:
        return any(
            (kept.box, kept.tool, kept.words) == (box, tool, words) and self.clock.now() < kept.until
            for kept in self.kept.values()
        )

    @precondition(lambda self: self.pending)
    @rule(data=st.data(), answer=st.sampled_from(sorted(ANSWERS)) | st.just("always"))
    def answer(self, *, data: Any, answer: str) -> None:
        """Only a yes in time by somebody who may give it, to a call as it was shown, lets that call run, once."""
        asked = self.pending.pop(data.draw(st.integers(0, len(self.pending) - 1)))
        given, reason = ANSWERS[answer]
        if self._is_late(asked) and answer != "an error":
            reason = "approval_timeout"
        elif asked.edited and reason is None:
            reason = "approval_denied"
        before, known = len(self.ran), set(self.kept)

        self.hand_over[asked.call_id](given)
        result = asked.join()

        assert (result.outcome, result.reason) == (("ok", None) if reason is None else ("denied", reason))
        ran = self.ran[before:]
        assert ran == ([(asked.tool, asked.words)] if reason is None else [])
        for tool, words in ran:
            digest = call_digest(tool, {"words": words}, asked.box.workspace, asked.box.toolbox.digest)
            assert digest == asked.request.digest
        if reason is None and answer == "always":
            until = self.clock.now() + timedelta(days=KEEP_DAYS)
            self.ever_kept.append(Agreed(asked.box.key, asked.tool, asked.words, until))
            self.kept.update(
                (each.id, self.ever_kept[-1]) for each in read_approvals(self.state) if each.id not in known
            )

    @precondition(lambda self: self.pending)
    @rule(data=st.data(), back=st.booleans())
    def edit(self, *, data: Any, back: bool) -> None:
        """A check changes a list that it holds, for a moment or for good."""
        asked = data.draw(st.sampled_from(self.pending))
        held = self.held[asked.call_id]
        held.append("--force")
        if back:
            held.pop()
        asked.edited = held != asked.words

    @rule(seconds=st.sampled_from([3000.0, TIMEOUT_S, TIMEOUT_S + 1, KEEP_DAYS * 86400 - 1, KEEP_DAYS * 86400]))
    def wait(self, *, seconds: float) -> None:
        """Time goes by: answers come too late, kept approvals expire."""
        self.clock.elapsed += seconds

    @precondition(lambda self: self.kept)
    @rule(data=st.data())
    def forget(self, *, data: Any) -> None:
        """Somebody takes back what they agreed to for good."""
        gone = data.draw(st.sampled_from(list(self.kept)))  # not sorted: the names hold the folder's
        assert remove_approvals(self.state, "test", [gone]) >= 1
        del self.kept[gone]

    @precondition(lambda self: self.boxes)
    @rule(data=st.data())
    def restart(self, *, data: Any) -> None:
        """A toolbox closes, and with it the calls that wait there; what was kept outlives it."""
        key = data.draw(st.sampled_from(sorted(self.boxes)))
        box = self.boxes.pop(key)
        before = len(self.ran)
        box.toolbox.close()
        for asked in [asked for asked in self.pending if asked.box is box]:
            self.pending.remove(asked)
            assert asked.join().reason == "cancelled"
            self.hand_over[asked.call_id](ApprovalAnswer("allow_always", "ann"))  # Too late: the call has ended.
        assert len(self.ran) == before

    @invariant()
    def the_file_holds_what_was_kept(self) -> None:
        """No more and no less, whoever has answered what."""
        assert {each.id for each in read_approvals(self.state)} == set(self.kept)

    def teardown(self) -> None:
        """Whoever still waits is told no; then every question has had one decision."""
        try:
            before = len(self.ran)
            for asked in self.pending:
                self.hand_over[asked.call_id]("deny")
                asked.join()
            for box in self.all_boxes:
                box.toolbox.close()
                _require_whole(box.events)
            assert (len(self.ran), self.requests.qsize()) == (before, 0)
        finally:
            self.patch.undo()
            self.folder.cleanup()


def _raised(given: Any) -> Any:
    if isinstance(given, Exception):
        raise given
    return given


def _call(toolbox: Toolbox, tool: str, args: dict[str, Any], call_id: str, *, is_async: bool) -> ToolResult:
    if is_async:
        return asyncio.run(toolbox.acall(tool, args, call_id=call_id))
    try:
        return toolbox.call(tool, args, call_id=call_id)
    except ToolboxClosed:  # The loop that an asynchronous tool runs on has gone, and the call with it.
        return ToolResult("error", "", reason="cancelled")


def _spawn(function: Callable[[], ToolResult]) -> Callable[[], ToolResult]:
    ended: list[ToolResult] = []
    thread = threading.Thread(target=lambda: ended.append(function()), daemon=True)
    thread.start()

    def join() -> ToolResult:
        thread.join(LIMIT_S)
        assert ended, "the call hangs"
        return ended[0]

    return join


def _require_whole(events: list[dict[str, Any]]) -> None:
    """Each call begins and ends once; a question is decided once, before the end."""
    by_call: dict[str, list[str]] = {}
    for event in events:
        by_call.setdefault(event["call_id"], []).append(event["event"].removeprefix("hook."))
    for names in by_call.values():
        middle = [name for name in names[2:-1] if name != "policy.deny"]
        assert (names[:2], names[-1]) == (["tool.before", "policy.before"], "tool.after")
        assert middle in ([], ["approval.request", "approval.decision"])


TestApprovals = ApprovalMachine.TestCase
TestApprovals.settings = settings(
    max_examples=40, stateful_step_count=25, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
