"""Parse untrusted text in child processes that can be killed: the implementation of `rt.compute`."""

from toolcharter.guards.compute.pool import MAX_WORKERS, ComputePool

__all__ = ["MAX_WORKERS", "ComputePool"]
