"""The runner `docker`: each program in a locked-down container of its own, of an image that the profile names.

Nothing is pulled, nothing falls back to the host: without daemon or image every program is refused. The tool `docker_list`
shows what the daemon has, and `docker_build` makes the images of tools.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from toolcharter import ExtensionSpec, ToolSpec, hookimpl, lazy
from toolcharter_docker import docker_build, docker_list
from toolcharter_docker.policy import DockerPolicy

if TYPE_CHECKING:
    from toolcharter_docker import runner
else:
    runner = lazy("toolcharter_docker.runner")  # a list of plugins needs none of it


def build(workspace: Path, policy: DockerPolicy) -> Any:  # noqa: ARG001 - a runner is opened for a scope, which names the workspace
    """The object whose hook opens the runner; it neither connects nor imports the docker library."""
    return runner.Docker(policy)


SPEC = ExtensionSpec("docker", DockerPolicy, build)


@hookimpl
def register_extensions() -> list[ExtensionSpec[DockerPolicy]]:
    """The one extension of this distribution."""
    return [SPEC]


@hookimpl
def register_tools() -> list[ToolSpec[Any]]:
    """The tools of this distribution."""
    return [docker_build.SPEC, docker_list.SPEC]
