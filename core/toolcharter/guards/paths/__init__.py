"""Opens what lies beneath the workspace, and nothing else, whatever a path says.

A path is never checked as text and then opened again. Its components are walked from a held
descriptor, by the kernel where it can (`openat2`), else one by one; what comes out is a
descriptor, and all that follows acts on that.
"""

from toolcharter.guards.paths.workspace import WorkspacePaths

__all__ = ["WorkspacePaths"]
