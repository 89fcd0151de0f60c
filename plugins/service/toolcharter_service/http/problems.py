"""`HttpProblem`: an answer that is an error."""

from collections.abc import Mapping


class HttpProblem(Exception):
    """A request that is answered with a status of 400 or more, as `{"error", "reason", "call_id"}`."""

    def __init__(
        self,
        status: int,
        error: str,
        reason: str,
        call_id: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(error)
        self.status = status
        self.error = error
        self.reason = reason
        self.call_id = call_id
        self.headers = dict(headers or {})
