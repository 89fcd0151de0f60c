"""`renew_in_child`: replaces threads and locks in a forked child, where those copied from the parent are useless."""

import os
import weakref
from typing import Protocol


class Renewable(Protocol):
    """An object with threads, locks or calls that a forked child must not use."""

    def renew(self) -> None:
        """Replace them. A thread of the parent may have held any lock, and none of its threads runs in the child."""


_OWNERS: "weakref.WeakSet[Renewable]" = weakref.WeakSet()


def renew_in_child(owner: Renewable) -> None:
    """Call `owner.renew()` in each forked child, as long as *owner* lives."""
    _OWNERS.add(owner)


def _renew() -> None:
    for owner in list(_OWNERS):
        owner.renew()


os.register_at_fork(after_in_child=_renew)
