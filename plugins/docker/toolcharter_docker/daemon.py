"""Connect to the Docker daemon of this machine, look up images, and translate the daemon's errors."""

import re
import socket
from collections.abc import Generator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from toolcharter import Denied, ToolError, lazy

if TYPE_CHECKING:
    import docker
    import requests
    from docker import errors as docker_errors
else:
    docker = lazy("docker")  # the import takes 0.4 s, and only running a program needs it
    docker_errors = lazy("docker.errors")
    requests = lazy("requests")

DEFAULT_HOST = "unix:///var/run/docker.sock"
TIMEOUT_S = 60.0
"""How long the daemon may take for one request; under load it needs seconds to start a container."""

_UNAVAILABLE = "sandbox_unavailable"
_TOO_LONG = re.compile("argument list too long", re.IGNORECASE)
_NOT_FOUND = re.compile(
    "executable file not found|no such file or directory|permission denied|exec format", re.IGNORECASE
)


class Image(NamedTuple):
    """The facts about an image that the runner needs."""

    identifier: str
    """The identifier from which containers are made: a name may be moved to another image in the meantime."""
    variables: frozenset[str]
    """The names of the environment variables that the image sets."""
    volumes: frozenset[str]
    """The folders that the image declares as volumes."""
    program: tuple[str, ...] = ()
    """The image's entry point: the program that runs by default."""
    words: tuple[str, ...] = ()
    """The default arguments of the entry point; a job's own arguments replace them."""


class Daemon(NamedTuple):
    """A connection to the daemon, and the profile's image."""

    client: "docker.APIClient"
    socket_path: str
    image: Image


def connect(host: str, image: str) -> Daemon:
    """Connect to the daemon at *host* and look the image up.

    Raises:
        Denied: `sandbox_unavailable`, with what to do about it.
    """
    socket_path = host.removeprefix("unix://")
    if socket_path == host:
        raise Denied(
            _UNAVAILABLE, f"The Docker daemon at {host!r} is on another machine, so it cannot mount the workspace."
        )
    _check_socket(socket_path)
    with translate_errors("The Docker daemon does not answer"):
        client = docker.APIClient(base_url=host, version="auto", timeout=int(TIMEOUT_S), max_pool_size=32)
        client.trust_env = False  # a socket needs no proxy
        try:
            found = find_image(client, image)
        except Denied:
            client.close()
            raise
    return Daemon(client, socket_path, found)


def find_image(client: "docker.APIClient", image: str) -> Image:
    """Look up *image*.

    Raises:
        Denied: `sandbox_unavailable`: the daemon does not have the image or does not answer.
    """
    with translate_errors("The Docker daemon does not answer"):
        try:
            found: dict[str, Any] = client.inspect_image(image)  # type: ignore[no-untyped-call]
        except docker_errors.ImageNotFound as error:
            message = f"The Docker daemon has no image {image!r}, and toolcharter never pulls images."
            raise Denied(
                _UNAVAILABLE, message, hint=f"docker pull {image}, or docker import FILE.tar {image}"
            ) from error
    return _image(found)


def _check_socket(socket_path: str) -> None:
    """Check that the socket can be connected to: docker's library would wrap the error three times."""
    with closing(socket.socket(socket.AF_UNIX)) as knocking:
        knocking.settimeout(TIMEOUT_S)
        try:
            knocking.connect(socket_path)
        except PermissionError as error:
            raise Denied(_UNAVAILABLE, f"This user may not use the Docker daemon at {socket_path!r}.") from error
        except OSError as error:
            raise Denied(_UNAVAILABLE, f"No Docker daemon listens at {socket_path!r}: {error}.") from error


def _image(found: dict[str, Any]) -> Image:
    config: dict[str, Any] = found.get("Config") or {}
    variables = frozenset(entry.partition("=")[0] for entry in config.get("Env") or ())
    program, words = tuple(config.get("Entrypoint") or ()), tuple(config.get("Cmd") or ())
    return Image(found["Id"], variables, frozenset(config.get("Volumes") or ()), program, words)


@contextmanager
def translate_errors(what: str) -> Generator[None]:
    """Translate exceptions of the docker library into the gate's.

    Raises:
        ToolError: `program_not_found` or `invalid_arguments`, if the daemon's answer is about the program.
        Denied: `sandbox_unavailable`, with *what*, for all other errors.
    """
    try:
        yield
    except docker_errors.APIError as error:
        text = str(error.explanation or error)
        if error.status_code in {400, 500} and "exec" in text and _TOO_LONG.search(text):
            raise ToolError("The arguments are too long.", reason="invalid_arguments") from error
        if error.status_code in {400, 500} and "exec:" in text and _NOT_FOUND.search(text):
            raise ToolError("The image has no such program.", reason="program_not_found") from error
        raise Denied(_UNAVAILABLE, f"{what}: {text}") from error
    except (docker_errors.DockerException, requests.RequestException, OSError, ValueError) as error:
        raise Denied(_UNAVAILABLE, f"{what}: {error}") from error
