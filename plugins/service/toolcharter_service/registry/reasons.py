"""Why a registered tool or a custom tool refuses a call."""

from enum import StrEnum


class RunReason(StrEnum):
    """The reasons in addition to those of the core, the shell guard and the runner."""

    LEADING_DASH_NOT_ALLOWED = "leading_dash_not_allowed"
    NOT_AS_REGISTERED = "not_as_registered"
