"""Work on text of strangers in child processes that can be killed: what `rt.compute` does."""

from toolcharter.guards.compute.pool import MAX_WORKERS, ComputePool

__all__ = ["MAX_WORKERS", "ComputePool"]
