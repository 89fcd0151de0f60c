"""`Notifier`: notifies people about calls, after the call and without delaying it.

It combines the `notify` entries of a profile, its parents and the ceilings; the caller decides whether a rule matches a
call. Each destination (the log for each file that has entries, each URL) has a queue and a thread of its own.
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
"""The only delivery that needs no channel of a plugin."""
DRAIN_S = 5.0
"""How long `close` waits for pending deliveries, in seconds."""
NOT_JUDGED = "(could not be judged)"
"""Replaces the text of the rule if matching failed: one notification too many is better than none."""


OpenChannel = Callable[[Notify], Channel]
"""Opens the channel that an entry names.

Raises:
    ConfigurationError: The entry's URL cannot be used, or its plugin cannot.
"""


class PendingNotification(NamedTuple):
    """A notification to send about a call."""

    entry: Notify
    match: str
    """The text of the rule that matches."""
    number: int
    """The number of the entry in the notifier, from 1."""


class Destination(NamedTuple):
    """A destination of notifications, which has a queue and a thread of its own."""

    channel: str
    """`LOG`, or the name of the channel."""
    url: str
    """Empty for the log."""
    file: str
    """For the log, the file of the entry. Each file has a queue, so that it cannot crowd out another's entries."""


class LogSender:
    """Delivers to the logger `toolcharter.notify`, which the user configures: a warning, shown by default."""

    def __init__(self) -> None:
        self._logger = logging.getLogger(LOGGER)

    def send(self, item: Deliverable, _pause: Pause) -> None:
        """Log one record. Its attribute `notification` has the payload that a channel would get."""
        field = item.fields.get
        if isinstance(item, Message):
            text, values = "message to %r from agent %r: %r", [item.to, field("agent"), item.text]
        else:
            text = "%r: tool %r, action %r, outcome %r, reason %r, call %r"
            values = [item.match, *map(field, ("tool", "action", "outcome", "reason", "call_id"))]
        # A single name, so that no field of an event can clash with an attribute of the record.
        self._logger.warning(text, *values, extra={"notification": item.payload()})

    def close(self) -> None:
        """Nothing is held."""


class Notifier:
    """The notifications of one toolbox.

    Losses are counted and never raised. A forked child starts with empty queues: the parent delivers its own items.

    Raises:
        ConfigurationError: It lists the faults of every channel that cannot be opened.
    """

    def __init__(
        self,
        entries: Iterable[Notify],
        open_channel: OpenChannel,
        *,
        queue_max: int = QUEUE_MAX,
        pause: Pause | None = None,
    ) -> None:
        self.entries = _deduplicate(entries)
        """The entries without duplicates: equal entries of a profile, its parents and the ceilings count once."""
        self._openers = _sender_openers(self.entries, open_channel)
        numbered = [*enumerate(self.entries, 1)]
        self._by_outcome = {
            outcome: tuple((number, entry) for number, entry in numbered if outcome in entry.outcomes)
            for outcome in get_args(Outcome)
        }
        self._make_queue = partial(DeliveryQueue[Notification], limit=queue_max, pause=pause)
        self._closed = False
        self._begin()
        renew_in_child(self)

    def _begin(self) -> None:
        self._losses = Losses()
        # Part of each delivery's identifier: calls may share an identifier, and a caller who chooses one must not be
        # able to make a receiver take a notification for a repetition.
        self._run_id, self._offered = os.urandom(6).hex(), count(1)
        self._queues = {
            destination: self._make_queue(opener, self._losses) for destination, opener in self._openers.items()
        }

    def renew(self) -> None:
        """Replace queues, threads and locks in a forked child, where those of the parent do not work."""
        if not self._closed:
            self._begin()

    @property
    def lost(self) -> int:
        """How many notifications were lost, as far as is known."""
        return self._losses.count

    @property
    def last_error(self) -> BaseException | None:
        """Why the last lost notification was lost."""
        return self._losses.last_error

    def pending_for(self, outcome: Outcome, matched: Callable[[Notify], str | None]) -> list[PendingNotification]:
        """Return the notifications to send about a call.

        Args:
            outcome: The outcome of the call.
            matched: Returns the text of an entry's first rule that matches the call, or None. Called only for entries
                that want *outcome*; an exception counts as a match.
        """
        found = []
        for number, entry in self._by_outcome[outcome]:
            match = _match_or_unjudged(matched, entry)
            if match is not None:
                found.append(PendingNotification(entry, match, number))
        return found

    def offer(self, pending: PendingNotification, fields: Mapping[str, Any]) -> None:
        """Queue one notification for delivery. Never waits and never raises.

        Args:
            pending: From `pending_for`.
            fields: The scrubbed fields of the call's closing event. The caller must not change them any more.
        """
        delivery = f"{fields.get('call_id')}-{pending.number}-{self._run_id}-{next(self._offered)}"
        self._queues[_destination_of(pending.entry)].offer(Notification(fields, pending.match, delivery))

    def close(self, timeout_s: float = DRAIN_S) -> None:
        """Deliver what is queued. Notifications that are not delivered within *timeout_s* seconds count as lost."""
        self._closed = True
        end = monotonic() + timeout_s
        for queue in self._queues.values():
            queue.close(max(0.0, end - monotonic()))


def _match_or_unjudged(matched: Callable[[Notify], str | None], entry: Notify) -> str | None:
    try:
        return matched(entry)
    except Exception:  # noqa: BLE001 - the call has ended: a failed match must not raise, nor drop the notification
        return NOT_JUDGED


def _destination_of(entry: Notify) -> Destination:
    if entry.deliver == LOG:
        return Destination(LOG, "", entry.place.rsplit(":", 2)[0])
    return Destination(entry.deliver, entry.url or "", "")


def _sender_openers(
    entries: Iterable[Notify], open_channel: OpenChannel
) -> dict[Destination, Callable[[], Sender[Notification]]]:
    """Return for each destination the function by which its thread opens a sender.

    Raises:
        ConfigurationError: It lists the faults of every channel that cannot be opened.
    """
    openers: dict[Destination, Callable[[], Sender[Notification]]] = {}
    faults: list[Fault] = []
    for entry in entries:
        try:
            if (destination := _destination_of(entry)) not in openers:
                openers[destination] = LogSender if entry.deliver == LOG else open_channel(entry).connect
        except ConfigurationError as error:
            faults.extend(error.faults)
    if faults:
        raise ConfigurationError(faults)
    return openers


def _deduplicate(entries: Iterable[Notify]) -> tuple[Notify, ...]:
    """Remove duplicates from *entries*; the first of equal entries stays."""
    found: dict[Hashable, Notify] = {}
    for entry in entries:
        found.setdefault(_entry_key(entry), entry)
    return tuple(found.values())


def _entry_key(entry: Notify) -> Hashable:
    # Rules with the same text differ if their conditions differ. The reason that a rule would deny with does not
    # matter.
    rules = frozenset((rule.text, json.dumps(rule.when, sort_keys=True, default=dict)) for rule in entry.match)
    destination = (entry.deliver, None if entry.deliver == LOG else entry.url)
    return rules, destination, frozenset(entry.outcomes)
