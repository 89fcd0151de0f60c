"""The first tables."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

LONG = sa.BigInteger().with_variant(sa.Integer, "sqlite")
TEXT_OF = {
    "sqlite": ["CREATE VIRTUAL TABLE toolcharter_text USING fts5(place, words, tokenize = \"ascii tokenchars '_'\")"],
    "postgresql": [
        "CREATE TABLE toolcharter_text (record BIGINT PRIMARY KEY, words TSVECTOR NOT NULL)",
        "CREATE INDEX toolcharter_text_words ON toolcharter_text USING gin (words)",
    ],
}


def upgrade() -> None:
    """Create all tables."""
    _make_records()
    op.create_table(
        "toolcharter_items",
        sa.Column("scope", sa.BigInteger, primary_key=True),
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("number", sa.BigInteger, primary_key=True),
        sa.Column("item", sa.Text, nullable=False),
    )
    op.create_table(
        "toolcharter_leases",
        sa.Column("scope", sa.BigInteger, primary_key=True),
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("holder", sa.Text, nullable=False),
        sa.Column("fence", sa.BigInteger, nullable=False),
        sa.Column("expires", sa.Float(53), nullable=False),
    )
    for statement in TEXT_OF[op.get_bind().dialect.name]:
        op.execute(statement)


def _make_records() -> None:
    op.create_table(
        "toolcharter_scopes",
        sa.Column("id", LONG, primary_key=True, autoincrement=True),
        sa.Column("tenant", sa.Text, nullable=False),
        sa.Column("distribution", sa.Text, nullable=False),
        sa.Column("seq", sa.BigInteger, nullable=False),
        sa.Column("forgotten", sa.BigInteger, nullable=False),
    )
    op.create_index("toolcharter_scopes_name", "toolcharter_scopes", ["tenant", "distribution"], unique=True)
    op.create_table(
        "toolcharter_records",
        sa.Column("id", LONG, primary_key=True, autoincrement=True),
        sa.Column("scope", sa.BigInteger, sa.ForeignKey("toolcharter_scopes.id"), nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("key", sa.LargeBinary, nullable=False),
        sa.Column("document", sa.Text, nullable=False),
        sa.Column("version", sa.BigInteger, nullable=False),
        sa.Column("seq", sa.BigInteger, nullable=False),
        sa.Column("indexed", sa.Text, nullable=False),
        sa.Column("secret", sa.Text, nullable=False),
        sa.Column("full_text", sa.Text, nullable=False),
    )
    op.create_index("toolcharter_records_key", "toolcharter_records", ["scope", "kind", "key"], unique=True)
    op.create_index("toolcharter_records_seq", "toolcharter_records", ["scope", "seq"], unique=True)
    op.create_table(
        "toolcharter_values",
        sa.Column("scope", sa.BigInteger, primary_key=True),
        sa.Column("kind", sa.Text, primary_key=True),
        sa.Column("field", sa.Text, primary_key=True),
        sa.Column("value", sa.LargeBinary, primary_key=True),
        sa.Column("key", sa.LargeBinary, primary_key=True),
        sa.Column("record", sa.BigInteger, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_index("toolcharter_values_record", "toolcharter_values", ["record"])
    op.create_table(
        "toolcharter_deletions",
        sa.Column("scope", sa.BigInteger, primary_key=True),
        sa.Column("kind", sa.Text, primary_key=True),
        sa.Column("key", sa.LargeBinary, primary_key=True),
        sa.Column("seq", sa.BigInteger, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_index("toolcharter_deletions_seq", "toolcharter_deletions", ["scope", "seq"], unique=True)
