"""Asking: whatever an approver does, there is one verdict, in time, and only an answer allows."""

import asyncio
import signal
import threading
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from enum import StrEnum
from inspect import CORO_CLOSED, getcoroutinestate
from typing import Any

import pytest
from tests.rows import each_row

from toolcharter.api.approval import ApprovalAnswer, ApprovalHandedOn
from toolcharter.api.call import Caller
from toolcharter.errors import SyncCallInLoop
from toolcharter.gate.approvals.prompt import ABANDONED, ApproverPrompt, Question, Verdict
from toolcharter.gate.waiting import drive_async, drive_sync
from toolcharter.profile.settings import Approvals

from .conftest import request_of

NOBODY = Verdict("deny", "approval_unavailable", "There is no one to ask.")
LATE = Verdict("deny", "approval_timeout", "No answer came within 0.05 s.")
WHERE = ContextVar("WHERE", default="nowhere")
Ask = Callable[..., Verdict]


def failed(name: str) -> Verdict:
    return Verdict("deny", "approval_unavailable", f"The approver raised {name}.")


def answering(given: Any) -> Any:
    """A synchronous approver."""
    return lambda _: given


def answering_later(given: Any) -> Any:
    """An asynchronous one."""

    async def approver(_: Any) -> Any:
        await asyncio.sleep(0)
        return given

    return approver


@pytest.fixture(params=["sync", "async"])
def ask(request, loop) -> Ask:
    """Ask from synchronous or from asynchronous code."""

    def do(approver: Any, settings: Approvals | None = None, **facts: Any) -> Verdict:
        asking = ApproverPrompt(approver, settings or Approvals(), loop)
        question = request_of(**facts)
        return (
            drive_sync(asking.ask(question))
            if request.param == "sync"
            else asyncio.run(drive_async(asking.ask(question)))
        )

    return do


@each_row("make", [answering, answering_later])
@each_row(
    ("given", "verdict"),
    [
        pytest.param("allow_once", Verdict("allow", answer="allow_once"), id="once"),
        pytest.param("allow_always", Verdict("allow", answer="allow_always"), id="always"),
        pytest.param("deny", Verdict("deny", "approval_denied", answer="deny"), id="deny"),
        pytest.param(
            ApprovalAnswer("allow_once", "ann"), Verdict("allow", answer="allow_once", approver="ann"), id="by name"
        ),
        pytest.param(
            ApprovalAnswer("deny", "ann", "Use a branch."),
            Verdict("deny", "approval_denied", "Use a branch.", "deny", "ann"),
            id="a denial with a message",
        ),
        pytest.param(None, NOBODY, id="nobody there"),
    ],
)
def test_answers(ask, make, given, verdict) -> None:
    """Each answer means what it says, from either kind of approver and of code."""
    assert ask(make(given)) == verdict


def test_without_an_approver_nobody_is_there(ask) -> None:
    """Headless, a question is answered at once."""
    assert ask(None) == NOBODY


def test_words_may_be_an_enumeration(ask) -> None:
    """A text is a text, whatever else it is."""

    class Word(StrEnum):
        YES = "allow_once"

    assert ask(answering(Word.YES)).outcome == "allow"


@each_row(
    "given",
    [
        pytest.param(True, id="true"),
        pytest.param(1, id="one"),
        pytest.param("yes", id="another word"),
        pytest.param("ALLOW_ONCE", id="upper case"),
        pytest.param("", id="no word"),
        pytest.param(["allow_once"], id="a list"),
        pytest.param(("allow_once", "ann", None), id="a tuple that is no answer"),
        pytest.param(ApprovalAnswer(1), id="an answer of one"),  # type: ignore[arg-type]
        pytest.param(ApprovalAnswer("allow_once", 7), id="a name that is no text"),  # type: ignore[arg-type]
        pytest.param(ApprovalAnswer("deny", None, b"no"), id="a message that is no text"),  # type: ignore[arg-type]
    ],
)
def test_anything_else_is_no_answer(ask, given) -> None:
    """An approver that answers in words of its own allows nothing."""
    assert ask(answering(given)) == NOBODY._replace(message="The approver gave an invalid answer.")


def test_what_was_not_offered_is_not_kept(ask) -> None:
    """The person agrees to this call, and nothing is stored."""
    assert ask(answering("allow_always"), always=False) == Verdict("allow", answer="allow_once")


@each_row(
    ("patterns", "name", "allowed"),
    [
        pytest.param(None, None, True, id="anybody, without a name"),
        pytest.param(None, "ann", True, id="anybody"),
        pytest.param(None, "planner", False, id="the agent itself"),
        pytest.param(None, " PLANNER", False, id="the agent itself in other letters"),
        pytest.param(("*",), "Planner", False, id="the agent itself, listed"),
        pytest.param(("ann", "*@ops"), "ann", True, id="listed"),
        pytest.param(("ann", "*@ops"), "bob@ops", True, id="listed by a pattern"),
        pytest.param(("ann", "*@ops"), "bob", False, id="not listed"),
        pytest.param(("ann",), "anna", False, id="longer than listed"),
        pytest.param(("*",), None, False, id="a list and no name"),
        pytest.param((), "ann", False, id="nobody listed"),
    ],
)
@each_row("word", ["allow_once", "deny"])
def test_who_may_answer(ask, patterns, name, allowed, word) -> None:
    """A name that may not answer denies, and what it says does not reach the model."""
    verdict = ask(answering(ApprovalAnswer(word, name, "I say so.")), Approvals(approvers=patterns))

    refused = "The answer came from a person who may not approve this call."
    if word == "allow_once" and allowed:
        assert verdict == Verdict("allow", answer=word, approver=name)
    else:
        message = "I say so." if allowed else refused
        assert verdict == Verdict("deny", "approval_denied", message, word, name)


def test_a_caller_without_a_name_is_nobody_to_compare_with(ask) -> None:
    """An agent that says nothing of itself does not take a name from a person."""
    assert ask(answering(ApprovalAnswer("allow_once", "ann")), caller=Caller()).outcome == "allow"


def raising(error: BaseException) -> Any:
    def approver(_: Any) -> Any:
        raise error

    return approver


def raising_later(error: BaseException) -> Any:
    async def approver(_: Any) -> Any:
        await asyncio.sleep(0)
        raise error

    return approver


@pytest.mark.parametrize("make", [raising, raising_later])
@pytest.mark.parametrize(
    ("error", "verdict"),
    [
        pytest.param(ValueError("/etc/secret"), failed("ValueError"), id="an error"),
        pytest.param(ApprovalHandedOn(), Verdict("deny", "approval_handed_on"), id="another process goes on"),
        pytest.param(SystemExit(0), None, id="exit"),
        pytest.param(asyncio.CancelledError(), None, id="cancelled by itself"),
        pytest.param(TimeoutError(), LATE._replace(message="No answer came within 120 s."), id="out of time"),
    ],
)
def test_what_raises_allows_nothing(ask, make, error, verdict) -> None:
    """The model is told what kind of failure it was, and no more."""
    told = type(error).__name__ if make is raising else "Cancelled"

    assert ask(make(error)) == (verdict or failed(told))


@pytest.mark.parametrize("make", [raising, raising_later])
def test_an_interrupt_is_the_callers(make, loop) -> None:
    """Ctrl-C that an approver has read itself ends the caller, not just the question."""
    with pytest.raises(KeyboardInterrupt):
        drive_sync(ApproverPrompt(make(KeyboardInterrupt()), Approvals(), loop).ask(request_of()))


@pytest.fixture
def go_on() -> Iterator[threading.Event]:
    event = threading.Event()
    yield event
    event.set()


def test_a_hanging_approver_hangs_nobody(ask, go_on) -> None:
    """When the time is up, the caller goes on and the thread stays behind."""
    assert ask(lambda _: go_on.wait(), Approvals(timeout_s=0.05)) == LATE


def ask_until_begun(ask: Callable[[float], Verdict], begun: threading.Event) -> None:
    """Ask with ever more time, until the approver has begun before its time was up: a busy machine may be slow."""
    for timeout_s in (0.05, 0.5, 5.0, 50.0):
        late = LATE._replace(message=f"No answer came within {timeout_s:g} s.")
        assert ask(timeout_s) == late
        if begun.is_set():
            return


def test_a_hanging_asynchronous_approver_is_cancelled(ask) -> None:
    """It learns that its time is up."""
    begun, ended = threading.Event(), threading.Event()

    async def approver(_: Any) -> Any:
        begun.set()
        try:
            await asyncio.sleep(600)
        finally:
            ended.set()

    ask_until_begun(lambda timeout_s: ask(approver, Approvals(timeout_s=timeout_s)), begun)

    assert ended.wait(60)


def test_an_approver_that_ignores_its_cancellation_hangs_nobody(loop) -> None:
    """What it does afterwards reaches nobody."""
    release = asyncio.Event()
    begun, ended = threading.Event(), threading.Event()

    async def approver(_: Any) -> Any:
        begun.set()
        try:
            await asyncio.sleep(600)
        except asyncio.CancelledError:
            await release.wait()
        ended.set()
        raise ValueError

    ask_until_begun(
        lambda timeout_s: drive_sync(ApproverPrompt(approver, Approvals(timeout_s=timeout_s), loop).ask(request_of())),
        begun,
    )
    loop.run(_set(release))

    assert ended.wait(60)


async def _set(event: asyncio.Event) -> None:
    event.set()


def test_an_answer_that_comes_too_late_is_none(loop) -> None:
    """An approver that blocks the loop cannot be ended; its answer does not count."""

    async def approver(_: Any) -> Any:
        threading.Event().wait(0.1)
        return "allow_once"

    assert drive_sync(ApproverPrompt(approver, Approvals(timeout_s=0.05), loop).ask(request_of())) == LATE


@pytest.mark.parametrize("timeout_s", [float("inf"), 1e12], ids=["endless", "longer than a thread can wait"])
def test_there_may_be_no_limit(loop, timeout_s) -> None:
    """As long as somebody answers."""
    asking = ApproverPrompt(answering("allow_once"), Approvals(timeout_s=timeout_s), loop)

    assert drive_sync(asking.ask(request_of())).outcome == "allow"


def test_there_may_be_no_limit_on_a_loop(loop) -> None:
    """The same from asynchronous code."""
    asking = ApproverPrompt(answering_later("allow_once"), Approvals(timeout_s=float("inf")), loop)

    assert asyncio.run(drive_async(asking.ask(request_of()))).outcome == "allow"


def test_approvers_that_hang_are_counted(loop, go_on) -> None:
    """Threads left behind are bounded: after eight nobody is asked any more, until one returns."""
    asking = ApproverPrompt(lambda _: go_on.wait(), Approvals(timeout_s=0.001), loop)

    verdicts = [drive_sync(asking.ask(request_of())) for _ in range(9)]
    go_on.set()
    for thread in list(asking._hanging):
        thread.join()
    asking._settings = Approvals()

    assert [verdict.reason for verdict in verdicts] == ["approval_timeout"] * 8 + ["approval_unavailable"]
    assert verdicts[-1].message == "The approver has never returned from 8 earlier questions."
    assert drive_sync(asking.ask(request_of())).message == "The approver gave an invalid answer."


async def test_asking_inside_a_loop_names_acall(loop) -> None:
    """A synchronous call would block the loop that runs here for an asynchronous approver."""
    asking = ApproverPrompt(answering_later("allow_once"), Approvals(), loop)

    with pytest.raises(SyncCallInLoop, match="acall"):
        drive_sync(asking.ask(request_of()))


async def test_a_synchronous_approver_does_not_block_the_loop(loop) -> None:
    """Other tasks go on while a person thinks."""
    went_on = threading.Event()

    async def other() -> None:
        went_on.set()

    asking = ApproverPrompt(lambda _: "allow_once" if went_on.wait(60) else "deny", Approvals(), loop)
    verdict, _ = await asyncio.gather(drive_async(asking.ask(request_of())), other())

    assert verdict == Verdict("allow", answer="allow_once")


async def test_a_coroutine_that_nobody_awaits_any_more_is_closed(loop) -> None:
    """The approver has returned one, and its caller was cancelled before it could await that."""
    asking, given = ApproverPrompt(lambda _: given, Approvals(), loop), answering_later("allow_once")(None)
    caller = asyncio.create_task(drive_async(asking.ask(request_of())))
    await asyncio.sleep(0)
    (question,) = asking._open
    assert question._thread is not None
    question._thread.join()  # Nothing else runs here meanwhile: what the approver gave waits to be taken.
    caller.cancel()
    with pytest.raises(asyncio.CancelledError):
        await caller

    assert getcoroutinestate(given) == CORO_CLOSED


async def test_a_cancelled_task_stops_asking(loop) -> None:
    """The cancellation is the caller's; the approver learns that nobody waits."""
    asked, told = threading.Event(), threading.Event()

    def approver(_: Any) -> None:
        asked.set()
        abandoned = ABANDONED.get()
        assert abandoned is not None
        if abandoned.wait(60):
            told.set()

    task = asyncio.create_task(drive_async(ApproverPrompt(approver, Approvals(), loop).ask(request_of())))
    await asyncio.to_thread(asked.wait)
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task
    assert await asyncio.to_thread(told.wait, 60)


async def test_a_cancelled_task_cancels_its_approver(loop) -> None:
    """The same with an asynchronous one."""
    asked, told = asyncio.Event(), asyncio.Event()

    async def approver(_: Any) -> None:
        asked.set()
        try:
            await asyncio.sleep(60)
        finally:
            told.set()

    task = asyncio.create_task(drive_async(ApproverPrompt(approver, Approvals(), loop).ask(request_of())))
    await asked.wait()
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task
    await told.wait()


def test_an_interrupt_stops_asking(loop) -> None:
    """Ctrl-C while a person is asked frees the caller, and the approver learns of it."""
    told = threading.Event()
    struck: list[int] = []

    def approver(_: Any) -> None:
        abandoned = ABANDONED.get()
        assert abandoned is not None
        # A signal that arrives just before a thread falls asleep does not wake it: the next one does.
        for _ in range(600):
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGALRM)
            if abandoned.wait(0.1):
                told.set()
                break

    def interrupt(number: int, _: object) -> None:
        if not struck:
            struck.append(number)
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        with pytest.raises(KeyboardInterrupt):
            drive_sync(ApproverPrompt(approver, Approvals(), loop).ask(request_of()))
        assert told.wait(60)
    finally:
        signal.signal(signal.SIGALRM, before)


def test_an_approver_has_its_askers_context(ask) -> None:
    """Context variables reach it, so that logs and traces belong together."""
    token = WHERE.set("here")

    verdict = ask(lambda _: ApprovalAnswer("allow_once", WHERE.get()))
    WHERE.reset(token)

    assert verdict.approver == "here"


def test_a_coroutine_that_comes_too_late_is_closed(go_on) -> None:
    """Nobody will await it, and Python would say so."""
    returned: list[Any] = []

    def approver(_: Any) -> Any:
        go_on.wait()
        returned.append(answering_later("allow_once")(None))
        return returned[0]

    question = Question(approver, request_of(), deadline=0.0)
    question.start(bool)
    with pytest.raises(TimeoutError):
        question.answer()
    thread = question.abandon()
    go_on.set()
    assert thread is not None
    thread.join()

    assert returned[0].cr_frame is None


def test_a_loop_that_has_gone_is_not_told(loop, go_on) -> None:
    """The thread of an abandoned question ends quietly."""
    asking = ApproverPrompt(lambda _: go_on.wait(), Approvals(timeout_s=0.01), loop)

    verdict = asyncio.run(drive_async(asking.ask(request_of())))
    (thread,) = asking._hanging
    go_on.set()
    thread.join()

    assert verdict.reason == "approval_timeout"
