"""`docker_list`: list the containers or images of this machine's Docker daemon. It changes nothing."""

import json
import os
import time
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from toolcharter import Denied, ToolError, ToolPolicy, ToolRuntime, ToolSpec
from toolcharter_docker.daemon import DEFAULT_HOST
from toolcharter_docker.leftovers import request

ListType = Literal["containers", "images"]
Count = Annotated[int, Field(ge=1)]

_UNITS = ("B", "kB", "MB", "GB", "TB")
_ID_CHARS = 12


class DockerListPolicy(ToolPolicy):
    """What one profile lets `docker_list` show."""

    host: str | None = Field(default=None, pattern=r"^unix:///[^\x00]+$")
    """The daemon's socket; by default `DOCKER_HOST`, or else `unix:///var/run/docker.sock`."""
    types: tuple[ListType, ...] = ("containers", "images")
    """The types that may be listed."""
    stopped: bool = False
    """Whether stopped containers may be listed, too."""
    max_items: Count = 100
    """The most items that one call returns; a call may ask for fewer."""
    timeout_s: Annotated[float, Field(gt=0)] = 10.0
    """How long the daemon may take to answer, in seconds; the call's own deadline applies as well."""


class DockerListReason(StrEnum):
    """Why `docker_list` refuses or fails."""

    TYPE_NOT_ALLOWED = "type_not_allowed"
    STOPPED_NOT_ALLOWED = "stopped_not_allowed"
    DOCKER_UNAVAILABLE = "docker_unavailable"


class DockerItem(BaseModel):
    """A container or an image."""

    id: str
    """The first twelve digits of the identifier."""
    names: list[str]
    """The names of a container, or the tags of an image."""
    created: str
    """The time of creation, as RFC 3339 in UTC."""
    image: str | None = None
    """Only for a container: its image."""
    state: str | None = None
    """Only for a container: `running`, `exited`, and so on."""
    status: str | None = None
    """Only for a container: the daemon's own words, such as `Up 3 hours`."""
    ports: list[str] | None = None
    """Only for a container: its ports; published ports as `127.0.0.1:8080->80/tcp`."""
    size: int | None = None
    """Only for an image: its size in bytes."""


class DockerListData(BaseModel):
    """The structured result."""

    type: ListType
    items: list[DockerItem]
    """The newest first."""
    truncated: bool


def build(
    workspace: Path,  # noqa: ARG001 - every constructor takes it
    policy: DockerListPolicy,
    rt: ToolRuntime,
) -> Callable[..., str]:
    """Bind `docker_list` to one profile's policy."""

    def docker_list(
        type: ListType = "containers",  # noqa: A002 - the source's name
        all: bool = False,  # noqa: A002, FBT001, FBT002 - docker's own name for it
        max_items: Count | None = None,
    ) -> str:
        """List the containers or the images of the Docker daemon.

        Args:
            type: What to list.
            all: List stopped containers, too. Images are all listed in any case.
            max_items: Return at most this many items, the newest; the profile may allow fewer.
        """
        ctx = rt.start("docker_list", type=type, all=all)
        if type not in policy.types:
            raise Denied(DockerListReason.TYPE_NOT_ALLOWED, f"The profile does not allow listing {type}.")
        if all and type == "containers" and not policy.stopped:
            raise Denied(DockerListReason.STOPPED_NOT_ALLOWED, "The profile allows listing only running containers.")
        ctx.policy_passed()
        found = _request_list(policy, rt, f"/{type}/json?all=1" if all and type == "containers" else f"/{type}/json")
        shape = _container_item if type == "containers" else _image_item
        found.sort(key=lambda entry: int(entry.get("Created") or 0), reverse=True)
        limit = min(policy.max_items, max_items or policy.max_items)
        items = [shape(entry) for entry in found[:limit]]
        data = {"type": type, "items": items, "truncated": len(found) > limit}
        return ctx.ok(_text(items, type, len(found)), data=data)

    return docker_list


def advertise(policy: DockerListPolicy, schema: dict[str, Any]) -> dict[str, Any]:
    """Show the model only what its profile lets it list."""
    properties = dict(schema["properties"])
    properties["type"] = {**properties["type"], "enum": list(policy.types)}
    return {**schema, "properties": properties}


SPEC = ToolSpec(
    "docker_list",
    DockerListPolicy,
    build,
    reasons=DockerListReason,
    capabilities={"docker"},
    safety="medium",
    staged=True,
    isolate=True,  # the daemon may be slow, which must not block asynchronous callers
    group="runtime",
    aliases=("tool_docker_list",),
    argument_aliases={"limit": "max_items"},
    output=DockerListData,
    advertise=advertise,
)


def _request_list(policy: DockerListPolicy, rt: ToolRuntime, target: str) -> list[dict[str, Any]]:
    """The daemon's list. Source: Docker Engine API 1.41, ContainerList and ImageList."""
    host = policy.host or os.environ.get("DOCKER_HOST") or DEFAULT_HOST
    path = host.removeprefix("unix://")
    if path == host:
        raise _unavailable(f"The Docker daemon at {host!r} is on another machine")
    try:
        status, body = request(path, "GET", target, max(min(policy.timeout_s, rt.deadline - time.monotonic()), 0.001))
    except PermissionError as error:
        raise _unavailable(f"This user may not use the Docker daemon at {path!r}") from error
    except OSError as error:
        raise _unavailable(f"No Docker daemon answers at {path!r}: {error}") from error
    if status != 200:  # noqa: PLR2004 - OK
        raise _unavailable(f"The Docker daemon at {path!r} answered {status}")
    return list(json.loads(body))


def _unavailable(what: str) -> ToolError:
    return ToolError(f"{what}.", reason=DockerListReason.DOCKER_UNAVAILABLE)


def _container_item(entry: Mapping[str, Any]) -> dict[str, Any]:
    """A container's item, without its command and its labels, which may hold secrets. The daemon lists no variables."""
    ports = sorted({_port(port) for port in entry.get("Ports") or ()})
    return {
        "id": _short(entry["Id"]),
        "names": [name.removeprefix("/") for name in entry.get("Names") or ()],
        "created": _format_time(entry["Created"]),
        "image": entry["Image"],
        "state": entry["State"],
        "status": entry["Status"],
        "ports": ports,
    }


def _image_item(entry: Mapping[str, Any]) -> dict[str, Any]:
    names = [tag for tag in entry.get("RepoTags") or () if tag != "<none>:<none>"]
    return {
        "id": _short(entry["Id"]),
        "names": names,
        "created": _format_time(entry["Created"]),
        "size": entry["Size"],
    }


def _short(identifier: str) -> str:
    return identifier.removeprefix("sha256:")[:_ID_CHARS]


def _format_time(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _port(port: Mapping[str, Any]) -> str:
    inside = f"{port['PrivatePort']}/{port['Type']}"
    if "PublicPort" not in port:
        return inside
    address = port.get("IP") or "0.0.0.0"  # noqa: S104 - shown, not listened on
    return f"{f'[{address}]' if ':' in address else address}:{port['PublicPort']}->{inside}"


def _text(items: Iterable[Mapping[str, Any]], kind: str, total: int) -> str:
    rows = [_item_line(item) for item in items]
    if len(rows) < total:
        rows.append(f"[truncated: {len(rows)} of {total} {kind}]")
    return "\n".join(rows) or f"There are no {kind}."


def _item_line(item: Mapping[str, Any]) -> str:
    names = ", ".join(item["names"]) or "-"
    if "size" in item:
        return f"{item['id']}  {names}  {_size(item['size'])}"
    ports = f"  {', '.join(item['ports'])}" if item["ports"] else ""
    return f"{item['id']}  {names}  {item['image']}  {item['status'] or item['state']}{ports}"


def _size(amount: float) -> str:
    """Format a size as docker does: three digits, units of a thousand."""
    for unit in _UNITS[:-1]:
        if amount < 1000:  # noqa: PLR2004 - a thousand
            return f"{amount:.3g} {unit}"
        amount /= 1000
    return f"{amount:.3g} {_UNITS[-1]}"
