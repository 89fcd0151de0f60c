"""Counts each session's calls of a tool and their cost, in one record that all workers share."""

from collections.abc import Callable
from typing import ClassVar

from toolcharter import Denied, RecordKind, StoreRecord, StoreTransaction, ToolRuntime, session_key
from toolcharter_media.policy import MediaPolicy, MediaReason

MICROS = 1_000_000


class Spent(StoreRecord):
    """The calls of one tool in one session, and their cost."""

    store_kind: ClassVar = RecordKind("spent", ("tool", "session"))

    tool: str
    session: str
    calls: int = 0
    micros: int = 0
    """The cost in millionths of the unit of `max_cost`."""


class SessionBudget:
    """Charges one call to its session. A request that fails is charged, too: the provider may have charged for it."""

    def __init__(self, rt: ToolRuntime, tool: str, policy: MediaPolicy) -> None:
        self._rt, self._policy = rt, policy
        self._key = (tool, session_key(rt.caller))

    def require_left(self, cheapest: float) -> None:
        """Refuse a call if the session has no calls or too little money left. Changes nothing.

        Args:
            cheapest: The cost of a request to the cheapest provider.

        Raises:
            Denied: `calls_used_up`, `cost_used_up`.
        """
        found = self._rt.store.get(Spent, *self._key)
        spent = found.record if found else self._nothing_spent()
        self._with_call(spent)
        self._with_cost(spent, cheapest)

    def charge_call(self) -> None:
        """Count the call.

        Raises:
            Denied: `calls_used_up`.
        """
        self._update(self._with_call)

    def charge_cost(self, cost: float) -> None:
        """Charge the cost of a request, before it is sent.

        Raises:
            Denied: `cost_used_up`.
        """
        if cost > 0:
            self._update(lambda spent: self._with_cost(spent, cost))

    def _nothing_spent(self) -> Spent:
        return Spent(tool=self._key[0], session=self._key[1])

    def _update(self, step: Callable[[Spent], Spent]) -> None:
        def work(store: StoreTransaction) -> None:
            found = store.get(Spent, *self._key)
            store.put(step(found.record if found else self._nothing_spent()))

        self._rt.store.transact(work)

    def _with_call(self, spent: Spent) -> Spent:
        most = self._policy.max_calls
        if spent.calls >= most:
            raise Denied(
                MediaReason.CALLS_USED_UP, f"This session has made all {most} calls of {spent.tool} that are allowed."
            )
        return spent.model_copy(update={"calls": spent.calls + 1})

    def _with_cost(self, spent: Spent, cost: float) -> Spent:
        micros, most = spent.micros + round(cost * MICROS), self._policy.max_cost
        if most is not None and micros > round(most * MICROS):
            raise Denied(MediaReason.COST_USED_UP, f"The call would exceed the session's limit of {most:g}.")
        return spent.model_copy(update={"micros": micros})
