"""`Reload`: what `rt.reload` and a `LiveToolbox` answer."""

from typing import NamedTuple


class Reload(NamedTuple):
    """What a reload has brought. Names are sorted."""

    tools: tuple[str, ...]
    """All tools that were discovered."""
    new: tuple[str, ...] = ()
    """Those that the session did not have before."""
    changed: tuple[str, ...] = ()
    """Those whose code is not what it was when the session began; each call of one asks a person."""
    gone: tuple[str, ...] = ()
    """Those that are no longer there."""
    folders: tuple[str, ...] = ()
    """Where was looked."""
    notes: tuple[str, ...] = ()
    """What was passed over, as sentences."""
