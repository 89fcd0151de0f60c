"""Chooses the distribution that provides each name a profile needs; imports nothing."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from toolcharter._lazy import lazy
from toolcharter.errors import Fault, did_you_mean
from toolcharter.loader.origin import editable_root, origin_faults
from toolcharter.loader.scan import (
    COMMANDS,
    EXTENSIONS,
    RESTRICTION,
    TOOLS,
    EntryPoint,
    InstalledPlugins,
    describe_owners,
    is_within,
    normalise,
)

if TYPE_CHECKING:
    from packaging import specifiers
    from packaging import version as packaging_version
    from packaging.specifiers import SpecifierSet
else:
    specifiers = lazy("packaging.specifiers")
    packaging_version = lazy("packaging.version")

_MAX_LISTED_NAMES = 20
RUNNER = "runner"
SINK = "event sink"
CHANNEL = "channel"
STORE = "store"
BUS = "bus"
COMMAND = "command"
_NOUNS = {TOOLS: "tool", EXTENSIONS: "extension", COMMANDS: COMMAND}
_RUNNERS = {name: f"toolcharter-{name}" for name in ("bwrap", "docker")}
"""The runners of our own distributions."""
_CHANNELS = {"webhook": "toolcharter-webhook"}
"""The channels of our own distributions."""
_STORES = {name: f"toolcharter-{name}" for name in ("sqlite", "postgresql", "redis")}
"""The stores of our own distributions."""
_BUSES = {"nats": "toolcharter-nats", "process": "toolcharter-service"}
"""The buses of our own distributions."""


class Need(NamedTuple):
    """One name that a profile, a sink or a caller asks for."""

    group: str
    name: str
    place: str
    """The place that asks for it: `file:line:column`."""
    path: str
    """The dotted path of the key there; empty for a sink."""
    noun: str
    """`tool`, `extension`, `runner`, `event sink`, `channel`, `store`, `bus` or `command`."""


def needs_of(
    tools: Mapping[str, str],
    extensions: Mapping[str, str],
    sinks: Iterable[str],
    runner: str | None = None,
) -> list[Need]:
    """Turn names with their places into needs, in order.

    Args:
        tools: The tools that the profile lists.
        extensions: The extensions that it lists, and its runner.
        sinks: The schemes of the sinks' URLs.
        runner: The extension that the profile names only as its runner.
    """
    return [
        *(Need(TOOLS, name, place, f"tools.{name}", "tool") for name, place in tools.items()),
        *(
            Need(EXTENSIONS, name, place, RUNNER, RUNNER)
            if name == runner
            else Need(EXTENSIONS, name, place, f"extensions.{name}", "extension")
            for name, place in extensions.items()
        ),
        *(sink_need(name) for name in dict.fromkeys(sinks)),
    ]


def channel_needs(channels: Mapping[str, str]) -> list[Need]:
    """Return the needs of the *channels* that notifications name under `deliver`, each with the place of an entry."""
    return [Need(EXTENSIONS, name, place, "notify.deliver", CHANNEL) for name, place in channels.items()]


def sink_need(scheme: str) -> Need:
    """Return the need of an event sink, by the scheme of its URL."""
    return Need(EXTENSIONS, scheme, f"event sink '{scheme}:'", "", SINK)


def store_need(url: str, place: str) -> Need:
    """Return the need of a store, by its *url*."""
    return Need(EXTENSIONS, url.partition(":")[0], place, "store", STORE)


def bus_need(url: str, place: str) -> Need:
    """Return the need of a bus, by its *url*."""
    return Need(EXTENSIONS, url.partition(":")[0], place, "bus", BUS)


def select(
    needs: Iterable[Need], index: InstalledPlugins, missing_ok: Collection[str] = ()
) -> tuple[dict[Need, EntryPoint], list[Fault]]:
    """Choose the entry point for each need, and report the faults of the others.

    Args:
        needs: The names that the profile asks for.
        index: The installed entry points.
        missing_ok: Tools that may be absent. A tool that nothing provides is then left out without a fault.

    Returns:
        One trusted entry point for each need that has exactly one, in the order of *needs*; and
        the faults, including those of modules that would be imported from elsewhere.
    """
    chosen: dict[Need, EntryPoint] = {}
    faults: dict[Fault, None] = {}
    for need in needs:
        offers = index.offers(need.group, need.name)
        strangers = [offer for offer in offers if not offer.trusted and not _is_own_source(offer, offers)]
        usable = [offer for offer in offers if offer.trusted and index.permits(offer)]
        doubts = [
            *(_untrusted_fault(need, stranger) for stranger in strangers),
            *_candidate_faults(need, offers, usable, index),
        ]
        if not offers and not (need.group == TOOLS and need.name in missing_ok):
            doubts.append(_unknown_fault(need, index))
        if usable and not doubts:
            chosen[need] = usable[0]
            doubts.extend(origin_faults(usable[0]))
        faults.update(dict.fromkeys(doubts))
    return chosen, list(faults)


def pin_faults(pins: Mapping[str, tuple[str, str]], index: InstalledPlugins) -> Iterator[Fault]:
    """Yield a fault for each installed version that does not satisfy a pin, `{distribution: (specifier, place)}`.

    Source: PyPA specification "Version specifiers".
    """
    versions: dict[str, set[str]] = {}
    for entry in index.entry_points:
        if entry.trusted:
            versions.setdefault(entry.distribution, set()).add(entry.version)
    for name, (specifier, place) in pins.items():
        yield from _pin_faults(name, specifier, place, versions)


def clash_faults(entries: Iterable[EntryPoint], index: InstalledPlugins) -> Iterator[Fault]:
    """Yield a fault for each name among *entries* that more than one installed plugin claims."""
    for entry in entries:
        rivals = [offer for offer in index.offers(entry.group, entry.name) if offer.trusted and index.permits(offer)]
        if len(rivals) > 1:
            yield _clash_fault(Need(entry.group, entry.name, entry.owner, "", _NOUNS[entry.group]), rivals)


def _is_own_source(offer: EntryPoint, offers: Iterable[EntryPoint]) -> bool:
    """Whether *offer* is metadata that a build left in the source folder of an editable install."""
    roots = (editable_root(other) for other in offers if other.trusted and other.distribution == offer.distribution)
    return any(root is not None and is_within(offer.folder, root) for root in roots)


def _candidate_faults(
    need: Need, offers: Collection[EntryPoint], usable: Collection[EntryPoint], index: InstalledPlugins
) -> Iterator[Fault]:
    trusted = [offer for offer in offers if offer.trusted]
    if len(usable) > 1:
        yield _clash_fault(need, usable)
    elif trusted and not usable:
        yield _excluded_fault(need, trusted, index)
    elif usable and need.name not in {offer.name for offer in usable}:
        yield _unknown_fault(need, index)


def _unknown_fault(need: Need, index: InstalledPlugins) -> Fault:
    article = "a" if need.noun in {"tool", RUNNER, CHANNEL, STORE, BUS, COMMAND} else "an"
    names = list(index.usable(need.group))
    plural = f"{_NOUNS[need.group]}s"
    shown = ", ".join(map(repr, names[:_MAX_LISTED_NAMES])) or "none"
    more = f" and {len(names) - _MAX_LISTED_NAMES} more" if len(names) > _MAX_LISTED_NAMES else ""
    known = f"{did_you_mean(need.name, names)} Installed {plural}: {shown}{more}.".strip()
    if need.noun == SINK:
        known = f"A sink is stderr:, structlog:, file:PATH such as file:events.jsonl, or an extension's URL. {known}"
    if need.noun == RUNNER and need.name in _RUNNERS:
        known = (
            f"Install the distribution {_RUNNERS[need.name]}, or name another runner: `runner: host` is not a sandbox."
        )
    if need.noun == STORE and need.name in _STORES:
        known = f"Install the distribution {_STORES[need.name]}."
    if need.noun == BUS and need.name in _BUSES:
        known = f"Install the distribution {_BUSES[need.name]}."
    if need.noun == CHANNEL:
        install = _CHANNELS.get(need.name)
        known = f"Install the distribution {install}, or write `deliver: log`." if install else known
    return Fault(
        need.place, need.path, f"no installed plugin provides {article} {need.noun} named {need.name!r}.", known
    )


def _untrusted_fault(need: Need, stranger: EntryPoint) -> Fault:
    return Fault(
        need.place,
        need.path,
        f"{stranger.metadata_dir!r} claims the {need.noun} {need.name!r}, "
        "but lies in no site directory of this interpreter.",
        f"Install {stranger.distribution} with pip, or take {stranger.folder!r} off sys.path "
        "(PYTHONPATH, the current folder).",
    )


def _clash_fault(need: Need, rivals: Collection[EntryPoint]) -> Fault:
    return Fault(
        need.place,
        need.path,
        f"the {need.noun} {need.name!r} is claimed {len(rivals)} times, by {describe_owners(rivals)}.",
        f"Uninstall all but one, or name the one to load in {RESTRICTION}; upper and lower case do not count.",
    )


def _excluded_fault(need: Need, offers: Collection[EntryPoint], index: InstalledPlugins) -> Fault:
    named = ",".join(sorted(index.permitted or ()))
    return Fault(
        need.place,
        need.path,
        f"the {need.noun} {need.name!r} comes from {describe_owners(offers)}, which {RESTRICTION}={named!r} leaves out.",
        f"Add {min(offer.distribution for offer in offers)} to {RESTRICTION}, or unset it.",
    )


def _pin_faults(name: str, specifier: str, place: str, versions: Mapping[str, Collection[str]]) -> Iterator[Fault]:
    path = f"plugins.{name}"
    found = versions.get(normalise(name))
    try:
        wanted = specifiers.SpecifierSet(specifier)
    except specifiers.InvalidSpecifier:
        yield Fault(place, path, f"{specifier!r} is not a version specifier.", "Write one such as '>=1,<2'.")
        return
    if found is None:
        near = did_you_mean(normalise(name), versions)
        shown = ", ".join(map(repr, sorted(versions))) or "none"
        yield Fault(place, path, f"no plugin {name!r} is installed.", f"{near} Installed plugins: {shown}.".strip())
    for version in sorted(found or ()):
        if not _satisfies(version, wanted):
            what = f"version {version} of {normalise(name)} is installed, but the profile asks for {specifier!r}."
            yield Fault(place, path, what, "Install one that fits, or correct the pin.")


def _satisfies(version: str, wanted: "SpecifierSet") -> bool:
    try:
        return wanted.contains(packaging_version.Version(version), prereleases=True)
    except packaging_version.InvalidVersion:
        return False


def shared_module_faults(entries: Iterable[EntryPoint]) -> Iterator[Fault]:
    """Yield a fault for each module that two distributions name: it would be undefined whose code runs."""
    first: dict[str, EntryPoint] = {}
    for entry in dict.fromkeys(entries):
        other = first.setdefault(entry.module, entry)
        if other.metadata_dir != entry.metadata_dir:
            what = f"the entry point {entry.name!r} names {entry.module!r}, as does one of {other.owner}."
            yield Fault(entry.owner, "", what, "Uninstall one of the two distributions.")
