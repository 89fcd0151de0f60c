"""A daemon, and runners that are closed at the end."""

import gc
import shutil
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.sandbox import conftest as sandbox
from tests.sandbox.dockerd import Dockerd

from toolcharter import Job, RunnerScope
from toolcharter_docker import SPEC
from toolcharter_docker.runner import DockerRunner

OpenDocker = Callable[..., DockerRunner]

needs_docker = [
    pytest.mark.needs_program("dockerd", package="docker.io"),
    pytest.mark.needs_program("busybox", package="busybox-static"),
]


dockerd = sandbox.dockerd


def shell(line: str, **given: Any) -> Job:
    return Job(("/bin/sh", "-c", line), **given)


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    made = tmp_path / "ws"
    made.mkdir()
    return made


@pytest.fixture
def open_docker(dockerd: Dockerd, workspace: Path) -> Iterator[OpenDocker]:
    opened: list[DockerRunner] = []

    def open_one(protected: tuple[str, ...] = (), **policy: Any) -> DockerRunner:
        chosen = SPEC.policy.from_profile({"image": dockerd.image, "host": dockerd.host} | policy)
        opened.append(SPEC.build(workspace, chosen).open_runner(RunnerScope(workspace, protected)))
        return opened[-1]

    yield open_one
    for runner in opened:
        runner.close()


@pytest.fixture
def containers(dockerd: Dockerd) -> Iterator[Callable[[str], list[str]]]:
    """Lists the containers with a label."""
    import docker  # noqa: PLC0415 - loads only where a daemon is

    client = docker.APIClient(base_url=dockerd.host, version="auto")
    yield lambda label: [found["Id"] for found in client.containers(all=True, filters={"label": label})]
    client.close()


@pytest.fixture
def short_path(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder whose sockets have short names."""
    made = tmp_path_factory.mktemp("s")
    yield made
    shutil.rmtree(made)


@pytest.fixture
def forgiving() -> Iterator[None]:
    """The docker library closes no socket that could not connect."""
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()
