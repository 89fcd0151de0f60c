"""Sample set 000's tiers of policy files as ours: a workspace's ceiling, a profile, and a profile that extends it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.cases.conftest import Bench
from tests.cases.source_000 import Asked, Ours, decided

STRICTEST = 'design, section 4: "evaluated beside the profile and the strictest answer wins (deny > ask > allow)".'
NO_ALLOW = 'design, section 4: ceilings "may hold only `deny`, `mode`, `capabilities`, `limits`, `notify`".'
Tiers = Mapping[str, Any]
"""By name: `workspace`, `base`, `local`; a policy, or the text of a file that is none."""


def write_tiers(bench: Bench, tiers: Tiers) -> Path:
    """The files of all tiers; returns the profile that is the most specific."""
    if tiers.get("workspace") is not None:
        given = tiers["workspace"]
        keys = ("deny", "mode")
        # What it would allow is left out: a ceiling that holds it would stop the start.
        bench.write_workspace_policy(
            given if isinstance(given, str) else {"deny": [], **{key: given[key] for key in keys if key in given}}
        )
    file = bench.write("default", {"profile": "default", "mode": "dangerous"})
    for tier in ("base", "local"):
        if (given := tiers.get(tier)) is not None:
            own = {"profile": tier, "extends": [file.name], **given} if isinstance(given, Mapping) else given
            file = bench.write(tier, own)
    return file


def merged(tiers: Tiers) -> dict[str, Any]:
    """The policy of sample set 000: lists in the order of the tiers, each pattern once; the mode of the last that has one."""
    policies = [tiers[tier] for tier in ("workspace", "base", "local") if tiers.get(tier)]
    lists = {
        key: [*dict.fromkeys(one for policy in policies for one in policy.get(key, ()))] for key in ("deny", "allow")
    }
    modes = ["dangerous", *(policy["mode"] for policy in policies if "mode" in policy)]
    return {"mode": modes[-1], **lists}


def decided_by_tiers(tiers: Tiers, asked: Asked) -> str:
    """What the design says: the stricter of the profile's own mode and the workspace's, over the profile's allow."""
    workspace = tiers.get("workspace") or {}
    own = merged({tier: policy for tier, policy in tiers.items() if tier != "workspace"})
    deny = [*workspace.get("deny", ()), *own["deny"]]
    modes = [own["mode"], *([workspace["mode"]] if "mode" in workspace else [])]
    verdicts = [decided(Ours, {**own, "deny": deny, "mode": mode}, asked) for mode in modes]
    return max(verdicts, key=["allow", "ask", "deny", "error"].index)


def why_tiers_differ(tiers: Tiers) -> list[str]:
    """The sentences by which a workspace's file means less, or more, than the source's."""
    workspace = tiers.get("workspace") or {}
    return [*([STRICTEST] if "mode" in workspace else []), *([NO_ALLOW] if workspace.get("allow") else [])]
