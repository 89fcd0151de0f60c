"""`secret:NAME`: the value of a tenant's record, and never the text itself."""

import pytest
from tests.core.guards.store.memory_engine import MemoryEngine

from toolcharter import (
    CORE_RECORDS,
    SecretRecord,
    StoreHandle,
    StoreUnavailable,
    is_secret_reference,
    scrub_text,
    secret_name,
)

VALUE = "whisper-" * 2 + "41"


@pytest.fixture
def handle() -> StoreHandle:
    engine = MemoryEngine()
    handle = StoreHandle(lambda: engine)
    handle.bound("acme", CORE_RECORDS).put(SecretRecord(name="key", value=VALUE))
    return handle


def test_a_reference_is_the_value(handle: StoreHandle) -> None:
    """Of the tenant that asks; the scrubber knows it then. Any other text is itself."""
    assert handle.secret("secret:key", "acme") == VALUE
    assert handle.secret("plain", "acme") == "plain"
    assert VALUE not in scrub_text(VALUE)[0]


@pytest.mark.parametrize(
    ("text", "tenant"),
    [
        pytest.param("secret:key", "", id="another-tenant's"),
        pytest.param("secret:other", "acme", id="unknown"),
        pytest.param("secret:", "acme", id="no-name"),
        pytest.param("secret:a b", "acme", id="a-name-of-no-form"),
        pytest.param("secret:../key", "acme", id="a-path"),
    ],
)
def test_a_reference_to_nothing_is_refused(text: str, tenant: str, handle: StoreHandle) -> None:
    """Never is the text that refers to a secret used in its place."""
    with pytest.raises(StoreUnavailable) as refused:
        handle.secret(text, tenant)

    assert refused.value.reason == "store_unavailable"


def test_forms_of_references() -> None:
    """`secret:` begins one, well-formed or not; only a well-formed one has a name."""
    assert [is_secret_reference(text) for text in ("secret:a", "secret:", "Secret:a", "a", "")] == [
        True,
        True,
        False,
        False,
        False,
    ]
    assert secret_name("secret:a.b-c_1") == "a.b-c_1"
    for text in ("secret:", "secret:-a", f"secret:{'a' * 129}", "secret:a\n", "a"):
        with pytest.raises(ValueError, match="secret:NAME"):
            secret_name(text)
