"""`ServiceConfig`: what `toolcharter serve --config FILE` reads, strictly, with all faults at once.

Paths are relative to the file's folder.
"""

import os
import re
from collections.abc import Iterator, Mapping
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, NamedTuple

from pydantic import Field

from toolcharter import ConfigurationError, Fault, SettingsFile, ToolPolicy, read_settings
from toolcharter_service.auth import config as auth_config
from toolcharter_service.auth.config import AuthConfig
from toolcharter_service.auth.origins import read_authority

NAME = r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}"
"""The form of a tenant's and of an agent's name: a word that keys, subjects, paths and URLs hold as it is."""
Name = Annotated[str, Field(pattern=rf"^{NAME}$")]
ANY_AGENT = "*"
"""Stands for every agent of a tenant that has no entry of its own."""
AgentName = Annotated[str, Field(pattern=rf"^(?:\*|{NAME})$")]
_PROFILE_NAME = re.compile(r"[A-Za-z0-9_-]+")
LEAST = "tenants: {NAME: {agents: {NAME: {profile: PROFILE, workspace: FOLDER}}}}"


class FromEnvironment(ToolPolicy):
    """A value that the environment holds, since it has a password in it."""

    env: str


class Listen(ToolPolicy):
    """Where the service listens."""

    host: str = "127.0.0.1"
    """An IP address. One that others can reach needs `hosts`."""
    port: Annotated[int, Field(ge=0, le=65535)] = 8081
    """0 for any that is free."""


class AgentConfig(ToolPolicy):
    """One agent of a tenant."""

    profile: str
    """The name of a profile, or a path."""
    workspace: str
    """The folder that its tools may touch."""


class TenantConfig(ToolPolicy):
    """Whose agents these are; no tenant sees anything of another."""

    agents: Annotated[Mapping[AgentName, AgentConfig], Field(min_length=1)]
    """By name; `*` stands for those without an entry."""


class InterpretConfig(ToolPolicy):
    """Whether agents may hand code to `POST /api/v1/interpret/execute`, and what becomes of it."""

    enabled: bool = False
    """Whether code runs at all; the agent's profile has to list and allow `execute_code`, too."""
    proposals: bool = False
    """Whether code that has run may be proposed as a tool, which an approver reviews."""
    max_pending: Annotated[int, Field(ge=1, le=500)] = 50
    """How many proposals of a tenant may wait for a review."""


class ServiceConfig(ToolPolicy):
    """All of the file."""

    listen: Listen = Listen()
    store: str | FromEnvironment = "sqlite:"
    """Where state outlives the process: a URL, or the environment variable that holds it."""
    bus: str | FromEnvironment | None = None
    """How several processes hear of each other; by default there is one."""
    events: tuple[str | FromEnvironment, ...] = ("stderr:",)
    """Where the events of all calls go: URLs, or environment variables that hold one."""
    hosts: tuple[str, ...] = ()
    """The names that clients use, for `Host` and `Origin`; loopback's are always served on a loopback address."""
    auth: AuthConfig = AuthConfig()
    interpret: InterpretConfig = InterpretConfig()
    stop_s: Annotated[float, Field(ge=0, le=600)] = 10.0
    """How long calls under way may go on when the service stops, in seconds."""
    gateway_tenant: Name | None = None
    """The tenant whose tool `gateway` may restart and stop a service of several; by default none may."""
    tenants: Annotated[Mapping[Name, TenantConfig], Field(min_length=1)]


class ConfigFile(NamedTuple):
    """A configuration and where it was read from."""

    config: ServiceConfig
    """Its paths are absolute."""
    read: SettingsFile[ServiceConfig] | None = None
    """None if it was not read from a file."""

    def fault(self, path: tuple[str | int, ...], what: str, fix: str = "") -> Fault:
        """A fault of the value at *path*."""
        if self.read is None:
            return Fault(".".join(map(str, path)), "", what, fix)
        return self.read.fault(path, what, fix)


def read_config(file: str | Path) -> ConfigFile:
    """Read the configuration *file*.

    Raises:
        ConfigurationError: With every fault of the file; those of the profiles come when their toolboxes are built.
    """
    read = read_settings(file, ServiceConfig, least=LEAST)
    folder = Path(file).absolute().parent
    config = _absolute(read.values, folder)
    found = ConfigFile(config, read)
    faults = [*_unreachable(found), *_exposed(found)]
    if config.gateway_tenant not in {None, *config.tenants}:
        what = f"there is no tenant {config.gateway_tenant!r}."
        faults.append(found.fault(("gateway_tenant",), what, f"Tenants: {', '.join(config.tenants)}."))
    faults += [
        found.fault(
            ("hosts", number), f"{host!r} is no host.", "Write tools.example.org or tools.example.org:8443, say."
        )
        for number, host in enumerate(config.hosts)
        if read_authority(host) is None
    ]
    faults += [
        found.fault(("auth", *one.path), one.what, one.fix)
        for one in auth_config.faults_of(config.auth, config.tenants)
    ]
    if faults:
        raise ConfigurationError(faults)
    return found


def url_of(value: "str | FromEnvironment") -> str:
    """The URL that a setting means.

    Raises:
        KeyError: The environment does not hold it.
    """
    return os.environ[value.env] if isinstance(value, FromEnvironment) else value


def _absolute(config: ServiceConfig, folder: Path) -> ServiceConfig:
    tenants = {
        name: tenant.model_copy(
            update={
                "agents": {
                    agent: one.model_copy(
                        update={
                            "workspace": os.path.normpath(folder / one.workspace),
                            "profile": one.profile
                            if _PROFILE_NAME.fullmatch(one.profile)
                            else os.path.normpath(folder / one.profile),
                        }
                    )
                    for agent, one in tenant.agents.items()
                }
            }
        )
        for name, tenant in config.tenants.items()
    }
    return config.model_copy(update={"tenants": tenants, "auth": auth_config.absolute(config.auth, folder)})


def _unreachable(found: ConfigFile) -> Iterator[Fault]:
    """What the file names and the machine does not have."""
    for name, tenant in found.config.tenants.items():
        for agent, one in tenant.agents.items():
            if not Path(one.workspace).is_dir():
                path = ("tenants", name, "agents", agent, "workspace")
                yield found.fault(path, f"there is no folder {one.workspace!r}.", "Make it, or name another.")
    urls: list[tuple[tuple[str | int, ...], str | FromEnvironment | None]] = [
        (("store",), found.config.store),
        (("bus",), found.config.bus),
        *((("events", number), value) for number, value in enumerate(found.config.events)),
    ]
    for key, url in urls:
        if isinstance(url, FromEnvironment) and not os.environ.get(url.env):
            yield found.fault((*key, "env"), f"the environment variable {url.env!r} is not set.", "Set it.")


def _exposed(found: ConfigFile) -> Iterator[Fault]:
    """An address that is none, or that others reach though nothing says by which names."""
    listen = found.config.listen
    try:
        is_loopback = ip_address(listen.host).is_loopback
    except ValueError:
        yield found.fault(("listen", "host"), f"{listen.host!r} is no IP address.", "Write 127.0.0.1 or 0.0.0.0, say.")
        return
    if not is_loopback and not found.config.hosts:
        what = f"{listen.host} can be reached from elsewhere, and `hosts` names none that clients use."
        yield found.fault(("listen", "host"), what, "Write hosts: [tools.example.org], say.")
