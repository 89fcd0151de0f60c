"""Opens a toolbox for the length of one command, and reports losses when it closes."""

import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import click

from toolcharter._lazy import lazy

if TYPE_CHECKING:
    from toolcharter.api.approval import ApprovalAnswer, ApprovalRequest
    from toolcharter.api.call import Caller
    from toolcharter.gate import live as gate_live
    from toolcharter.gate.approvals import terminal
    from toolcharter.gate.build import open as build_open
    from toolcharter.gate.live import LiveToolbox
    from toolcharter.gate.toolbox import Toolbox
else:
    terminal = lazy("toolcharter.gate.approvals.terminal")
    build_open = lazy("toolcharter.gate.build.open")
    gate_live = lazy("toolcharter.gate.live")


@contextmanager
def live_toolbox_session(
    profile: str,
    workspace: str,
    events: Sequence[str],
    caller: "Caller | None" = None,
    *,
    quiet_for_people: bool = False,
) -> "Generator[LiveToolbox]":
    """Build a live toolbox, in which more tools may appear, and close it in any case.

    Args:
        profile: A name or path, as for `build_tools`.
        workspace: The folder that tools may touch.
        events: URLs of sinks; if empty, events go to standard error.
        caller: The caller of each call; None if unknown.
        quiet_for_people: Without *events*, write none if standard error is a terminal and the profile requires none.
    """
    quiet = quiet_for_people and not events and sys.stderr is not None and sys.stderr.isatty()
    live = gate_live.open_live(
        profile,
        workspace=workspace,
        caller=caller,
        events=None if quiet else events,
        last_approver=_ask_at_terminal,
    )
    with _close_and_report(live.close, lambda: live.current):
        live.settle()
        yield live


@contextmanager
def toolbox_session(
    profile: str, workspace: str, events: Sequence[str], caller: "Caller | None" = None
) -> "Generator[Toolbox]":
    """Build the toolbox and close it in any case. Losses are reported on standard error.

    Raises:
        ConfigurationError: The profile or the installation has faults. It holds all of them.
    """
    toolbox = build_open.build_toolbox(
        profile, workspace=workspace, caller=caller, events=events, last_approver=_ask_at_terminal
    )
    with _close_and_report(toolbox.close, lambda: toolbox):
        yield toolbox


@contextmanager
def _close_and_report(close: Callable[[], None], get_current: "Callable[[], Toolbox]") -> Generator[None]:
    try:
        yield
    finally:
        try:
            close()
        except ExceptionGroup as group:
            for error in group.exceptions:
                _report(f"closing a tool failed: {type(error).__name__}: {error}")
        toolbox = get_current()
        if toolbox.lost_events:
            cause = toolbox.lost_because
            _report(f"{toolbox.lost_events} event lines were lost: {type(cause).__name__}: {cause}")
        if toolbox.lost_notifications:
            _report(f"{toolbox.lost_notifications} notifications were lost: {toolbox.lost_notification_because}")


def _ask_at_terminal(request: "ApprovalRequest") -> "ApprovalAnswer | None":
    """Ask the user at the terminal that started the command. Without a terminal, there is no answer."""
    return terminal.TerminalApprover()(request)


def _report(text: str) -> None:
    with suppress(OSError):  # The loss may be that of standard error itself.
        click.echo(f"toolcharter: {text}", err=True)
