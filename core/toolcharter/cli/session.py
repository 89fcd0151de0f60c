"""A toolbox for the length of one command, and what is said when it ends."""

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
def opened_live(
    profile: str,
    workspace: str,
    events: Sequence[str],
    caller: "Caller | None" = None,
    *,
    quiet_for_people: bool = False,
) -> "Generator[LiveToolbox]":
    """The same for a session in which more tools may appear.

    Args:
        profile: As for `build_tools`.
        workspace: As above.
        events: URLs of sinks; none for standard error.
        caller: As above.
        quiet_for_people: Without *events*, write none where standard error is a terminal, if the profile requires none.
    """
    quiet = quiet_for_people and not events and sys.stderr is not None and sys.stderr.isatty()
    live = gate_live.open_live(
        profile,
        workspace=workspace,
        caller=caller,
        events=None if quiet else events,
        last_approver=_ask_at_the_terminal,
    )
    with _ending(live.close, lambda: live.current):
        live.settle()
        yield live


@contextmanager
def opened(profile: str, workspace: str, events: Sequence[str], caller: "Caller | None" = None) -> "Generator[Toolbox]":
    """Build the toolbox, and close it whatever happens; losses are reported on standard error.

    Raises:
        ConfigurationError: With every fault of the profile and the installation.
    """
    toolbox = build_open.build_toolbox(
        profile, workspace=workspace, caller=caller, events=events, last_approver=_ask_at_the_terminal
    )
    with _ending(toolbox.close, lambda: toolbox):
        yield toolbox


@contextmanager
def _ending(close: Callable[[], None], present: "Callable[[], Toolbox]") -> Generator[None]:
    try:
        yield
    finally:
        try:
            close()
        except ExceptionGroup as group:
            for error in group.exceptions:
                _tell(f"closing a tool failed: {type(error).__name__}: {error}")
        toolbox = present()
        if toolbox.lost_events:
            cause = toolbox.lost_because
            _tell(f"{toolbox.lost_events} event lines were lost: {type(cause).__name__}: {cause}")
        if toolbox.lost_notifications:
            _tell(f"{toolbox.lost_notifications} notifications were lost: {toolbox.lost_notification_because}")


def _ask_at_the_terminal(request: "ApprovalRequest") -> "ApprovalAnswer | None":
    """Ask the person at the terminal that started the command; no one without a terminal."""
    return terminal.TerminalApprover()(request)


def _tell(text: str) -> None:
    with suppress(OSError):  # Standard error may be what was lost.
        click.echo(f"toolcharter: {text}", err=True)
