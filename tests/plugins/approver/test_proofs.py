"""The service proves itself: whoever else listens in its place approves nothing, whatever they say."""

import json
import os
import secrets
import socket
import subprocess
import sys
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from toolcharter import ConfigurationError
from toolcharter_approver.http_approver import MIN_SECRET_CHARS

from .conftest import SIGNATURE, Service, respond_with, signature
from .test_approver import NOBODY, README, call, raised, verdict

Start = Callable[..., Service]
ROOT_ONLY = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
GUESSED = (
    "'{file}' holds a secret of fewer than 32 characters, which the recipient of a question could guess; "
    "make one with: openssl rand -hex 32"
)


def refused(build: Callable[[], Any]) -> str:
    """What the start is refused with, and nothing built."""
    with pytest.raises(ConfigurationError) as error:
        build()
    return str(error.value)


def says_yes(**headers: str | None) -> Callable[[BaseHTTPRequestHandler, dict[str, Any]], None]:
    """An impostor: it has read the question, and answers as ann."""

    def behave(request: BaseHTTPRequestHandler, asked: dict[str, Any]) -> None:
        answer = {"digest": asked["digest"], "answer": "allow_always", "approver": "ann"}
        respond_with(answer, 200, **{SIGNATURE: None, **headers})(request, asked)

    return behave


@pytest.mark.parametrize("url", ["http://127.0.0.1:8080", "http://localhost", "https://bot.example.org"])
def test_a_service_without_a_proof_stops_the_start(url, toolbox_for) -> None:
    """A port of this machine proves nothing, and neither does a name in a certificate; the ways out are named."""
    told = refused(lambda: toolbox_for(url, secret_env=None))

    assert "the service has to prove its identity, or any process that listens there could approve calls" in told
    assert all(way in told for way in ("secret_env", "secret_file", "client_cert", "unix:/path"))


@pytest.mark.parametrize("forged", [{}, {SIGNATURE: "sha256=" + "0" * 64}], ids=["unsigned", "signed by nobody"])
def test_whoever_listens_in_the_services_place_approves_nothing(forged, service, toolbox_for, events, state) -> None:
    """It may have the port while the service is down, see the question, and claim to be ann."""
    service.behave = says_yes(**forged)

    result = call(toolbox_for(service.url, approvals={"approvers": ["ann"]}))

    assert verdict(result) == raised("BadAnswer")
    assert not list(state.rglob("*.yaml"))
    decision = next(event for event in events if event["event"] == "hook.approval.decision")
    assert (decision["approver"], decision["answer"]) == (None, "none")


def test_one_who_guesses_the_secret_approves_nothing(service, toolbox_for) -> None:
    """Signed with another secret than the one that is shared."""

    def behave(request: BaseHTTPRequestHandler, asked: dict[str, Any]) -> None:
        body = json.dumps({"digest": asked["digest"], "answer": "allow_once"}).encode()
        respond_with(body, 200, **{SIGNATURE: signature(asked, body, secrets.token_hex(32))})(request, asked)

    service.behave = behave

    assert verdict(call(toolbox_for(service.url))) == raised("BadAnswer")


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A folder of the user's own, outside the workspace."""
    folder = tmp_path / "own"
    folder.mkdir(mode=0o700)
    return folder


def test_a_secret_may_lie_in_a_file(service, toolbox_for, own) -> None:
    """Outside the workspace, readable by its owner alone."""
    file = own / "secret"
    file.write_text(os.environ["APPROVER_SECRET"] + "\n")
    file.chmod(0o600)

    assert call(toolbox_for(service.url, secret_env=None, secret_file=str(file))).outcome == "ok"


def spoil(file: Path, how: str, workspace: Path) -> Path:  # noqa: C901 - a line for each way
    """Make something of the file of a secret that proves nothing."""
    match how:
        case "readable":
            file.chmod(0o644)
        case "writable":
            file.chmod(0o620)
        case "folder":
            file.parent.chmod(0o770)
        case "owner":
            os.chown(file, 65534, -1)
        case "inside":
            return file.rename(workspace / "secret")
        case "link from inside":
            (workspace / "secret").symlink_to(file)
            return workspace / "secret"
        case "link to inside":
            file.rename(workspace / "secret")
            file.symlink_to(workspace / "secret")
        case "missing":
            file.unlink()
        case "no file":
            return file.parent
        case "short":
            file.write_text("x" * (MIN_SECRET_CHARS - 1))
        case "two words":
            file.write_text("x " * MIN_SECRET_CHARS)
    return file


@pytest.mark.parametrize(
    ("how", "told"),
    [
        ("readable", "other users can read '{file}'; chmod go= it"),
        ("writable", "other users can write to '{file}'; chmod go-w it"),
        ("folder", "other users can write to '{file.parent}'; chmod go-w it"),
        pytest.param("owner", "'{file}' belongs to another user", marks=ROOT_ONLY),
        ("inside", "'{file}' lies in the workspace, where tools can write; keep it elsewhere"),
        ("link from inside", "'{file}' lies in the workspace, where tools can write; keep it elsewhere"),
        ("link to inside", "'{file}' lies in the workspace, where tools can write; keep it elsewhere"),
        ("missing", "'{file}' cannot be found: No such file or directory"),
        ("no file", "'{file}' is not a regular file"),
        (
            "short",
            GUESSED,
        ),
        ("two words", "'{file}' does not hold a secret in one word of ASCII"),
    ],
)
def test_a_secret_that_somebody_else_may_have_stops_the_start(how, told, toolbox_for, own, tmp_path) -> None:
    """Or that tools could read, or that could be guessed; the text says what to do."""
    file = own / "secret"
    file.write_text(os.environ["APPROVER_SECRET"])
    file.chmod(0o600)
    file = spoil(file, how, tmp_path / "workspace")

    found = refused(lambda: toolbox_for("http://127.0.0.1:9", secret_env=None, secret_file=str(file)))

    assert found.splitlines()[0].endswith(f"ValueError: {told.format(file=file)}")


def test_a_short_secret_of_the_environment_stops_the_start(toolbox_for, monkeypatch) -> None:
    """At one below the limit."""
    monkeypatch.setenv("SHORT", "x" * (MIN_SECRET_CHARS - 1))

    told = refused(lambda: toolbox_for("http://127.0.0.1:9", secret_env="SHORT"))

    assert "the environment variable 'SHORT' holds a secret of fewer than 32 characters" in told


@pytest.mark.parametrize("way", ["call", "acall"])
def test_a_socket_of_the_users_own_needs_no_secret(way, start, toolbox_for, own) -> None:
    """Nobody else can have put it there; questions are polled for and taken back there, too."""
    service = start(at=own / "approver.sock")
    toolbox = toolbox_for(service.url, secret_env=None)
    at_once = call(toolbox, way).outcome
    service.behave, service.looks = (
        respond_with(b"", 202, Location="/approvals/17"),
        [respond_with(b"", 202), respond_with(b"", 500)],
    )

    assert (at_once, verdict(call(toolbox, way))) == ("ok", raised("BadAnswer"))
    assert service.withdrawn.wait(60)
    assert [method for method, _ in service.methods] == ["POST", "POST", "GET", "GET", "DELETE"]


def test_a_service_that_has_not_begun_has_nobody(start, toolbox_for, own) -> None:
    """The socket appears with it; once the service has gone the socket answers no more."""
    toolbox = toolbox_for(f"unix:{own}/approver.sock", secret_env=None)
    before = verdict(call(toolbox))
    service = start(at=own / "approver.sock")
    during = call(toolbox).outcome
    service.close()

    assert (before, during, verdict(call(toolbox))) == (NOBODY, "ok", NOBODY)


def misplace(own: Path, how: str, workspace: Path) -> Path:  # noqa: C901 - a line for each way
    """A socket that somebody else could have put there."""
    place = own / "approver.sock"
    match how:
        case "in the workspace":
            place = workspace / "approver.sock"
        case "by a link in the workspace":
            (workspace / "own").symlink_to(own)
            place = workspace / "own/approver.sock"
        case "in a folder of all":
            own.chmod(0o777 | 0o1000)
        case "in a folder of the group":
            own.chmod(0o770)
        case "in a folder of another":
            os.chown(own, 65534, -1)
        case "no folder":
            return own / "missing/approver.sock"
        case "no socket":
            place.write_text("")
        case "a link":
            place.symlink_to(own / "real.sock")
            place = own / "real.sock"
    if how != "no socket":
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(place))
    match how:
        case "writable by all":
            place.chmod(0o777)
        case "of another":
            os.chown(place, 65534, -1)
    return own / "approver.sock" if how == "a link" else place


@pytest.mark.parametrize(
    ("how", "told"),
    [
        ("in the workspace", "'{place.parent}' lies in the workspace, where tools can write; keep it elsewhere"),
        (
            "by a link in the workspace",
            "'{place.parent}' lies in the workspace, where tools can write; keep it elsewhere",
        ),
        ("in a folder of all", "other users can write to '{place.parent}'; chmod go-w it"),
        ("in a folder of the group", "other users can write to '{place.parent}'; chmod go-w it"),
        pytest.param("in a folder of another", "'{place.parent}' belongs to another user", marks=ROOT_ONLY),
        ("no folder", "'{place.parent}' cannot be found: No such file or directory"),
        ("no socket", "'{place}' is not a socket"),
        ("a link", "'{place}' is not a socket"),
        ("writable by all", "other users can write to '{place}'; chmod go-w it"),
        pytest.param("of another", "'{place}' belongs to another user", marks=ROOT_ONLY),
    ],
)
def test_a_socket_that_is_not_the_users_own_stops_the_start(how, told, toolbox_for, own, tmp_path) -> None:
    """Whoever can write there could listen there."""
    place = misplace(own, how, tmp_path / "workspace")

    found = refused(lambda: toolbox_for(f"unix:{place}", secret_env=None))

    assert found.splitlines()[0].endswith(f"ValueError: {told.format(place=place)}")


def test_a_socket_is_looked_at_before_each_question(start, toolbox_for, own) -> None:
    """What was the user's own at the start may not be later."""
    service = start(at=own / "approver.sock")
    toolbox = toolbox_for(service.url, secret_env=None)
    own.chmod(0o777)

    assert (verdict(call(toolbox)), service.asked) == (raised("ValueError"), [])


class Authority:
    """Signs certificates for this machine."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(mode=0o700)
        self._folder = folder
        self.file = folder / "ca.pem"
        self._openssl("req", "-x509", "-nodes", "-days", "2", "-subj", "/CN=authority", "-out", str(self.file))

    def _openssl(self, *words: str) -> None:
        key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-keyout", str(self._folder / "ca.key"))
        subprocess.run(["openssl", *words, *key], check=True, capture_output=True)

    def sign(self, name: str) -> tuple[Path, Path]:
        """A certificate and its key."""
        folder = self._folder
        cert, key, asked, facts = (folder / f"{name}.{end}" for end in ("pem", "key", "csr", "ext"))
        facts.write_text("subjectAltName=IP:127.0.0.1\n")
        new = ["req", "-nodes", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-subj"]
        signed = ["-CA", self.file, "-CAkey", folder / "ca.key", "-CAcreateserial", "-days", "2", "-extfile", facts]
        for words in (
            [*new, f"/CN={name}", "-keyout", key, "-out", asked],
            ["x509", "-req", "-in", asked, "-out", cert, *signed],
        ):
            subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True)
        return cert, key

    def server(self, name: str) -> Path:
        """A file with a certificate and its key."""
        cert, key = self.sign(name)
        both = self._folder / f"{name}-both.pem"
        both.write_text(cert.read_text() + key.read_text())
        return both


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path / "authority")


def by_certificates(authority: Authority) -> dict[str, Any]:
    cert, key = authority.sign("gate")
    return {
        "secret_env": None, "client_cert": str(cert), "client_key": str(key), "ca_file": str(authority.file)
    }  # fmt: skip


@pytest.mark.needs_program("openssl")
def test_certificates_of_both_sides_need_no_secret(authority, start, toolbox_for) -> None:
    """The service sees that the gate asks, and the gate that the service answers."""
    service = start(authority.server("service"), clients=authority.file)

    assert call(toolbox_for(service.url, **by_certificates(authority))).outcome == "ok"


@pytest.mark.needs_program("openssl")
def test_a_certificate_of_another_authority_is_refused(authority, start, toolbox_for, tmp_path, monkeypatch) -> None:
    """Even one that the system trusts: only the authority that the profile names counts."""
    other = Authority(tmp_path / "other")
    monkeypatch.setenv("SSL_CERT_FILE", str(other.file))
    service = start(other.server("service"))

    assert verdict(call(toolbox_for(service.url, **by_certificates(authority)))) == raised("ConnectError")
    assert service.requests == []


@pytest.mark.needs_program("openssl")
@pytest.mark.parametrize("what", ["key", "certificate", "authority"])
def test_certificates_that_cannot_be_used_stop_the_start(what, authority, toolbox_for) -> None:
    """Better than a denial of every call; a key that others can read is none."""
    settings = by_certificates(authority)
    match what:
        case "key":
            Path(settings["client_key"]).chmod(0o644)
        case "certificate":
            settings["client_cert"] = settings["client_key"]
        case "authority":
            Path(settings["ca_file"]).write_text("none")

    told = refused(lambda: toolbox_for("https://127.0.0.1:9", **settings))

    wanted = "other users can read" if what == "key" else "the certificates cannot be used: "
    assert wanted in told


@pytest.mark.parametrize("secret", ["shared", "another"])
def test_the_service_of_the_readme_answers(secret, toolbox_for, own, project_root) -> None:
    """It runs as it stands there, and a person's answer counts; with another secret it approves nothing."""
    from pages import blocks  # noqa: PLC0415 - a script of the project's, found by pytest's own path

    text = next(block.text for block in blocks(README.read_text()) if block.file == "service.py")
    program = own / "service.py"
    program.write_text(text)
    shared = os.environ["APPROVER_SECRET"] if secret == "shared" else secrets.token_hex(32)
    with subprocess.Popen(
        [sys.executable, program, "0"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "APPROVER_SECRET": shared},
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        process.stdin.write("y\n")
        process.stdin.flush()
        result = call(toolbox_for(url, approvals={"approvers": ["ann"]}))
        process.kill()

    assert (result.outcome, result.reason) == (
        ("ok", None) if secret == "shared" else ("denied", "approval_unavailable")
    )
