"""Opens files and folders beneath the workspace, and nothing else, whatever a path says.

A path is never checked as text and then opened again. Its components are walked from an open
descriptor, by the kernel where it can (`openat2`), otherwise one by one. The result is a
descriptor, on which everything that follows acts.
"""

from toolcharter.guards.paths.workspace import WorkspacePaths

__all__ = ["WorkspacePaths"]
