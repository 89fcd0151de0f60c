"""Microsoft Edge's "read aloud": its own protocol in a websocket, over a connection that the network guard has opened.

The service has no public reference. The package edge-tts, a client of the service, defines the messages and makes the
token. It does not connect itself here: it would bypass the network guard to one fixed host, and read without a limit.
"""

import asyncio
import re
import ssl
import time
from collections.abc import Iterator
from types import MappingProxyType
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from uuid import uuid4
from xml.sax.saxutils import escape, quoteattr

from toolcharter import GuardReason, Reason, ToolError, ToolRuntime, lazy
from toolcharter_media.policy import SpeechPolicy, SpeechProvider
from toolcharter_media.providers import OVERHEAD_BYTES, WRONG_CONTENT, status_error, too_large_error

if TYPE_CHECKING:
    from asyncio import StreamReader, StreamWriter

    import httpx
    from edge_tts import constants as edge_constants
    from edge_tts import data_classes as edge_data
    from edge_tts import drm as edge_drm
    from websockets import client as ws_client
    from websockets import exceptions as ws_exceptions
    from websockets import frames as ws_frames
    from websockets import protocol as ws_protocol
    from websockets import uri as ws_uri
else:
    httpx = lazy("httpx")
    edge_constants = lazy("edge_tts.constants")
    edge_data = lazy("edge_tts.data_classes")
    edge_drm = lazy("edge_tts.drm")
    ws_client = lazy("websockets.client")
    ws_exceptions = lazy("websockets.exceptions")
    ws_frames = lazy("websockets.frames")
    ws_protocol = lazy("websockets.protocol")
    ws_uri = lazy("websockets.uri")

MISSING_EXTRA, UNKNOWN_VOICE = "missing_extra", "unknown_voice"
MAX_TEXT = 4096
"""How many bytes of escaped text the service reads in one turn. Source: edge-tts, `Communicate`."""
_MAX_MESSAGE = 1_048_576
_WORD = re.compile(r"\s?\S{1,400}")
"""A word, which is not split between turns. Its length fits into a turn, however it is escaped and encoded."""
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Source: XML 1.0, 2.2, `Char`."""
_PORTS = MappingProxyType({"https": 443, "http": 80})
_CONFIG = (
    '{"context":{"synthesis":{"audio":{"metadataoptions":{"sentenceBoundaryEnabled":"true","wordBoundaryEnabled":"false"},'
    '"outputFormat":"audio-24khz-48kbitrate-mono-mp3"}}}}'
)
_PROSODY = "<prosody pitch='+0Hz' rate='+0%' volume='+0%'>"
_IGNORED = frozenset({"response", "turn.start", "audio.metadata"})


def speak(
    rt: ToolRuntime, policy: SpeechPolicy, provider: SpeechProvider, text: str, voice: str, timeout_s: float
) -> bytes:
    """Return *text* as speech, in MP3.

    Raises:
        Denied, ToolError: As `rt.http.connector`; also `missing_extra`, `unknown_voice`, `http_status`,
            `wrong_content`, `invalid_response`, `response_too_large`, `tls_failure`, `timed_out`.
    """
    try:
        full_name = edge_data.TTSConfig(voice, "+0%", "+0%", "+0Hz", "SentenceBoundary").voice
        ws_client.ClientProtocol  # noqa: B018 - imports it
    except ImportError as error:
        raise ToolError("It needs the extra: pip install 'toolcharter-media[edge]'.", reason=MISSING_EXTRA) from error
    except ValueError as error:
        raise ToolError("It has no voice of that name.", reason=UNKNOWN_VOICE) from error
    client = _EdgeClient(rt, policy, provider, timeout_s)
    return asyncio.run(client.speak([ssml(full_name, piece) for piece in split_text(text)], timeout_s))


def split_text(text: str) -> Iterator[str]:
    """Yield *text*, escaped, in parts that the service reads in one turn."""
    part, size = "", 0
    for word in _WORD.findall(_NOT_XML.sub(" ", text)):
        escaped = escape(word)
        if size + len(escaped.encode()) > MAX_TEXT:
            yield part
            part, size = "", 0
        part, size = part + escaped, size + len(escaped.encode())
    yield part


def ssml(voice: str, escaped: str) -> str:
    """Return the SSML of a text and a voice. Neither can close an element: the text is escaped, the voice is quoted.

    Source: W3C, Speech Synthesis Markup Language 1.0.
    """
    root = "<speak version='1.0' xmlns='http://www.w3.org/2001/10/synthesis' xml:lang='en-US'>"
    quoted = quoteattr(_NOT_XML.sub(" ", voice))
    return f"{root}<voice name={quoted}>{_PROSODY}{escaped}</prosody></voice></speak>"


class _EdgeClient:
    """Asks the service for speech, and limits how much it may send."""

    def __init__(self, rt: ToolRuntime, policy: SpeechPolicy, provider: SpeechProvider, timeout_s: float) -> None:
        self._parts = urlsplit(provider.base)
        self._connect = rt.http.connector(provider.network(), timeout_s=timeout_s)
        self._policy = policy
        self._bytes_left = 2 * policy.max_bytes + OVERHEAD_BYTES
        self._audio = bytearray()

    async def speak(self, turns: list[str], timeout_s: float) -> bytes:
        """Return the speech of all *turns*. Each has its own connection, as in Edge."""
        try:
            async with asyncio.timeout(timeout_s):
                for turn in turns:
                    await self._turn(turn)
        except TimeoutError as error:
            raise ToolError("It took too long.", reason=Reason.TIMED_OUT) from error
        except ssl.SSLError as error:
            raise ToolError("It is not trusted.", reason=GuardReason.TLS_FAILURE) from error
        except OSError as error:
            raise ToolError("The connection broke.", reason=GuardReason.CONNECTION_FAILED) from error
        except (ValueError, ws_exceptions.WebSocketException) as error:
            raise ToolError("It speaks another protocol.", reason=GuardReason.INVALID_RESPONSE) from error
        return bytes(self._audio)

    async def _turn(self, turn: str) -> None:
        host, is_secure = self._parts.hostname or "", self._parts.scheme == "https"
        reader, writer = await self._connect(host, self._parts.port or _PORTS[self._parts.scheme])
        try:
            if is_secure:
                await writer.start_tls(httpx.create_ssl_context(), server_hostname=host)
            await self._talk(reader, writer, turn)
        finally:
            writer.transport.abort()

    async def _talk(self, reader: "StreamReader", writer: "StreamWriter", turn: str) -> None:
        protocol = self._open()
        has_asked, begun = False, list[ws_frames.Frame]()
        while True:
            for data in protocol.data_to_send():
                writer.write(data)
            await writer.drain()
            self._receive(protocol, await reader.read(65_536))
            if not has_asked and protocol.state is ws_protocol.OPEN:
                has_asked = True
                _send_turn(protocol, turn)
            for event in protocol.events_received():
                if isinstance(event, ws_frames.Frame) and self._is_end(event, begun):
                    return

    def _open(self) -> "ws_client.ClientProtocol":
        """Make a websocket whose handshake request is ready to be sent."""
        token = edge_drm.DRM.generate_sec_ms_gec()
        known = f"TrustedClientToken={edge_constants.TRUSTED_CLIENT_TOKEN}&ConnectionId={uuid4().hex}"
        made = f"Sec-MS-GEC={token}&Sec-MS-GEC-Version={edge_constants.SEC_MS_GEC_VERSION}"
        url = self._parts._replace(scheme=self._parts.scheme.replace("http", "ws"), path=f"{self._parts.path}/edge/v1")
        address = ws_uri.parse_uri(url._replace(query=f"{known}&{made}").geturl())
        protocol = ws_client.ClientProtocol(address, max_size=_MAX_MESSAGE)
        request = protocol.connect()
        for name, text in edge_drm.DRM.headers_with_muid(edge_constants.WSS_HEADERS).items():
            if name not in request.headers:
                request.headers[name] = text
        protocol.send_request(request)
        return protocol

    def _receive(self, protocol: "ws_client.ClientProtocol", data: bytes) -> None:
        """Feed *data* to the websocket; empty data means the end of the connection.

        Raises:
            ToolError: `response_too_large`, `http_status`, `wrong_content`.
            WebSocketException: The server does not speak the websocket protocol.
        """
        self._bytes_left -= len(data)
        if self._bytes_left < 0:
            raise too_large_error(self._policy)
        protocol.receive_data(data) if data else protocol.receive_eof()
        failure = protocol.handshake_exc or protocol.parser_exc
        if isinstance(failure, ws_exceptions.InvalidStatus):
            raise status_error(failure.response.status_code)
        if isinstance(failure, ws_exceptions.PayloadTooBig):
            raise too_large_error(self._policy)
        if not data:
            raise _hang_up_error()
        if failure:
            raise failure

    def _is_end(self, frame: "ws_frames.Frame", begun: "list[ws_frames.Frame]") -> bool:
        """Process a frame, and return whether it ends the turn. *begun* holds the earlier frames of the same message.

        Raises:
            ToolError: `response_too_large`, `wrong_content`.
            ValueError: The message is not one of the service's protocol.
        """
        if frame.opcode is ws_frames.OP_CLOSE:
            raise _hang_up_error()
        if frame.opcode in ws_frames.DATA_OPCODES:
            begun.append(frame)
        if not frame.fin or not begun:
            return False
        is_text, message = begun[0].opcode is ws_frames.OP_TEXT, b"".join(one.data for one in begun)
        begun.clear()
        if is_text:
            return _ends_turn(message)
        self._collect_sound(message)
        return False

    def _collect_sound(self, message: bytes) -> None:
        """Append the sound in a binary message.

        Raises:
            ToolError: `response_too_large`.
            ValueError: The message holds no audio.
        """
        behind = 2 + int.from_bytes(message[:2])
        head, audio = _parse_headers(message[2:behind]), message[behind:]
        is_typed = head.get("Content-Type") == "audio/mpeg"
        if behind > len(message) or head.get("Path") != "audio" or (audio and not is_typed):
            raise ValueError("no audio")
        self._audio += audio
        if len(self._audio) > self._policy.max_bytes:
            raise too_large_error(self._policy)


def _send_turn(protocol: "ws_client.ClientProtocol", turn: str) -> None:
    """Send the format of the sound and the text to speak."""
    now = time.strftime("%a %b %d %Y %H:%M:%S GMT+0000 (Coordinated Universal Time)", time.gmtime())
    config = (
        f"X-Timestamp:{now}\r\nContent-Type:application/json; charset=utf-8\r\nPath:speech.config\r\n\r\n{_CONFIG}\r\n"
    )
    protocol.send_text(config.encode())
    head = f"X-RequestId:{uuid4().hex}\r\nContent-Type:application/ssml+xml\r\nX-Timestamp:{now}Z\r\nPath:ssml\r\n\r\n"
    protocol.send_text(f"{head}{turn}".encode())


def _ends_turn(message: bytes) -> bool:
    path = _parse_headers(message.partition(b"\r\n\r\n")[0]).get("Path")
    if path not in {"turn.end", *_IGNORED}:
        raise ValueError("no message of the protocol")
    return path == "turn.end"


def _parse_headers(head: bytes) -> dict[str, str]:
    """Parse the header lines of a message. Raises `ValueError` if they are malformed."""
    return dict(line.split(":", 1) for line in head.decode().split("\r\n") if line)


def _hang_up_error() -> ToolError:
    return ToolError("The connection ended too early.", reason=WRONG_CONTENT)
