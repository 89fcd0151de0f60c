"""`Door`: which addresses the browser may reach, and connections to those and nothing else.

Names and addresses are judged by the network guard, as text: an address that a name leads to is judged as the URL that
names it. One look-up serves for the judgement and for the connection, so that a second answer of the resolver's counts
for nothing (DNS rebinding).
"""

import asyncio
import re
import socket
import threading
from asyncio import StreamReader, StreamWriter
from collections.abc import Callable, Sequence
from contextlib import suppress
from ipaddress import IPv4Address, IPv6Address, ip_address

from toolcharter import Denied, Http, NetworkPolicy, Reason, ToolError

Address = IPv4Address | IPv6Address
Resolve = Callable[[str, int], Sequence[str]]
"""`(name, port) -> addresses`; blocks, and raises `OSError` if there are none."""
MAX_DIALS = 4
"""How many of a host's addresses are tried."""
_NAME = re.compile(r"[A-Za-z0-9._-]+")
DIAL_S = 15.0
"""For the look-up and for each connection, in seconds."""
MAX_LOOKUPS = 64
"""Look-ups under way in one process; each takes a thread, which nothing can end, and a page can ask for many."""
_slots = threading.BoundedSemaphore(MAX_LOOKUPS)


def system_resolve(name: str, port: int) -> list[str]:
    """Ask the system's resolver. An address that holds in one zone only comes with it (`fe80::1%2`)."""
    found = socket.getaddrinfo(name, port, type=socket.SOCK_STREAM)
    return [_with_zone(address) for *_, address in found]


def _with_zone(address: Sequence[object]) -> str:
    zone = address[3] if len(address) > 3 else 0  # noqa: PLR2004 - (host, port, flow, zone) of IPv6
    return f"{address[0]}%{zone}" if zone else str(address[0])


class Door:
    """One tool's way out.

    Args:
        http: The network guard.
        policy: What may be reached.
        resolve: Looks names up; the system's resolver by default.
    """

    def __init__(self, http: Http, policy: NetworkPolicy, resolve: Resolve = system_resolve) -> None:
        self._http = http
        self._policy = policy
        # Domains were judged by the name; the addresses behind it are not among them.
        self._for_addresses = policy.model_copy(update={"allowed_domains": ("*",), "denied_domains": ()})
        self._resolve = resolve

    def check(self, url: str) -> str:
        """*url* in its normal form.

        Raises:
            Denied: As `Http.check`.
        """
        return self._http.check(url, self._policy)

    async def dial(self, host: str, port: int) -> tuple[StreamReader, StreamWriter]:
        """Connect to *host*, a name or an address without brackets.

        Raises:
            Denied: As `Http.check`; `private_address`.
            ToolError: `host_not_found`, `connection_failed`.
        """
        if _literal(host) is None and not _NAME.fullmatch(host):
            # Else a part of it could pass for the end of the host, and another name be judged than is looked up.
            raise Denied("url_not_understood", f"{host[:100]!r} is no host name.")
        self._http.check(_url(host, port), self._policy)
        addresses = await self._addresses(host, port)
        for address in addresses[:MAX_DIALS]:
            try:
                reader, writer = await asyncio.wait_for(asyncio.open_connection(str(address), port), DIAL_S)
            except (OSError, TimeoutError):
                continue
            _require_peer(writer, address, port)
            return reader, writer
        message = f"{host!r} does not accept connections on port {port}."
        raise ToolError(message, reason="connection_failed", retryable=True)

    async def _addresses(self, host: str, port: int) -> tuple[Address, ...]:
        """The addresses that may be dialled, at least one."""
        if (literal := _literal(host)) is not None:
            return (literal,)
        try:
            answers = await asyncio.wait_for(_in_thread(self._resolve, host, port), DIAL_S)
        except TimeoutError:
            answers = ()
        if not answers:
            raise ToolError(f"The name {host!r} leads to no address.", reason="host_not_found")
        addresses = tuple(dict.fromkeys(map(ip_address, answers)))
        for address in addresses:
            self._judge(host, address, port)
        return addresses

    def _judge(self, host: str, address: Address, port: int) -> None:
        try:
            self._http.check(_url(str(address), port), self._for_addresses)
        except Denied:
            message = f"The name {host!r} leads to an address that is not a public one."
            raise Denied(Reason.PRIVATE_ADDRESS, message) from None


def _literal(host: str) -> Address | None:
    try:
        return ip_address(host)
    except ValueError:
        return None


def _url(host: str, port: int) -> str:
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


def _require_peer(writer: StreamWriter, address: Address, port: int) -> None:
    """Refuse a connection that has not come out where it was meant to."""
    peer = writer.get_extra_info("peername")
    if (ip_address(peer[0]), peer[1]) != (address, port):
        writer.close()
        raise Denied(Reason.PRIVATE_ADDRESS, "The connection leads to another address than the one that was checked.")


def _in_thread(resolve: Resolve, name: str, port: int) -> "asyncio.Future[Sequence[str]]":
    """Look *name* up in a thread that does not keep the process alive, as one of an executor would."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Sequence[str]] = loop.create_future()
    slots = _slots

    def tell(answers: Sequence[str]) -> None:
        with suppress(asyncio.InvalidStateError):  # as below
            future.set_result(answers)

    def work() -> None:
        try:
            answers = resolve(name, port)
        except OSError:
            answers = ()
        finally:
            slots.release()
        with suppress(RuntimeError):  # nobody waits any more
            loop.call_soon_threadsafe(tell, answers)

    if not slots.acquire(blocking=False):
        raise ToolError("Too many look-ups of names are under way.", reason="host_not_found", retryable=True)
    threading.Thread(target=work, name="toolcharter look-up", daemon=True).start()
    return future
