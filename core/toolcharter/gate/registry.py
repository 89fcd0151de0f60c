"""`CallRegistry`: the calls under way in one toolbox, and what has to happen when it closes."""

import threading
from collections.abc import Callable
from time import monotonic, sleep

from toolcharter._fork import renew_in_child
from toolcharter.errors import ToolboxClosed, ToolcharterError
from toolcharter.gate.call import CURRENT, CallContext

CLOSE_WAIT_S = 5.0
"""How long closing a toolbox waits for calls under way, in seconds."""


class CallRegistry:
    """The calls under way. Safe from many threads."""

    def __init__(self) -> None:
        self.live: dict[int, tuple[CallContext, Callable[[CallContext], object]]] = {}
        """Calls under way with what interrupts each, by identity. Setting and deleting a key is atomic."""
        self.closed = False
        self._callbacks: list[Callable[[], object]] = []
        self._closing = threading.Lock()
        renew_in_child(self)

    def renew(self) -> None:
        """In a fork's child: the calls under way are the parent's, and so are their afters."""
        for ctx, _ in self.live.values():
            ctx.try_finish()
        self.live.clear()

    def require_open(self) -> None:
        """Refuse what comes after `close`."""
        if self.closed:
            raise ToolboxClosed("the toolbox is closed; build another with build_tools()")

    def on_close(self, callback: Callable[[], object]) -> None:
        """Run *callback* when the toolbox closes, before those registered earlier."""
        self._callbacks.append(callback)

    def close(self) -> bool:
        """Let no call begin any more, let those under way end, and interrupt the rest.

        Returns:
            False if it was closed already.

        Raises:
            ToolcharterError: One of the calls under way is the one that would close them.
        """
        current = CURRENT.get()
        if current is not None and current.live_key in self.live:
            raise ToolcharterError(f"the call {current.call_id!r} cannot close the toolbox that it goes through")
        with self._closing:
            if self.closed:
                return False
            self.closed = True
        give_up = monotonic() + CLOSE_WAIT_S
        while self.live and monotonic() < give_up:
            sleep(0.005)
        for ctx, interrupt in list(self.live.values()):
            interrupt(ctx.abandon())
        return True

    def run_callbacks(self) -> list[Exception]:
        """Run what `on_close` was given, the last first; returns what it raised."""
        errors = []
        while self._callbacks:
            try:
                self._callbacks.pop()()
            except Exception as error:  # noqa: BLE001 - the others must run too
                errors.append(error)
        return errors
