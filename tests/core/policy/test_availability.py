"""Which tools a caller sees: entries that match intersect, denies unite, and nothing undoes a deny."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rows import each_row

from toolcharter.api.call import Caller, Delegation
from toolcharter.errors import ConfigurationError, Fault
from toolcharter.policy.availability import AvailabilityPlan, Hidden, ToolCatalog, availability_faults, idle_entries
from toolcharter.policy.toolsets import GROUPS, TOOLSETS
from toolcharter.profile.globs import GlobError
from toolcharter.profile.settings import Availability, CallerPattern

TOOLS = {
    "read_file": frozenset({"fs"}),
    "write_file": frozenset({"fs"}),
    "bash": frozenset({"runtime"}),
    "grep": frozenset({"fs", "Text"}),
    "mcp__pg__query": frozenset({"mcp", "mcp:pg"}),
    "mcp__gh__Issue": frozenset({"mcp", "mcp:gh"}),
}
ALIASES = {"Exec": "Bash", "search": "grep", "gone": "unlisted"}
NOBODY = Caller()


def catalog(**more: Any) -> ToolCatalog:
    return ToolCatalog(TOOLS, ALIASES, **more)


def entry(for_: Mapping[str, Any] | None = None, **keys: Any) -> Availability:
    return Availability(CallerPattern(**for_ or {}), **keys)


def seen(*entries: Availability, caller: Caller = NOBODY, **more: Any) -> set[str]:
    view = AvailabilityPlan(entries, catalog(**more)).of(caller)
    assert list(view) == list(TOOLS)
    return {tool for tool, hidden in view.items() if hidden is None}


def place_of(*path: str | int) -> str:
    return f"p.yaml:{'/'.join(map(str, path))}"


def faults(*entries: Availability, installed: tuple[str, ...] = (), **more: Any) -> list[str]:
    return [str(fault) for fault in availability_faults(entries, catalog(**more), installed, place_of)]


ALL = set(TOOLS)
FS = {"read_file", "write_file", "grep"}
MCP = {"mcp__pg__query", "mcp__gh__Issue"}


@each_row(
    ("items", "covered"),
    [
        pytest.param(["read_file"], {"read_file"}, id="name"),
        pytest.param(["READ_file"], {"read_file"}, id="name without case"),
        pytest.param(["mcp__gh__issue"], {"mcp__gh__Issue"}, id="tool without case"),
        pytest.param(["*_file"], {"read_file", "write_file"}, id="glob"),
        pytest.param(["MCP__*"], MCP, id="glob without case"),
        pytest.param(["*"], ALL, id="star"),
        pytest.param([], set(), id="nothing"),
        pytest.param(["exec"], {"bash"}, id="alias"),
        pytest.param(["exe*"], set(), id="globs look at names, not at aliases"),
        pytest.param(["gone"], set(), id="alias of a tool that is not listed"),
        pytest.param(["group:text"], {"grep"}, id="group of a spec"),
        pytest.param(["Group:TEXT"], {"grep"}, id="group without case"),
        pytest.param(["group:fs"], FS, id="shipped group"),
        pytest.param(["group:mcp"], MCP, id="every server"),
        pytest.param(["group:mcp:pg"], {"mcp__pg__query"}, id="one server"),
        pytest.param(["toolset:coding"], FS | {"bash"}, id="toolset"),
        pytest.param(["Toolset:CODING"], FS | {"bash"}, id="toolset without case"),
        pytest.param(["toolset:full"], ALL, id="full"),
        pytest.param(["toolset:minimal"], set(), id="shipped names that nothing provides"),
        pytest.param(["group:goclaw"], FS | {"bash"}, id="group of groups"),
        pytest.param(["nope", "group:nope", "toolset:nope"], set(), id="nothing has the name"),
        pytest.param(["read_file", "exec", "group:mcp:gh"], {"read_file", "bash", "mcp__gh__Issue"}, id="several"),
    ],
)
def test_items_cover_the_same_in_each_list(items: list[str], covered: set[str]) -> None:
    """What `tools` grants, `deny` takes and `also_allow` brings back."""
    assert seen(entry(tools=tuple(items))) == covered
    assert seen(entry(deny=tuple(items))) == ALL - covered
    assert seen(entry(tools=(), also_allow=tuple(items))) == covered


def test_a_profile_without_entries_hides_nothing() -> None:
    """Absent is no restriction."""
    assert seen() == seen(entry()) == ALL


def test_narrowings_intersect() -> None:
    """A tool has to stand in each list."""
    assert seen(entry(tools=("group:fs",)), entry(tools=("read_file", "bash"))) == {"read_file"}


def test_denies_unite_and_also_allow_does_not_undo_them() -> None:
    """Wherever the deny stands."""
    undoing = entry(tools=(), also_allow=("*",))

    assert seen(entry(deny=("bash",)), undoing, entry(deny=("group:mcp",))) == FS


def test_also_allow_undoes_every_narrowing() -> None:
    """It counts for the tools of all entries that match, not only its own."""
    assert seen(entry(tools=("grep",)), entry(tools=("bash",)), entry(also_allow=("bash",))) == {"bash"}


def test_own_toolset_replaces_a_shipped_one() -> None:
    """Its author meant this list, under whatever case."""
    assert seen(entry(tools=("toolset:coding",)), toolsets={"Coding": ("grep",)}) == {"grep"}


def test_own_group_joins_the_shipped_one_and_that_of_specs() -> None:
    """A deny of the group never covers less than it did."""
    assert seen(entry(deny=("group:fs",)), groups={"FS": ("group:mcp:pg",)}) == {"bash", "mcp__gh__Issue"}


def test_two_own_groups_that_differ_in_case_are_one() -> None:
    """A deny of the group covers the members of both."""
    groups = {"Mine": ("grep",), "mine": ("bash",)}

    assert (
        seen(entry(deny=["group:mine"]), groups=groups)
        == seen(entry(deny=["grep", "bash"]))
        == {"read_file", "write_file", "mcp__pg__query", "mcp__gh__Issue"}
    )


def test_a_tool_that_may_come_is_named_without_case() -> None:
    """As every tool is."""
    coming = ToolCatalog({}, {}, later=("mcp__gh__*",))

    assert [coming.may_come(name) for name in ("mcp__GH__issue", "MCP__gh__x", "mcp__gl__issue")] == [True, True, False]


def test_lists_can_be_made_of_lists() -> None:
    """To any depth; a circle ends where it began."""
    deep = {f"s{number}": (f"toolset:s{number + 1}",) for number in range(2000)}
    circle = {"x": ("toolset:y", "grep"), "y": ("toolset:X", "group:mine")}

    assert seen(entry(tools=("toolset:s0",)), toolsets={**deep, "s2000": ("bash",)}) == {"bash"}
    assert seen(entry(tools=("toolset:x",)), toolsets=circle, groups={"mine": ("bash",)}) == {"grep", "bash"}


ADA = Caller(agent="ada", provider="OpenAI", group="staff", depth=2, channel="telegram", chat="7", peer="group")


@each_row(
    ("pattern", "matches"),
    [
        pytest.param({}, True, id="everybody"),
        pytest.param({"provider": ("OpenAI",)}, True, id="provider"),
        pytest.param({"provider": ("openai",)}, False, id="case counts"),
        pytest.param({"provider": ("x", "Open*")}, True, id="one of several"),
        pytest.param({"provider": ()}, False, id="nobody"),
        pytest.param({"channel": ("tele*",), "chat": ("7",), "peer": ("group",)}, True, id="where it is talked to"),
        pytest.param({"peer": ("direct",)}, False, id="another peer"),
        pytest.param({"channel": ("slack",), "chat": ("7",)}, False, id="another channel"),
        pytest.param({"channel": ("telegram",), "chat": ("8",)}, False, id="another chat"),
        pytest.param({"agent_type": ("open",)}, False, id="a fact that it lacks"),
        pytest.param({"agent": ("a*",), "group": ("staff",)}, True, id="all facts"),
        pytest.param({"agent": ("a*",), "group": ("guests",)}, False, id="not all facts"),
        pytest.param({"agent": ("a*",), "depth": ((">", 2),)}, False, id="facts and no depth"),
        pytest.param({"depth": ((">", 1),)}, True, id="above"),
        pytest.param({"depth": ((">", 2),)}, False, id="not above"),
        pytest.param({"depth": ((">=", 2),)}, True, id="at least"),
        pytest.param({"depth": ((">=", 3),)}, False, id="not at least"),
        pytest.param({"depth": (("<", 3),)}, True, id="below"),
        pytest.param({"depth": (("<", 2),)}, False, id="not below"),
        pytest.param({"depth": (("<=", 2),)}, True, id="at most"),
        pytest.param({"depth": (("<=", 1),)}, False, id="not at most"),
        pytest.param({"depth": (("==", 2),)}, True, id="exactly"),
        pytest.param({"depth": (("==", 1),)}, False, id="not exactly"),
        pytest.param({"depth": ((">=", 1), ("<", 2))}, False, id="not all comparisons"),
    ],
)
def test_entries_are_for_the_callers_that_match(pattern: dict[str, Any], matches: bool) -> None:  # noqa: FBT001 - a column
    """Each fact that an entry asks for has to match, with case, and each comparison has to hold."""
    found = AvailabilityPlan([entry(pattern, tools=())], catalog()).entries_for(ADA)

    assert len(found) == matches


@pytest.mark.parametrize(
    ("fact", "caller"),
    [("provider", Caller(provider="")), ("agent", Caller(agent="")), ("group", Caller(group=""))],
)
def test_an_absent_fact_matches_nothing(fact: str, caller: Caller) -> None:
    """Not even a star: nobody knows who calls."""
    assert seen(entry({fact: ("*",)}, deny=("*",))) == ALL
    assert seen(entry({fact: ("*",)}, deny=("*",)), caller=caller) == set()


BASE = entry(tools=("grep",), deny=("bash",), name="base", place="p.yaml:1:1")


def test_an_entry_replaces_another_for_its_own_callers() -> None:
    """All of the other goes, its deny too; for everybody else it stays."""
    entries = (entry({"agent": ("ada",)}, tools=("bash",), replaces="base"), BASE)

    assert seen(*entries, caller=ADA) == {"bash"}
    assert seen(*entries) == {"grep"}


def test_replacements_can_be_chained() -> None:
    """The last of those that match stands for all before it, but not for one that only an absent link replaces."""
    middle = entry({"agent": ("ada",)}, tools=("read_file",), name="middle", replaces="base")
    last = entry({"depth": ((">", 0),)}, tools=("*",), deny=("read_file",), replaces="middle")

    assert seen(BASE, middle, last, caller=ADA) == ALL - {"read_file"}
    assert seen(BASE, middle, last, caller=Caller(agent="ada")) == {"read_file"}
    assert seen(BASE, middle, last, caller=Caller(depth=1)) == {"grep"}


def test_several_can_replace_one() -> None:
    """They intersect as any others."""
    assert seen(BASE, entry(tools=("group:fs",), replaces="base"), entry(tools=("*_file",), replaces="base")) == {
        "read_file",
        "write_file",
    }


def test_the_first_thing_that_hides_a_tool_is_told() -> None:
    """Denies before narrowings, each in the order of the file, with the item and the entry's name and place."""
    entries = [
        BASE,
        entry(deny=("exec", "group:runtime", "mcp__*"), tools=("*_file", "toolset:minimal"), place="p.yaml:2:1"),
        entry(deny=("nope",)),
    ]
    plan = AvailabilityPlan(entries, catalog())
    narrowed = Hidden("tools", "[grep]", "base", "p.yaml:1:1")
    too_narrow = Hidden("tools", "[*_file, toolset:minimal]", None, "p.yaml:2:1")

    assert plan.of(NOBODY) == {
        "read_file": narrowed,
        "write_file": narrowed,
        "bash": Hidden("deny", "bash", "base", "p.yaml:1:1"),
        "grep": too_narrow,
        "mcp__pg__query": Hidden("deny", "mcp__*", None, "p.yaml:2:1"),
        "mcp__gh__Issue": Hidden("deny", "mcp__*", None, "p.yaml:2:1"),
    }
    assert plan.why("Bash", NOBODY) == (
        Hidden("deny", "bash", "base", "p.yaml:1:1"),
        Hidden("deny", "exec", None, "p.yaml:2:1"),
        narrowed,
        too_narrow,
    )
    assert plan.entries_for(NOBODY) == tuple(entries)


def test_a_started_agent_sees_what_it_was_left() -> None:
    """By name without case, and nothing of it that entries hide; what is not left is told last."""
    plan = AvailabilityPlan([BASE], catalog())
    child = Caller(delegation=Delegation(NOBODY, ("BASH", "Grep", "read_file", "MCP__gh__issue")))
    narrowed, denied = Hidden("tools", "[grep]", "base", "p.yaml:1:1"), Hidden("deny", "bash", "base", "p.yaml:1:1")
    not_left = Hidden("tools", "the tools that the agent which started this one left to it", None, "")
    every = AvailabilityPlan([], catalog())

    assert plan.of(child) == dict.fromkeys(TOOLS, narrowed) | {"bash": denied, "grep": None}
    assert every.of(child) == dict.fromkeys(TOOLS, not_left) | dict.fromkeys(
        ("bash", "grep", "read_file", "mcp__gh__Issue")
    )
    assert plan.why("write_file", child) == (narrowed, not_left)
    assert plan.why("read_file", child) == (narrowed,)
    assert plan.why("bash", child) == (denied, narrowed)
    assert every.why("MCP__pg__query", child) == (not_left,)
    assert every.why("READ_FILE", child) == every.why("grep", child) == every.why("write_file", NOBODY) == ()


@each_row(
    ("items", "named"),
    [
        pytest.param(("EXEC", "*_file"), {"bash", "read_file", "write_file"}, id="alias and glob"),
        pytest.param(("group:mcp:gh",), {"mcp__gh__Issue"}, id="as it is written"),
        pytest.param((), set(), id="nothing"),
    ],
)
def test_tools_that_items_name(items: tuple[str, ...], named: set[str]) -> None:
    """By their own names, not by those of the items."""
    assert AvailabilityPlan([], catalog()).named(items) == named


def test_callers_that_match_the_same_entries_share_a_view() -> None:
    """A view is cheap, and nobody can change it."""
    plan = AvailabilityPlan([BASE], catalog())

    assert plan.of(Caller(session="one")) is plan.of(Caller(session="two"))
    with pytest.raises(TypeError):
        plan.of(NOBODY)["bash"] = None  # type: ignore[index]  # what this test is about


def test_an_item_that_is_no_glob_builds_nothing() -> None:
    """Nor does a caller's pattern."""
    with pytest.raises(GlobError):
        AvailabilityPlan([entry(deny=("a\\b",))], catalog())
    with pytest.raises(GlobError):
        AvailabilityPlan([entry({"agent": ("a\\b",)})], catalog())


A, B, C = (entry(name=name, replaces=other, place=f"p.yaml:{name}") for name, other in ("ab", "bc", "ca"))
DOUBLED = "another entry is named 'base', too: the one at {}."
CIRCLE = "these entries replace each other in a circle: {}."


@each_row(
    ("entries", "told"),
    [
        pytest.param(
            [BASE, BASE._replace(tools=())], [(1, "name", DOUBLED, "Give each a name of its own.")], id="twice"
        ),
        pytest.param(
            [entry(name="a", replaces="a")],
            [(0, "replaces", CIRCLE.format("a -> a"), "Let one of them replace nothing.")],
            id="itself",
        ),
        pytest.param(
            [BASE, entry(name="x", replaces="b"), B, C, A],
            [(2, "replaces", CIRCLE.format("b -> c -> a -> b"), "Let one of them replace nothing.")],
            id="circle",
        ),
        pytest.param(
            [BASE, A, entry(replaces="bsae")],
            [
                (1, "replaces", "no entry is named 'b'.", "Named entries: 'a', 'base'."),
                (2, "replaces", "no entry is named 'bsae'.", "Did you mean 'base'? Named entries: 'a', 'base'."),
            ],
            id="no such entry",
        ),
        pytest.param(
            [entry(replaces="x")], [(0, "replaces", "no entry is named 'x'.", "No entry has a name.")], id="no names"
        ),
    ],
)
def test_faulty_replacements_are_told_and_build_nothing(
    entries: list[Availability], told: list[tuple[int, str, str, str]]
) -> None:
    """Who stands in whose place is never left to chance."""
    first = place_of("availability", 0)
    assert list(availability_faults(entries, catalog(), (), place_of)) == [
        Fault(place_of("availability", index, key), f"availability.{index}.{key}", what.format(first), fix)
        for index, key, what, fix in told
    ]
    with pytest.raises(ConfigurationError) as caught:
        AvailabilityPlan(entries, catalog())
    assert list(caught.value.faults) == [
        Fault(entries[index].place, f"availability.{index}.{key}", what.format(entries[0].place), fix)
        for index, key, what, fix in told
    ]


def test_one_entry_twice_is_one_entry() -> None:
    """Two parents bring what their own parent says, each."""
    child = entry(tools=("bash",), replaces="base")

    assert faults(BASE, BASE, child) == []
    assert seen(BASE, BASE, child) == {"bash"}


KNOWN_GROUPS = ", ".join(map(repr, sorted({*GROUPS, "text", "mcp:pg", "mcp:gh"})))


@each_row(
    ("item", "what", "fix"),
    [
        pytest.param(
            "read_fil",
            "nothing provides a tool named 'read_fil'.",
            "Did you mean 'read_file'? If it comes later, add 'read_fil' to `missing_ok`.",
            id="tool",
        ),
        pytest.param(
            "Quux", "nothing provides a tool named 'Quux'.", "If it comes later, add 'Quux' to `missing_ok`.", id="far"
        ),
        pytest.param(
            "fs",
            "nothing provides a tool named 'fs'.",
            "Did you mean 'group:fs'? If it comes later, add 'fs' to `missing_ok`.",
            id="group without its prefix",
        ),
        pytest.param(
            "messaging",
            "nothing provides a tool named 'messaging'.",
            "Did you mean 'group:messaging'? If it comes later, add 'messaging' to `missing_ok`.",
            id="group and toolset without their prefixes",
        ),
        pytest.param(
            "group:mcp:pq",
            "there is no group 'mcp:pq'.",
            f"Did you mean 'mcp:pg'? Known groups: {KNOWN_GROUPS}. If it comes later, add 'group:mcp:pq' to"
            " `missing_ok`.",
            id="server",
        ),
        pytest.param(
            "group:coding",
            "there is no group 'coding'.",
            f"Did you mean 'toolset:coding'? Known groups: {KNOWN_GROUPS}. If it comes later, add 'group:coding' to"
            " `missing_ok`.",
            id="toolset as group",
        ),
        pytest.param(
            "toolset:Codin",
            "there is no toolset 'codin'.",
            f"Did you mean 'coding'? Known toolsets: {', '.join(map(repr, sorted(TOOLSETS)))}.",
            id="toolset",
        ),
        pytest.param(
            "toolset:grep",
            "there is no toolset 'grep'.",
            f"Did you mean 'grep'? Known toolsets: {', '.join(map(repr, sorted(TOOLSETS)))}.",
            id="tool as toolset",
        ),
        *(
            pytest.param(
                item,
                f"no tool's name can match {item!r}.",
                "Write a tool's name, a glob over names, 'group:NAME' or 'toolset:NAME'.",
                id=name,
            )
            for item, name in (("git:push", "action"), ("git:*", "all actions"), ("", "empty"), ("a\\*", "escape"))
        ),
    ],
)
def test_items_that_name_nothing_are_told(item: str, what: str, fix: str) -> None:
    """In each list, with place and near matches: a deny of nothing protects nobody."""
    entries = [entry(), Availability(tools=("grep", item), deny=("grep", item), also_allow=("grep", item))]
    paths = [("availability", 1, key, 1) for key in ("tools", "deny", "also_allow")]

    assert list(availability_faults(entries, catalog(), (), place_of)) == [
        Fault(place_of(*path), ".".join(map(str, path)), what, fix) for path in paths
    ]


def test_own_lists_that_name_nothing_are_told() -> None:
    """As those of entries."""
    fix = "If it comes later, add 'quux' to `missing_ok`."

    assert faults(toolsets={"mine": ("grep", "quux")}, groups={"Ours": ("quux",)}) == [
        f"p.yaml:toolsets/mine/1: toolsets.mine.1: nothing provides a tool named 'quux'.\n{fix}",
        f"p.yaml:groups/Ours/0: groups.Ours.0: nothing provides a tool named 'quux'.\n{fix}",
    ]


def test_names_that_something_provides_are_no_fault() -> None:
    """Listed, an alias, installed, shipped, announced, or a glob, which need not match yet; without case."""
    items = (
        *("GREP", "Search", "Other", "Later", "group:mcp:later", "group:Mine", "toolset:MINE", "none_*", "*"),
        *(f"group:{name}" for name in GROUPS),
        *(f"toolset:{name}" for name in TOOLSETS),
    )
    announced = frozenset({"later", "group:mcp:Later"})

    assert (
        faults(
            entry({"agent": ("*",)}, tools=items),
            entry(deny=items),
            installed=("other",),
            toolsets={"mine": ("toolset:minimal",)},
            groups={"MINE": ("group:fs",)},
            missing_ok=announced,
        )
        == []
    )


def test_shipped_lists_only_name_lists_there_are() -> None:
    """Tools may be missing, groups may not."""
    items = [item for items in (*GROUPS.values(), *TOOLSETS.values()) for item in items]

    assert {item for item in items if ":" in item} <= {f"group:{name}" for name in GROUPS}


def test_circles_of_lists_are_told() -> None:
    """Each once, at one of the profile's own lists, groups first; what only leads to one is no circle."""
    told = faults(
        toolsets={
            "into": ("toolset:a",),
            "a": ("toolset:B",),
            "B": ("grep", "group:c"),
            "self": ("toolset:self",),
            "coding": ("toolset:coding", "grep"),
        },
        groups={"c": ("toolset:a",), "fs": ("group:goclaw",)},
    )

    fix = "A list with a shipped name cannot contain the shipped list."
    assert sorted(told) == sorted(
        f"p.yaml:{'/'.join(path)}: {'.'.join(path)}: these lists contain each other: {circle}.\n{fix}"
        for path, circle in [
            (("groups", "c"), "group:c -> toolset:a -> toolset:b -> group:c"),
            (("toolsets", "self"), "toolset:self -> toolset:self"),
            (("toolsets", "coding"), "toolset:coding -> toolset:coding"),
            (("groups", "fs"), "group:fs -> group:goclaw -> group:fs"),
        ]
    )


ITEMS = st.lists(
    st.sampled_from(["read_file", "EXEC", "*_file", "group:fs", "group:mcp", "toolset:coding", "toolset:mine", "*"]),
    max_size=3,
).map(tuple)
CALLERS = st.builds(
    Caller,
    group=st.none(),
    agent=st.sampled_from([None, "ada", "bob"]),
    provider=st.sampled_from([None, "openai"]),
    peer=st.sampled_from([None, "direct", "group"]),
    channel=st.none(),
    chat=st.none(),
    agent_type=st.none(),
    depth=st.integers(0, 2),
)
PATTERNS = st.builds(
    CallerPattern,
    group=st.none(),
    provider=st.none() | st.just(("open*",)),
    agent=st.none() | st.just(("ada",)),
    peer=st.none() | st.just(("group",)),
    channel=st.none(),
    chat=st.none(),
    agent_type=st.none(),
    depth=st.none() | st.tuples(st.tuples(st.sampled_from(["<", ">=", "=="]), st.integers(0, 2))),
)
NOTHING = st.just(())
NONE = st.none()


def entries_with(also_allow: st.SearchStrategy[Any]) -> st.SearchStrategy[Availability]:
    return st.builds(Availability, PATTERNS, NONE | ITEMS, ITEMS, also_allow, NONE, NONE, st.just(""))


MINE = {"mine": ("bash", "group:mcp:gh")}


@st.composite
def profiles(draw: st.DrawFn) -> list[Availability]:
    """Entries with distinct names, each of which may replace one before it."""
    also_allowing = draw(st.lists(entries_with(ITEMS), max_size=5))
    named = [each._replace(name=f"e{number}", place=f"p:{number}") for number, each in enumerate(also_allowing)]
    targets = [draw(st.none() | st.sampled_from(named[:number])) if number else None for number in range(len(named))]
    return [each._replace(replaces=target and target.name) for each, target in zip(named, targets, strict=True)]


@given(profiles(), CALLERS, st.randoms(use_true_random=False))
def test_the_order_of_entries_never_matters(entries: list[Availability], caller: Caller, random: Any) -> None:
    """Who sees what is the same in every order."""
    shuffled = list(entries)
    random.shuffle(shuffled)

    assert seen(*shuffled, caller=caller, toolsets=MINE) == seen(*entries, caller=caller, toolsets=MINE)


@given(profiles(), entries_with(NOTHING), CALLERS)
def test_an_entry_that_only_narrows_and_denies_shows_nothing_more(
    entries: list[Availability], more: Availability, caller: Caller
) -> None:
    """Without `also_allow` and `replaces` an entry can only take away."""
    assert seen(*entries, more, caller=caller, toolsets=MINE) <= seen(*entries, caller=caller, toolsets=MINE)


@given(profiles(), CALLERS)
def test_what_an_entry_in_force_denies_is_hidden(entries: list[Availability], caller: Caller) -> None:
    """Whatever the others say; and a tool is hidden if and only if there is something to tell."""
    plan = AvailabilityPlan(entries, catalog(toolsets=MINE))
    view = plan.of(caller)

    for each in plan.entries_for(caller):
        denied = ALL - seen(entry(deny=each.deny), toolsets=MINE)
        assert {tool for tool in denied if view[tool] is None} == set()
    assert {tool: next(iter(plan.why(tool, caller)), None) for tool in TOOLS} == view


def test_why_an_entry_changes_nothing_is_told_once() -> None:
    """What always replaces it is for all callers, or for the same ones; of several causes the first is told."""
    ada: dict[str, Any] = {"agent": ("ada",)}
    for_ada = entry(ada, tools=("bash",), name="base")
    by_all, by_ada, by_bob = (
        entry(callers, tools=("*",), replaces="base", place=f"p.yaml:{line}")
        for line, callers in enumerate(({}, ada, {"agent": ("bob",)}), 2)
    )

    found = [list(idle_entries([for_ada, other])) for other in (by_all, by_ada, by_bob)]

    assert found == [
        [(0, for_ada, "the entry at p.yaml:2 always replaces it.")],
        [(0, for_ada, "the entry at p.yaml:3 always replaces it.")],
        [],
    ]
    nobody = entry({"agent": ()})
    assert list(idle_entries([nobody])) == [(0, nobody, "no caller matches its `for`.")]
