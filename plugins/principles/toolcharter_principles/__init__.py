"""The check `principles`: before each call, it asks a service whether the call complies with the service's principles.

A call that the service blocks is denied. If the service gives no answer or an unknown one, the check fails, and the
gate denies the call with `check_failed`. The arguments of calls are never sent.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from toolcharter import ExtensionSpec, hookimpl, lazy
from toolcharter_principles.policy import PrinciplesPolicy, PrinciplesReason

if TYPE_CHECKING:
    from toolcharter_principles import check
else:
    check = lazy("toolcharter_principles.check")  # importing httpx takes 0.2 s, and listing plugins does not need it


def build(workspace: Path, policy: PrinciplesPolicy) -> Any:  # noqa: ARG001 - the same for every workspace
    """Make the check of one toolbox.

    Raises:
        ValueError: The policy names a variable for the token, but the variable holds none.
    """
    return check.Principles(policy)


SPEC = ExtensionSpec("principles", PrinciplesPolicy, build, reasons=PrinciplesReason)


@hookimpl
def register_extensions() -> list[ExtensionSpec[PrinciplesPolicy]]:
    """The one extension of this distribution."""
    return [SPEC]
