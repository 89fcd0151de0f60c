"""The tools that discoverers add to a plan, and the question about those whose code has changed since."""

from collections.abc import Collection, Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from toolcharter.loader.discover import NOTHING, Ground, discover, has_discoverers
from toolcharter.loader.load import Check
from toolcharter.spec.call import Ask, Call
from toolcharter.spec.reasons import Reason

if TYPE_CHECKING:
    from toolcharter.gate.build.plan import Plan


def with_discovered(plan: "Plan", workspace: Path | None, installed: Iterable[str]) -> "Plan":
    """*plan* with the tools that its discoverers find now, in place of those that they had found.

    Raises:
        ConfigurationError: A discoverer failed, or a declared tool cannot be.
    """
    if not has_discoverers(plan.loaded):
        return plan
    before = plan.discovered.tools
    specs = {name: tool for name, tool in plan.loaded.specs.items() if name not in before}
    registered = plan.loaded._replace(specs=specs)
    folder = plan.files[0].absolute().parent if plan.files else None
    ground = Ground(plan.profile.name, folder, workspace, frozenset(installed))
    discovered = discover(registered, plan.extensions, ground)
    if discovered == NOTHING == plan.discovered:
        return plan
    policies = {name: policy for name, policy in plan.policies.items() if name in specs}
    policies |= {name: tool.spec.policy.from_profile({}) for name, tool in discovered.tools.items()}
    loaded = registered._replace(specs={**specs, **discovered.tools})
    return replace(plan, loaded=loaded, policies=policies, discovered=discovered)


def asking_about(changed: Collection[str]) -> Check:
    """The check that sends calls of tools whose code has changed to a person, whatever allows them."""

    def ask_again(call: Call) -> Ask | None:
        if call.tool in changed:
            return Ask(
                Reason.PRECONDITION_FAILED, f"The code of {call.tool!r} is not what it was when the session began."
            )
        return None

    return Check("toolcharter", ask_again)
