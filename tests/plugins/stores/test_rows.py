"""Rows, pages, lists and full text: the same in every engine."""

import json
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test
from tests.plugins.stores.store_servers import Rows, row

from toolcharter import EngineTransaction, Row, Scope, StoreConflict, StoreEngine, StoreUnavailable, ToolError
from toolcharter_stores.sql.queries import MAX_SORTED

pytestmark = pytest.mark.slow
SEARCHING = pytest.mark.parametrize("places", ["sqlite", "postgresql"], indirect=True)
"""For what Redis does not have."""
KEYS = [
    ("a",),
    ("a", "b"),
    ("a", "c"),
    ("a\x00b",),
    ("a b",),
    ("aa",),
    ("é",),
    ("z" * 512,),
    ("\N{GRINNING FACE}" * 512,),
    ("\uffff",),
    ("~",),
]


def test_a_row_has_a_version_and_the_number_of_its_change(rows: Rows) -> None:
    """Versions count from 1 for each row, changes from 1 for all."""
    versions = [rows.put("tool", row("a")), rows.put("tool", row("b")), rows.put("tool", row("a", document='{"n":1}'))]

    assert versions == [1, 1, 2]
    assert rows.transact(lambda each: each.get("tool", ("a",))) == Row(("a",), '{"n":1}', 2, 3)
    assert rows.transact(lambda each: each.get("tool", ("c",))) is None
    assert rows.transact(lambda each: each.get("other", ("a",))) is None
    assert rows.engine.last_change(rows.scope, timeout_s=30) == 3


def test_another_version_than_expected_is_a_conflict(rows: Rows) -> None:
    """And nothing is written or counted."""
    rows.put("tool", row("a"), expected=0)
    for write in (
        lambda: rows.put("tool", row("a"), expected=0),
        lambda: rows.put("tool", row("a"), expected=2),
        lambda: rows.put("tool", row("b"), expected=1),
        lambda: rows.delete("tool", "a", expected=2),
        lambda: rows.delete("tool", "b", expected=1),
    ):
        with pytest.raises(StoreConflict):
            write()

    assert rows.changes() == [(1, "tool", ("a",), False)]
    assert rows.engine.last_change(rows.scope, timeout_s=30) == 1
    assert rows.put("tool", row("a"), expected=1) == 2
    assert rows.delete("tool", "a", expected=2)


def test_a_conflict_that_is_caught_undoes_nothing_else(rows: Rows) -> None:
    """Who catches it goes on in the same transaction."""

    def work(each: EngineTransaction) -> int:
        with pytest.raises(StoreConflict):
            each.put("tool", row("a"), expected=7)
        return each.put("tool", row("b"), expected=0)

    assert rows.transact(work) == 1
    assert rows.changes() == [(1, "tool", ("b",), False)]


def test_what_is_raised_undoes_all(rows: Rows) -> None:
    """Rows, lists and the count of changes."""

    def work(each: EngineTransaction) -> None:
        each.put("tool", row("a", n=1, full_text="word"), expected=None)
        each.push("list", "1", cap=5)
        each.delete("tool", ("b",), expected=None)
        raise KeyError("mine")

    rows.put("tool", row("b"))
    with pytest.raises(KeyError, match="mine"):
        rows.transact(work)

    assert (rows.keys("tool"), rows.keys("tool", where={"n": 1})) == ([("b",)], [])
    assert rows.transact(lambda each: each.items("list", limit=5)) == ()
    assert rows.changes() == [(1, "tool", ("b",), False)]


def test_the_last_change_of_each_row_is_told_in_order(rows: Rows) -> None:
    """Of those that were deleted too; a row that comes again is no longer deleted."""
    for key in ("a", "b", "c"):
        rows.put("tool", row(key))
    rows.put("note", row("a"))
    assert (rows.delete("tool", "a"), rows.delete("tool", "a"), rows.delete("tool", "b")) == (True, False, True)
    rows.put("tool", row("b"))

    assert rows.changes() == [
        (3, "tool", ("c",), False),
        (4, "note", ("a",), False),
        (5, "tool", ("a",), True),
        (7, "tool", ("b",), False),
    ]
    assert rows.changes(4, "tool") == [(5, "tool", ("a",), True), (7, "tool", ("b",), False)]
    assert rows.changes(3, limit=1) == [(4, "note", ("a",), False)]
    assert (rows.changes(7), rows.changes(0, "none")) == ([], [])


def test_pages_by_key_are_in_the_order_of_code_points(rows: Rows) -> None:
    """Whatever the collation of the database: keys with NUL, of 512 characters, of four bytes each."""
    for key in KEYS:
        rows.put("tool", row(*key))

    assert rows.keys("tool", limit=2) == sorted(KEYS)
    assert rows.keys("tool", limit=3, descending=True) == sorted(KEYS, reverse=True)
    assert rows.keys("tool", limit=len(KEYS)) == sorted(KEYS)
    assert rows.transact(lambda each: each.count("tool", where={})) == len(KEYS)


def test_pages_by_a_field_are_ordered_by_it_and_then_by_key(rows: Rows) -> None:
    """Nothing comes first, numbers as numbers, texts by code points; where and order go together."""
    values: list[int | None] = [5, -3, None, 5, 2**63 - 1, -(2**63), 0]
    for number, value in enumerate(values):
        rows.put("tool", row(f"k{number}", n=value, even=number % 2 == 0, s=str(value)))
    by_number = sorted(range(7), key=lambda each: (values[each] is not None, values[each] or 0, each))

    assert rows.keys("tool", order="n", limit=2) == [(f"k{each}",) for each in by_number]
    assert rows.keys("tool", order="n", descending=True, limit=2) == [(f"k{each}",) for each in reversed(by_number)]
    assert rows.keys("tool", order="n", where={"even": True}, limit=1) == [
        (f"k{each}",) for each in by_number if each % 2 == 0
    ]
    assert rows.keys("tool", where={"n": 5, "s": "5"}, limit=1) == [("k0",), ("k3",)]
    assert rows.keys("tool", where={"n": 5}, descending=True, limit=1) == [("k3",), ("k0",)]
    assert rows.keys("tool", where={"n": None}) == [("k2",)]
    assert rows.keys("tool", where={"even": 1}) == []
    assert rows.transact(lambda each: each.count("tool", where={"n": 5, "even": True})) == 1


def test_pages_are_the_same_where_few_and_where_many_meet_a_condition(rows: Rows) -> None:
    """They are found in different ways; with a second condition too."""

    def fill(each: EngineTransaction) -> None:
        for number in range(MAX_SORTED + 50):
            each.put("tool", row(f"k{number:03}", n=-(number % 50), rare=number % 25 == 0, odd=number % 2), expected=0)

    rows.transact(fill)
    by_number = sorted(range(MAX_SORTED + 50), key=lambda number: (-(number % 50), number))

    for rare in (True, False):
        for descending in (False, True):
            wanted = [number for number in by_number if (number % 25 == 0) is rare]
            found = rows.keys("tool", order="n", where={"rare": rare}, descending=descending, limit=7)
            assert found == [(f"k{number:03}",) for number in (reversed(wanted) if descending else wanted)]
        found = rows.keys("tool", order="n", where={"odd": 1, "rare": rare}, limit=7)
        assert found == [(f"k{number:03}",) for number in by_number if (number % 25 == 0) is rare and number % 2]


def test_long_keys_and_values_are_paged_whole(rows: Rows) -> None:
    """Each comes once, although an index holds their beginnings only."""
    faces = "\N{GRINNING FACE}" * 500
    keys = [(faces + str(each),) for each in range(7)]
    for key in keys:
        rows.put("tool", row(*key, s=faces + key[0][-1:], t="x"))

    assert sorted(rows.keys("tool", order="s", limit=2)) == keys
    assert sorted(rows.keys("tool", where={"t": "x"}, limit=2)) == keys
    assert rows.keys("tool", where={"s": faces + "3"}) == [keys[3]]


def test_an_index_follows_its_row(rows: Rows) -> None:
    """Changed values and deleted rows are no longer found."""
    rows.put("tool", row("a", n=1))
    rows.put("tool", row("a", n=2))
    rows.put("tool", row("b", n=2))
    rows.put("tool", row("b"))
    rows.put("tool", row("c", n=2))
    rows.delete("tool", "c")

    assert rows.keys("tool", where={"n": 1}) == []
    assert rows.keys("tool", where={"n": 2}) == rows.keys("tool", order="n") == [("a",)]


@pytest.mark.parametrize("after", ["x", "AAAA", "====", "é", "' OR 1=1"])
def test_a_cursor_of_another_hand_is_refused(after: str, rows: Rows) -> None:
    """It is no reason to begin at the first page."""
    for order in ("", "n"):
        with pytest.raises(ToolError) as refused:
            rows.transact(lambda each: each.page("tool", where={}, order=order, descending=False, after=after, limit=1))  # noqa: B023 - run at once
        assert refused.value.reason == "invalid_arguments"


@pytest.mark.parametrize("text", ["a\x00b", "a\ud800b"])
def test_text_that_no_database_keeps_is_refused(text: str, rows: Rows) -> None:
    """Where JSON would have escaped it; the transaction may go on."""
    for write in (
        lambda each: each.put("tool", row("a", document=text), expected=None),
        lambda each: each.put("tool", row("a", full_text=text), expected=None),
        lambda each: each.push("list", text, cap=1),
        lambda each: each.push("list", "1", text, cap=1),
        lambda each: each.push(text, "1", cap=1),
        lambda each: each.items(text, limit=1),
    ):
        with pytest.raises(ToolError, match="UTF-8"):
            rows.transact(write)


def test_a_list_keeps_what_was_pushed_last(rows: Rows) -> None:
    """The newest first, and no more than its cap."""
    for number in range(7):
        rows.transact(lambda each: each.push("list", str(number), cap=4))  # noqa: B023 - run at once
    rows.transact(lambda each: each.push("other", '"\N{GRINNING FACE}"', cap=1))

    assert rows.transact(lambda each: each.items("list", limit=10)) == ("6", "5", "4", "3")
    assert rows.transact(lambda each: each.items("list", limit=2)) == ("6", "5")
    assert rows.transact(lambda each: each.items("other", limit=2)) == ('"\N{GRINNING FACE}"',)
    rows.transact(lambda each: each.push("list", "7", cap=2))
    assert rows.transact(lambda each: each.items("list", limit=10)) == ("7", "6")
    rows.transact(lambda each: each.push("list", "8", "9", cap=3))
    assert rows.transact(lambda each: each.items("list", limit=10)) == ("9", "8", "7")
    rows.transact(lambda each: each.push("list", *map(str, range(10, 20)), cap=4))
    rows.transact(lambda each: each.push("list", cap=4))
    assert rows.transact(lambda each: each.items("list", limit=10)) == ("19", "18", "17", "16")
    rows.transact(lambda each: each.push("list", "20", cap=5))
    assert rows.transact(lambda each: each.items("list", limit=10)) == ("20", "19", "18", "17", "16")
    assert rows.engine.last_change(rows.scope, timeout_s=30) == 0


@SEARCHING
def test_full_text_finds_words_whatever_their_case_and_accents(rows: Rows) -> None:
    """All of them, as whole words, the best first; what is changed or deleted is found no more."""
    rows.put("note", row("a", full_text="The Café at the corner_shop, 2nd floor", n=1))
    rows.put("note", row("b", full_text="coffee cafe cafe cafe", n=2))
    rows.put("note", row("c", full_text="\N{GRINNING FACE} Привет мир cafes", n=1))
    rows.put("note", row("d", full_text="gone soon"))
    rows.put("note", row("d", full_text="now other"))
    rows.put("note", row("e", full_text="gone soon"))
    rows.delete("note", "e")

    assert rows.search("CAFE") == [("b",), ("a",)]
    assert rows.search("café", limit=1) == [("b",)]
    assert rows.search("cafe", n=1) == rows.search("corner_shop") == rows.search("the café") == [("a",)]
    assert rows.search("МИР") == [("c",)]
    assert rows.search("gone") == rows.search("caf") == rows.search("corner") == rows.search("!?") == []
    assert rows.transact(lambda each: each.search("other", ["cafe"], where={}, limit=5)) == ()


@SEARCHING
@pytest.mark.parametrize(
    "text",
    [
        '"',
        "'",
        "cafe OR tea",
        "cafe*",
        "NEAR(cafe tea)",
        "words:cafe",
        "^cafe",
        "cafe -tea",
        "NOT",
        "cafe & !tea",
        "\\",
        "a:*",
        "(",
        ":",
        "tea | cafe",
    ],
)
def test_nothing_in_a_search_is_an_operator(text: str, rows: Rows) -> None:
    """What the full text of SQLite and PostgreSQL would read as one finds its words, all of them."""
    rows.put("note", row("cafe", full_text="cafe"))
    rows.put("note", row("tea", full_text="tea"))
    words = {"cafe*": "cafe", "^cafe": "cafe"}

    assert rows.search(text) == ([(words[text],)] if text in words else [])


@SEARCHING
def test_a_long_text_is_searched_by_its_beginning(rows: Rows) -> None:
    """A million characters of different words are more than an index takes."""
    rows.put("note", row("a", full_text="first " + " ".join(f"w{each}" for each in range(120_000)) + " last"))

    assert (rows.search("first"), rows.search("w1000"), rows.search("last")) == ([("a",)], [("a",)], [])


def test_scopes_see_nothing_of_each_other(engine: StoreEngine, scope: Scope) -> None:
    """Neither another tenant's nor another distribution's, by any method."""
    mine, *others = (
        Rows(engine, Scope(tenant, distribution))
        for tenant, distribution in [
            scope,
            (scope.tenant + "x", scope.distribution),
            (scope.tenant, "acme-other"),
            ("", scope.distribution),
        ]
    )
    mine.put("note", row("a", full_text="secret word", n=1))
    mine.transact(lambda each: each.push("list", "1", cap=5))
    lease = engine.lease(mine.scope, "lease", "me", 60, timeout_s=30)
    assert lease is not None

    for other in others:
        assert other.document("note", "a") is None
        assert (other.keys("note"), other.keys("note", order="n"), other.keys("note", where={"n": 1})) == ([], [], [])
        assert other.changes() == []
        assert not engine.has_full_text or other.search("secret") == []
        assert other.transact(lambda each: (each.count("note", where={}), each.items("list", limit=5))) == (0, ())
        assert engine.last_change(other.scope, timeout_s=30) == 0
        with pytest.raises(StoreConflict):
            other.transact(lambda each: each.require_lease(lease))
        theirs = engine.lease(other.scope, "lease", "them", 0.01, timeout_s=30)
        assert theirs is not None
        assert theirs.fence == 1
        assert not other.delete("note", "a")
        engine.release(other.scope, lease, timeout_s=30)
    mine.transact(lambda each: each.require_lease(lease))
    assert mine.document("note", "a") == "{}"


class Model(RuleBasedStateMachine):
    """An engine beside a dict."""

    make: Callable[[], Rows]

    @initialize()
    def begin(self) -> None:
        """An empty scope."""
        self.rows = self.make()
        self.model: dict[tuple[str, ...], tuple[int, int | None, str]] = {}
        self.changed: dict[tuple[str, ...], tuple[int, bool]] = {}
        self.seq = 0

    keys = st.tuples(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=3))
    values = st.none() | st.integers(-2, 2)

    @rule(key=keys, value=values, expected=st.none() | st.integers(0, 3))
    def put(self, key: tuple[str, ...], value: int | None, expected: int | None) -> None:
        """Put a row."""
        version = self.model.get(key, (0, None, ""))[0]
        new = row(*key, document=json.dumps(value), n=value)
        if expected not in {None, version}:
            with pytest.raises(StoreConflict):
                self.rows.put("kind", new, expected=expected)
            return
        assert self.rows.put("kind", new, expected=expected) == version + 1
        self.seq += 1
        self.model[key] = (version + 1, value, new.document)
        self.changed[key] = (self.seq, False)

    @rule(key=keys)
    def delete(self, key: tuple[str, ...]) -> None:
        """Delete a row."""
        assert self.rows.delete("kind", *key) == (key in self.model)
        if self.model.pop(key, None) is not None:
            self.seq += 1
            self.changed[key] = (self.seq, True)

    @rule(value=values, limit=st.integers(1, 4), descending=st.booleans())
    def read(self, value: int | None, limit: int, *, descending: bool) -> None:
        """Read all in each way."""
        here = sorted(self.model, reverse=descending)
        ordered = sorted(
            self.model,
            key=lambda key: (self.model[key][1] is not None, self.model[key][1] or 0, key),
            reverse=descending,
        )
        assert self.rows.keys("kind", limit=limit, descending=descending) == here
        assert self.rows.keys("kind", limit=limit, descending=descending, order="n") == ordered
        assert self.rows.keys("kind", limit=limit, descending=descending, where={"n": value}) == [
            key for key in here if self.model[key][1] == value
        ]
        told = sorted((seq, "kind", key, deleted) for key, (seq, deleted) in self.changed.items())
        assert self.rows.changes() == told
        assert self.rows.engine.last_change(self.rows.scope, timeout_s=30) == self.seq
        assert {key: self.rows.document("kind", *key) for key in self.model} == {
            key: document for key, (_, _, document) in self.model.items()
        }


def test_an_engine_does_what_a_dict_does(engine: StoreEngine) -> None:
    """Any sequence of writes and reads."""
    tenants = iter(range(10_000))

    class Tried(Model):
        @staticmethod
        def make() -> Rows:
            return Rows(engine, Scope(f"m{next(tenants)}", "acme-tests"))

    quick = settings(max_examples=15, stateful_step_count=15, deadline=None, suppress_health_check=list(HealthCheck))
    run_state_machine_as_test(Tried, settings=quick)


def test_without_full_text_a_search_says_so(engine: StoreEngine, rows: Rows) -> None:
    """Nothing is passed off as an empty answer; what needs it does not start."""
    if engine.has_full_text:
        assert rows.search("word") == []
    else:
        with pytest.raises(StoreUnavailable, match="no full-text search"):
            rows.search("word")
