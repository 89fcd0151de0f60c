"""Start subagents, record how they end, and notify their parents. The store has their records for all workers."""

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import count
from secrets import token_hex
from typing import Annotated, Literal, NamedTuple, TypeAlias

from pydantic import Field

from toolcharter import (
    AgentRequest,
    Ask,
    Call,
    Caller,
    Denied,
    RunningAgent,
    SessionMessage,
    SessionRecord,
    Store,
    StoreConflict,
    Stored,
    StoreTransaction,
    StoreUnavailable,
    ToolcharterError,
    ToolError,
    ToolPolicy,
    ToolRuntime,
    scrub_text,
)
from toolcharter_agents.agent_files import Iterations
from toolcharter_agents.names import Actor, agent_of, subagent_key
from toolcharter_agents.notifications import Announcer, TenantServices
from toolcharter_agents.running import ALIVE_S, CANCELLED, RUNNING, Launched
from toolcharter_agents.states import ENDED, Archive, Limits, SpawnReason, State, Subagent, due_state, rejection

MAX_RESULT_CHARS = 16_000
_END_TIMEOUT_S = 10.0
_SPARE_S = 0.1
_RETRY_PAUSES_S = (0.1, 0.5, 2.0, 5.0, 0.0)
"""The pause after each try to write an end, in seconds. After the last try the record is left as running; it counts as
failed once its `alive_until` has passed."""
_POLL_S = 0.05
_MAX_LISTED = 200
_MAX_ARCHIVED = 20
_ARCHIVE_EVERY = 10
"""Old records are searched for after this many ends. Each search handles more records than have been added since."""

Role = Literal["user", "assistant"]
Seconds = Annotated[float, Field(gt=0, le=86_400)]
Number = Annotated[int, Field(ge=1, le=1000)]


class LaunchPolicy(ToolPolicy):
    """The common settings of the tools that start agents."""

    max_depth: Annotated[int, Field(ge=1, le=10)] = 1
    """How many levels deep agents may start agents."""
    max_concurrent: Number = 8
    """How many subagents of the tenant may run at once, on all workers together."""
    max_children: Number = 5
    """How many of these may have the same parent."""
    max_iterations: Iterations = 20
    """How often a subagent's model is asked; a subagent that has not finished by then has failed."""
    archive_after_min: Annotated[float, Field(gt=0, le=100_000)] = 60.0
    """After how many minutes an ended subagent leaves the list."""
    timeout_s: Seconds = 600.0
    """How long a subagent may run, in seconds."""
    max_task_chars: Annotated[int, Field(ge=1, le=100_000)] = 16_000
    """The longest task, in characters."""
    model: str = ""
    """The model of subagents; the host's default model if empty."""
    unattended: bool = False
    """Whether agents are started without asking a person."""

    def limits(self) -> Limits:
        """Return the limits for subagents."""
        return Limits(self.max_depth, self.max_concurrent, self.max_children)


def asks(policy: LaunchPolicy, call: Call) -> Ask | None:
    """Ask a person before an agent is started, unless the policy waives it: a page may have injected the order."""
    starts = call.args.get("action", "run") in {"run", "steer"}
    return (
        Ask(SpawnReason.STARTS_AN_AGENT, "The call starts another agent.") if starts and not policy.unattended else None
    )


class SpawnOrder(NamedTuple):
    """The order to start a subagent."""

    task: str
    label: str = ""
    model: str = ""
    target: str = ""
    prompt: str = ""
    tools: tuple[str, ...] | None = None
    deny: tuple[str, ...] = ()
    max_iterations: int | None = None
    is_told: bool = False
    """True if the caller waits for the end, so that its session needs no notification."""


DENIED = ("toolset:subagent-deny",)
"""Tools that no subagent gets."""
LEAF_DENIED = ("toolset:leaf-deny", "delegate_to_agent", "subagents")
"""Tools that a subagent at the last depth does not get either."""


Ended: TypeAlias = "RunningAgent | ToolcharterError"
"""The agent that has ended, or the error for which it could not be started."""


class Launcher:
    """Starts the subagents of one tool."""

    def __init__(self, policy: LaunchPolicy, rt: ToolRuntime) -> None:
        self._policy = policy
        self._rt = rt
        self._own: dict[str, threading.Event] = {}
        """The running subagents, each with an event that is set once the end is recorded."""
        self._ends = count()
        self._announcer = Announcer()
        rt.on_close(self._close)

    def require_depth(self, task: str) -> None:
        """Refuse a caller at the last depth and a task that is too long. Does not use the store.

        Raises:
            Denied: `depth_limit`.
            ToolError: `task_too_long`.
        """
        depth = self._rt.caller.depth
        if found := rejection(self._policy.limits(), depth, 0, 0):
            raise Denied(*found)
        if len(task) > self._policy.max_task_chars:
            most = f"A task has at most {self._policy.max_task_chars} characters."
            raise ToolError(most, reason=SpawnReason.TASK_TOO_LONG)

    def list_subagents(self, actor: Actor) -> list[Subagent]:
        """Return the subagents of a session, the latest first, without those that are or should be archived."""
        now, archive = time.time(), Archive(self._policy.archive_after_min * 60)
        found = list_children(self._rt.store, actor)
        return [one for one in found if State.ARCHIVED not in {one.state, due_state(one, now, archive)}]

    def start(self, order: SpawnOrder) -> Launched:
        """Start a subagent and return without waiting for it.

        Raises:
            Denied: `concurrent_limit`, `children_limit`; `not_available`, if no host runs agents.
        """
        rt, caller = self._rt, self._rt.caller
        services = TenantServices(caller.tenant, rt.lasting_store(), rt.inbox)
        record = rt.store.transact(lambda records: self._admit(records, order))
        if record.state == State.REJECTED:
            raise Denied(record.reason or SpawnReason.CONCURRENT_LIMIT, record.result)
        has_settled = self._own[record.id] = threading.Event()
        session = _session_of(record, caller)

        def ended(outcome: Ended) -> None:
            try:
                self._record_end(services, record.id, outcome, session)
            finally:
                RUNNING.forget(record.id)
                self._own.pop(record.id, None)
                has_settled.set()

        depth = record.depth
        deny = (*DENIED, *order.deny, *(LEAF_DENIED if depth >= self._policy.max_depth else ()))
        request = AgentRequest(
            message=order.task,
            agent=order.target,
            prompt=order.prompt,
            model=record.model,
            session=record.session,
            tools=order.tools,
            deny=deny,
            max_iterations=order.max_iterations or self._policy.max_iterations,
            timeout_s=self._policy.timeout_s,
        )
        try:
            agent = rt.agents.start(request, on_end=ended)
        except ToolcharterError as error:
            ended(error)
            raise
        launched = Launched(record.id, agent, has_settled)
        if not agent.is_done:
            RUNNING.watch(launched, services.store, session)
        return launched

    def _admit(self, records: StoreTransaction, order: SpawnOrder) -> Subagent:
        """The record of a new subagent: running, or rejected by a limit."""
        policy, caller, now = self._policy, self._rt.caller, time.time()
        spawning = self._new_subagent(order, now)
        running = spawning.with_state(State.RUNNING, now)
        # Write first: a transaction that begins with a read is run again if another worker writes during it.
        version = records.put(running, expected=0)
        others = [one for one in find_running(records, now) if one.id != running.id]
        siblings = sum(one.parent == running.parent for one in others)
        if found := rejection(policy.limits(), caller.depth, len(others), siblings):
            changed = spawning.with_state(State.REJECTED, now, reason=str(found[0]), result=found[1], is_told=True)
        elif order.label and _is_session_taken(running.session, records, others):
            session = subagent_key(order.target or agent_of(caller), f"{order.label}-{running.id}")
            changed = running.model_copy(update={"session": session})
        else:
            return running
        records.put(changed, expected=version)
        return changed

    def _new_subagent(self, order: SpawnOrder, now: float) -> Subagent:
        caller, number = self._rt.caller, token_hex(4)
        actor, label = Actor.of(caller), order.label or number
        return Subagent(
            id=number,
            parent=actor.session,
            agent=actor.agent,
            user=actor.user,
            session=subagent_key(order.target or agent_of(caller), label),
            label=label,
            task=order.task,
            target=order.target,
            model=order.model or self._policy.model,
            state=State.SPAWNING,
            is_active=True,
            depth=caller.depth + 1,
            created=now,
            sequence=int(now * 1_000_000),
            alive_until=now + ALIVE_S,
            is_told=order.is_told,
        )

    def _record_end(self, services: TenantServices, number: str, outcome: Ended, session: SessionRecord) -> None:
        """Record how a subagent has ended and notify its parent. Retries for some time if the store is unavailable."""
        archive = Archive(self._policy.archive_after_min * 60)
        for pause_s in _RETRY_PAUSES_S:
            try:
                ended = services.store.transact(lambda records: _write_end(records, number, outcome, session))
            except (StoreConflict, StoreUnavailable):
                time.sleep(pause_s)
                continue
            if ended is not None and not ended.is_told:
                self._announcer.add(services, ended.parent)
            if next(self._ends) % _ARCHIVE_EVERY == 0:
                with suppress(StoreConflict, StoreUnavailable):  # a later end does it
                    services.store.transact(lambda records: archive_old(records, time.time(), archive))
            return

    def _close(self) -> None:
        """End the tool's subagents when the toolbox closes. The store is not used after this returns."""
        own = dict(self._own)
        for number in own:
            if (launched := RUNNING.get(number)) is not None:
                launched.agent.cancel()
        until = time.monotonic() + _END_TIMEOUT_S
        for has_settled in own.values():
            has_settled.wait(max(0.0, until - time.monotonic()))
        RUNNING.unwatch(own, _END_TIMEOUT_S)
        self._announcer.close()


def _session_of(one: Subagent, caller: Caller) -> SessionRecord:
    """The session record of a subagent that *caller* has started."""
    return SessionRecord(
        session=one.session,
        agent=one.target or one.agent,
        user=one.user,
        label=one.label,
        parent=one.parent,
        model=one.model,
        channel=caller.channel or "",
        chat=caller.chat or "",
        peer=caller.peer or "",
        created=int(one.created),
        updated=int(one.created),
    )


def _is_session_taken(session: str, records: StoreTransaction, others: Sequence[Subagent]) -> bool:
    return any(one.session == session for one in others) or records.get(SessionRecord, session) is not None


def find_running(records: StoreTransaction, now: float) -> list[Subagent]:
    """Return the running subagents. Those whose worker is lost are recorded as failed."""
    running = []
    for one in _iter_active(records):
        if due_state(one.record, now, Archive()) is None:
            running.append(one.record)
        else:
            lost = one.record.with_state(
                State.FAILED, now, reason="worker_lost", result="The subagent's worker was lost."
            )
            records.put(lost, expected=one.version)
    return running


def _iter_active(records: StoreTransaction) -> Iterator[Stored[Subagent]]:
    """All subagents that count against the limits, from all pages."""
    after: str | None = ""
    while after is not None:
        page = records.page(Subagent, where={"is_active": True}, after=after, limit=_MAX_LISTED)
        yield from page.records
        after = page.after or None


def archive_old(records: StoreTransaction, now: float, archive: Archive) -> None:
    """Archive subagents that ended long ago, and delete those that were archived long ago; a few of each at a time."""
    for state in ENDED:
        for one in records.page(Subagent, where={"state": state}, order="sequence", limit=_MAX_ARCHIVED).records:
            if due_state(one.record, now, archive) is not None:
                records.put(one.record.with_state(State.ARCHIVED, now), expected=one.version)
    for one in records.page(Subagent, where={"state": State.ARCHIVED}, order="sequence", limit=_MAX_ARCHIVED).records:
        if one.record.ended + archive.forget_after_s <= now:
            records.delete(Subagent, one.record.id, expected=one.version)


def _write_end(records: StoreTransaction, number: str, outcome: Ended, session: SessionRecord) -> Subagent | None:
    """Record how a subagent has ended, unless an end is recorded already, and its usage; None if there is no record."""
    found = records.get(Subagent, number)
    if found is None:
        return None
    state, text, reason, used = _outcome_fields(outcome)
    now, one = time.time(), found.record
    if one.state == State.RUNNING:
        one = one.with_state(state, now, result=text, reason=reason)
    one = one.model_copy(update={"iterations": used[0], "input_tokens": used[1], "output_tokens": used[2]})
    records.put(one, expected=found.version)
    _record_session(records, one, session, int(now))
    return one


def _outcome_fields(outcome: Ended) -> tuple[State, str, str | None, tuple[int, int, int]]:
    """The state, text and reason of an end; and its iterations, input tokens and output tokens."""
    try:
        if isinstance(outcome, ToolcharterError):
            raise outcome
        result = outcome.result()
    except ToolcharterError as error:
        reason = str(getattr(error, "reason", "") or "tool_error")
        if reason == "cancelled":
            return State.CANCELLED, CANCELLED, reason, (0, 0, 0)
        return State.FAILED, _storable(str(error)), reason, (0, 0, 0)
    used = (result.iterations, result.input_tokens, result.output_tokens)
    text = _storable(result.text)
    if result.is_exhausted:
        return State.FAILED, text, SpawnReason.MAX_ITERATIONS, used
    return State.COMPLETED, text, None, used


def _storable(text: str) -> str:
    """*text* for a record: secrets masked, and cut to `MAX_RESULT_CHARS`."""
    return scrub_text(text)[0][:MAX_RESULT_CHARS]


def _record_session(records: StoreTransaction, one: Subagent, session: SessionRecord, now: int) -> None:
    """Complete the session record of a subagent: add its task and its answer as messages."""
    found = records.get(SessionRecord, session.session)
    before = session if found is None else found.record
    if before.is_completed:
        return
    number = before.messages
    said: tuple[tuple[Role, str], ...] = (("user", one.task), ("assistant", one.result))
    for role, text in said:
        number += 1
        message = SessionMessage(session=one.session, number=f"{number:010}", role=role, text=_storable(text), at=now)
        records.put(message)
    changes = {
        "messages": number,
        "input_tokens": before.input_tokens + one.input_tokens,
        "output_tokens": before.output_tokens + one.output_tokens,
        "updated": now,
        "is_completed": True,
    }
    records.put(before.model_copy(update=changes), expected=0 if found is None else found.version)


def list_children(store: Store, actor: Actor, *, limit: int = _MAX_LISTED) -> list[Subagent]:
    """Return the subagents of a caller's session, the latest first."""
    page = store.page(Subagent, where={"parent": actor.session}, order="sequence", descending=True, limit=limit)
    own = (one.record for one in page.records)
    return [one for one in own if (one.agent, one.user) == (actor.agent, actor.user)]


def wait(launched: Launched, rt: ToolRuntime) -> None:
    """Wait for the end of a subagent until the current call's deadline; then cancel it.

    Raises:
        ToolError: `timed_out`.
    """
    try:
        while not launched.agent.wait(_POLL_S) and time.monotonic() < rt.deadline - _SPARE_S:
            continue
    finally:
        is_done = launched.agent.is_done
        launched.agent.cancel()  # the call is over or was cancelled, so its subagent must end, too
    launched.has_settled.wait(_END_TIMEOUT_S)
    if not is_done:
        raise ToolError("The subagent took longer than the call's time limit.", reason="timed_out")
