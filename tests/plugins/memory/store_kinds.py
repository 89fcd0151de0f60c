"""Which stores a test meets."""

import pytest

ON_BOTH_STORES = pytest.mark.parametrize(
    "store_url", ["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)], indirect=True
)
"""Once over SQLite, and once over PostgreSQL, whose server takes seconds to start."""
