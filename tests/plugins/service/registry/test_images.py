"""Records of type `image` in real containers."""

import pytest
from tests.plugins.service.registry_sessions import NOW, OPERATOR, OpenSession, tool
from tests.sandbox import conftest as sandbox
from tests.sandbox.dockerd import Dockerd

from toolcharter import Store
from toolcharter_service.registry.catalog import register

pytestmark = [
    pytest.mark.slow,
    pytest.mark.needs_program("dockerd", package="docker.io"),
    pytest.mark.needs_program("busybox", package="busybox-static"),
]
dockerd = sandbox.dockerd


def test_a_container_of_the_records_image(dockerd: Dockerd, store: Store, session: OpenSession) -> None:
    """Of one that the profile lets tools run; its arguments are words there, too."""
    for name, image in (("listed", dockerd.image), ("other", "elsewhere:1")):
        program = {"type": "image", "image": image, "cmd": "/bin/echo", "args": ["in", "{x}"]}
        register(store, tool(name, permissions=["docker"], exec=program), OPERATOR, NOW)
    docker = {"image": dockerd.image, "host": dockerd.host}
    live = session(runner="docker", extensions={"docker": docker, "registry": {"extend": True}})

    assert live.call("listed", {"x": "a; id"}).text == "in a; id\n"
    assert live.call("other", {"x": "a"}).reason == "sandbox_unavailable"
