"""The destination of a job's result: the session of its creator, or a chat that the policy names."""

from fnmatch import fnmatchcase

from toolcharter import Denied, ToolError
from toolcharter_schedule.policy import CronPolicy
from toolcharter_schedule.reasons import ScheduleReason
from toolcharter_schedule.records import Job


def require_delivery(job: Job, policy: CronPolicy) -> Job:
    """Return *job* with the chat for its result filled in.

    Raises:
        Denied: `delivery_not_allowed`.
        ToolError: `invalid_job`.
    """
    if not job.deliver:
        return job
    creator = job.creator
    channel, to = job.channel or creator.channel or "", job.to or creator.chat or ""
    if not channel or not to:
        raise ToolError("`deliver` needs `channel` and `to` outside a chat.", reason=ScheduleReason.INVALID_JOB)
    if not is_own_chat(job, channel, to) and not any(fnmatchcase(f"{channel}:{to}", one) for one in policy.deliver_to):
        raise Denied(ScheduleReason.DELIVERY_NOT_ALLOWED, "The policy does not name this chat.")
    return job.model_copy(update={"channel": channel, "to": to})


def is_own_chat(job: Job, channel: str, to: str) -> bool:
    """Return whether *channel* and *to* are the chat in which the job was made."""
    return (channel, to) == (job.creator.channel, job.creator.chat)
