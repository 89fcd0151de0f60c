"""What a profile may say of containers."""

from typing import Any

import pytest
from pydantic import ValidationError
from tests.rows import each_row

from toolcharter_docker import SPEC, register_extensions
from toolcharter_docker.policy import DockerPolicy


def test_the_distribution_offers_one_extension() -> None:
    """Its name is that of the entry point."""
    assert register_extensions() == [SPEC]
    assert (SPEC.name, SPEC.policy) == ("docker", DockerPolicy)


def test_defaults_let_the_least_through() -> None:
    """Only the image has to be named; nothing is granted beside the workspace."""
    policy = DockerPolicy.from_profile({"image": "python:3.12-slim"})

    assert policy.canonical() == {
        "image": "python:3.12-slim",
        "images": [],
        "command": [],
        "path": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "memory_bytes": 536_870_912,
        "cpus": 1.0,
        "pids": 256,
        "tmp_bytes": 67_108_864,
        "network": False,
        "host": None,
        "user": None,
        "read_roots": [],
        "containers": 8,
    }


@each_row(
    ("field", "value"),
    [
        pytest.param("image", "", id="no image"),
        pytest.param("image", "-v", id="an option"),
        pytest.param("image", "a b", id="a blank"),
        pytest.param("path", "bin", id="relative path"),
        pytest.param("path", "/bin:", id="empty entry means the working folder"),
        pytest.param("path", "/bin:./x", id="relative entry"),
        pytest.param("host", "tcp://10.0.0.1:2375", id="another machine"),
        pytest.param("host", "ssh://host", id="another machine by ssh"),
        pytest.param("user", "root", id="name of a user"),
        pytest.param("user", "0", id="no group"),
        pytest.param("memory_bytes", 1024, id="too little memory for the daemon"),
        pytest.param("cpus", 0.0, id="no processor"),
        pytest.param("pids", 0, id="unlimited to the daemon"),
        pytest.param("pids", -1, id="unlimited to the daemon, too"),
        pytest.param("read_roots", ["/"], id="everything"),
        pytest.param("read_roots", ["usr"], id="relative root"),
        pytest.param("read_roots", ["/usr/../root"], id="root with dots"),
    ],
)
def test_what_could_widen_is_refused(field: str, value: Any) -> None:
    """A value that means more than it seems to is a fault of the profile."""
    with pytest.raises(ValidationError) as fault:
        DockerPolicy.from_profile({"image": "i", field: value})

    assert [error["loc"][0] for error in fault.value.errors()] == [field]
