"""The runner `docker`: it runs each program in a new, locked-down container of an image that the profile names.

No image is pulled, and there is no fallback to the host: without the daemon or the image, every program is refused. The
tool `docker_list` lists the daemon's containers and images, and `docker_build` makes images for tools.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from toolcharter import ExtensionSpec, ToolSpec, hookimpl, lazy
from toolcharter_docker import docker_build, docker_list
from toolcharter_docker.policy import DockerPolicy

if TYPE_CHECKING:
    from toolcharter_docker import runner
else:
    runner = lazy("toolcharter_docker.runner")  # listing the plugins does not need it


def build(workspace: Path, policy: DockerPolicy) -> Any:  # noqa: ARG001 - a runner is opened for a scope, which names the workspace
    """Return the object whose hook opens the runner. It neither connects nor imports the docker library."""
    return runner.Docker(policy)


SPEC = ExtensionSpec("docker", DockerPolicy, build)


@hookimpl
def register_extensions() -> list[ExtensionSpec[DockerPolicy]]:
    """Offer the extension `docker`."""
    return [SPEC]


@hookimpl
def register_tools() -> list[ToolSpec[Any]]:
    """Offer the tools `docker_build` and `docker_list`."""
    return [docker_build.SPEC, docker_list.SPEC]
