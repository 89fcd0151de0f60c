"""The policy of the containers that programs run in."""

from pathlib import Path

from pydantic import Field, field_validator

from toolcharter import ExtensionPolicy

MIB = 1024**2


class DockerPolicy(ExtensionPolicy):
    """The image of the containers, and their limits. A job's own limits apply if they are smaller."""

    image: str = Field(pattern=r"^[a-zA-Z0-9][a-zA-Z0-9._:/@-]{0,255}$")
    """The name or digest of an image that the daemon has. It is never pulled."""
    images: tuple[str, ...] = ()
    """Other images that tools may use, such as registered tools of the type `image`; each is written as `image`."""
    command: tuple[str, ...] = ()
    """The words before each program and its arguments, such as `["/usr/bin/nice", "-n", "10"]`. The image's own entry
    point is ignored."""
    path: str = Field(
        default="/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", pattern=r"^/[^:\x00]*(:/[^:\x00]*)*$"
    )
    """The programs' PATH: absolute paths of folders in the image."""
    memory_bytes: int = Field(default=512 * MIB, ge=6 * MIB)
    """The memory for all processes and `/tmp` together, in bytes; there is no swap. Source: GoClaw for the default,
    dockerd for the minimum."""
    cpus: float = Field(default=1.0, ge=0.01, le=1024)
    """How many processors a container may use."""
    pids: int = Field(default=256, ge=4)
    """The most processes and threads at the same time."""
    tmp_bytes: int = Field(default=64 * MIB, ge=4096)
    """The size of `/tmp` in bytes. It is empty when a program starts, and kept in memory."""
    network: bool = False
    """Whether a program that asks for the network gets the daemon's bridge, which leads to all other hosts and to this
    machine."""
    host: str | None = Field(default=None, pattern=r"^unix:///[^\x00]+$")
    """The daemon's socket; by default `DOCKER_HOST`, or else `unix:///var/run/docker.sock`. A daemon on another machine
    could not mount the workspace."""
    user: str | None = Field(default=None, pattern=r"^[0-9]{1,10}:[0-9]{1,10}$")
    """The `UID:GID` of the programs; by default those of this process, which owns the workspace."""
    read_roots: tuple[Path, ...] = ()
    """Folders of this machine that programs may read, at the same paths."""
    containers: int = Field(default=8, ge=1, le=1024)
    """How many programs may run at the same time; others wait for their turn until their time is up. Background
    programs do not count."""

    @field_validator("read_roots")
    @classmethod
    def _are_plain(cls, roots: tuple[Path, ...]) -> tuple[Path, ...]:
        for root in roots:
            if not root.is_absolute() or ".." in root.parts or root == Path("/"):
                raise ValueError(f"{str(root)!r} is not an absolute path below /")
        return roots
