"""The approver `approver`: people are asked through an HTTP service, such as a chat bot.

The service is sent the whole call, scrubbed of secrets, and answers at once or is polled until the time is up. An answer
to anything but this very question is none, and denies.
"""

from pathlib import Path
from typing import Any

from toolcharter import ExtensionSpec, hookimpl
from toolcharter_approver.policy import ApproverPolicy


def build(workspace: Path, policy: ApproverPolicy) -> Any:  # noqa: ARG001 - each question names its workspace
    """The approver of one toolbox.

    Raises:
        ValueError: The environment holds no token or secret where the policy names one.
    """
    from toolcharter_approver.asking import HttpApprover  # noqa: PLC0415 - httpx takes 0.2 s, and a list needs none

    return HttpApprover(policy)


SPEC = ExtensionSpec("approver", ApproverPolicy, build)


@hookimpl
def register_extensions() -> list[ExtensionSpec[ApproverPolicy]]:
    """The one extension of this distribution."""
    return [SPEC]
