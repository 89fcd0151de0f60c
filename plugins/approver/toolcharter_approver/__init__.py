"""The approver `approver`: ask people through an HTTP service, such as a chat bot.

The service gets the whole call, scrubbed of secrets. It answers at once, or is polled until the time is up. An answer
to another question counts as none, and the call is denied. So is a call whose answer does not come from the service:
the service proves itself by a shared secret, by certificates, or by a socket of the user's own.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from toolcharter import ExtensionSpec, hookimpl, lazy
from toolcharter_approver.policy import ApproverPolicy

if TYPE_CHECKING:
    from toolcharter_approver import http_approver
else:
    # Importing httpx takes 0.2 s; listing the plugins does not need it.
    http_approver = lazy("toolcharter_approver.http_approver")


def build(workspace: Path, policy: ApproverPolicy) -> Any:
    """Build the approver of one toolbox.

    Raises:
        ValueError: A token, secret or certificate that the policy names is missing or unusable, or another user or a
            tool could have put it or the socket there.
    """
    return http_approver.HttpApprover(policy, workspace)


SPEC = ExtensionSpec("approver", ApproverPolicy, build)


@hookimpl
def register_extensions() -> list[ExtensionSpec[ApproverPolicy]]:
    """Offer the extension `approver`."""
    return [SPEC]
