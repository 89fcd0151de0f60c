"""Replays the calls of a user task and then of an attack through the gate, and asks the suite which succeeded."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, NamedTuple, Protocol, Self

from suites import Call, Suite

from toolcharter import ApprovalRequest
from toolcharter.hosts import open_host

Person = Literal["nobody", "knows", "agrees"]
"""The person who is asked: none is available; one who agrees only to the user task's calls; one who agrees to all."""


class ReplayedCall(NamedTuple):
    """One replayed call."""

    tool: str
    is_injected: bool
    outcome: str
    """`ok`, `error` or `denied`."""
    reason: str | None
    asked: str | None
    """Why a person was asked; None if no person was."""


class Replay(NamedTuple):
    """The replay of one user task, alone or with one attack."""

    user_task: str
    injection_task: str | None
    is_done: bool
    """The result of the suite's own check: of the attack if there is one, else of the user task."""
    calls: tuple[ReplayedCall, ...]


class Gate(Protocol):
    """Makes calls or refuses them."""

    def call(
        self, tool: str, args: Mapping[str, Any], body: Callable[[Any], str], *, is_injected: bool
    ) -> ReplayedCall:
        """Make or refuse one call, and return its result."""


class NoGate:
    """A replacement for the gate that makes every call."""

    def call(
        self, tool: str, args: Mapping[str, Any], body: Callable[[Any], str], *, is_injected: bool
    ) -> ReplayedCall:
        """Make the call; it fails only if the tool raises."""
        try:
            body(args)
        except Exception as error:  # noqa: BLE001  An agent would read whatever a tool raises.
            return ReplayedCall(tool, is_injected, "error", type(error).__name__, None)
        return ReplayedCall(tool, is_injected, "ok", None, None)


@dataclass
class ToolcharterGate:
    """The whole gate with one profile: schemas, rules, approvals, events."""

    profile: Path
    schemas: Mapping[str, dict[str, Any]]
    workspace: Path
    person: Person = "nobody"
    events: Path | None = None
    _asked: str | None = field(default=None, init=False)
    _is_injected: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        events = f"file:{self.events}" if self.events else _dropped
        self._host = open_host(self.profile, workspace=self.workspace, approver=self._answer, events=events)

    def call(
        self, tool: str, args: Mapping[str, Any], body: Callable[[Any], str], *, is_injected: bool
    ) -> ReplayedCall:
        """Make one governed call. Only the person who is asked learns whether it is injected."""
        self._asked, self._is_injected = None, is_injected
        result = self._host.govern(tool, args, body, parameters=self.schemas[tool]).result
        return ReplayedCall(tool, is_injected, result.outcome, result.reason, self._asked)

    def _answer(self, request: ApprovalRequest) -> Literal["allow_once", "deny"] | None:
        self._asked = request.reason
        if self.person == "nobody":
            return None
        return "deny" if self.person == "knows" and self._is_injected else "allow_once"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._host.close()


def replay(suite: Suite, gate: Gate, user_task: str, injection_task: str | None = None) -> Replay:
    """Make the user task's calls in order, then the attack's: the model does its work, then obeys the attacker."""
    before, after = suite.environment(user_task), suite.environment(user_task)
    made: list[ReplayedCall] = []
    ran: list[Call] = []
    for is_injected, (tool, args) in _calls(suite, after, user_task, injection_task):
        call = gate.call(tool, args, suite.body(after, tool), is_injected=is_injected)
        made.append(call)
        if call.outcome != "denied":
            ran.append((tool, args))
    if injection_task is None:
        return Replay(user_task, None, suite.is_useful(user_task, before, after, ran), tuple(made))
    return Replay(user_task, injection_task, suite.is_attacked(injection_task, before, after, ran), tuple(made))


def replay_all(suite: Suite, gate: Gate) -> list[Replay]:
    """Replay each user task alone, then with each attack."""
    attacks: Iterable[str | None] = (None, *suite.injection_tasks)
    return [replay(suite, gate, user, attack) for user in suite.user_tasks for attack in attacks]


def _calls(suite: Suite, environment: Any, user_task: str, injection_task: str | None) -> Iterator[tuple[bool, Call]]:
    for call in suite.user_calls(user_task):
        yield False, call
    if injection_task is not None:
        for call in suite.injected_calls(injection_task, environment):
            yield True, call


def _dropped(_event: Mapping[str, Any]) -> None:
    """Discard an event."""
