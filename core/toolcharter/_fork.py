"""`renew_in_child`: the one way to start anew in a fork's child, where the threads and locks are the parent's."""

import os
import weakref
from typing import Protocol


class Renewable(Protocol):
    """Holds threads, locks or calls that a fork's child must not use."""

    def renew(self) -> None:
        """Start anew: another thread of the parent may have held any lock, and none of its threads runs here."""


_OWNERS: "weakref.WeakSet[Renewable]" = weakref.WeakSet()


def renew_in_child(owner: Renewable) -> None:
    """Call `owner.renew()` in each fork's child for as long as *owner* lives."""
    _OWNERS.add(owner)


def _renew() -> None:
    for owner in list(_OWNERS):
        owner.renew()


os.register_at_fork(after_in_child=_renew)
