"""Asks one provider after the other until one returns a usable file.

The result names each failure, but repeats no text of a provider.
"""

import base64
import binascii
import json
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from secrets import token_hex
from time import gmtime, monotonic, strftime
from typing import Any, Generic, NamedTuple, TypedDict, TypeVar

from toolcharter import Denied, GuardReason, HttpLimits, OpenPlace, Reason, ToolError, ToolRuntime, scrub_text
from toolcharter_media.kinds import NoSuchKind, Picture, Speech
from toolcharter_media.policy import MediaPolicy, MediaReason, Provider, SpeechReason
from toolcharter_media.spending import SessionBudget

RESERVED_S = 1.0
"""How much of a call's time is reserved for writing the file, in seconds."""
MISSING_KEY, WRONG_CONTENT, BAD_STATUS = "missing_key", "wrong_content", "http_status"
"""The reasons of a provider's failure, in addition to those of the network guard."""
_OK = 200
OVERHEAD_BYTES = 65_536
"""How many bytes an answer may have in addition to the file in it."""

P = TypeVar("P", bound=Provider)
Kind = TypeVar("Kind", Picture, Speech)


class Failure(TypedDict):
    """Why a provider returned no usable file."""

    provider: str
    reason: str
    message: str


class Request(NamedTuple):
    """A request to a provider."""

    path: str
    """The part after the provider's URL."""
    body: Mapping[str, Any]
    headers: Mapping[str, str]
    growth: float = 1.0
    """The factor by which the answer is larger than the file in it."""


class GeneratedFile(NamedTuple, Generic[P, Kind]):
    """A file that a provider returned, with its cost and the failures of the providers before it."""

    provider: P
    content: bytes
    kind: Kind
    cost: float
    failures: list[Failure]


@dataclass(frozen=True)
class ProviderProtocol(Generic[P, Kind]):
    """How providers are asked, and how their answers are read."""

    ask: Callable[[P, str, float], bytes]
    """Sends a request with a provider's key and a timeout in seconds. Raises `Denied` or `ToolError`."""
    content: Callable[[P, bytes], bytes]
    """Returns the file in an answer. Raises `LookupError`, `TypeError` or `ValueError` if there is none."""
    kind: Callable[[bytes], Kind]
    """Returns the kind of a file. Raises `NoSuchKind`."""


def order_providers(providers: Sequence[P], preferred: str) -> tuple[P, ...]:
    """Return *providers*, with the provider *preferred* moved to the front.

    Raises:
        ToolError: `no_provider`.
        Denied: `provider_not_allowed`.
    """
    if not providers:
        raise ToolError("The profile names no provider.", reason=MediaReason.NO_PROVIDER)
    if preferred and preferred not in {one.label for one in providers}:
        names = ", ".join(one.label for one in providers)
        raise Denied(SpeechReason.PROVIDER_NOT_ALLOWED, f"The profile does not name this provider; it names {names}.")
    return tuple(sorted(providers, key=lambda one: one.label != preferred))


def require_text(text: str, policy: MediaPolicy) -> None:
    """Refuse a text that no provider may get.

    Raises:
        ToolError: `invalid_arguments`, `text_too_long`.
        Denied: `holds_a_secret`.
    """
    if not text.strip():
        raise ToolError("The text is empty.", reason=Reason.INVALID_ARGUMENTS)
    if len(text) > policy.max_chars:
        what = f"The text has {len(text)} characters; {policy.max_chars} are allowed."
        raise ToolError(what, reason=MediaReason.TEXT_TOO_LONG)
    if scrub_text(text)[1]:
        raise Denied(MediaReason.HOLDS_A_SECRET, "The text holds what looks like a secret.")


def ask_in_order(
    rt: ToolRuntime,
    policy: MediaPolicy,
    budget: SessionBudget,
    order: Sequence[P],
    chars: int,
    protocol: ProviderProtocol[P, Kind],
) -> GeneratedFile[P, Kind]:
    """Return the file of the first provider in *order* that returns a usable file.

    Raises:
        ToolError: `providers_failed`, with the failure of each.
    """
    failures: list[Failure] = []
    for number, provider in enumerate(order):
        with _record_failures(provider, failures):
            left = (rt.deadline - monotonic() - RESERVED_S) / (len(order) - number)
            content, kind = _ask_provider(rt, policy, budget, provider, chars, min(policy.timeout_s, left), protocol)
            return GeneratedFile(provider, content, kind, provider.price(chars), failures)
    raise ToolError(f"No provider returned a file: {format_failures(failures)}.", reason=MediaReason.PROVIDERS_FAILED)


def format_failures(failures: Sequence[Failure]) -> str:
    """Format *failures* as a part of a sentence."""
    return "; ".join(f"{one['provider']}: {one['reason']} ({one['message'].rstrip('.')})" for one in failures)


@contextmanager
def _record_failures(provider: Provider, failures: list[Failure]) -> Generator[None]:
    try:
        yield
    except (Denied, ToolError) as error:
        failures.append(Failure(provider=provider.label, reason=error.reason, message=error.message or error.reason))


def _ask_provider(
    rt: ToolRuntime,
    policy: MediaPolicy,
    budget: SessionBudget,
    provider: P,
    chars: int,
    timeout_s: float,
    protocol: ProviderProtocol[P, Kind],
) -> tuple[bytes, Kind]:
    key = provider.secret(rt)
    if key is None:
        raise ToolError("Its key is missing.", reason=MISSING_KEY)
    if timeout_s <= 0:
        raise ToolError("The call has no time left.", reason=Reason.TIMED_OUT)
    budget.charge_cost(provider.price(chars))
    return _read_file(protocol.ask(provider, key, timeout_s), provider, policy, protocol)


def post_json(
    rt: ToolRuntime, policy: MediaPolicy, request: Callable[[P, str], Request], provider: P, key: str, timeout_s: float
) -> bytes:
    """Return the answer of *provider* to a POST of JSON.

    Raises:
        Denied, ToolError: As `rt.http.fetch`; also `http_status`, `response_too_large`.
    """
    prepared = request(provider, key)
    limits = HttpLimits(timeout_s, round(policy.max_bytes * prepared.growth) + OVERHEAD_BYTES, max_redirects=0)
    answer = rt.http.fetch(
        f"{provider.base}{prepared.path}",
        provider.network(),
        method="POST",
        headers={"Content-Type": "application/json", **prepared.headers},
        content=json.dumps(prepared.body).encode(),
        limits=limits,
    )
    if answer.status != _OK:
        raise status_error(answer.status)
    if answer.truncated:
        raise too_large_error(policy)
    return answer.body


def status_error(status: int) -> ToolError:
    """Make the error for an answer whose status is not 200."""
    return ToolError(f"It answered with status {status}.", reason=BAD_STATUS)


def too_large_error(policy: MediaPolicy) -> ToolError:
    """Make the error for a file that is larger than the policy allows."""
    return ToolError(f"It sends more than {policy.max_bytes} bytes.", reason=GuardReason.RESPONSE_TOO_LARGE)


def _read_file(
    body: bytes, provider: P, policy: MediaPolicy, protocol: ProviderProtocol[P, Kind]
) -> tuple[bytes, Kind]:
    try:
        content = protocol.content(provider, body)
        if len(content) > policy.max_bytes:
            raise too_large_error(policy)
        return content, protocol.kind(content)
    except NoSuchKind as error:
        raise ToolError(f"The answer is {error}.", reason=WRONG_CONTENT) from error
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise ToolError("Its answer holds no file.", reason=WRONG_CONTENT) from error


def decode_base64(text: Any) -> bytes:
    """Decode *text*.

    Raises:
        TypeError: *text* is not a string.
        ValueError: *text* is not base64.
    """
    if not isinstance(text, str):
        raise TypeError("no text")
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ValueError("no base64") from error


def new_file_name(policy: MediaPolicy, tool: str) -> str:
    """Return the path of a new file, without its suffix."""
    return f"{policy.folder}/{tool}-{strftime('%Y%m%d-%H%M%S', gmtime())}-{token_hex(4)}"


def require_writable(rt: ToolRuntime, name: str, suffix: str) -> None:
    """Refuse a call whose file could not be written.

    Raises:
        Denied, ToolError: As `Paths.open_place`.
    """
    with rt.paths.open_place(f"{name}.{suffix}"):
        pass


def write_file(rt: ToolRuntime, name: str, suffix: str, content: bytes) -> str:
    """Write the file, and return its path."""
    place: OpenPlace
    with rt.paths.open_place(f"{name}.{suffix}") as place:
        place.write(content)
        return place.path


def format_media_line(path: str) -> str:
    """Format *path* as hosts and `message` parse it; a path with white space is quoted.

    Source: GoClaw, `MEDIA:<path>` in a tool's result.
    """
    return f'MEDIA:"{path}"' if any(one.isspace() for one in path) else f"MEDIA:{path}"
