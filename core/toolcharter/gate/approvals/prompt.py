"""Asks the approver one question and waits for the answer within its time limit. Anything else that happens denies."""

import contextvars
import threading
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from inspect import isawaitable, iscoroutine
from time import monotonic
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

from toolcharter._lazy import lazy
from toolcharter.api.approval import Answer, ApprovalAnswer, ApprovalHandedOn, ApprovalRequest, Approver
from toolcharter.api.reasons import Reason
from toolcharter.gate.waiting import (
    LoopThread,
    Wait,
    call_soon,
    is_caller_cancellation,
    on_loop,
    refuse_inside_loop,
    remaining_s,
    signal,
    wait_for,
)
from toolcharter.profile.globs import parse_glob
from toolcharter.profile.settings import Approvals

if TYPE_CHECKING:
    import asyncio
else:
    asyncio = lazy("asyncio")

ABANDONED: ContextVar[threading.Event | None] = ContextVar("ABANDONED", default=None)
"""An event that is set once the caller no longer waits for the answer. An approver can poll it, to end early."""
MAX_HANGING = 8
"""With this many questions from which the approver has never returned, no further question is asked."""
_ANSWERS = get_args(Answer)
_ANSWERING: ContextVar["tuple[Question, ...]"] = ContextVar("_ANSWERING", default=())
"""The questions that the current code is answering."""


class Question:
    """One call of an approver in a daemon thread, so that its caller can give up; has the asker's context variables."""

    def __init__(self, approver: Approver, request: ApprovalRequest, deadline: float) -> None:
        self.request = request
        self.deadline = deadline
        """On `time.monotonic`'s clock, in seconds."""
        self._approver = approver
        self._abandoned = threading.Event()
        self._returned: Any = None
        self._error: BaseException | None = None
        self._ended = False
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._wake: Callable[[], object] = bool

    def start(self, done: Callable[[], object]) -> None:
        """Start the thread. It calls *done* at its end, and so does `withdraw`."""
        self.set_wake(done)
        context = contextvars.copy_context()
        context.run(ABANDONED.set, self._abandoned)

        def work() -> None:
            try:
                given = context.run(self._approver, self.request)
            except BaseException as error:  # noqa: BLE001 - the waiting caller judges it
                self._record_end(None, error)
            else:
                self._record_end(given, None)
            done()

        self._thread = threading.Thread(target=work, name="toolcharter-approver", daemon=True)
        self._thread.start()

    def _record_end(self, given: Any, error: BaseException | None) -> None:
        with self._lock:
            self._returned, self._error, self._ended = given, error, True
            if self._abandoned.is_set():
                self._close_unawaited()

    def _close_unawaited(self) -> None:
        """Close a coroutine that the approver has returned and that will not be awaited: Python would warn about it."""
        if iscoroutine(self._returned):
            self._returned.close()
            self._returned = None

    def answer(self) -> Any:
        """Return what the approver has returned, once. If it is awaitable, the caller must await it.

        Raises:
            TimeoutError: The approver still runs.
            BaseException: The approver's exception.
        """
        with self._lock:
            if not self._ended:
                raise TimeoutError
            if self._error is not None:
                raise self._error
            given, self._returned = self._returned, None
            return given

    def set_wake(self, wake: Callable[[], object]) -> None:
        """Let `withdraw` call *wake* from now on. If the question is withdrawn already, call *wake* at once."""
        with self._lock:
            self._wake = wake
            late = self._abandoned.is_set()
        if late:
            wake()

    def withdraw(self) -> None:
        """Release the waiting caller without an answer."""
        with self._lock:
            self._abandoned.set()
            wake = self._wake
        wake()

    def abandon(self) -> threading.Thread | None:
        """Notify the approver that the caller no longer waits.

        Returns:
            The approver's thread, if it still runs.
        """
        with self._lock:
            self._abandoned.set()
            self._close_unawaited()
            return None if self._ended else self._thread


class Verdict(NamedTuple):
    """The result of a question: whether the call may run, and the answer, if there was one."""

    outcome: Literal["allow", "deny"]
    reason: str | None = None
    """`approval_denied`, `approval_timeout`, `approval_unavailable` or `approval_handed_on`; None if allowed."""
    message: str | None = None
    """For the model; None if allowed."""
    answer: Answer | None = None
    """The answer, if there was a valid one. `allow_always` only if it was offered."""
    approver: str | None = None
    """The name that the approver gives for the person who answered."""


class ApproverPrompt:
    """Asks the approver of one toolbox. Thread-safe."""

    def __init__(self, approver: Approver | None, settings: Approvals, loop: LoopThread) -> None:
        self._approver = approver
        self._settings = settings
        self._patterns = None if settings.approvers is None else tuple(map(parse_glob, settings.approvers))
        self._loop = loop
        self._hanging: set[threading.Thread] = set()
        self._open: set[Question] = set()
        self._closed = False
        self._lock = threading.Lock()

    async def ask(self, request: ApprovalRequest) -> Verdict:
        """Ask the approver about *request*.

        A synchronous approver runs in a thread of its own. An asynchronous approver runs on the event loop of the
        caller, or on the toolbox's loop for synchronous callers.
        """
        question = self._open_question(request)
        if isinstance(question, Verdict):
            return question
        try:
            with _mark_answering(question):
                await wait_for(signal(question.start, question.deadline))
                given = question.answer()
                if isawaitable(given):
                    given = await wait_for(self._wait_for_awaitable(given, question))
            return self._verdict_on_answer(given, question)
        except BaseException as error:  # noqa: BLE001 - `_verdict_on_error` raises the caller's cancellation again
            return self._verdict_on_error(error)
        finally:
            self._stop_waiting(question)

    def _wait_for_awaitable(self, awaitable: Awaitable[Any], question: Question) -> Wait[Any]:
        wait = partial(_await_until_deadline, question, awaitable)
        return Wait(on_loop(self._loop, wait), wait, partial(refuse_inside_loop, question.request.tool, awaitable))

    def _open_question(self, request: ApprovalRequest) -> Question | Verdict:
        if self._approver is None:
            return _unavailable("There is no one to ask.")
        with self._lock:
            self._hanging = {thread for thread in self._hanging if thread.is_alive()}
            if len(self._hanging) >= MAX_HANGING:
                return _unavailable(f"The approver has never returned from {MAX_HANGING} earlier questions.")
            if self._closed:
                return _unavailable("The toolbox was closed.")
            if not self._open.isdisjoint(
                _ANSWERING.get()
            ):  # The approver would be asked about its own asking, endlessly.
                return _unavailable("An approver is not asked about its own calls.")
            question = Question(self._approver, request, monotonic() + self._settings.timeout_s)
            self._open.add(question)
        return question

    def close(self) -> None:
        """Release every caller that waits for an answer, and ask no more questions."""
        with self._lock:
            self._closed = True
            waiting = tuple(self._open)
        for question in waiting:
            question.withdraw()

    def _stop_waiting(self, question: Question) -> None:
        """Stop waiting. An approver that still runs is notified, and counted as hanging."""
        thread = question.abandon()
        with self._lock:
            self._open.discard(question)
            if thread is not None:
                self._hanging.add(thread)

    def _verdict_on_error(self, error: BaseException) -> Verdict:
        if is_caller_cancellation(error):
            raise error
        if isinstance(error, TimeoutError):
            waited = f"No answer came within {self._settings.timeout_s:g} s."
            return Verdict("deny", Reason.APPROVAL_TIMEOUT, waited)
        if isinstance(error, ApprovalHandedOn):
            return Verdict("deny", Reason.APPROVAL_HANDED_ON)
        return _unavailable(f"The approver raised {type(error).__name__}.")

    def _verdict_on_answer(self, given: Any, question: Question) -> Verdict:
        """Turn an answer into a verdict. A late answer counts as none."""
        if monotonic() > question.deadline:
            raise TimeoutError
        if given is None:
            return _unavailable("There is no one to ask.")
        answer = given if isinstance(given, ApprovalAnswer) else ApprovalAnswer(given)
        if not _is_well_formed(answer):
            return _unavailable("The approver gave an invalid answer.")
        word, approver, message = answer
        if not self.may_answer(approver, question.request.caller.agent):
            message = "The answer came from a person who may not approve this call."
            return Verdict("deny", Reason.APPROVAL_DENIED, message, word, approver)
        if word == "deny":
            return Verdict("deny", Reason.APPROVAL_DENIED, message, word, approver)
        if word == "allow_always" and not question.request.always:
            word = "allow_once"  # It was not offered, so it is not saved; but this one call was approved.
        return Verdict("allow", None, None, word, approver)

    def may_answer(self, approver: str | None, agent: str | None) -> bool:
        """Whether the answer of *approver* counts for a call of *agent*."""
        if approver is not None and agent is not None and approver.strip().casefold() == agent.strip().casefold():
            return False
        if self._patterns is None:
            return True
        return approver is not None and any(pattern.matches(approver) for pattern in self._patterns)


@contextmanager
def _mark_answering(question: Question) -> Generator[None]:
    """Mark the code in the `with` block, and the threads and tasks that it starts, as part of answering *question*."""
    token = _ANSWERING.set((*_ANSWERING.get(), question))
    try:
        yield
    finally:
        _ANSWERING.reset(token)


def _is_well_formed(answer: ApprovalAnswer) -> bool:
    """Whether the answer has the declared types: an approver is foreign code."""
    word, *texts = answer
    return isinstance(word, str) and word in _ANSWERS and all(isinstance(text, str | None) for text in texts)


def _unavailable(message: str) -> Verdict:
    return Verdict("deny", Reason.APPROVAL_UNAVAILABLE, message)


class Cancelled(Exception):
    """An approver cancelled itself, or tried to exit the process, although no caller had cancelled the question."""


async def _await_until_deadline(question: Question, awaitable: Awaitable[Any]) -> Any:
    """Await an approver's awaitable until the deadline of *question*.

    Raises:
        TimeoutError: The time is up, or the question was withdrawn. The awaitable is cancelled, and abandoned if it
            does not end.
        Cancelled: The awaitable cancelled itself.
    """
    loop = asyncio.get_running_loop()
    withdrawn = asyncio.Event()
    task = asyncio.ensure_future(_without_system_exit(awaitable))
    gone = asyncio.ensure_future(withdrawn.wait())
    question.set_wake(partial(call_soon, loop, withdrawn.set))
    try:
        await asyncio.wait({task, gone}, timeout=remaining_s(question.deadline), return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise TimeoutError
    finally:
        gone.cancel()
        if not task.done():
            task.add_done_callback(_retrieve_exception)
            task.cancel()
    if task.cancelled():
        raise Cancelled
    return task.result()


async def _without_system_exit(awaitable: Awaitable[Any]) -> Any:
    try:
        return await awaitable
    except SystemExit as error:  # In a task it would end the loop, and everything that runs on it.
        raise Cancelled from error


def _retrieve_exception(task: "asyncio.Task[Any]") -> None:
    """Retrieve the exception of an abandoned task: asyncio would log it otherwise."""
    if not task.cancelled():
        task.exception()
