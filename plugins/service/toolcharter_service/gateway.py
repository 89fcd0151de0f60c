"""The tool `gateway`: shows the service's state, agents and settings, reloads its tools, and restarts or stops it.

Each call waits for an approver, whatever the profile says, and no call changes a policy. A call only sees its own
tenant. Outside a service the tool is not available.
"""

import json
import os
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from toolcharter import (
    Ask,
    Call,
    ConfigurationError,
    Denied,
    Reason,
    ToolboxClosed,
    ToolError,
    ToolPolicy,
    ToolRuntime,
    ToolSpec,
    hookimpl,
    scrub_text,
)

Action = Literal["status", "agents", "config_get", "reload", "restart", "stop"]
MASK = "***"
_OPEN = frozenset({"listen", "hosts", "stop_s", "tenants"})
"""The settings that are shown with their values, without other tenants. The values of other settings are masked."""


class GatewayPolicy(ToolPolicy):
    """What one profile allows `gateway` to see and do."""

    allowed_actions: tuple[Action, ...] = ()
    """The allowed actions. A person has to agree to each call, too."""


class GatewayReason(StrEnum):
    """Why `gateway` refuses a call, or asks about it."""

    ACTION_NOT_ALLOWED = "action_not_allowed"
    OPERATES_SERVICE = "operates_service"
    """The reason why a person is asked about every call."""
    SERVES_OTHER_TENANTS = "serves_other_tenants"
    """`restart` and `stop` would end calls of other tenants, and this tenant is not the `gateway_tenant`."""
    UNKNOWN_SETTING = "unknown_setting"


class Control(NamedTuple):
    """Functions that stop or restart the process after the running calls have ended."""

    stop: Callable[[], object]
    restart: Callable[[], object]


_SERVICE: ContextVar[Any] = ContextVar("toolcharter_service_of_tools", default=None)


@contextmanager
def building_for(service: object) -> Generator[None]:
    """Within the context, connect the tools that are built to *service*."""
    token = _SERVICE.set(service)
    try:
        yield
    finally:
        _SERVICE.reset(token)


def build(_workspace: Path, policy: GatewayPolicy, rt: ToolRuntime) -> Callable[..., str]:
    """Build the tool for one policy, and for the service whose toolbox is being built."""
    service = _SERVICE.get()

    def gateway(action: Action, path: str = "") -> str:
        """Inspect and operate the service that runs these tools. A person has to agree to each call.

        Args:
            action: status; agents; config_get (path), with secrets masked; reload: find tools again; restart; stop.
            path: The setting, as its keys joined with dots; by default all settings.
        """
        ctx = rt.start("gateway", action=action)
        if action not in policy.allowed_actions:
            hint = f"Allowed: {', '.join(policy.allowed_actions) or 'nothing'}."
            raise Denied(GatewayReason.ACTION_NOT_ALLOWED, hint=hint)
        ends = action in {"restart", "stop"}
        if service is None or (ends and service.control is None):
            raise Denied(Reason.NOT_AVAILABLE, "These tools do not run in a service that could do that.")
        if ends and not _may_end_process(service.config, rt.caller.tenant):
            hint = f"The operator of the service can write gateway_tenant: {rt.caller.tenant}"
            raise Denied(GatewayReason.SERVES_OTHER_TENANTS, "The service has other tenants, too.", hint=hint)
        shown = _read_setting(service, rt.caller.tenant, path) if action == "config_get" else None
        ctx.policy_passed()
        data = _ACTIONS[action](service, rt.caller.tenant) if shown is None else shown
        return ctx.ok(json.dumps(data, indent=2), data=data)

    return gateway


def _may_end_process(config: Any, tenant: str) -> bool:
    """Whether an agent of *tenant* may end the process: it is the only tenant, or the `gateway_tenant`."""
    return tenant == config.gateway_tenant if config.gateway_tenant else {*config.tenants} == {tenant}


def _status(service: Any, tenant: str) -> dict[str, Any]:
    return {
        "worker": service.worker,
        "process": os.getpid(),
        "dev": service.dev,
        "stopping": service.stopping.is_set(),
        "toolboxes": sum(1 for _ in service.toolboxes(tenant)),
        "agents": len(service.agents(tenant)),
    }


def _agents(service: Any, tenant: str) -> dict[str, Any]:
    agents = service.agents(tenant).items()
    return {"agents": [{"agent": name, "profile": one.profile, "workspace": one.workspace} for name, one in agents]}


def _reload(service: Any, tenant: str) -> dict[str, Any]:
    """Reload the tools of all toolboxes of the tenant. Profiles are not read again."""
    tools, failed = set[str](), list[str]()
    for box in service.toolboxes(tenant):
        try:
            tools.update(box.reload().tools)
        except (ConfigurationError, ToolboxClosed) as error:
            failed.append(scrub_text(str(error))[0])
    return {"tools": sorted(tools), "failed": failed}


def _restart(service: Any, _: str) -> dict[str, Any]:
    service.control.restart()
    return {"restarting": True}


def _stop(service: Any, _: str) -> dict[str, Any]:
    service.control.stop()
    return {"stopping": True}


_ACTIONS: Mapping[str, Callable[[Any, str], dict[str, Any]]] = {
    "status": _status,
    "agents": _agents,
    "reload": _reload,
    "restart": _restart,
    "stop": _stop,
}


def _read_setting(service: Any, tenant: str, path: str) -> Any:
    """Return the setting at *path*, without secrets and other tenants.

    Raises:
        ToolError: `unknown_setting`.
    """
    written = service.config.model_dump(mode="json")
    found: Any = {name: value if name in _OPEN else _mask(value) for name, value in written.items()}
    found["tenants"] = {name: one for name, one in written["tenants"].items() if name == tenant}
    for part in path.split(".") if path else ():
        if not isinstance(found, dict) or part not in found:
            raise ToolError(f"There is no setting {path[:100]!r}.", reason=GatewayReason.UNKNOWN_SETTING)
        found = found[part]
    return found


def _mask(value: Any) -> Any:
    """Mask every text in *value*: URLs and fields of `auth` may hold secrets under any name."""
    if isinstance(value, dict):
        return {name: _mask(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_mask(one) for one in value]
    return MASK if isinstance(value, str) else value


def asks(_: GatewayPolicy, call: Call) -> Ask:
    """Ask an approver about every call."""
    return Ask(GatewayReason.OPERATES_SERVICE, f"{call.action} of the service that all agents share.")


SPEC = ToolSpec(
    "gateway",
    GatewayPolicy,
    build,
    reasons=GatewayReason,
    capabilities=dict.fromkeys(get_args(Action), frozenset({"gateway"})),
    safety="high",
    staged=True,
    isolate=True,  # a reload asks servers
    group="automation",
    asks=asks,
)


@hookimpl
def register_tools() -> list[ToolSpec[GatewayPolicy]]:
    """Offer the tool `gateway`."""
    return [SPEC]
