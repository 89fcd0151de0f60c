"""`PatientProtocol`: uvicorn's, which does not wait for ever for the head of a request, and refuses in our form."""

import asyncio
from typing import Any

import orjson
from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_S = 20.0
"""How long a client may take to send the head of its first request, in seconds."""
_REFUSAL = orjson.dumps({"error": "The request cannot be read.", "reason": "invalid_request", "call_id": None})


class PatientProtocol(H11Protocol):
    """One connection."""

    def connection_made(self, transport: Any) -> None:
        """Begin to wait."""
        super().connection_made(transport)
        self._waiting = asyncio.get_running_loop().call_later(HEAD_S, self._give_up)

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no more."""
        self._waiting.cancel()
        super().connection_lost(exc)

    def _give_up(self) -> None:
        cycle: Any = vars(self)["cycle"]  # uvicorn's annotation leaves out that there is none before the first request
        if cycle is None and not self.transport.is_closing():
            self.transport.close()

    def send_400_response(self, msg: str) -> None:
        """Answer what is no request of HTTP."""
        del msg  # It repeats what was sent.
        head = b"HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: "
        self.transport.write(head + str(len(_REFUSAL)).encode() + b"\r\n\r\n" + _REFUSAL)
        self.transport.close()
