"""The guards that remember: what a session has called, read and been told decides what it may call next.

One small module per guard; `SessionMemory` puts together those that a profile has switched on, and
holds what they know of each session. Nothing here outlives the process, and nothing here returns an
earlier result: a refused call names its reason, and the model looks back itself.
"""

from toolcharter.guards.memory.notes import with_notes
from toolcharter.guards.memory.session import SessionMemory

__all__ = ["SessionMemory", "with_notes"]
