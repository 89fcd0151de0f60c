"""The tables of a store in SQL. The migrations create them; a test compares the two."""

from sqlalchemy import BigInteger, Column, Float, ForeignKey, Index, Integer, LargeBinary, MetaData, Table, Text

METADATA = MetaData()
# SQLite assigns ids by itself only if the column's type is INTEGER.
LONG = BigInteger().with_variant(Integer, "sqlite")

SCOPES = Table(
    "toolcharter_scopes",
    METADATA,
    Column("id", LONG, primary_key=True, autoincrement=True),
    Column("tenant", Text, nullable=False),
    Column("distribution", Text, nullable=False),
    # The number of the latest change. A writer locks this row until it commits, so numbers are committed in order.
    Column("seq", BigInteger, nullable=False),
    # Deletions up to this number have been removed.
    Column("forgotten", BigInteger, nullable=False),
    Index("toolcharter_scopes_name", "tenant", "distribution", unique=True),
)

RECORDS = Table(
    "toolcharter_records",
    METADATA,
    Column("id", LONG, primary_key=True, autoincrement=True),
    Column("scope", BigInteger, ForeignKey("toolcharter_scopes.id"), nullable=False),
    Column("kind", Text, nullable=False),
    Column("key", LargeBinary, nullable=False),
    Column("document", Text, nullable=False),
    Column("version", BigInteger, nullable=False),
    Column("seq", BigInteger, nullable=False),
    Column("indexed", Text, nullable=False),
    Column("secret", Text, nullable=False),
    Column("full_text", Text, nullable=False),
    Index("toolcharter_records_key", "scope", "kind", "key", unique=True),
    Index("toolcharter_records_seq", "scope", "seq", unique=True),
)

VALUES = Table(
    "toolcharter_values",
    METADATA,
    Column("scope", BigInteger, primary_key=True),
    Column("kind", Text, primary_key=True),
    Column("field", Text, primary_key=True),
    Column("value", LargeBinary, primary_key=True),
    Column("key", LargeBinary, primary_key=True),
    Column("record", BigInteger, nullable=False),
    Index("toolcharter_values_record", "record"),
    sqlite_with_rowid=False,
)

DELETIONS = Table(
    "toolcharter_deletions",
    METADATA,
    Column("scope", BigInteger, primary_key=True),
    Column("kind", Text, primary_key=True),
    Column("key", LargeBinary, primary_key=True),
    Column("seq", BigInteger, nullable=False),
    Index("toolcharter_deletions_seq", "scope", "seq", unique=True),
    sqlite_with_rowid=False,
)

ITEMS = Table(
    "toolcharter_items",
    METADATA,
    Column("scope", BigInteger, primary_key=True),
    Column("name", Text, primary_key=True),
    # Without gaps: the items beyond the cap are found by their numbers.
    Column("number", BigInteger, primary_key=True),
    Column("item", Text, nullable=False),
)

LEASES = Table(
    "toolcharter_leases",
    METADATA,
    Column("scope", BigInteger, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("holder", Text, nullable=False),
    Column("fence", BigInteger, nullable=False),
    Column("expires", Float(53), nullable=False),
)
