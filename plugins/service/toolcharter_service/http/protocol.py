"""`PatientProtocol`: uvicorn's protocol with a time limit for a request's head, and errors in this service's format."""

import asyncio
from typing import Any

import orjson
from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_TIMEOUT_S = 20.0
"""How long a client may take to send the head of its first request, in seconds."""
_REFUSAL = orjson.dumps({"error": "The request cannot be read.", "reason": "invalid_request", "call_id": None})


class PatientProtocol(H11Protocol):
    """The protocol of one connection."""

    def connection_made(self, transport: Any) -> None:
        """Start the time limit."""
        super().connection_made(transport)
        self._waiting = asyncio.get_running_loop().call_later(HEAD_TIMEOUT_S, self._give_up)

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the time limit."""
        self._waiting.cancel()
        super().connection_lost(exc)

    def _give_up(self) -> None:
        cycle: Any = vars(self)["cycle"]  # None before the first request, despite uvicorn's annotation
        if cycle is None and not self.transport.is_closing():
            self.transport.close()

    def send_400_response(self, msg: str) -> None:
        """Answer input that is no HTTP request."""
        del msg  # It repeats the client's input.
        head = b"HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: "
        self.transport.write(head + str(len(_REFUSAL)).encode() + b"\r\n\r\n" + _REFUSAL)
        self.transport.close()
