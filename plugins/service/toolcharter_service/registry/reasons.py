"""Why a tool of the registry, or a custom tool, refuses a call."""

from enum import StrEnum


class RunReason(StrEnum):
    """Beside what core, the shell guard and the runner say."""

    LEADING_DASH_NOT_ALLOWED = "leading_dash_not_allowed"
    NOT_AS_REGISTERED = "not_as_registered"
