"""Which stores a test meets."""

import pytest

ON_ALL_STORES = pytest.mark.parametrize(
    "store_url",
    ["sqlite", pytest.param("postgresql", marks=pytest.mark.slow), pytest.param("redis", marks=pytest.mark.slow)],
    indirect=True,
)
"""Over SQLite, and over the stores whose servers take their time to start."""
