"""Calls the hooks that open something for a URL: sinks, channels, stores and buses. No message shows the URL."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pluggy import PluginManager

from toolcharter._lazy import lazy
from toolcharter.api.words import is_secret_reference
from toolcharter.errors import Fault, NotDelivered, PluginError
from toolcharter.loader.hooks import describe_error, find_implementation

if TYPE_CHECKING:
    from toolcharter.api.bus import Bus
    from toolcharter.api.channel import Channel, ChannelUrl, Deliverable, Message, Sender
    from toolcharter.api.extension import Sink
    from toolcharter.api.store_engine import StoreEngine
    from toolcharter.events import notify
else:
    notify = lazy("toolcharter.events.notify")

_HIDDEN_URL = "(the URL)"
_ENGINE_METHODS = ("keeps_state_in", "migrate", "require_current", "transact", "seal", "unseal", "close")
_BUS_METHODS = (
    "publish",
    "subscribe",
    "queue",
    "create",
    "get",
    "delete",
    "lease",
    "renew",
    "release",
    "holder",
    "health",
    "close",
)


class Opener(NamedTuple):
    """One implementation of a hook that opens something."""

    owner: str
    """Distribution and version."""
    function: Callable[[str], Any]


Openers = Mapping[str, Opener]
"""By the name of the entry point: the scheme of a sink, a store or a bus, or a channel's word under `deliver`."""


def openers_of(manager: PluginManager, hook: str, plugin: object, name: str, owner: str) -> dict[str, Opener]:
    """Return *plugin*'s own implementation of *hook* under its *name*; empty without one."""
    function = find_implementation(manager, hook, plugin)
    return {} if function is None else {name: Opener(owner, function)}


def open_sink(openers: Openers, url: str) -> "Sink":
    """Open the event sink behind *url* through the plugin whose entry point is its scheme.

    Raises:
        PluginError: No loaded plugin opens it, or opening it failed. The URL itself is not
            shown: it may hold a password.
    """
    scheme = url.partition(":")[0]
    place = f"event sink '{scheme}:'"
    opener = openers.get(scheme)
    if opener is None:
        fix = f"Load the plugin that has an entry point {scheme!r} and implements open_sink."
        raise PluginError([Fault(place, "", "no loaded plugin opens it.", fix)])
    try:
        sink = opener.function(url)
    except Exception as error:
        fix = "Correct the URL, or start the server behind it."
        raise PluginError([Fault(opener.owner, "", f"{place}: {describe_error(error)}", fix)]) from error
    if not (callable(getattr(sink, "write", None)) and callable(getattr(sink, "close", None))):
        what = f"{place}: the hook open_sink returned {type(sink).__name__}, which has no write and close."
        raise PluginError([Fault(opener.owner, "", what, "Return an object with both methods.")])
    opened: Sink = sink
    return opened


class _SecretChannel(NamedTuple):
    """A channel whose URL is a secret. The URL is read and checked when a thread has something to deliver."""

    open: "Callable[[], Channel]"

    def connect(self) -> "Sender[Deliverable]":
        """Resolve the URL and connect. If the store does not return the secret, the delivery is lost, too."""
        return self.open().connect()


def open_or_defer_channel(url: str, secret: Callable[[str], str], open_: "Callable[[str], Channel]") -> "Channel":
    """Open the channel of *url* by *open_*. If *url* refers to a secret, open it when there is something to deliver."""
    return _SecretChannel(lambda: open_(secret(url))) if is_secret_reference(url) else open_(url)


def connect_sender(
    where: "ChannelUrl", secret: Callable[[str], str], open_: "Callable[[str, str, str], Channel]"
) -> "Sender[Message]":
    """Connect to the channel that a tool's policy names.

    Args:
        where: The channel.
        secret: Resolves the URL if it refers to a secret of the caller's tenant.
        open_: Opens the channel of a name and a URL; the last argument names the caller.

    Raises:
        NotDelivered: It cannot be opened; the URL is not shown.
        StoreUnavailable: The store does not return the secret.
    """
    if where.deliver == notify.LOG:
        return notify.LogSender()
    url = secret(where.url)
    try:
        return open_(where.deliver, url, "the tool's policy").connect()
    except Exception as error:
        what = f"The channel {where.deliver!r} cannot be opened: {describe_error(error)}".replace(
            url or _HIDDEN_URL, _HIDDEN_URL
        )
        raise NotDelivered(what) from error


def open_channel(openers: Openers, name: str, url: str, place: str) -> "Channel":
    """Open the channel *name* for *url* through the plugin whose entry point has that name.

    Args:
        openers: The openers of the loaded plugins.
        name: The word under `deliver`.
        url: The URL in the same entry.
        place: The place of the entry: `file:line:column`.

    Raises:
        PluginError: No loaded plugin opens it, or the URL cannot be used. The URL itself is not
            shown: it may hold a password.
    """
    opener = openers.get(name)
    if opener is None:
        fix = (
            f"Install the plugin that has an entry point {name!r} and implements open_channel, or write `deliver: log`."
        )
        raise PluginError([Fault(place, "notify.deliver", f"no loaded plugin opens the channel {name!r}.", fix)])
    try:
        channel = opener.function(url)
    except ValueError as error:
        fix = "Write a URL such as `https://example.org/hook`." if name == "webhook" else "Correct the URL."
        raise PluginError(
            [Fault(place, "notify.url", f"{error}.".replace(url or _HIDDEN_URL, _HIDDEN_URL), fix)]
        ) from error
    except Exception as error:
        what = f"the hook open_channel of {opener.owner} raised {describe_error(error)}".replace(
            url or _HIDDEN_URL, _HIDDEN_URL
        )
        raise PluginError([Fault(place, "notify.url", what, "Correct the URL, or install another version.")]) from error
    if not callable(getattr(channel, "connect", None)):
        what = f"the hook open_channel of {opener.owner} returned {type(channel).__name__}, which has no connect."
        raise PluginError([Fault(place, "notify.deliver", what, "The plugin's author has to fix it.")])
    opened: Channel = channel
    return opened


def open_store(openers: Openers, url: str, place: str) -> "StoreEngine":
    """Open the store behind *url* through the plugin whose entry point is its scheme.

    Args:
        openers: The openers of the loaded plugins.
        url: Its URL.
        place: The place of the URL, `file:line:column`; or the name of the caller that asks for the store.

    Raises:
        PluginError: No loaded plugin opens it, or the URL cannot be used. The URL itself is not shown: it may hold a
            password.
    """
    engine: StoreEngine = _open_by_scheme(openers, url, place, "store", _ENGINE_METHODS)
    return engine


def open_bus(openers: Openers, url: str, place: str) -> "Bus":
    """Open the bus behind *url* through the plugin whose entry point is its scheme; otherwise like `open_store`."""
    bus: Bus = _open_by_scheme(openers, url, place, "bus", _BUS_METHODS)
    return bus


def _open_by_scheme(openers: Openers, url: str, place: str, noun: str, parts: Iterable[str]) -> Any:
    scheme = url.partition(":")[0]
    opener = openers.get(scheme)
    if opener is None:
        fix = f"Install the plugin that has an entry point {scheme!r} and implements open_{noun}."
        raise PluginError([Fault(place, noun, f"no loaded plugin opens the {noun} '{scheme}:'.", fix)])
    try:
        opened = opener.function(url)
    except ValueError as error:
        what = f"the URL of the {noun} '{scheme}:' cannot be used: {describe_error(error)}".replace(url, _HIDDEN_URL)
        raise PluginError([Fault(place, noun, what, "Correct the URL.")]) from None
    except Exception as error:
        what = f"the hook open_{noun} of {opener.owner} raised {describe_error(error)}".replace(url, _HIDDEN_URL)
        raise PluginError([Fault(place, noun, what, "Correct the URL, or install another version.")]) from error
    missing = [name for name in parts if not callable(getattr(opened, name, None))]
    if missing:
        what = f"the hook open_{noun} of {opener.owner} returned {type(opened).__name__}, which has no {missing[0]}."
        raise PluginError([Fault(place, noun, what, "The plugin's author has to fix it.")])
    return opened


def read_roots_of(manager: PluginManager, built: object, owner: str) -> tuple[Path, ...]:
    """Return the paths that an extension's object permits to read.

    Raises:
        PluginError: The hook raised, or its answer cannot be used.
    """
    function = find_implementation(manager, "read_roots", built)
    if function is None:
        return ()
    try:
        roots = tuple(map(Path, function()))
    except Exception as error:
        what = f"the hook read_roots: {describe_error(error)}"
        raise PluginError([Fault(owner, "", what, "Correct the extension's settings in the profile.")]) from error
    if relative := [str(root) for root in roots if not root.is_absolute()]:
        what = f"the hook read_roots: {relative[0]!r} is not an absolute path"
        raise PluginError([Fault(owner, "", what, "Correct the extension's settings in the profile.")])
    return roots
