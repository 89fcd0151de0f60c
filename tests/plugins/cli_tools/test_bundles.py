"""What tells one tool's files from another's."""

import pytest
from tests.rows import each_row

from toolcharter_cli_tools.bundles import Bundle, BundleFile

PLAIN = {"a": BundleFile(b"bc", is_executable=False)}


@each_row(
    "other",
    [
        pytest.param({"ab": BundleFile(b"c", is_executable=False)}, id="border"),
        pytest.param({"a": BundleFile(b"bc", is_executable=True)}, id="executable"),
        pytest.param({"a": BundleFile(b"bd", is_executable=False)}, id="content"),
        pytest.param({**PLAIN, "b": BundleFile(b"", is_executable=False)}, id="another-file"),
        pytest.param({}, id="nothing"),
    ],
)
def test_hash(other: dict[str, BundleFile]) -> None:
    """Every name, content and bit counts, and the order does not."""
    assert Bundle(PLAIN).hash != Bundle(other).hash
    assert Bundle({**PLAIN, **other}).hash == Bundle(dict(reversed([*PLAIN.items(), *other.items()])) | other).hash
