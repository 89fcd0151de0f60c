"""`StoreHandle`: one store engine, opened on first use and shared by many tenants, distributions and calls."""

import threading
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

from toolcharter._fork import renew_in_child
from toolcharter.api.secret import CORE_RECORDS
from toolcharter.api.store import Store, StoreRecord
from toolcharter.api.store_engine import Scope, StoreEngine
from toolcharter.errors import ConfigurationError, SpecError, StoreUnavailable, ToolcharterError
from toolcharter.guards.store.secrets import secret_value
from toolcharter.guards.store.view import TIMEOUT_S, Access, BoundStore, OpenEngine, require_scope


def _always_writable() -> None:
    """Permit every write: a host may write at any time."""


class StoreHandle:
    """A store, used by a host or as the base of `rt.store`. Safe from many threads.

    Args:
        open_engine: Opens the engine. Called on first use, and again if that failed.
        migrates: Whether the first use migrates the data to the current schema. If not, another schema is refused.
    """

    def __init__(self, open_engine: Callable[[], StoreEngine], *, migrates: bool = True) -> None:
        self._open_engine = open_engine
        self._migrates = migrates
        self._engine: StoreEngine | None = None
        self._is_current = False
        self._models: dict[tuple[str, str], str] = {}
        self._is_closed = False
        self.renew()
        renew_in_child(self)

    def renew(self) -> None:
        """Replace the lock in a forked child: a thread of the parent may have held it to open the engine."""
        self._opening = threading.Lock()

    @property
    def engine(self) -> StoreEngine:
        """The engine with the rows of all scopes, opened and migrated, for commands and for monitoring.

        Raises:
            StoreUnavailable: The store cannot be opened.
        """
        return self._get_engine(TIMEOUT_S)

    @property
    def has_full_text(self) -> bool:
        """Whether records can be searched."""
        return self.engine.has_full_text

    def keeps_state_in(self) -> tuple[Path, ...]:
        """The files and folders on this machine in which the store lies. Does not connect to it.

        Raises:
            ConfigurationError: There is no such store.
        """
        with self._opening:
            self._engine = self._engine or self._open_engine()
            return tuple(self._engine.keeps_state_in())

    def bound(
        self,
        tenant: str,
        distribution: str,
        *,
        timeout_s: float = TIMEOUT_S,
        on_unreadable: Callable[[str], object] | None = None,
    ) -> Store:
        """Return the store of one tenant and one distribution.

        Args:
            tenant: Letters, digits, `_` and `-`; empty if there is only one tenant.
            distribution: The normalised name, such as `toolcharter-service`.
            timeout_s: How long one use may take, in seconds.
            on_unreadable: Called with a sentence for each record or item that pages and lists leave out because another
                program or version has written it and it cannot be read. Without it, they raise.

        Raises:
            StoreUnavailable: A name is not valid in a store.
        """
        scope = require_scope(Scope(tenant, distribution))
        return self.view(Access(lambda: scope, lambda: timeout_s, _always_writable, on_unreadable))

    def secret(self, text: str, tenant: str = "") -> str:
        """Resolve *text*: for `secret:NAME`, return the secret of that name of *tenant*; otherwise *text* itself.

        Raises:
            StoreUnavailable: There is no such secret, it cannot be decrypted, or the store cannot be reached.
        """
        return secret_value(lambda: self.bound(tenant, CORE_RECORDS), text)

    def view(self, access: Access) -> BoundStore:
        """Return the store with the scope and the rights of *access*."""
        return BoundStore(OpenEngine(self._get_engine, self._claim_kind), access)

    def _get_engine(self, timeout_s: float) -> StoreEngine:
        engine = self._engine
        if engine is not None and self._is_current:
            return engine
        if not self._opening.acquire(timeout=max(0.0, min(timeout_s, TIMEOUT_S))):
            raise StoreUnavailable("The store could not be opened in time.")
        try:
            return self._migrated_engine()
        except ConfigurationError as error:
            raise StoreUnavailable(str(error)) from error
        except ToolcharterError:
            raise
        except Exception as error:
            raise StoreUnavailable(f"The store cannot be opened: {type(error).__name__}.") from error
        finally:
            self._opening.release()

    def _migrated_engine(self) -> StoreEngine:
        if self._is_closed:
            raise StoreUnavailable("The store is closed.")
        engine = self._engine = self._engine or self._open_engine()
        if not self._is_current:
            engine.migrate() if self._migrates else engine.require_current()
            self._is_current = True
        return engine

    def _claim_kind(self, distribution: str, model: type[StoreRecord]) -> None:
        """Note which model a kind belongs to, and refuse a second model of the same distribution for it."""
        name = f"{model.__module__}.{model.__qualname__}"
        first = self._models.setdefault((distribution, model.store_kind.name), name)
        if first != name:
            raise SpecError(
                f"the kind {model.store_kind.name!r} of {distribution} belongs to the model {first}, not to {name}"
            )

    def close(self) -> None:
        """Release the engine. Later uses are refused."""
        with self._opening:
            self._is_closed, engine, self._engine = True, self._engine, None
        if engine is not None:
            engine.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
