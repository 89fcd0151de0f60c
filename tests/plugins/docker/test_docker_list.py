"""`docker_list`: what it shows of a real daemon, and what it says where none answers."""

import json
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.sandbox.dockerd import Dockerd

from toolcharter import ToolResult
from toolcharter.testing import assert_denied, assert_error, toolbox_of
from toolcharter_docker.docker_list import SPEC

SECRET = "hunter2" + "xyz"
CREATED = 1_700_000_000
CONTAINER = {
    "Id": "f" * 64, "Names": ["/web", "/other/web"], "Image": "nginx", "Created": CREATED, "State": "running",
    "Status": "Up 2 hours", "Command": f"serve {SECRET}", "Labels": {"key": SECRET},
    "Ports": [
        {"IP": "127.0.0.1", "PrivatePort": 80, "PublicPort": 8080, "Type": "tcp"},
        {"IP": "::", "PrivatePort": 80, "PublicPort": 8080, "Type": "tcp"},
        {"PrivatePort": 53, "PublicPort": 53, "Type": "udp"},
        {"PrivatePort": 443, "Type": "tcp"},
    ],
}  # fmt: skip
OLDER = {"Id": "e" * 64, "Names": None, "Image": "busybox", "Created": CREATED - 1, "State": "dead", "Status": ""}
Listing = Callable[..., ToolResult]


@pytest.fixture
def listing(tmp_path: Path) -> Listing:
    """One governed call under a policy."""

    def run(policy: dict[str, Any], /, **args: Any) -> ToolResult:
        with toolbox_of(SPEC, workspace=tmp_path, policies={"docker_list": policy}) as toolbox:
            return toolbox.call("docker_list", args)

    return run


@pytest.fixture
def answering(short_path: Path) -> Iterator[Callable[[bytes], str]]:
    """A socket where the next request is answered with these bytes; its address."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(short_path / "d"))
        listener.listen()

        def serve(answer: bytes) -> None:
            asking, _ = listener.accept()
            with asking:
                asking.recv(65_536)
                asking.sendall(answer)

        def begin(answer: bytes) -> str:
            threading.Thread(target=serve, args=[answer], daemon=True).start()
            return f"unix://{short_path}/d"

        yield begin


def http(value: object, status: str = "200 OK") -> bytes:
    body = json.dumps(value).encode()
    return b"HTTP/1.0 %s\r\nContent-Length: %d\r\n\r\n%s" % (status.encode(), len(body), body)


@pytest.fixture
def made(dockerd: Dockerd) -> Iterator[dict[str, str]]:
    """A container that runs and one that does not, with secrets in their variables, labels and commands."""
    import docker  # noqa: PLC0415 - loads only where a daemon is

    client = docker.APIClient(base_url=dockerd.host, version="auto")
    names: dict[str, str] = {}
    for name in ("running", "waiting"):
        command = ["/bin/sh", "-c", "sleep 600", SECRET]
        options: dict[str, Any] = {"environment": {"API_KEY": SECRET}, "labels": {"key": SECRET}}
        host = client.create_host_config(network_mode="none")
        names[name] = client.create_container(dockerd.image, command, host_config=host, **options)["Id"]
    client.start(names["running"])
    yield names
    for identifier in names.values():
        client.remove_container(identifier, force=True)
    client.close()


def ids(result: ToolResult) -> set[str]:
    return {item["id"] for item in result.data["items"]}


@pytest.mark.needs_program("dockerd", package="docker.io")
@pytest.mark.needs_program("busybox", package="busybox-static")
def test_containers_are_listed(listing: Listing, dockerd: Dockerd, made: dict[str, str]) -> None:
    """Those that run; others only where the policy lets them be shown and the call asks for them."""
    running, waiting = made["running"][:12], made["waiting"][:12]

    some = listing({"host": dockerd.host})
    every = listing({"host": dockerd.host, "stopped": True}, all=True)

    assert running in ids(some)
    assert waiting not in ids(some)
    assert {running, waiting} <= ids(every)
    item = next(item for item in every.data["items"] if item["id"] == running)
    assert (item["image"], item["state"], item["ports"]) == (dockerd.image, "running", [])
    assert SECRET not in f"{every.text}{every.data}"


@pytest.mark.needs_program("dockerd", package="docker.io")
@pytest.mark.needs_program("busybox", package="busybox-static")
def test_images_are_listed(listing: Listing, dockerd: Dockerd) -> None:
    """With their tags and their size."""
    result = listing({"host": dockerd.host}, type="images")

    item = next(item for item in result.data["items"] if dockerd.image in item["names"])
    assert set(item) == {"id", "names", "created", "size"}
    assert item["size"] > 0
    assert dockerd.image in result.text


def test_a_container_is_shown_without_what_may_be_secret(listing: Listing, answering: Any) -> None:
    """Neither command nor labels; the newest comes first."""
    result = listing({"host": answering(http([OLDER, CONTAINER])), "stopped": True}, all=True)

    ports = ["0.0.0.0:53->53/udp", "127.0.0.1:8080->80/tcp", "443/tcp", "[::]:8080->80/tcp"]
    assert result.data == {
        "type": "containers",
        "items": [
            {
                "id": "f" * 12, "names": ["web", "other/web"], "created": "2023-11-14T22:13:20Z", "image": "nginx",
                "state": "running", "status": "Up 2 hours", "ports": ports,
            },
            {
                "id": "e" * 12, "names": [], "created": "2023-11-14T22:13:19Z", "image": "busybox", "state": "dead",
                "status": "", "ports": [],
            },
        ],
        "truncated": False,
    }  # fmt: skip
    assert result.text == (
        f"{'f' * 12}  web, other/web  nginx  Up 2 hours  {', '.join(ports)}\n{'e' * 12}  -  busybox  dead"
    )


@pytest.mark.parametrize(
    ("size", "shown"), [(999, "999 B"), (1000, "1 kB"), (123_456_789, "123 MB"), (5 * 10**15, "5e+03 TB")]
)
def test_images_have_sizes_for_people(listing: Listing, answering: Any, size: int, shown: str) -> None:
    """As docker shows them; an image without a tag has no name."""
    image = {"Id": f"sha256:{'a' * 64}", "RepoTags": ["<none>:<none>"], "Created": CREATED, "Size": size}

    result = listing({"host": answering(http([image]))}, type="images")

    assert result.text == f"{'a' * 12}  -  {shown}"
    assert result.data["items"] == [{"id": "a" * 12, "names": [], "created": "2023-11-14T22:13:20Z", "size": size}]


@pytest.mark.parametrize(
    ("policy", "asked"), [({"max_items": 1}, None), ({}, 1), ({"max_items": 1}, 5)], ids=["policy", "call", "both"]
)
def test_items_are_limited(listing: Listing, answering: Any, policy: dict[str, int], asked: int | None) -> None:
    """The smaller of the policy's and the call's number wins, and the text tells how many there are."""
    result = listing({"host": answering(http([OLDER, CONTAINER])), **policy}, max_items=asked)

    assert [item["id"] for item in result.data["items"]] == ["f" * 12]
    assert result.data["truncated"]
    assert result.text.endswith("\n[truncated: 1 of 2 containers]")


def test_nothing_is_an_answer(listing: Listing, answering: Any) -> None:
    """A daemon without containers is no error."""
    assert listing({"host": answering(http([]))}).text == "There are no containers."


def test_the_policy_says_what_may_be_listed(listing: Listing) -> None:
    """Refused before the daemon is asked."""
    assert_denied(listing({"types": ["images"], "host": "unix:///nowhere"}), "type_not_allowed")
    assert_denied(listing({"host": "unix:///nowhere"}, all=True), "stopped_not_allowed")
    assert_error(listing({"host": "unix:///nowhere"}, type="images", all=True), "docker_unavailable")


def test_the_model_is_shown_what_it_may_list(tmp_path: Path) -> None:
    """What the profile closes is not offered."""
    with toolbox_of(SPEC, workspace=tmp_path, policies={"docker_list": {"types": ["images"]}}) as toolbox:
        assert toolbox["docker_list"].parameters["properties"]["type"]["enum"] == ["images"]


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        pytest.param(http({}, "500 Broken"), "The Docker daemon at {path!r} answered 500.", id="status"),
        pytest.param(b"hello\r\n\r\n", "No Docker daemon answers at {path!r}: ", id="no HTTP"),
        pytest.param(b"", "No Docker daemon answers at {path!r}: ", id="hangs up"),
    ],
)
def test_a_daemon_that_answers_otherwise_is_told(listing: Listing, answering: Any, answer: bytes, says: str) -> None:
    """Whatever listens there is not what we ask."""
    host = answering(answer)

    result = listing({"host": host})

    assert_error(result, "docker_unavailable")
    assert result.message is not None
    assert result.message.startswith(says.format(path=host.removeprefix("unix://")))


def test_no_daemon_is_told(listing: Listing, monkeypatch: pytest.MonkeyPatch, short_path: Path) -> None:
    """Nothing listens; the address is of another machine; by default it is what the environment says."""
    nowhere = listing({"host": f"unix://{short_path}/none"})
    monkeypatch.setenv("DOCKER_HOST", "tcp://192.0.2.1:2375")
    remote = listing({})

    for result in (nowhere, remote):
        assert_error(result, "docker_unavailable")
    assert nowhere.message == (f"No Docker daemon answers at '{short_path}/none': [Errno 2] No such file or directory.")
    assert remote.message == "The Docker daemon at 'tcp://192.0.2.1:2375' is on another machine."


def test_a_daemon_that_may_not_be_used_is_told(listing: Listing, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in: root may use every socket."""

    def refuse(*_: Any) -> None:
        raise PermissionError

    monkeypatch.setattr("toolcharter_docker.docker_list.request", refuse)

    assert listing({"host": "unix:///s"}).message == "This user may not use the Docker daemon at '/s'."


def test_a_daemon_that_is_silent_is_not_waited_for(listing: Listing, short_path: Path) -> None:
    """No longer than the policy says."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(short_path / "d"))
        listener.listen()

        result = listing({"host": f"unix://{short_path}/d", "timeout_s": 0.05})

    assert_error(result, "docker_unavailable")
    assert result.message == f"No Docker daemon answers at '{short_path}/d': timed out."
