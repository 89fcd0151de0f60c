"""Why a call of `schedule` or `cron` is denied or fails."""

from enum import StrEnum


class ScheduleReason(StrEnum):
    """The first six reasons deny a call, for the seventh a person is asked; with the others the call fails."""

    ACTION_NOT_ALLOWED = "action_not_allowed"
    TASKS_NOT_ALLOWED = "tasks_not_allowed"
    TOO_MANY_JOBS = "too_many_jobs"
    MADE_BY_A_JOB = "made_by_a_job"
    OTHER_AGENT = "other_agent"
    DELIVERY_NOT_ALLOWED = "delivery_not_allowed"

    ACTS_LATER = "acts_later"

    INVALID_JOB = "invalid_job"
    UNKNOWN_JOB = "unknown_job"
    UNKNOWN_PROCESS = "unknown_process"
    IS_RUNNING = "is_running"
    INVALID_TIME = "invalid_time"
    TIME_PASSED = "time_passed"
    TIME_TOO_FAR = "time_too_far"
    TOO_FREQUENT = "too_frequent"
    INVALID_CRON = "invalid_cron"
    UNKNOWN_ZONE = "unknown_zone"
    NEVER_DUE = "never_due"
