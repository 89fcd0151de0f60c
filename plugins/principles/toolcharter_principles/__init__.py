"""The check `principles`: before each call, a service is asked whether the call accords with its principles.

What the service blocks is denied. No answer, or one that is not understood, is a failure of the check, for which the
gate denies with `check_failed`. The arguments of calls are never sent.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from toolcharter import ExtensionSpec, hookimpl, lazy
from toolcharter_principles.policy import PrinciplesPolicy, PrinciplesReason

if TYPE_CHECKING:
    from toolcharter_principles import check
else:
    check = lazy("toolcharter_principles.check")  # httpx takes 0.2 s, and a list of plugins needs none


def build(workspace: Path, policy: PrinciplesPolicy) -> Any:  # noqa: ARG001 - the service is the same for every workspace
    """The check of one toolbox.

    Raises:
        ValueError: The environment holds no token where the policy names one.
    """
    return check.Principles(policy)


SPEC = ExtensionSpec("principles", PrinciplesPolicy, build, reasons=PrinciplesReason)


@hookimpl
def register_extensions() -> list[ExtensionSpec[PrinciplesPolicy]]:
    """The one extension of this distribution."""
    return [SPEC]
