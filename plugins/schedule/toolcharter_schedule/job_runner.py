"""`JobRunner`: runs a job: a message to its session, or a task for an agent, with at most the rights of its creator.

A call that needs a person is denied, because no person is asked about a job. A job may use the tools that its creator
saw, that the profile still has, and that certainly may do no more than when the job was made.
"""

from collections.abc import Collection
from dataclasses import replace

from toolcharter import (
    AgentRequest,
    Caller,
    Delegation,
    Denied,
    DiscoveryRuntime,
    StoreUnavailable,
    ToolboxClosed,
    ToolError,
    ToolResult,
)
from toolcharter_schedule.delivery import is_own_chat
from toolcharter_schedule.engine import ClaimedRun, Outcome
from toolcharter_schedule.jobs import session_of
from toolcharter_schedule.new_jobs import PROCESSES, SCHEDULER, is_running
from toolcharter_schedule.policy import HEARTBEAT_FILE, SchedulerPolicy
from toolcharter_schedule.records import Job, State

HEARTBEAT_OK = "HEARTBEAT_OK"
"""The answer of an agent that has nothing to report. Source: OpenClaw's heartbeat."""
_WAKE_UP = (
    f"This is the text of {HEARTBEAT_FILE}. Do what it says now. If nothing is to be told, answer {HEARTBEAT_OK}.\n\n"
)
_MORE_S = 10.0
"""How much longer than its timeout an agent is waited for, in seconds."""


class Failed(Exception):
    """A run has failed; the exception has its outcome."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(outcome.error)
        self.outcome = outcome


class JobRunner:
    """Runs jobs, in the caller's thread."""

    def __init__(self, rt: DiscoveryRuntime, policy: SchedulerPolicy) -> None:
        self._rt = rt
        self._policy = policy

    def run(self, claimed: ClaimedRun) -> Outcome:
        """Run the job of *claimed*. Every failure becomes an outcome; nothing is raised."""
        try:
            text = self._text(claimed.job)
            if text:
                self._deliver(claimed, text)
        except Exception as error:  # noqa: BLE001 - a host's or channel's code; the run has to end with an outcome
            return _outcome(error)
        return Outcome("ok", text)

    def _text(self, job: Job) -> str:
        """Return the text that the run delivers; empty if there is nothing to deliver."""
        if job.process:
            self._require_process(job)
        if job.work == "message":
            return job.text
        tools = self._tools_for(job)
        if job.made_by != "heartbeat":
            return self._task(job, tools, job.text)
        orders = self._heartbeat(job, tools)
        answer = self._task(job, tools, _WAKE_UP + orders) if orders else ""
        return "" if answer.strip() == HEARTBEAT_OK else answer

    def _tools_for(self, job: Job) -> frozenset[str]:
        """Return the tools that a run may use.

        Raises:
            Failed: The profile has changed so that it may allow more than when the job was made.
        """
        now = self._rt.allowance_for(job.creator.caller())
        if job.made_by == "heartbeat":  # the operator's own job, who has written the profile
            return frozenset(now.tools)
        if job.allowance is None:
            raise Failed(Outcome("denied", error="The rights of its creator are not recorded: make the job again."))
        then = job.allowance.allowance()
        left = then.still_held(now, ignoring={SCHEDULER})
        if then.tools and not left:
            what = "The profile may allow more now than when the job was made: make the job again."
            raise Failed(Outcome("denied", error=what))
        return left

    def _task(self, job: Job, tools: Collection[str], message: str) -> str:
        """Let an agent do *message*, and return its answer."""
        request = AgentRequest(
            message,
            agent=job.agent,
            session=session_of(job),
            deny=job.deny,
            max_iterations=self._policy.max_iterations,
            timeout_s=self._policy.task_timeout_s,
        )
        agent = self._rt.agents_for(unattended(job.creator.caller(), tools)).start(request)
        if not agent.wait(self._policy.task_timeout_s + _MORE_S):
            agent.cancel()
        try:
            result = agent.result()
        except ToolError as error:
            if error.reason == "cancelled":
                raise ToolboxClosed(error.message) from error
            raise
        if result.is_exhausted:
            raise Failed(Outcome("error", result.text, "max_iterations: The agent has used up its iterations."))
        return result.text

    def _heartbeat(self, job: Job, tools: Collection[str]) -> str:
        """Read HEARTBEAT.md with the file tools; empty if the file does not exist."""
        result = self._call(job, tools, "read_file", {"path": HEARTBEAT_FILE})
        if result.reason == "path_not_found":
            return ""
        _require_ok(result)
        content = result.data.get("content") if isinstance(result.data, dict) else None
        return (content if isinstance(content, str) else result.text).strip()

    def _require_process(self, job: Job) -> None:
        """End a job whose process has ended.

        Raises:
            Failed: The process has ended, or the job may not ask for its status.
        """
        result = self._call(job, self._tools_for(job), PROCESSES, {"action": "status", "handle": job.process})
        if result.outcome == "denied":
            _require_ok(result)
        if not is_running(result.data):
            raise Failed(Outcome("ended", error=f"The process {job.process!r} has ended."))

    def _deliver(self, claimed: ClaimedRun, text: str) -> None:
        """Put *text* into the inbox of the creator's session, or send it to another chat with the tool `message`."""
        job = claimed.job
        if job.deliver and not is_own_chat(job, job.channel, job.to):
            args = {"channel": job.channel, "target": job.to, "message": text, "forward": True}
            why = f"The job {job.name or job.id} was made to send this."
            _require_ok(
                self._call(job, self._tools_for(job), "message", {"action": "send", "forward_reason": why, **args})
            )
            return
        source = f"{job.made_by} {job.name or job.id}"
        self._rt.inbox_for(job.creator.caller()).put(text, source=source, key=f"{job.id}:{claimed.run.time}")

    def _call(self, job: Job, tools: Collection[str], tool: str, args: dict[str, object]) -> ToolResult:
        return self._rt.tools_for(unattended(job.creator.caller(), tools)).call(tool, args)


def _outcome(error: Exception) -> Outcome:
    """Return the outcome of a run that *error* has ended."""
    if isinstance(error, Failed):
        return error.outcome
    if isinstance(error, ToolboxClosed):
        return Outcome("lost", error="The session ended while it ran.")
    if isinstance(error, Denied) and not isinstance(error, StoreUnavailable):
        return Outcome("denied", error=f"{error.reason}: {error.message}")
    if isinstance(error, Denied | ToolError):
        return Outcome("error", error=f"{error.reason}: {error.message}", again=True)
    return Outcome("error", error=f"It failed: {type(error).__name__}.", again=True)


def unattended(caller: Caller, tools: Collection[str]) -> Caller:
    """Return *caller* restricted to *tools*, about whose calls no person is asked."""
    top = replace(caller, delegation=None)
    return replace(caller, delegation=Delegation(top, tuple(sorted(tools)), may_ask=False))


def _require_ok(result: ToolResult) -> None:
    """Turn the failure of a tool's call into the outcome of the run.

    Raises:
        Failed: The call was denied or has failed.
    """
    if result.outcome != "ok":
        state: State = "denied" if result.outcome == "denied" else "error"
        raise Failed(Outcome(state, error=f"{result.reason}: {result.message}", again=result.retryable))
