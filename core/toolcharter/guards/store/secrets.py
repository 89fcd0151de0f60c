"""Resolve `secret:NAME` from a tenant's records when it is used. From then on the scrubber masks the value."""

from collections.abc import Callable

from toolcharter.api.secret import CORE_RECORDS, SecretRecord
from toolcharter.api.store import Store
from toolcharter.api.store_engine import Scope
from toolcharter.api.words import is_secret_reference, secret_name
from toolcharter.errors import StoreUnavailable
from toolcharter.guards.store.view import Access, BoundStore


def secret_value(open_store: Callable[[], Store], text: str) -> str:
    """Resolve *text*: return the secret that it refers to, or *text* itself if it is no reference.

    Args:
        open_store: Returns the store with the secrets of a tenant.
        text: `secret:NAME`, or any other text.

    Raises:
        StoreUnavailable: There is no such secret, it cannot be decrypted, or the store cannot be reached.
    """
    if not is_secret_reference(text):
        return text
    try:
        name = secret_name(text)
    except ValueError as error:
        raise StoreUnavailable(f"The reference to a secret cannot be read: {error}.") from None
    found = open_store().get(SecretRecord, name)
    if found is None:
        hint = f"The operator can add it with: toolcharter store secret put {name}"
        raise StoreUnavailable(f"The store has no secret {name!r}.", hint=hint)
    return found.record.value


def secrets_of(view: Callable[[Access], BoundStore], access: Access) -> Store:
    """Return a read-only store with the secrets of the tenant of *access*, made by *view*."""

    def scope() -> Scope:
        return access.scope()._replace(distribution=CORE_RECORDS)

    return view(Access(scope, access.timeout_s, _refuse_write))


def _refuse_write() -> None:
    raise StoreUnavailable("Secrets can only be read here.")
