"""Leases in SQL. One statement each takes, renews or releases a lease, by the database's clock."""

from typing import Any

import sqlalchemy as sa

from toolcharter import StoreConflict, StoreLease
from toolcharter_stores.sql.database import Database
from toolcharter_stores.sql.scopes import Run
from toolcharter_stores.sql.tables import LEASES

_IS_HELD_LEASE = (
    LEASES.c.scope == sa.bindparam("at"),
    LEASES.c.name == sa.bindparam("lease"),
    LEASES.c.holder == sa.bindparam("who"),
    LEASES.c.fence == sa.bindparam("number"),
)


def take(database: Database, run: Run, scope: int, name: str, holder: str, ttl_s: float) -> StoreLease | None:
    """Take the lease *name*; None if another holder has it."""
    until = database.now + sa.literal(ttl_s, sa.Float)
    new: Any = database.insert(LEASES).values(scope=scope, name=name, holder=holder, fence=1, expires=until)
    is_free = LEASES.c.expires <= database.now
    taking = new.on_conflict_do_update(
        index_elements=[LEASES.c.scope, LEASES.c.name],
        set_={
            "holder": new.excluded.holder,
            "fence": LEASES.c.fence + sa.case((sa.or_(is_free, LEASES.c.holder != new.excluded.holder), 1), else_=0),
            "expires": until,
        },
        where=sa.or_(is_free, LEASES.c.holder == new.excluded.holder),
    )
    found = run(taking.returning(LEASES.c.fence, LEASES.c.expires)).first()
    return None if found is None else StoreLease(name, holder, found.fence, found.expires)


def renew(database: Database, run: Run, scope: int, lease: StoreLease, ttl_s: float) -> StoreLease:
    """Renew *lease* for *ttl_s* seconds from now, even if it has expired, as long as no other holder took it.

    Raises:
        StoreConflict: Another holder has taken the lease, or it was released.
    """
    until = database.now + sa.literal(ttl_s, sa.Float)
    renewing = sa.update(LEASES).where(*_IS_HELD_LEASE).values(expires=until).returning(LEASES.c.expires)
    found = run(renewing, at=scope, lease=lease.name, who=lease.holder, number=lease.fence).first()
    if found is None:
        raise StoreConflict(f"The lease {lease.name!r} no longer belongs to {lease.holder!r}.")
    return lease._replace(expires=found.expires)


def release(run: Run, scope: int, lease: StoreLease) -> None:
    """Release *lease* if its holder still has it. The fencing number is kept."""
    letting_go = sa.update(LEASES).where(*_IS_HELD_LEASE).values(holder="", expires=0.0)
    run(letting_go, at=scope, lease=lease.name, who=lease.holder, number=lease.fence)
