"""Ask the service, wait for its answer, and withdraw the question if the call no longer waits."""

import asyncio
import os
import re
import secrets
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property
from http import HTTPStatus
from pathlib import Path

import httpx

from toolcharter import ApprovalAnswer, ApprovalRequest, hookimpl
from toolcharter_approver.own_files import require_own_file, require_own_socket
from toolcharter_approver.policy import ApproverPolicy
from toolcharter_approver.wire import SIGNATURE, BadAnswer, Signer, encode_question, parse_answer, says_nobody_available

MAX_ANSWER_BYTES = 65536
"""The longest answer, in bytes."""
MIN_SECRET_CHARS = 32
"""The shortest shared secret, in characters: the recipient of a signed question could guess a shorter secret."""
CONNECT_TIMEOUT_S = 10.0
"""How long a connection may take, in seconds. The answer has no limit except that of the whole question."""
WITHDRAW_TIMEOUT_S = 5.0
"""How long one try to withdraw a question may take, in seconds."""
WITHDRAW_PAUSES_S = (0.5, 2.0)
"""The pauses before further tries, in seconds."""
_MAX_POLL_URL = 2048
_TOKEN = re.compile("[!-~]+")


class HttpApprover:
    """The approver of one toolbox."""

    def __init__(self, policy: ApproverPolicy, workspace: Path) -> None:
        self._socket = policy.socket
        self._workspace = workspace
        self._url = httpx.URL(policy.url if self._socket is None else "http://localhost/")
        self._certificates = _certificate_files(policy, workspace)
        self._interval_s = policy.poll_interval_s
        self._headers = {"Accept": "application/json", "Accept-Encoding": "identity"}
        if policy.token_env is not None:
            self._headers["Authorization"] = f"Bearer {_read_variable(policy.token_env, 'token')}"
        secret = _read_shared_secret(policy, workspace)
        self._signer = None if secret is None else Signer(secret)
        if self._socket is not None:
            require_own_socket(self._socket, workspace)
        if self._certificates:
            self._tls  # noqa: B018 - unusable certificates stop the start

    @hookimpl
    async def answer_approval(self, request: ApprovalRequest) -> ApprovalAnswer | None:
        """Post *request* and wait for the answer; the caller limits the time.

        Returns:
            None if the service cannot be reached, or says that no person is available.

        Raises:
            BadAnswer: The response is not an answer to this question.
            ValueError: Another user or a tool could have put the socket there.
            httpx.HTTPError: The response broke off, or the service's certificate is not valid for it.
        """
        if self._socket is not None and not require_own_socket(self._socket, self._workspace):
            return None
        nonce = secrets.token_hex(16)
        body = encode_question(request, nonce)
        headers = {"Content-Type": "application/json"}
        if self._signer is not None:
            headers[SIGNATURE] = self._signer.sign_question(body)
        async with self._open_client() as client:
            try:
                answer = await self._send_request(
                    client, client.build_request("POST", self._url, content=body, headers=headers)
                )
            except (httpx.ConnectError, httpx.ConnectTimeout) as error:
                if any(isinstance(cause, ssl.SSLError) for cause in _causes(error)):
                    raise
                return None
            if isinstance(answer, httpx.URL):
                answer = await self._poll(client, answer)
        if answer is None:
            return None
        given, signature = answer
        if self._signer is not None:
            self._signer.verify_answer(signature, nonce, given)
        return parse_answer(given, request.digest)

    def _open_client(self) -> httpx.AsyncClient:
        """A client for one question: a shared client's connections could belong to another event loop."""
        transport = None if self._socket is None else httpx.AsyncHTTPTransport(uds=str(self._socket))
        return httpx.AsyncClient(
            verify=self._tls,
            transport=transport,
            timeout=httpx.Timeout(None, connect=CONNECT_TIMEOUT_S),
            trust_env=False,
            follow_redirects=False,
            headers=self._headers,
        )

    async def _poll(self, client: httpx.AsyncClient, poll_url: httpx.URL) -> tuple[bytes, str] | None:
        """Poll *poll_url* until the answer is there; withdraw the question if polling is cancelled or fails."""
        try:
            while True:
                await asyncio.sleep(self._interval_s)
                answer = await self._send_request(client, client.build_request("GET", poll_url))
                if not isinstance(answer, httpx.URL):
                    return answer
        except BaseException:
            # A thread: the event loop may be about to close.
            thread = threading.Thread(target=self._withdraw, args=(poll_url,), name="toolcharter-withdraw", daemon=True)
            with suppress(RuntimeError):  # The process is about to end.
                thread.start()
            raise

    async def _send_request(
        self, client: httpx.AsyncClient, request: httpx.Request
    ) -> tuple[bytes, str] | httpx.URL | None:
        """Send a request; return the answer with its signature, the URL to poll, or None if no person is available."""
        response = await client.send(request, stream=True)
        try:
            status = response.status_code
            if status == HTTPStatus.ACCEPTED:
                return (
                    request.url
                    if request.method == "GET"
                    else self._parse_poll_url(response.headers.get("Location", ""))
                )
            body = await _read_body(response)
            if status == HTTPStatus.NOT_FOUND and says_nobody_available(body):
                return None
            if status != HTTPStatus.OK:
                raise BadAnswer(f"status {status}")
            return body, response.headers.get(SIGNATURE, "")
        finally:
            await response.aclose()

    def _parse_poll_url(self, location: str) -> httpx.URL:
        """The URL at which the answer will be; refused if it is not at the service itself."""
        if not location or len(location) > _MAX_POLL_URL:
            raise BadAnswer("no valid URL to poll for the answer")
        try:
            poll_url = self._url.join(location)
        except httpx.InvalidURL as error:
            raise BadAnswer("no valid URL to poll for the answer") from error
        if _origin(poll_url) != _origin(self._url) or poll_url.userinfo or poll_url.fragment:
            raise BadAnswer("the URL to poll for the answer leads to another host")
        return poll_url

    def _withdraw(self, poll_url: httpx.URL) -> None:
        """Delete the question at the service, so that it can show a late person that the call no longer waits.

        A late answer is ignored in any case. So an unreachable service is only tried a few times.
        """
        for pause_s in (0.0, *WITHDRAW_PAUSES_S):
            time.sleep(pause_s)
            with (
                suppress(Exception),
                httpx.Client(
                    verify=self._tls,
                    transport=None if self._socket is None else httpx.HTTPTransport(uds=str(self._socket)),
                    timeout=WITHDRAW_TIMEOUT_S,
                    trust_env=False,
                    follow_redirects=False,
                    headers=self._headers,
                ) as client,
                client.stream("DELETE", poll_url),
            ):
                return

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        """The TLS context, with the authorities that the policy names, or else with the system's.

        Raises:
            ValueError: A file holds no certificate or key, or the two do not belong together.
        """
        files = self._certificates
        if not files and self._url.scheme == "http":
            return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # not used, and empty: the system's authorities take 40 ms
        try:
            context = ssl.create_default_context(cafile=files.get("ca_file"))
            if "client_cert" in files:
                context.load_cert_chain(files["client_cert"], files["client_key"])
        except (ssl.SSLError, OSError) as error:
            raise ValueError(f"the certificates cannot be used: {error}") from error
        return context


def _origin(url: httpx.URL) -> tuple[str, str, int]:
    return url.scheme, url.host, url.port or {"http": 80, "https": 443}.get(url.scheme, 0)


async def _read_body(response: httpx.Response) -> bytes:
    """The body without decompression: a decompressed body could have any length, and none was requested."""
    body, loop, limit = bytearray(), asyncio.get_running_loop(), asyncio.timeout(None)
    try:
        async with limit:
            async for chunk in response.aiter_raw():
                if len(body) <= MAX_ANSWER_BYTES:
                    body += chunk
                else:
                    # Cancel the read itself: leaving the loop would leave the stream's generators to the garbage
                    # collector.
                    limit.reschedule(loop.time())
    except TimeoutError:
        if not limit.expired():
            raise
    if len(body) > MAX_ANSWER_BYTES:
        raise BadAnswer(f"more than {MAX_ANSWER_BYTES} bytes")
    return bytes(body)


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _certificate_files(policy: ApproverPolicy, workspace: Path) -> dict[str, Path]:
    """The files that the policy names for TLS; refused if another user or a tool could have written them."""
    named = {"client_cert": policy.client_cert, "client_key": policy.client_key, "ca_file": policy.ca_file}
    files = {name: path for name, path in named.items() if path is not None}
    for name, path in files.items():
        require_own_file(path, workspace, is_secret=name == "client_key")
    return files


def _read_shared_secret(policy: ApproverPolicy, workspace: Path) -> bytes | None:
    """The secret that signs questions and answers; None if the service proves itself in another way."""
    if policy.secret_env is not None:
        where, value = f"the environment variable {policy.secret_env!r}", _read_variable(policy.secret_env, "secret")
    elif policy.secret_file is not None:
        require_own_file(policy.secret_file, workspace, is_secret=True)
        where, value = repr(str(policy.secret_file)), policy.secret_file.read_bytes().decode("latin-1").strip()
        if not _TOKEN.fullmatch(value):
            raise ValueError(f"{where} does not hold a secret in one word of ASCII")
    else:
        return None
    if len(value) < MIN_SECRET_CHARS:
        what = f"{where} holds a secret of fewer than {MIN_SECRET_CHARS} characters"
        raise ValueError(f"{what}, which the recipient of a question could guess; make one with: openssl rand -hex 32")
    return value.encode()


def _read_variable(variable: str, what: str) -> str:
    value = os.environ.get(variable, "").strip()
    if not _TOKEN.fullmatch(value):
        raise ValueError(f"the environment variable {variable!r} holds no {what}")
    return value
