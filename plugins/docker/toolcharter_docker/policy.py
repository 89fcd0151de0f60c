"""The policy of the containers that programs run in."""

from pathlib import Path

from pydantic import Field, field_validator

from toolcharter import ExtensionPolicy

MIB = 1024**2


class DockerPolicy(ExtensionPolicy):
    """The image of the containers, and their limits. A job's own limits apply if they are smaller."""

    image: str = Field(pattern=r"^[a-zA-Z0-9][a-zA-Z0-9._:/@-]{0,255}$")
    """Name or digest of an image that the daemon has. It is never pulled."""
    images: tuple[str, ...] = ()
    """Other images that tools may name, such as registered ones of type `image`; each as `image`."""
    command: tuple[str, ...] = ()
    """What stands before each program and its arguments, such as `["/usr/bin/nice", "-n", "10"]`. The image's own
    entry point does not count."""
    path: str = Field(
        default="/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", pattern=r"^/[^:\x00]*(:/[^:\x00]*)*$"
    )
    """The programs' PATH: folders of the image, each absolute."""
    memory_bytes: int = Field(default=512 * MIB, ge=6 * MIB)
    """Of memory, for all processes and `/tmp` together; no swap. Source of the default: GoClaw; of the least: dockerd."""
    cpus: float = Field(default=1.0, ge=0.01, le=1024)
    """How many processors' time it may take."""
    pids: int = Field(default=256, ge=4)
    """Processes and threads at a time."""
    tmp_bytes: int = Field(default=64 * MIB, ge=4096)
    """Size of `/tmp`, which begins empty for each program and is kept in memory."""
    network: bool = False
    """Whether a program that asks for the network gets the daemon's bridge, which leads to the whole outside world and
    to this machine."""
    host: str | None = Field(default=None, pattern=r"^unix:///[^\x00]+$")
    """The daemon's socket. By default what DOCKER_HOST says, or `unix:///var/run/docker.sock`. A daemon of another
    machine could not mount the workspace."""
    user: str | None = Field(default=None, pattern=r"^[0-9]{1,10}:[0-9]{1,10}$")
    """`UID:GID` of the programs; by default those of this process, which own the workspace."""
    read_roots: tuple[Path, ...] = ()
    """Folders of this machine that programs may read, at their own paths."""
    containers: int = Field(default=8, ge=1, le=1024)
    """How many programs run at a time; others wait for their turn as long as they have time. Background programs do
    not count."""

    @field_validator("read_roots")
    @classmethod
    def _are_plain(cls, roots: tuple[Path, ...]) -> tuple[Path, ...]:
        for root in roots:
            if not root.is_absolute() or ".." in root.parts or root == Path("/"):
                raise ValueError(f"{str(root)!r} is no absolute path of a folder below /")
        return roots
