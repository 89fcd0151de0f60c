"""`docker_build`: what a real daemon makes of a folder, in which nothing has run; and what is refused."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import docker
import pytest
from tests.plugins.docker.conftest import OpenDocker, needs_docker
from tests.rows import each_row
from tests.sandbox.dockerd import Dockerd

from toolcharter import Job, ToolError, ToolResult, build_tools
from toolcharter_docker.docker_build import REPOSITORY, parse_dockerfile

Build = Callable[..., ToolResult]


@pytest.fixture
def folder(workspace: Path) -> Path:
    """A workspace with a tool in a folder."""
    (workspace / "tool").mkdir()
    (workspace / "tool/run.sh").write_text('echo "made of $1"\n')
    return workspace


@pytest.fixture
def build(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Build:
    """One governed call for a Dockerfile, under a policy, in a profile that permits everything; a person agrees."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))

    def run(
        dockerfile: str, policy: dict[str, Any], approver: Any = lambda _: "allow_once", /, **args: Any
    ) -> ToolResult:
        (folder / "tool/Dockerfile").write_text(dockerfile)
        wide = {"mode": "dangerous", "capabilities": {"allow": ["*"], "max_safety": "high"}}
        profile = {"profile": "test", "tools": {"docker_build": policy}, **wide}
        (tmp_path / "test.yaml").write_text(json.dumps(profile))
        with build_tools(tmp_path / "test.yaml", workspace=folder, events=lambda _: None, approver=approver) as box:
            return box.call("docker_build", {"path": "tool", **args})

    return run


def of(base: str, *lines: str) -> str:
    """A Dockerfile upon *base*."""
    return "\n".join([f"FROM {base}", *lines])


@pytest.mark.slow
@needs_docker[0]
@needs_docker[1]
def test_an_image_from_its_making_to_its_run(
    build: Build, folder: Path, dockerd: Dockerd, open_docker: OpenDocker
) -> None:
    """The files are in it, and whoever runs the identifier runs that; nothing else of the daemon changes."""
    client = docker.APIClient(base_url=dockerd.host, version="auto")
    dockerfile = of(
        dockerd.image,
        "# The tool",
        "COPY run.sh /opt/tool/",
        'ENTRYPOINT ["/bin/sh", "/opt/tool/run.sh"]',
        'CMD ["nothing"]',
    )
    policy = {"bases": [dockerd.image], "host": dockerd.host, "max_images": 2}
    pulled = {tag for one in client.images() for tag in one["RepoTags"] or ()}

    first = build(dockerfile, policy)
    again = build(dockerfile, policy)
    (folder / "tool/run.sh").write_text("echo changed\n")
    changed = build(dockerfile, policy)
    (folder / "tool/run.sh").write_text("echo one too many\n")
    refused = build(dockerfile, policy)

    assert first.outcome == "ok", first.text
    assert (first.data["base"], first.data["files"], first.data["bytes"]) == (dockerd.image, 1, 18)
    assert again.data == first.data
    assert changed.data["image"] != first.data["image"]
    assert (refused.outcome, refused.reason) == ("error", "too_many_images")
    runner = open_docker(images=[first.data["image"], changed.data["image"]])
    said = [
        runner.run(Job(words, image=one.data["image"])).stdout
        for one, words in ((first, ("",)), (first, ("", "x")), (changed, ("",)))
    ]
    assert said == [b"made of nothing\n", b"made of x\n", b"changed\n"]
    made = {first.data["name"], changed.data["name"]}
    assert {tag for one in client.images() for tag in one["RepoTags"] or ()} == pulled | made
    assert not client.containers(all=True, filters={"name": "toolcharter-build-"})
    assert not client.inspect_image(first.data["image"])["Config"]["Labels"]
    assert all(name.startswith(f"{REPOSITORY}:") for name in made)
    for name in made:
        client.remove_image(name, force=True)
    client.close()


@each_row(
    ("lines", "reason"),
    [
        (["RUN true"], "instruction_not_allowed"),
        (["ADD https://example.org/x /x"], "instruction_not_allowed"),
        (["# syntax=x", "USER root"], "instruction_not_allowed"),
        (["ENV A=b"], "instruction_not_allowed"),
        (["FROM base"], "invalid_dockerfile"),
        (["COPY --from=other x /x"], "invalid_dockerfile"),
        (["COPY $HOME /x"], "invalid_dockerfile"),
        (["COPY *.sh /x/"], "invalid_dockerfile"),
        (["COPY run.sh run.sh"], "invalid_dockerfile"),
        (["COPY run.sh /opt/../etc/passwd"], "invalid_dockerfile"),
        (["COPY run.sh run.sh /x"], "invalid_dockerfile"),
        (["COPY run.sh"], "invalid_dockerfile"),
        (["ENTRYPOINT /bin/sh"], "invalid_dockerfile"),
        (["CMD [1]"], "invalid_dockerfile"),
        (["CMD " + "[" * 50_000], "invalid_dockerfile"),
        (["COPY ../../etc/passwd /x"], "path_outside_workspace"),
        (["COPY ../.git/config /x"], "path_not_found"),
        (["COPY link /x"], "path_outside_workspace"),
        (["COPY secret.txt /x"], "holds_a_secret"),
        (["COPY large /x"], "too_large"),
        (["COPY run.sh run.sh run.sh /x/"], "too_large"),
    ],
)
def test_what_is_refused(build: Build, folder: Path, lines: list[str], reason: str) -> None:
    """Before the daemon is asked: there is none here."""
    (folder / "tool/secret.txt").write_text(f"key = {'sk-'}{'a1B2' * 12}\n")
    (folder / "tool/large").write_bytes(bytes(2_000))
    if not (folder / "tool/link").is_symlink():
        (folder / "tool/link").symlink_to("/etc/passwd")
    policy = {"bases": ["base"], "max_bytes": 1_000, "max_files": 2, "host": f"unix://{folder}/none"}

    assert build(of("base", *lines), policy).reason == reason


@each_row(
    ("dockerfile", "policy", "approver", "outcome"),
    [
        (of("base"), {}, None, ("denied", "base_not_allowed")),
        (of("base:2"), {"bases": ["base"]}, None, ("denied", "base_not_allowed")),
        (of("base AS x"), {"bases": ["base"]}, None, ("error", "invalid_dockerfile")),
        ("CMD []", {"bases": ["base"]}, None, ("error", "invalid_dockerfile")),
        ("", {"bases": ["base"]}, None, ("error", "invalid_dockerfile")),
        (of("base"), {"bases": ["base"]}, None, ("denied", "approval_unavailable")),
        (of("base"), {"bases": ["base"]}, lambda _: "deny", ("denied", "approval_denied")),
        (of("base"), {"bases": ["base"]}, lambda _: "allow_once", ("denied", "sandbox_unavailable")),
    ],
    ids=["by default", "another", "a stage", "no base", "empty", "nobody", "no", "no daemon"],
)
def test_who_has_to_agree(
    build: Build, folder: Path, dockerfile: str, policy: dict[str, Any], approver: Any, outcome: tuple[str, str]
) -> None:
    """The profile names the bases, and a person agrees to each image, however wide the profile is."""
    result = build(dockerfile, {"host": f"unix://{folder}/none", **policy}, approver)

    assert (result.outcome, result.reason) == outcome


def test_a_line_is_named() -> None:
    """So that its author finds it."""
    with pytest.raises(ToolError) as caught:
        parse_dockerfile("FROM base\n\n# x\nRUN curl x | sh\n")

    assert caught.value.message == (
        "Line 4: 'RUN' is not allowed: a build runs and fetches nothing. Use FROM, COPY, ENTRYPOINT and CMD."
    )
