"""Threads that run bodies: they serve one body after the other, each with its own context."""

import threading
from contextvars import ContextVar

import pytest

from toolcharter import Caller
from toolcharter.gate import threads
from toolcharter.gate.call import CallContext, begin_call
from toolcharter.gate.threads import BodyThread

WHO: ContextVar[str] = ContextVar("who", default="nobody")


def _ran(who: str, body: object = None) -> tuple[str, int, CallContext]:
    """What *body*, or one that tells its context, said; in which thread; and its call."""
    seen: list[str] = []
    ident: list[int] = []
    ended = threading.Event()
    ctx = begin_call("t", Caller(), 0.0, None, None)

    def tell(_: CallContext) -> None:
        seen.append(WHO.get())
        ident.append(threading.get_ident())
        if isinstance(body, BaseException):
            raise body

    token = WHO.set(who)
    thread = BodyThread(ctx, tell)
    WHO.reset(token)
    thread.begin(ended.set)
    assert ended.wait(60)
    assert not thread.is_alive()
    return seen[0], ident[0], ctx


class _Idle(list[threading.Thread]):
    """Takes back no thread that another test has left behind: such a one may come at any time."""

    def __init__(self) -> None:
        super().__init__()
        self._others = set(threading.enumerate())

    def append(self, thread: threading.Thread) -> None:
        if thread not in self._others:
            super().append(thread)


@pytest.fixture
def _own_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """No thread that waits for a body, at first."""
    monkeypatch.setattr(threads._THREADS, "idle", _Idle())


@pytest.mark.usefixtures("_own_threads")
def test_a_thread_is_used_again_with_the_context_of_the_next_call() -> None:
    """Nothing of the call before is seen, and no second thread is started."""
    first, thread, _ = _ran("alice")
    second, again, _ = _ran("bob")

    assert (first, second) == ("alice", "bob")
    assert thread == again


@pytest.mark.usefixtures("_own_threads")
def test_a_body_that_ends_its_thread_does_not() -> None:
    """What is raised past the body fails the call, and the thread goes on."""
    _, thread, ctx = _ran("alice", SystemExit(3))
    _, again, _ = _ran("bob")

    assert (ctx.outcome, ctx.reason) == ("error", "unexpected_failure")
    assert thread == again


def test_a_thread_that_waits_in_vain_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """After `IDLE_S` seconds without another body; the next one gets a new thread."""
    monkeypatch.setattr(threads, "IDLE_S", 0.01)
    monkeypatch.setattr(threads, "_THREADS", threads._Threads())
    _, ident, _ = _ran("alice")
    waiting = [thread for thread in threading.enumerate() if thread.ident == ident]

    for thread in waiting:
        thread.join(60)
    heard, _, _ = _ran("bob")

    assert ([thread.is_alive() for thread in waiting], heard) == ([False], "bob")
