"""Session guards: the earlier calls, reads and results of a session decide what it may call next.

`ActiveSessionGuards` combines the guards that a profile switches on under `session_guards`, and holds their state for
each session. No state outlives the process. The guards never return an earlier result: they refuse a call with a
reason, and the model looks back itself.
"""

from toolcharter.guards.session.guards import ActiveSessionGuards
from toolcharter.guards.session.state import with_notes

__all__ = ["ActiveSessionGuards", "with_notes"]
