"""Which descriptors this process has open, for tests that nothing is left open."""

import gc
from pathlib import Path


def open_descriptors() -> set[str]:
    """Those that something still uses: what other tests have dropped would close at any time, so it is closed first."""
    gc.collect()
    return {entry.name for entry in Path("/proc/self/fd").iterdir() if entry.exists()}
