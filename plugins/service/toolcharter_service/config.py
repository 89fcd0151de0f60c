"""`ServiceConfig`: the configuration of `toolcharter serve --config FILE`, validated strictly, with all faults at once.

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
"""The pattern of tenants' and agents' names. They need no escaping in keys, subjects, paths and URLs."""
Name = Annotated[str, Field(pattern=rf"^{NAME}$")]
ANY_AGENT = "*"
"""The key for every agent of a tenant that has no entry of its own."""
AgentName = Annotated[str, Field(pattern=rf"^(?:\*|{NAME})$")]
_FILE_POSITION = re.compile(r".+:[0-9]+:[0-9]+", re.DOTALL)
_PROFILE_NAME = re.compile(r"[A-Za-z0-9_-]+")
LEAST = "tenants: {NAME: {agents: {NAME: {profile: PROFILE, workspace: FOLDER}}}}"


class FromEnvironment(ToolPolicy):
    """A value from an environment variable, since it contains a password."""

    env: str


class Listen(ToolPolicy):
    """Where the service listens."""

    host: str = "127.0.0.1"
    """An IP address. If other machines can reach it, `hosts` is required."""
    port: Annotated[int, Field(ge=0, le=65535)] = 8081
    """The port; 0 for any free port."""


class AgentConfig(ToolPolicy):
    """One agent of a tenant."""

    profile: str
    """The name of a profile, or a path."""
    workspace: str
    """The folder that its tools may touch."""


class TenantConfig(ToolPolicy):
    """A tenant and its agents. No tenant sees anything of another tenant."""

    agents: Annotated[Mapping[AgentName, AgentConfig], Field(min_length=1)]
    """The agents by name; `*` means every agent without an entry."""


class InterpretConfig(ToolPolicy):
    """Whether agents may run code with `POST /api/v1/interpret/execute`, and may propose it as tools."""

    enabled: bool = False
    """Whether code runs at all; the agent's profile has to list and allow `execute_code`, too."""
    proposals: bool = False
    """Whether code that has run may be proposed as a tool, which an approver reviews."""
    max_pending: Annotated[int, Field(ge=1, le=500)] = 50
    """How many proposals of a tenant may wait for a review."""


class ServiceConfig(ToolPolicy):
    """The whole configuration file."""

    listen: Listen = Listen()
    store: str | FromEnvironment = "sqlite:"
    """The store for persistent state: a URL, or the environment variable that holds it."""
    bus: str | FromEnvironment | None = None
    """The bus between several processes: a URL, or the environment variable that holds it. By default a bus within
    each process."""
    events: tuple[str | FromEnvironment, ...] = ("stderr:",)
    """The sinks for the events of all calls: URLs, or environment variables that hold them."""
    hosts: tuple[str, ...] = ()
    """The host names that clients use, for `Host` and `Origin`. Loopback's names are accepted on a loopback address."""
    auth: AuthConfig = AuthConfig()
    interpret: InterpretConfig = InterpretConfig()
    stop_s: Annotated[float, Field(ge=0, le=600)] = 10.0
    """How long running calls may continue when the service stops, in seconds."""
    gateway_tenant: Name | None = None
    """The tenant whose tool `gateway` may restart and stop a service with several tenants; by default no tenant may."""
    tenants: Annotated[Mapping[Name, TenantConfig], Field(min_length=1)]


class _ValidPart(ServiceConfig):
    """The valid part of a file with faults. No key is required."""

    tenants: Mapping[Name, TenantConfig] = {}


class ConfigFile(NamedTuple):
    """A configuration and the file that it was read from."""

    config: ServiceConfig
    """The configuration, with absolute paths."""
    read: SettingsFile[ServiceConfig] | None = None
    """None if it was not read from a file."""
    faults: tuple[Fault, ...] = ()
    """The faults of the file. The configuration is its valid part."""

    @property
    def invalid_paths(self) -> list[tuple[str | int, ...]]:
        """The paths of the file that were left out."""
        return [] if self.read is None else [path for path in self.read.wrong if path]

    def locate_faults(self, error: ConfigurationError, *path: str | int) -> Iterator[Fault]:
        """Yield the faults of the file or URL that the value at *path* names. Those without a place get the value's."""
        for fault in error.faults:
            yield fault if _FILE_POSITION.fullmatch(fault.place) else self.fault(path, fault.what, fault.fix)

    def error(self, faults: Iterable[Fault]) -> ConfigurationError:
        """Combine *faults* without duplicates: those of this file from top to bottom, then those of other files."""
        return ConfigurationError(dict.fromkeys(faults)) if self.read is None else self.read.error(faults)

    def fault(self, path: tuple[str | int, ...], what: str, fix: str = "") -> Fault:
        """Return a fault of the value at *path*."""
        if self.read is None:
            return Fault(".".join(map(str, path)), "", what, fix)
        return self.read.fault(path, what, fix)


def read_config(file: str | Path) -> ConfigFile:
    """Read the configuration *file*.

    Raises:
        ConfigurationError: It lists every fault of the file. `Service.build` finds those of the profiles and stores
            that it names.
    """
    found = examine_config(file)
    if found.faults:
        raise found.error(found.faults)
    return found


def examine_config(file: str | Path) -> ConfigFile:
    """Read the configuration *file*, or the valid part of it, with every fault of the file itself.

    Raises:
        ConfigurationError: It cannot be read, or is no YAML.
    """
    read = read_settings(file, ServiceConfig, least=LEAST, sound=_ValidPart)
    found = ConfigFile(_resolve_paths(read.values, Path(file).absolute().parent), read)
    return found._replace(faults=(*read.faults, *_missing_faults(found), *_address_faults(found), *_name_faults(found)))


def url_of(value: "str | FromEnvironment") -> str:
    """Return the URL of a setting.

    Raises:
        KeyError: The environment variable is not set.
    """
    return os.environ[value.env] if isinstance(value, FromEnvironment) else value


def is_unset(value: "str | FromEnvironment | None") -> bool:
    """Whether a setting names an environment variable that is not set or empty."""
    return isinstance(value, FromEnvironment) and not os.environ.get(value.env)


def missing_workspace(found: ConfigFile, tenant: str, agent: str) -> Fault | None:
    """Return the fault of an agent whose workspace is no folder, else None."""
    folder = found.config.tenants[tenant].agents[agent].workspace
    if Path(folder).is_dir():
        return None
    path = ("tenants", tenant, "agents", agent, "workspace")
    return found.fault(path, f"there is no folder {folder!r}.", "Make it, or name another.")


def _resolve_paths(config: ServiceConfig, folder: Path) -> ServiceConfig:
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
    return config.model_copy(update={"tenants": tenants, "auth": auth_config.resolve_key_files(config.auth, folder)})


def _missing_faults(found: ConfigFile) -> Iterator[Fault]:
    """Yield the faults of workspaces and environment variables that do not exist."""
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


def _name_faults(found: ConfigFile) -> Iterator[Fault]:
    """Yield the faults of invalid hosts, of an unknown `gateway_tenant`, and of `auth`."""
    for number, host in enumerate(found.config.hosts):
        if read_authority(host) is None:
            fix = "Write tools.example.org or tools.example.org:8443, say."
            yield found.fault(("hosts", number), f"{host!r} is no host.", fix)
    # Tenants with faults count as existing.
    wrong = [str(path[1]) for path in found.invalid_paths if path[0] == "tenants" and len(path) > 1]
    tenants, gateway = dict.fromkeys([*found.config.tenants, *wrong]), found.config.gateway_tenant
    if gateway not in {None, *tenants}:
        what = f"there is no tenant {gateway!r}."
        yield found.fault(("gateway_tenant",), what, f"Tenants: {', '.join(map(repr, tenants))}.")
    for one in auth_config.find_auth_faults(found.config.auth, tenants):
        yield found.fault(("auth", *one.path), one.what, one.fix)


def _address_faults(found: ConfigFile) -> Iterator[Fault]:
    """Yield a fault for an invalid address, or for an address that other machines can reach without `hosts`."""
    listen = found.config.listen
    try:
        is_loopback = ip_address(listen.host).is_loopback
    except ValueError:
        yield found.fault(("listen", "host"), f"{listen.host!r} is no IP address.", "Write 127.0.0.1 or 0.0.0.0, say.")
        return
    if not is_loopback and not found.config.hosts and not any(path[0] == "hosts" for path in found.invalid_paths):
        what = f"{listen.host} can be reached from other machines, but `hosts` is empty."
        yield found.fault(("listen", "host"), what, "Write hosts: [tools.example.org], say.")
