"""`ServiceConfig`: what `toolcharter serve --config FILE` reads, strictly, with all faults at once.

Paths are relative to the file's folder.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
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
_IN_A_FILE = re.compile(r".+:[0-9]+:[0-9]+", re.DOTALL)
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


class _Sound(ServiceConfig):
    """What is sound of a file with faults: nothing is required."""

    tenants: Mapping[Name, TenantConfig] = {}


class ConfigFile(NamedTuple):
    """A configuration and where it was read from."""

    config: ServiceConfig
    """Its paths are absolute."""
    read: SettingsFile[ServiceConfig] | None = None
    """None if it was not read from a file."""
    faults: tuple[Fault, ...] = ()
    """What is wrong with the file, of which the configuration is what is sound."""

    @property
    def wrong(self) -> list[tuple[str | int, ...]]:
        """The paths of the file that were left out."""
        return [] if self.read is None else [path for path in self.read.wrong if path]

    def placed(self, error: ConfigurationError, *path: str | int) -> Iterator[Fault]:
        """The faults of what the value at *path* names: those that have no place in a file of their own get its place."""
        for fault in error.faults:
            yield fault if _IN_A_FILE.fullmatch(fault.place) else self.fault(path, fault.what, fault.fix)

    def error(self, faults: Iterable[Fault]) -> ConfigurationError:
        """All *faults*, each once: those of this file from top to bottom, then those of other files."""
        return ConfigurationError(dict.fromkeys(faults)) if self.read is None else self.read.error(faults)

    def fault(self, path: tuple[str | int, ...], what: str, fix: str = "") -> Fault:
        """A fault of the value at *path*."""
        if self.read is None:
            return Fault(".".join(map(str, path)), "", what, fix)
        return self.read.fault(path, what, fix)


def read_config(file: str | Path) -> ConfigFile:
    """Read the configuration *file*.

    Raises:
        ConfigurationError: With every fault of the file; those of what it names come when the service is built.
    """
    found = examine_config(file)
    if found.faults:
        raise found.error(found.faults)
    return found


def examine_config(file: str | Path) -> ConfigFile:
    """Read the configuration *file*, or what is sound of it, with every fault of the file itself.

    Raises:
        ConfigurationError: It cannot be read, or is no YAML.
    """
    read = read_settings(file, ServiceConfig, least=LEAST, sound=_Sound)
    found = ConfigFile(_absolute(read.values, Path(file).absolute().parent), read)
    return found._replace(faults=(*read.faults, *_unreachable(found), *_exposed(found), *_misnamed(found)))


def url_of(value: "str | FromEnvironment") -> str:
    """The URL that a setting means.

    Raises:
        KeyError: The environment does not hold it.
    """
    return os.environ[value.env] if isinstance(value, FromEnvironment) else value


def is_unset(value: "str | FromEnvironment | None") -> bool:
    """Whether the environment does not hold the URL that a setting names."""
    return isinstance(value, FromEnvironment) and not os.environ.get(value.env)


def missing_workspace(found: ConfigFile, tenant: str, agent: str) -> Fault | None:
    """The fault of an agent whose workspace is no folder."""
    folder = found.config.tenants[tenant].agents[agent].workspace
    if Path(folder).is_dir():
        return None
    path = ("tenants", tenant, "agents", agent, "workspace")
    return found.fault(path, f"there is no folder {folder!r}.", "Make it, or name another.")


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
        for agent in tenant.agents:
            if (missing := missing_workspace(found, name, agent)) is not None:
                yield missing
    urls: list[tuple[tuple[str | int, ...], str | FromEnvironment | None]] = [
        (("store",), found.config.store),
        (("bus",), found.config.bus),
        *((("events", number), value) for number, value in enumerate(found.config.events)),
    ]
    for key, url in urls:
        if isinstance(url, FromEnvironment) and is_unset(url):
            yield found.fault((*key, "env"), f"the environment variable {url.env!r} is not set.", "Set it.")


def _misnamed(found: ConfigFile) -> Iterator[Fault]:
    """Hosts that are none, a tenant that there is not, and what of `auth` cannot work."""
    for number, host in enumerate(found.config.hosts):
        if read_authority(host) is None:
            fix = "Write tools.example.org or tools.example.org:8443, say."
            yield found.fault(("hosts", number), f"{host!r} is no host.", fix)
    # Tenants with faults of their own are there all the same.
    wrong = [str(path[1]) for path in found.wrong if path[0] == "tenants" and len(path) > 1]
    tenants, gateway = dict.fromkeys([*found.config.tenants, *wrong]), found.config.gateway_tenant
    if gateway not in {None, *tenants}:
        what = f"there is no tenant {gateway!r}."
        yield found.fault(("gateway_tenant",), what, f"Tenants: {', '.join(map(repr, tenants))}.")
    for one in auth_config.faults_of(found.config.auth, tenants):
        yield found.fault(("auth", *one.path), one.what, one.fix)


def _exposed(found: ConfigFile) -> Iterator[Fault]:
    """An address that is none, or that others reach though nothing says by which names."""
    listen = found.config.listen
    try:
        is_loopback = ip_address(listen.host).is_loopback
    except ValueError:
        yield found.fault(("listen", "host"), f"{listen.host!r} is no IP address.", "Write 127.0.0.1 or 0.0.0.0, say.")
        return
    if not is_loopback and not found.config.hosts and not any(path[0] == "hosts" for path in found.wrong):
        what = f"{listen.host} can be reached from elsewhere, and `hosts` names none that clients use."
        yield found.fault(("listen", "host"), what, "Write hosts: [tools.example.org], say.")
