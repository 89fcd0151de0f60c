"""What an error of a database becomes for those who use a store."""

from sqlalchemy import exc

from toolcharter import StoreConflict, StoreUnavailable
from toolcharter_stores.sql.database import Database, Fault


class Again(StoreConflict):
    """Others were in the way: the transaction has to be run once more."""


class Gone(StoreUnavailable):
    """The connection was lost before anything was committed."""


def unavailable(database: Database, error: exc.SQLAlchemyError) -> StoreConflict | StoreUnavailable:
    """What is raised for *error*. It names no statement, no value and no place of a server."""
    match database.fault(error):
        case Fault.CONFLICT:
            return Again("Others were writing at the same time.")
        case Fault.LATE:
            return StoreUnavailable(f"{database.name} took longer than there was time.")
        case Fault.GONE:
            return Gone(f"There is no connection to {database.name}.")
        case Fault.OTHER:
            return StoreUnavailable(
                f"{database.name} has failed: {database.cause(getattr(error, 'orig', None) or error)}."
            )
