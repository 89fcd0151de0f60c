"""`team_tasks`: the tasks that the agents of one user share. The first agent to claim a task owns it.

Source: GoClaw's tool of the same name.
"""

import time
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from secrets import token_hex
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from toolcharter import (
    Ask,
    Call,
    RecordKind,
    StoreRecord,
    StoreTransaction,
    ToolError,
    ToolPolicy,
    ToolRuntime,
    ToolSpec,
)
from toolcharter_agents.names import agent_of, fold_name

MAX_COMMENTS = 100
MAX_BLOCKERS = 20
_ID_CHARS = 64
Action = Literal["create", "claim", "complete", "review", "comment", "cancel", "search"]
Status = Literal["pending", "in_progress", "in_review", "completed", "cancelled"]
OPEN: tuple[Status, ...] = ("pending", "in_progress", "in_review")
Short = Annotated[str, Field(max_length=200)]
Long = Annotated[str, Field(max_length=8_000)]


class TeamTasksPolicy(ToolPolicy):
    """How far one profile lets `team_tasks` go."""

    team: Annotated[str, Field(min_length=1, max_length=64)] = "team"
    """The team of the tasks: agents with the same team and the same user share them."""
    max_open_tasks: Annotated[int, Field(ge=1, le=1000)] = 100
    """How many tasks of a team may be open."""
    unattended: bool = False
    """Whether texts for the team are written without asking a person. Claims and searches never ask."""


class TeamTasksReason(StrEnum):
    """Why `team_tasks` refuses; the last reason is for its question to a person."""

    TASK_NOT_FOUND = "task_not_found"
    TASK_BLOCKED = "task_blocked"
    ALREADY_CLAIMED = "already_claimed"
    NOT_OWNER = "not_owner"
    WRONG_STATUS = "wrong_status"
    TOO_MANY_TASKS = "too_many_tasks"
    WRITES_TO_THE_TEAM = "writes_to_the_team"


class Comment(BaseModel):
    """A comment of an agent on a task."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    author: str
    text: str
    at: int


class TeamTask(StoreRecord):
    """A task of a team."""

    store_kind: ClassVar = RecordKind("team_task", ("team", "id"), indexed=("team", "status", "created"))

    team: str
    """The team and the user, joined by `|`."""
    id: str
    subject: str
    description: str = ""
    status: Status = "pending"
    creator: str
    owner: str = ""
    blocked_by: tuple[str, ...] = ()
    result: str = ""
    comments: tuple[Comment, ...] = ()
    created: int
    updated: int


class Request(NamedTuple):
    """A call of the tool."""

    team: str
    me: str
    task_id: str
    text: str
    now: int


def build(workspace: Path, policy: TeamTasksPolicy, rt: ToolRuntime) -> Callable[..., str]:  # noqa: ARG001 - `rt.store`
    """Bind `team_tasks` to one profile's policy."""

    def team_tasks(
        action: Action,
        task_id: str = "",
        subject: Short = "",
        description: Long = "",
        blocked_by: Annotated[list[str], Field(max_length=MAX_BLOCKERS)] = [],  # noqa: B006 - never changed
        text: Long = "",
        query: Short = "",
        status: Status | None = None,
    ) -> str:
        """Share tasks with the other agents of the team.

        Args:
            action: create (subject, description, blocked_by); claim (task_id): the task is then yours; complete
                (task_id, text: the result); review (task_id, text): have another agent complete it; comment (task_id,
                text); cancel (task_id, text: the reason); search (query, status).
            task_id: The id of the task.
            subject: The task in a few words.
            description: The task in detail.
            blocked_by: The ids of tasks that must be completed or cancelled before this task can be claimed.
            text: The result, the comment or the reason.
            query: Words in the subject or the description; without it, all tasks are found.
            status: Find only tasks with this status.
        """
        ctx = rt.start("team_tasks", action=action, task_id=task_id)
        caller = rt.caller
        team = f"{policy.team}|{caller.user or ''}"
        if action == "search":
            ctx.policy_passed()
            found = [one for one in _tasks(rt.store, team, status) if _contains_query(one, query)]
            shown = [_task_item(one) for one in found]
            return ctx.ok("\n".join(map(_line, found)) or "There are no such tasks.", data={"tasks": shown})
        if missing := _missing(action, task_id, subject, text):
            return ctx.error(f"{action} needs {missing}.", reason="invalid_arguments")
        request = Request(team, agent_of(caller), task_id or token_hex(4), text, int(time.time()))
        ctx.policy_passed()

        def work(records: StoreTransaction) -> TeamTask:
            if action == "create":
                return _create(records, request, policy, subject, description, tuple(dict.fromkeys(blocked_by)))
            return _change(records, request, action)

        task = rt.store.transact(work)
        return ctx.ok(_line(task), data={"task": _task_item(task)})

    return team_tasks


def _missing(action: Action, task_id: str, subject: str, text: str) -> str:
    if action == "create":
        return "" if subject else "a subject"
    if not task_id:
        return "a task_id"
    return "a text" if action == "comment" and not text else ""


def _tasks(records: StoreTransaction, team: str, status: Status | None = None) -> list[TeamTask]:
    where = {"team": team} if status is None else {"team": team, "status": status}
    page = records.page(TeamTask, where=where, order="created", descending=True, limit=200)
    return [one.record for one in page.records]


def _contains_query(task: TeamTask, query: str) -> bool:
    text = f"{task.subject} {task.description}".casefold()
    return all(word in text for word in query.casefold().split())


def _create(
    records: StoreTransaction,
    request: Request,
    policy: TeamTasksPolicy,
    subject: str,
    description: str,
    blocked_by: tuple[str, ...],
) -> TeamTask:
    for other in blocked_by:
        _get_task(records, request.team, other)
    if sum(records.count(TeamTask, where={"team": request.team, "status": one}) for one in OPEN) >= (
        policy.max_open_tasks
    ):
        most = f"The team has {policy.max_open_tasks} open tasks already."
        raise ToolError(most, reason=TeamTasksReason.TOO_MANY_TASKS, retryable=True)
    task = TeamTask(
        team=request.team,
        id=request.task_id,
        subject=subject,
        description=description,
        creator=request.me,
        blocked_by=blocked_by,
        created=request.now,
        updated=request.now,
    )
    records.put(task, expected=0)
    return task


def _get_task(records: StoreTransaction, team: str, task_id: str) -> TeamTask:
    found = records.get(TeamTask, team, task_id) if len(task_id) <= _ID_CHARS else None
    if found is None:
        raise ToolError(f"There is no task {task_id!r}.", reason=TeamTasksReason.TASK_NOT_FOUND)
    return found.record


def _change(records: StoreTransaction, request: Request, action: Action) -> TeamTask:
    """Change a task by one conditional write: if two agents claim it, only one succeeds."""
    found = records.get(TeamTask, request.team, request.task_id) if len(request.task_id) <= _ID_CHARS else None
    if found is None:
        raise ToolError(f"There is no task {request.task_id!r}.", reason=TeamTasksReason.TASK_NOT_FOUND)
    changes = _CHANGES[action](records, found.record, request)
    task = found.record.model_copy(update={**changes, "updated": request.now})
    records.put(task, expected=found.version)
    return task


def _claim(records: StoreTransaction, task: TeamTask, request: Request) -> dict[str, Any]:
    if task.status != "pending":
        whom = f"its owner is {task.owner!r}" if task.owner else f"it is {task.status}"
        raise ToolError(f"The task cannot be claimed: {whom}.", reason=TeamTasksReason.ALREADY_CLAIMED)
    waiting = [one for one in task.blocked_by if _get_task(records, task.team, one).status in OPEN]
    if waiting:
        what = f"The task waits for {', '.join(waiting)}."
        raise ToolError(what, reason=TeamTasksReason.TASK_BLOCKED, retryable=True)
    return {"status": "in_progress", "owner": request.me}


def _complete(_: StoreTransaction, task: TeamTask, request: Request) -> dict[str, Any]:
    """Complete a task. Its owner completes a task in progress; another agent completes a task in review."""
    _require_size(task, "in_progress", "in_review")
    is_owner = fold_name(task.owner) == fold_name(request.me)
    if is_owner == (task.status == "in_review"):
        whom = "another agent than its owner" if is_owner else f"its owner, {task.owner!r}"
        raise ToolError(f"The task must be completed by {whom}.", reason=TeamTasksReason.NOT_OWNER)
    return {"status": "completed", "result": request.text or task.result}


def _review(_: StoreTransaction, task: TeamTask, request: Request) -> dict[str, Any]:
    _require_size(task, "in_progress")
    if fold_name(task.owner) != fold_name(request.me):
        raise ToolError(f"The task belongs to {task.owner!r}.", reason=TeamTasksReason.NOT_OWNER)
    return {"status": "in_review", "result": request.text}


def _comment(_: StoreTransaction, task: TeamTask, request: Request) -> dict[str, Any]:
    said = Comment(author=request.me, text=request.text, at=request.now)
    return {"comments": (*task.comments, said)[-MAX_COMMENTS:]}


def _cancel(_: StoreTransaction, task: TeamTask, request: Request) -> dict[str, Any]:
    _require_size(task, *OPEN)
    if fold_name(request.me) not in {fold_name(task.creator), fold_name(task.owner)}:
        who = f"The task belongs to {task.creator!r}" + (f" and {task.owner!r}." if task.owner else ".")
        raise ToolError(who, reason=TeamTasksReason.NOT_OWNER)
    return {"status": "cancelled", "result": request.text}


def _require_size(task: TeamTask, *allowed: Status) -> None:
    if task.status not in allowed:
        raise ToolError(f"The task is {task.status}.", reason=TeamTasksReason.WRONG_STATUS)


_CHANGES: dict[Action, Callable[[StoreTransaction, TeamTask, Request], dict[str, Any]]] = {
    "claim": _claim,
    "complete": _complete,
    "review": _review,
    "comment": _comment,
    "cancel": _cancel,
}


def _task_item(task: TeamTask) -> dict[str, Any]:
    return task.model_dump(mode="json", exclude={"team"})


def _line(task: TeamTask) -> str:
    owner = f", {task.owner}" if task.owner else ""
    waits = f", after {', '.join(task.blocked_by)}" if task.blocked_by else ""
    result = f": {task.result}" if task.result else ""
    comments = "".join(f"\n  {one.author}: {one.text}" for one in task.comments)
    return f"[{task.id}] {task.subject} ({task.status}{owner}{waits}){result}{comments}"


def asks(policy: TeamTasksPolicy, call: Call) -> Ask | None:
    """Ask a person before a text is written for other agents, unless waived: a page may have injected the order."""
    if policy.unattended or call.args["action"] in {"claim", "search"}:
        return None
    return Ask(TeamTasksReason.WRITES_TO_THE_TEAM, "The call writes a text for the other agents of the team.")


_READING = {"team:read"}
SPEC = ToolSpec(
    "team_tasks",
    TeamTasksPolicy,
    build,
    reasons=TeamTasksReason,
    capabilities={"search": _READING, **{action: {*_READING, "team:write"} for action in ("create", *_CHANGES)}},
    safety="medium",
    staged=True,
    group="team",
    asks=asks,
)
