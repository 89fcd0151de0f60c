"""`docker_build`: make the image of a tool from a folder of the workspace, without running anything.

The daemon's own builder is not used: it fetches the sources of `FROM` and `ADD`, and runs `RUN` as root. Here, the
files become one layer on top of an image that the profile names, in a container that is never started. So the build
needs no network and runs no program.
"""

import hashlib
import io
import json
import os
import re
import shlex
import tarfile
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager
from enum import StrEnum
from pathlib import Path
from posixpath import normpath
from secrets import token_hex
from typing import Annotated, Any, NamedTuple, TypedDict

from pydantic import Field

from toolcharter import Ask, Call, Denied, ToolError, ToolPolicy, ToolRuntime, ToolSpec, scrub_text
from toolcharter_docker.daemon import DEFAULT_HOST, Daemon, connect, translate_errors

REPOSITORY = "toolcharter-built"
"""The name of all images of this tool; the tag is a hash of their contents."""
DOCKERFILE = "Dockerfile"
_MAX_DOCKERFILE = 65_536
_MAX_PATH = 1024
_NAME = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9._:/@-]{0,255}")
Count = Annotated[int, Field(ge=1)]


class DockerBuildPolicy(ToolPolicy):
    """How far one profile lets `docker_build` go."""

    bases: tuple[Annotated[str, Field(pattern=_NAME.pattern)], ...] = ()
    """The images that `FROM` may name, written as in the Dockerfile; none by default. Images are never pulled."""
    host: str | None = Field(default=None, pattern=r"^unix:///[^\x00]+$")
    """The daemon's socket; by default `DOCKER_HOST`, or else `unix:///var/run/docker.sock`."""
    max_files: Count = 100
    """The most files that are copied into an image."""
    max_bytes: Annotated[int, Field(ge=1, le=100_000_000)] = 4_000_000
    """The size of all copied files together, in bytes."""
    max_images: Count = 20
    """The most images of this tool that the daemon may have."""


class DockerBuildReason(StrEnum):
    """Why `docker_build` refuses, asks or fails."""

    BASE_NOT_ALLOWED = "base_not_allowed"
    HOLDS_A_SECRET = "holds_a_secret"  # noqa: S105 - a reason
    INSTRUCTION_NOT_ALLOWED = "instruction_not_allowed"
    INVALID_DOCKERFILE = "invalid_dockerfile"
    TOO_LARGE = "too_large"
    TOO_MANY_IMAGES = "too_many_images"
    BUILDS_AN_IMAGE = "builds_an_image"


class DockerBuildData(TypedDict):
    """The structured result."""

    image: str
    """The image's identifier, `sha256:...`; it changes with any change of the image."""
    name: str
    """`toolcharter-built:` and a hash of the base, the files and the command."""
    base: str
    files: int
    bytes: int


class _Plan(NamedTuple):
    """A parsed Dockerfile."""

    base: str
    copies: list[tuple[str, str]]
    """The path of each file beside the Dockerfile, and its path in the image."""
    entrypoint: list[str]
    command: list[str]


class _Layer(NamedTuple):
    tar: bytes
    files: int
    size: int


def build(workspace: Path, policy: DockerBuildPolicy, rt: ToolRuntime) -> Callable[..., str]:  # noqa: ARG001 - `rt.paths`
    """Bind `docker_build` to one profile's policy."""

    def docker_build(path: str = ".") -> str:
        """Make the image of a tool from a Dockerfile with FROM, COPY, ENTRYPOINT and CMD. The build runs no program.

        Args:
            path: The folder of the Dockerfile and of the files that it copies.
        """
        ctx = rt.start("docker_build", path=path)
        plan = parse_dockerfile(_read(rt, f"{path}/{DOCKERFILE}", _MAX_DOCKERFILE).decode("utf-8", "replace"))
        if plan.base not in policy.bases:
            names = ", ".join(policy.bases) or "none"
            message = f"The profile allows no image based on {plan.base!r}; it allows {names}."
            raise Denied(DockerBuildReason.BASE_NOT_ALLOWED, message)
        layer = _pack_layer(rt, policy, path, plan)
        ctx.policy_passed()
        host = policy.host or os.environ.get("DOCKER_HOST") or DEFAULT_HOST
        daemon = connect(host, plan.base)
        with closing(daemon.client):
            data = _make_image(daemon, policy, plan, layer)
        return ctx.ok(f"Made {data['name']}: {data['image']}.", data=data)

    return docker_build


def parse_dockerfile(text: str) -> _Plan:
    """Parse a Dockerfile.

    Raises:
        ToolError: `instruction_not_allowed`, `invalid_dockerfile`; with the number of the line.

    Source: the Dockerfile reference. This is a subset without flags, variables, wildcards and line continuations.
    """
    base, copies, words = "", list[tuple[str, str]](), {"ENTRYPOINT": list[str](), "CMD": list[str]()}
    for number, line in enumerate(text.splitlines(), 1):
        instruction, _, rest = line.strip().partition(" ")
        name = instruction.upper()
        if not name or name.startswith("#"):
            continue
        with _add_line_number(number):
            _require_known(name, is_first=not base)
            if name == "FROM":
                base = _parse_base(rest.strip())
            elif name == "COPY":
                copies += _parse_copy(_parse_words(rest) if rest.strip().startswith("[") else shlex.split(rest))
            else:
                words[name] = _parse_words(rest)
    if not base:
        raise ToolError("The Dockerfile has no FROM.", reason=DockerBuildReason.INVALID_DOCKERFILE)
    return _Plan(base, copies, words["ENTRYPOINT"], words["CMD"])


@contextmanager
def _add_line_number(number: int) -> Generator[None]:
    """Add the number of the line to errors."""
    try:
        yield
    except ToolError as error:
        raise ToolError(f"Line {number}: {error.message}", reason=error.reason) from error
    except ValueError as error:
        raise ToolError(f"Line {number}: {error}.", reason=DockerBuildReason.INVALID_DOCKERFILE) from error


def _require_known(name: str, *, is_first: bool) -> None:
    if name not in {"FROM", "COPY", "ENTRYPOINT", "CMD"}:
        what = f"{name[:40]!r} is not allowed: a build runs and fetches nothing. Use FROM, COPY, ENTRYPOINT and CMD."
        raise ToolError(what, reason=DockerBuildReason.INSTRUCTION_NOT_ALLOWED)
    if (name == "FROM") != is_first:
        raise ValueError("FROM must come first, and only once")


def _parse_base(text: str) -> str:
    if not _NAME.fullmatch(text):
        raise ValueError("write the name of one image after FROM")
    return text


def _parse_words(text: str) -> list[str]:
    """Parse a JSON list of words."""
    try:
        found: Any = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, list) or not found:
        raise ValueError('write a list of words in JSON, such as ["/bin/sh", "/opt/run.sh"]')
    words = [word for word in found if isinstance(word, str) and "\0" not in word]
    if len(words) < len(found):
        raise ValueError("a list must contain only words")
    return words


def _parse_copy(words: list[str]) -> list[tuple[str, str]]:
    """Parse the words of a `COPY`: the source and the target of each file."""
    *sources, target = words or [""]
    if not sources or any(word.startswith("--") or re.search(r"[*?\[$\\\0]", word) for word in words):
        raise ValueError("write COPY FILE... /TARGET, without flags, variables and wildcards")
    is_folder = target.endswith("/")
    if not target.startswith("/") or len(target) > _MAX_PATH or (len(sources) > 1 and not is_folder):
        raise ValueError("the target of COPY must begin with /; for several files, it must also end with /")
    if ".." in target.split("/"):
        raise ValueError("the target of COPY must not contain ..")
    named = [(source, f"{target}{source.rpartition('/')[2]}" if is_folder else target) for source in sources]
    return [(source, normpath(place).lstrip("/")) for source, place in named]


def _read(rt: ToolRuntime, path: str, limit: int) -> bytes:
    """Read a file of the workspace through the path guard.

    Raises:
        Denied, ToolError: As for `rt.paths.open_file`; `too_large`; `holds_a_secret`.
    """
    with rt.paths.open_file(path) as file:
        content = file.read(limit + 1)
    if len(content) > limit:
        raise ToolError(
            f"{path!r} is larger than the remaining limit of {limit} bytes.", reason=DockerBuildReason.TOO_LARGE
        )
    if scrub_text(content.decode("utf-8", "replace"))[1]:
        raise Denied(DockerBuildReason.HOLDS_A_SECRET, f"{path!r} contains text that looks like a secret.")
    return content


def _pack_layer(rt: ToolRuntime, policy: DockerBuildPolicy, folder: str, plan: _Plan) -> _Layer:
    """Pack the files into a reproducible tar: they belong to root and all users can read them.

    Raises:
        Denied, ToolError: As for `_read`; `too_large`.
    """
    if len(plan.copies) > policy.max_files:
        what = f"The Dockerfile copies {len(plan.copies)} files; the limit is {policy.max_files}."
        raise ToolError(what, reason=DockerBuildReason.TOO_LARGE)
    made, left = io.BytesIO(), policy.max_bytes
    with tarfile.open(fileobj=made, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for source, target in plan.copies:
            content = _read(rt, f"{folder}/{source}", left)
            left -= len(content)
            entry = tarfile.TarInfo(target)
            entry.size, entry.mode = len(content), 0o644
            tar.addfile(entry, io.BytesIO(content))
    return _Layer(made.getvalue(), len(plan.copies), policy.max_bytes - left)


def _make_image(daemon: Daemon, policy: DockerBuildPolicy, plan: _Plan, layer: _Layer) -> DockerBuildData:
    """Have the daemon make the image, unless it has the image already.

    Raises:
        ToolError: `too_many_images`, `invalid_dockerfile`.
        Denied: `sandbox_unavailable`.
    """
    volumes = [f"{one.strip('/')}/" for one in daemon.image.volumes]
    if any(f"{target}/".startswith(one) for _, target in plan.copies for one in volumes):
        what = "A file is copied to a volume of the base, where it would be lost."
        raise ToolError(what, reason=DockerBuildReason.INVALID_DOCKERFILE)
    said = json.dumps([daemon.image.identifier, plan.entrypoint, plan.command]).encode()
    tag = hashlib.sha256(said + hashlib.sha256(layer.tar).digest()).hexdigest()[:40]
    with translate_errors("The Docker daemon could not make the image"):
        there: list[dict[str, Any]] = daemon.client.images(REPOSITORY)
        image = next((one["Id"] for one in there if f"{REPOSITORY}:{tag}" in (one["RepoTags"] or ())), "")
        if not image and len(there) >= policy.max_images:
            what = f"The daemon has {len(there)} images of this tool; the limit is {policy.max_images}."
            raise ToolError(what, reason=DockerBuildReason.TOO_MANY_IMAGES)
        image = image or _commit_image(daemon, plan, layer, tag)
    return DockerBuildData(image=image, name=f"{REPOSITORY}:{tag}", base=plan.base, files=layer.files, bytes=layer.size)


def _commit_image(daemon: Daemon, plan: _Plan, layer: _Layer, tag: str) -> str:
    """Commit the image of a container that gets the files and is never started; return the image's identifier."""
    client: Any = daemon.client
    container = client.create_container(
        daemon.image.identifier,
        entrypoint=plan.entrypoint or None,
        command=plan.command or None,
        network_disabled=True,
        name=f"toolcharter-build-{token_hex(8)}",  # no label: the image and all its containers would inherit it
        host_config=client.create_host_config(network_mode="none"),
    )["Id"]
    try:
        if layer.files:
            client.put_archive(container, "/", layer.tar)
        return str(client.commit(container, REPOSITORY, tag, pause=False)["Id"])
    finally:
        client.remove_container(container, v=True, force=True)


def asks(policy: DockerBuildPolicy, call: Call) -> Ask | None:  # noqa: ARG001 - whatever is asked for
    """Ask a person before each image is made: a tool may run in it later."""
    return Ask(DockerBuildReason.BUILDS_AN_IMAGE, "The call makes an image in which a tool may run later.")


SPEC = ToolSpec(
    "docker_build",
    DockerBuildPolicy,
    build,
    reasons=DockerBuildReason,
    capabilities={"docker:build", "fs:read"},
    safety="high",
    staged=True,
    isolate=True,  # as for `docker_list`
    asks=asks,
    aliases=("tool_docker_build",),
    output=DockerBuildData,
)
