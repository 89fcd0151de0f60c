"""`tts` with Edge: a server of its own speaks the protocol, fails, stalls and lies; the package edge-tts is what we are held against."""

import asyncio
import json
import re
import ssl
import struct
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit
from xml.etree import ElementTree as ET

import edge_tts
import pytest
import trustme
from edge_tts.constants import TRUSTED_CLIENT_TOKEN, WSS_HEADERS
from edge_tts.drm import DRM
from tests.plugins.media.conftest import Answer, Providers
from tests.rows import each_row
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response
from websockets.sync.server import Server, ServerConnection, serve

from toolcharter import Toolbox, ToolResult, lazy
from toolcharter_media import edge

FRAME = b"\xff\xf3\x64\xc4" + bytes(140)
"""A frame of MP3 as Edge sends it: MPEG 2, layer III, 48 kbit/s, 24,000 Hz; 144 bytes, 24 ms."""
END = "X-RequestId:1\r\nPath:turn.end\r\n\r\n{}"
BOUNDARY = {"Type": "SentenceBoundary", "Data": {"Offset": 0, "Duration": 1, "text": {"Text": "Hi" * 7000}}}
METADATA = f"Content-Type:application/json\r\nPath:audio.metadata\r\n\r\n{json.dumps({'Metadata': [BOUNDARY]})}"


def audio(data: bytes, head: bytes = b"X-RequestId:1\r\nContent-Type:audio/mpeg\r\nPath:audio\r\n") -> bytes:
    """A message of the service that holds sound."""
    return struct.pack(">H", len(head)) + head + data


SPEECH = (
    "X-RequestId:1\r\nPath:turn.start\r\n\r\n{}",
    "X-RequestId:1\r\nPath:response\r\n\r\n{}",
    audio(FRAME * 2),
    METADATA,
    audio(FRAME),
    audio(b"", b"X-RequestId:1\r\nPath:audio\r\n"),
    END,
)
"""What the service says to a text."""


class Service:
    """The service. What it says, a test sets."""

    def __init__(self) -> None:
        self.said: list[Request | str] = []
        self.says: tuple[Any, ...] = SPEECH
        self.status: HTTPStatus | None = None
        self.released = threading.Event()

    def greet(self, connection: ServerConnection, request: Request) -> Response | None:
        self.said.append(request)
        if self.status is None:
            return None
        answer = connection.respond(self.status, "no")
        answer.headers["Location"] = "/elsewhere"
        return answer

    def answer(self, connection: ServerConnection) -> None:
        try:
            self.said += [str(connection.recv()), str(connection.recv())]
            for message in self.says:
                if message is None:
                    self.released.wait(120)
                elif isinstance(message, tuple):
                    connection.socket.sendall(message[0])  # past the protocol
                else:
                    connection.send(message)
        except (ConnectionClosed, OSError):
            """The client has had enough."""

    @property
    def texts(self) -> list[ET.Element]:
        """What was to be spoken."""
        return [ET.fromstring(one.partition("\r\n\r\n")[2]) for one in self.said if isinstance(one, str) and "<" in one]


@contextmanager
def listening(service: Service, context: ssl.SSLContext | None = None) -> Generator[Server]:
    with serve(
        service.answer, "127.0.0.1", 0, process_request=service.greet, ssl=context, compression=None, close_timeout=0.1
    ) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server
        service.released.set()
        server.shutdown()
        thread.join()


def provider(server: Server, scheme: str = "http", **settings: Any) -> dict[str, Any]:
    """What a profile says of it."""
    url = f"{scheme}://127.0.0.1:{server.socket.getsockname()[1]}/read"
    return {"name": "edge", "url": url, "allowed_private": ["127.0.0.1"], **settings}


@pytest.fixture
def service() -> Service:
    return Service()


@pytest.fixture
def server(service: Service) -> Iterator[Server]:
    with listening(service) as server:
        yield server


@pytest.fixture
def speak(box: Callable[..., Toolbox]) -> Callable[..., ToolResult]:
    """One call of `tts` under a policy."""

    def run(one: dict[str, Any], text: str = "Hi", /, voice: str = "", **policy: Any) -> ToolResult:
        tools = {"tts": {"providers": [one], "max_calls": 99, **policy}}
        return box(tools).call("tts", {"text": text, "voice": voice})

    return run


def theirs(address: str, text: str, voice: str, patch: pytest.MonkeyPatch) -> bytes:
    """What edge-tts makes of *text*, at another address than its own."""
    patch.setattr(edge_tts.communicate, "WSS_URL", f"{address}/edge/v1?TrustedClientToken={TRUSTED_CLIENT_TOKEN}")
    patch.setenv("NO_PROXY", "*")

    async def heard() -> bytes:
        return b"".join([one["data"] async for one in edge_tts.Communicate(text, voice).stream() if "data" in one])

    return asyncio.run(heard())


def comparable(said: Sequence[Request | str]) -> Any:
    """What a client has sent, without what is new each time and what its library adds."""
    request, config, asked = said
    assert isinstance(request, Request)
    assert isinstance(config, str)
    assert isinstance(asked, str)
    parts = urlsplit(request.path)
    query = {name: text for name, text in parse_qs(parts.query).items() if name != "ConnectionId"}
    wanted = {name.lower() for name in WSS_HEADERS}
    headers = {name.lower(): text for name, text in request.headers.raw_items() if name.lower() in wanted}
    [cookie] = [len(text) for name, text in request.headers.raw_items() if name.lower() == "cookie"]
    bare = [re.sub(r"(X-RequestId|X-Timestamp):[^\r]*", r"\1", one) for one in (config, asked)]
    head, _, text = bare[1].partition("\r\n\r\n")
    return parts.path, query, headers, cookie, bare[0], head, ET.canonicalize(text)


def test_what_is_sent_is_what_edge_tts_sends(
    service: Service, server: Server, speak: Callable[..., ToolResult], workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same address, token, headers, configuration and text; the sound that comes is in the workspace."""
    monkeypatch.setattr(DRM, "get_unix_timestamp", lambda: 1_900_000_000.0)
    text, voice = "Fish & chips <cost> 5.", "de-AT-IngridNeural"
    heard = theirs(provider(server)["url"], text, voice, monkeypatch)
    expected, service.said = comparable(service.said), []

    result = speak(provider(server, voice=voice), text)

    assert result.outcome == "ok", result.text
    assert comparable(service.said) == expected
    assert heard == FRAME * 3 == (workspace / result.data["path"]).read_bytes()
    assert (result.data["provider"], result.data["model"], result.data["voice"]) == ("edge", "", voice)
    assert (result.data["seconds"], result.data["mime_type"]) == (0.07, "audio/mpeg")


def test_nothing_closes_an_element(service: Service, server: Server, speak: Callable[..., ToolResult]) -> None:
    """Neither a text nor a voice says more than it is: markup in them is spoken, or a name."""
    text = "</prosody></voice><voice name='x'>Hi\x0b ]]>&lt;\ufffe"
    voice = "en-US-a' b=\"</voice><voice name='y'>Neural"

    result = speak(provider(server, voices=["*"]), text, voice=voice)

    assert result.outcome == "ok", result.text
    [spoken] = service.texts
    [[name, said]] = [(one.get("name"), "".join(one.itertext())) for one in spoken]
    assert [len(one) for one in spoken.iter()] == [1, 1, 0]
    assert said == "</prosody></voice><voice name='x'>Hi ]]>&lt;"
    assert name == "Microsoft Server Speech Text to Speech Voice (en-US, a' b=\"</voice><voice name='y'>Neural)"


def test_a_long_text(service: Service, server: Server, speak: Callable[..., ToolResult]) -> None:
    """It is spoken in several turns, each of no more than the service reads; no word is lost or torn apart."""
    text = " ".join(f"w&{number}\u00e9" for number in range(1200)) + " " + "\U0001f600" * 1500

    result = speak(provider(server), text, max_chars=20_000)

    said = ["".join(one.itertext()) for one in service.texts]
    assert (result.outcome, result.data["bytes"]) == ("ok", len(said) * 3 * len(FRAME))
    assert "".join(said) == text
    assert [one[-1] for one in said[:3]] == ["\u00e9"] * 3
    assert max(len(one.encode()) for one in edge.split_text(text)) <= edge.MAX_TEXT


@each_row(
    ("says", "reason"),
    [
        ((HTTPStatus.FORBIDDEN,), "http_status"),
        ((HTTPStatus.FOUND,), "http_status"),
        ((None,), "timed_out"),
        ((SPEECH[2], None), "timed_out"),
        ((SPEECH[2],), "wrong_content"),
        ((END,), "wrong_content"),
        ((audio(b"\x89PNG\r\n\x1a\n"), END), "wrong_content"),
        ((audio(FRAME * 5), audio(FRAME * 5), END), "response_too_large"),
        ((*[METADATA] * 8, END), "response_too_large"),
        (((b"\x82\x7f" + b"\xff" * 7,), END), "response_too_large"),
        ((audio(FRAME * 3), audio(FRAME * 3), END), "speech_too_long"),
        (((b"HTTP/1.1 200 OK\r\n" * 9,), None), "invalid_response"),
        (("Path:turn.over\r\n\r\n",), "invalid_response"),
        (("no head",), "invalid_response"),
        ((b"", END), "invalid_response"),
        ((b"\xff\xffPath:audio", END), "invalid_response"),
        ((audio(FRAME, b"Path:audio\r\n"), END), "invalid_response"),
        ((audio(FRAME, b"Content-Type:audio/mpeg\r\nPath:video\r\n"), END), "invalid_response"),
        ((audio(FRAME, b"\xff:\xff"), END), "invalid_response"),
    ],
    ids=[
        "refuses",
        "redirects",
        "stalls",
        "stalls later",
        "hangs up",
        "nothing",
        "a picture",
        "too much",
        "too much beside",
        "a huge frame",
        "too long",
        "no frame",
        "another path",
        "no head",
        "no length",
        "a long head",
        "no type",
        "no sound",
        "no text",
    ],
)
def test_the_next_is_asked(
    box: Callable[..., Toolbox],
    server: Server,
    service: Service,
    providers: Providers,
    says: tuple[Any, ...],
    reason: str,
) -> None:
    """What is wrong with the service is told, no word of it is, and another provider speaks."""
    service.status = says[0] if isinstance(says[0], HTTPStatus) else None
    service.says = says
    providers.answers["openai"] = Answer(FRAME)
    limits = {"max_bytes": 1200, "max_seconds": 0.1, "max_calls": 99}
    policy = {"providers": [provider(server), providers.one("openai")], **limits}

    # The second has as much time as the first, which a busy machine may need.
    for timeout_s in (0.2, 2, 60) if reason == "timed_out" else (60,):
        result = box({"tts": {**policy, "timeout_s": timeout_s}}).call("tts", {"text": "Hi"})
        if result.outcome == "ok":
            break

    assert result.outcome == "ok", result.text
    assert [(one["provider"], one["reason"]) for one in result.data["failed"]] == [("edge", reason)]


def test_a_message_in_fragments(service: Service, server: Server, speak: Callable[..., ToolResult]) -> None:
    """A message may come in several frames, with others between them that are no part of it."""
    whole = audio(FRAME)
    service.says = ([whole[:50], whole[50:100], whole[100:]], (b"\x89\x02hi",), END)

    result = speak(provider(server))

    assert (result.outcome, result.data["bytes"]) == ("ok", len(FRAME)), result.text


@each_row(
    ("settings", "reason"),
    [
        ({"allowed_private": []}, "private_address"),
        ({"voice": "Emma"}, "unknown_voice"),
        ({"url": "http://127.0.0.1:9"}, "connection_failed"),
    ],
    ids=["private", "voice", "nobody"],
)
def test_where_it_does_not_get_to(
    service: Service, server: Server, speak: Callable[..., ToolResult], settings: dict[str, Any], reason: str
) -> None:
    """The connection is the network guard's, to the provider alone; nothing is said before a voice is known."""
    result = speak({**provider(server), **settings})

    assert (result.outcome, result.reason, service.said) == ("error", "providers_failed", [])
    assert f"edge: {reason} (" in (result.message or "")


def test_over_tls(
    service: Service, speak: Callable[..., ToolResult], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The certificate is checked before anything is said."""
    authority, context = trustme.CA(), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    with listening(service, context) as server:
        refused = speak(provider(server, "https"))
        before = [*service.said]
        authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
        result = speak(provider(server, "https"))

    assert (before, "edge: tls_failure (" in (refused.message or "")) == ([], True)
    assert (result.outcome, len(service.said)) == ("ok", 3), result.text


def test_what_it_costs(box: Callable[..., Toolbox], server: Server, service: Service) -> None:
    """Edge takes no money; a profile with `max_cost` says so, or what it is to count as."""
    toolbox = box({"tts": {"providers": [provider(server, cost=2.0)], "max_cost": 0.01, "max_calls": 2}})

    told = [toolbox.call("tts", {"text": text}) for text in ("xxxx", "xx", "x")]

    assert [(one.outcome, one.reason) for one in told] == [("ok", None), ("denied", "cost_used_up"), ("ok", None)]
    assert len(service.texts) == 2


def test_without_the_extra(
    service: Service, server: Server, speak: Callable[..., ToolResult], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message says what to install."""
    monkeypatch.setattr(edge, "edge_data", lazy("edge_tts_of_nobody.data_classes"))

    result = speak(provider(server))

    assert (result.reason, service.said) == ("providers_failed", [])
    assert "edge: missing_extra (It needs the extra: pip install 'toolcharter-media[edge]')" in (result.message or "")
