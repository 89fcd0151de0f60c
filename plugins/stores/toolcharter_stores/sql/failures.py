"""Translates database errors into the errors that a store raises."""

from sqlalchemy import exc

from toolcharter import StoreConflict, StoreUnavailable
from toolcharter_stores.sql.database import Database, Fault


class RetryTransaction(StoreConflict):
    """Another transaction conflicted: this one has to be retried."""


class ConnectionLost(StoreUnavailable):
    """The connection was lost before anything was committed."""


def translate_error(database: Database, error: exc.SQLAlchemyError) -> StoreConflict | StoreUnavailable:
    """Return the exception to raise for *error*. Its message has no statement, no value and no server address."""
    match database.fault(error):
        case Fault.CONFLICT:
            return RetryTransaction("Another transaction was writing at the same time.")
        case Fault.LATE:
            return StoreUnavailable(f"{database.name} took longer than the time that was left.")
        case Fault.GONE:
            return ConnectionLost(f"There is no connection to {database.name}.")
        case Fault.OTHER:
            return StoreUnavailable(
                f"{database.name} has failed: {database.cause(getattr(error, 'orig', None) or error)}."
            )
