"""`Notifier`: informs people about calls, after the call and without delaying it.

What a profile, its parents and the ceilings ask for is united here; whether a rule matches a call is for the caller to
say. Each destination (the log of each file that asks, each URL) has a queue and a thread of its own.
"""

import json
import logging
import os
from collections.abc import Callable, Hashable, Iterable, Mapping
from functools import partial
from itertools import count
from time import monotonic
from typing import Any, NamedTuple, get_args

from toolcharter._fork import renew_in_child
from toolcharter.api.channel import Channel, Deliverable, Message, Notification, Pause, Sender
from toolcharter.errors import ConfigurationError, Fault
from toolcharter.events.delivery import QUEUE_MAX, DeliveryQueue, Losses
from toolcharter.profile.settings import Notify, Outcome

LOGGER = "toolcharter.notify"
LOG = "log"
"""The one delivery that needs no channel of a plugin."""
DRAIN_S = 5.0
"""How long `close` waits for what is under way, in seconds."""
NOT_JUDGED = "(could not be judged)"
"""In place of the rule where matching failed: better one notification too many."""


OpenChannel = Callable[[Notify], Channel]
"""Opens the channel that an entry names.

Raises:
    ConfigurationError: The entry's URL cannot be used, or its plugin cannot.
"""


class Wanted(NamedTuple):
    """One notification that a call shall have."""

    entry: Notify
    match: str
    """The text of the rule that matches."""
    number: int
    """Which of the notifier's entries it is, from 1."""


class Destination(NamedTuple):
    """What has a queue and a thread of its own."""

    channel: str
    """`LOG`, or the name of the channel."""
    url: str
    """Empty for the log."""
    file: str
    """For the log, the file that asked: one noisy file cannot crowd out another's entries."""


class LogSender:
    """Delivers to the logger `toolcharter.notify`, which the user configures: a warning, shown by default."""

    def __init__(self) -> None:
        self._logger = logging.getLogger(LOGGER)

    def send(self, item: Deliverable, _pause: Pause) -> None:
        """Log one record; the attribute `notification` has all that a channel would be given."""
        told = item.fields.get
        if isinstance(item, Message):
            text, values = "message to %r from agent %r: %r", [item.to, told("agent"), item.text]
        else:
            text = "%r: tool %r, action %r, outcome %r, reason %r, call %r"
            values = [item.match, *map(told, ("tool", "action", "outcome", "reason", "call_id"))]
        # One name, which no field of an event can clash with.
        self._logger.warning(text, *values, extra={"notification": item.payload()})

    def close(self) -> None:
        """Nothing is held."""


class Notifier:
    """The notifications of one toolbox.

    Losses are counted and never raised. A fork's child begins anew: what waits in the parent is the parent's to deliver.

    Raises:
        ConfigurationError: With the faults of every channel that cannot be opened.
    """

    def __init__(
        self,
        entries: Iterable[Notify],
        open_channel: OpenChannel,
        *,
        queue_max: int = QUEUE_MAX,
        pause: Pause | None = None,
    ) -> None:
        self.entries = _unique(entries)
        """What is delivered: identical entries of a profile, its parents and the ceilings are one."""
        self._openers = _openers(self.entries, open_channel)
        numbered = [*enumerate(self.entries, 1)]
        self._by_outcome = {
            outcome: tuple((number, entry) for number, entry in numbered if outcome in entry.outcomes)
            for outcome in get_args(Outcome)
        }
        self._open_lane = partial(DeliveryQueue[Notification], limit=queue_max, pause=pause)
        self._closed = False
        self._begin()
        renew_in_child(self)

    def _begin(self) -> None:
        self._losses = Losses()
        # Calls may share an identifier, and a caller who chooses it must not have a notification taken for a repetition.
        self._run, self._offered = os.urandom(6).hex(), count(1)
        self._lanes = {lane: self._open_lane(opener, self._losses) for lane, opener in self._openers.items()}

    def renew(self) -> None:
        """In a fork's child: queues and threads are the parent's, and perhaps so is who held a lock."""
        if not self._closed:
            self._begin()

    @property
    def lost(self) -> int:
        """How many notifications did not arrive, as far as is known."""
        return self._losses.count

    @property
    def last_error(self) -> BaseException | None:
        """Why the last of them was lost."""
        return self._losses.last_error

    def wanting(self, outcome: Outcome, matched: Callable[[Notify], str | None]) -> list[Wanted]:
        """Find the notifications that a call shall have.

        Args:
            outcome: Of the call.
            matched: The text of the entry's first rule that matches the call, or None. It is asked only of entries
                that want *outcome*; what it raises counts as a match.
        """
        found = []
        for number, entry in self._by_outcome[outcome]:
            match = _asked(matched, entry)
            if match is not None:
                found.append(Wanted(entry, match, number))
        return found

    def offer(self, wanted: Wanted, fields: Mapping[str, Any]) -> None:
        """Have one notification delivered, soon and once; never waits, never raises.

        Args:
            wanted: From `wanting`.
            fields: Of the call's closing event, scrubbed; not to be changed from now on.
        """
        delivery = f"{fields.get('call_id')}-{wanted.number}-{self._run}-{next(self._offered)}"
        self._lanes[_lane(wanted.entry)].offer(Notification(fields, wanted.match, delivery))

    def close(self, timeout_s: float = DRAIN_S) -> None:
        """Deliver what is under way; what is not delivered after *timeout_s* seconds counts as lost."""
        self._closed = True
        end = monotonic() + timeout_s
        for lane in self._lanes.values():
            lane.close(max(0.0, end - monotonic()))


def _asked(matched: Callable[[Notify], str | None], entry: Notify) -> str | None:
    try:
        return matched(entry)
    except Exception:  # noqa: BLE001 - the call is over: what cannot be judged must neither end it again nor be hushed up
        return NOT_JUDGED


def _lane(entry: Notify) -> Destination:
    if entry.deliver == LOG:
        return Destination(LOG, "", entry.place.rsplit(":", 2)[0])
    return Destination(entry.deliver, entry.url or "", "")


def _openers(
    entries: Iterable[Notify], open_channel: OpenChannel
) -> dict[Destination, Callable[[], Sender[Notification]]]:
    """For each destination, what its thread opens.

    Raises:
        ConfigurationError: With the faults of every channel that cannot be opened.
    """
    openers: dict[Destination, Callable[[], Sender[Notification]]] = {}
    faults: list[Fault] = []
    for entry in entries:
        try:
            if (lane := _lane(entry)) not in openers:
                openers[lane] = LogSender if entry.deliver == LOG else open_channel(entry).connect
        except ConfigurationError as error:
            faults.extend(error.faults)
    if faults:
        raise ConfigurationError(faults)
    return openers


def _unique(entries: Iterable[Notify]) -> tuple[Notify, ...]:
    """*entries* without repetitions; the first of each stays."""
    found: dict[Hashable, Notify] = {}
    for entry in entries:
        found.setdefault(_identity(entry), entry)
    return tuple(found.values())


def _identity(entry: Notify) -> Hashable:
    # Rules of one text differ if their conditions do; the reason they would deny with does not matter here.
    rules = frozenset((rule.text, json.dumps(rule.when, sort_keys=True, default=dict)) for rule in entry.match)
    destination = (entry.deliver, None if entry.deliver == LOG else entry.url)
    return rules, destination, frozenset(entry.outcomes)
