"""Session guards: what a session has called, read and received decides what it may call next.

`ActiveSessionGuards` puts together the guards that a profile switches on under `session_guards`, and holds what
they know of each session. Nothing here outlives the process, and nothing here returns an earlier result: a refused
call names its reason, and the model looks back itself.
"""

from toolcharter.guards.session.guards import ActiveSessionGuards
from toolcharter.guards.session.state import with_notes

__all__ = ["ActiveSessionGuards", "with_notes"]
