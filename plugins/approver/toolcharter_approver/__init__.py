"""The approver `approver`: people are asked through an HTTP service, such as a chat bot.

The service is sent the whole call, scrubbed of secrets, and answers at once or is polled until the time is up. An answer
to anything but this very question is none, and denies. So does an answer by anybody but the service, which proves itself
by a secret that it shares, by certificates, or as a socket of the user's own.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from toolcharter import ExtensionSpec, hookimpl, lazy
from toolcharter_approver.policy import ApproverPolicy

if TYPE_CHECKING:
    from toolcharter_approver import asking
else:
    asking = lazy("toolcharter_approver.asking")  # httpx takes 0.2 s, and a list of plugins needs none


def build(workspace: Path, policy: ApproverPolicy) -> Any:
    """The approver of one toolbox.

    Raises:
        ValueError: There is no token, secret, certificate or socket where the policy names one, or somebody else could
            have put it there.
    """
    return asking.HttpApprover(policy, workspace)


SPEC = ExtensionSpec("approver", ApproverPolicy, build)


@hookimpl
def register_extensions() -> list[ExtensionSpec[ApproverPolicy]]:
    """The one extension of this distribution."""
    return [SPEC]
