"""Profiles for hypothesis: values that a file may hold, keys of every kind."""

import json
import re
from typing import Any

from hypothesis import strategies as st

from toolcharter.profile.globs import escape_glob

ESCAPES = {code: f"\\u{code:04x}" for code in (*range(0x7F, 0xA0), 0x2028, 0x2029, 0xFEFF, 0xFFFE, 0xFFFF)}
"""JSON need not escape them; YAML does not take them as they are, or takes them for the end of a line."""

NAMES = st.sampled_from(["git", "read_file", "a-b", "yes", "null", "7", "1e5", "x" * 64])
# What YAML writes in other ways: control characters have an escape, words and numbers need quotes.
TEXTS = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0") | st.sampled_from(": #-'\"\n\t~"), max_size=8
) | st.sampled_from(["null", "true", "yes", "1", "-1.5", "1e5", "0x1", "2024-01-01", "12:30", "<<", "", " x ", "~"])
SCALARS = (
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
)
VALUES = st.recursive(
    SCALARS | TEXTS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(TEXTS.filter(lambda key: key != "<<"), inner, max_size=3)
    ),
    max_leaves=6,
)
OBJECTS = st.dictionaries(TEXTS.filter(lambda key: key != "<<"), VALUES, max_size=3)
GLOBS = TEXTS.filter(bool).map(escape_glob) | st.sampled_from(["*", "a*b"])
# Python's white space, and ours of JSON Schema, which counts a little more.
WORDS = GLOBS.filter(lambda glob: not re.search(r"\s|[\x85\ufeff\u180e\x1c-\x1f]", glob))
RULES = st.sampled_from(
    ["git", "git:push", "*", "bash", "mcp:s:*", "cap:fs:*", "group:fs", "read_file(path=*secret*, n=\\,)"]
) | TEXTS.map(lambda text: f"bash:x{escape_glob(text)}x")
COUNTS = st.integers(1, 2**63 - 1)
SECONDS = st.integers(1, 604_800) | st.floats(0.001, 604_800)
OUTCOMES = st.lists(st.sampled_from(["ok", "error", "denied"]), min_size=1, max_size=2) | st.just("ok")
CONDITIONS = st.sampled_from([True, False, {}, {"const": 1}, {"pattern": "^a"}, {"enum": [None, "a: b", 1.5]}])


def as_yaml(values: Any) -> str:
    """JSON that is YAML: escaped are all characters that YAML would not take, and no others."""
    return json.dumps(values, ensure_ascii=False).translate(ESCAPES)


def some(required: dict[str, Any] | None = None, /, **optional: Any) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(required or {}, optional=optional)


def unique(items: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.dictionaries(NAMES, items, max_size=2)


RATES = {"calls_per_minute": COUNTS, "calls_per_hour": COUNTS, "calls_per_session": COUNTS}
LIMITS = {
    "timeout_s": SECONDS,
    "max_output_chars": COUNTS,
    "truncate": st.sampled_from(["head", "tail", "both"]),
    **RATES,
}
LONG = {"rule": RULES}
WHEN = st.dictionaries(TEXTS.filter(lambda key: key not in {"", "<<"}), CONDITIONS, max_size=2)
REASONS = st.sampled_from(["no", "not_x", "a1"])
MATCHES = RULES | some(LONG, when=WHEN)
DENY = st.lists(RULES | some(LONG, when=WHEN, reason=REASONS, message=TEXTS), max_size=3)
LISTED = st.lists(NAMES | st.sampled_from(["group:fs", "toolset:x", "*"]), max_size=3)
CALLERS = st.lists(GLOBS, min_size=1, max_size=2) | GLOBS
STREAK = some(warn=COUNTS, deny=COUNTS).filter(bool)
PATTERNS = st.lists(RULES, min_size=1, max_size=2) | RULES
NOTIFY = (
    RULES
    | some({"match": PATTERNS}, deliver=st.just("log"), outcomes=OUTCOMES)
    | some({"match": PATTERNS, "deliver": st.just("webhook"), "url": st.just("https://h.invalid/?a=b#c")})
)
CASES = some(
    {"tool": TEXTS, "expect": st.sampled_from(["ask", "deny", "error"])},
    args=OBJECTS,
    reason=REASONS,
    stage=st.sampled_from(["mode", "deny"]),
    name=TEXTS,
)
HIDDEN = st.sampled_from([".env", "!.env.example", "..x", "a b", "config/**/*.pem", "keys/", "#x", "null", "7"])
TIGHTENING = {
    "deny": DENY,
    "mode": st.sampled_from(["policy", "restrict", "ask", "dangerous"]),
    "capabilities": some(
        allow=st.lists(WORDS, max_size=2), deny=st.lists(WORDS, max_size=2), max_safety=st.sampled_from(["low", "high"])
    ),
    "notify": st.lists(NOTIFY, max_size=2),
}
AGENTS = st.dictionaries(GLOBS.filter(lambda name: name != "<<"), some(**RATES), max_size=2)
LIMITS_OF_CEILING = some(**LIMITS, tools=unique(some(**LIMITS)), agents=AGENTS)
CEILINGS = some(**TIGHTENING, limits=LIMITS_OF_CEILING)
"""What an administrator's file may hold."""


@st.composite
def profiles(draw: st.DrawFn) -> dict[str, Any]:
    """What a profile may hold; its limits are of tools that it lists."""
    tools = draw(unique(OBJECTS))
    of_tools = st.fixed_dictionaries({}, optional=dict.fromkeys(tools, some(**LIMITS)))
    limits = some(
        **LIMITS,
        tools=of_tools,
        agents=AGENTS,
        per=st.sampled_from(["session", "agent"]),
        store=st.just("redis://h:6379/0"),
    )
    rest = some(
        {"profile": NAMES, "tools": st.just(tools)},
        **TIGHTENING,
        description=TEXTS,
        allow=st.lists(MATCHES, max_size=3),
        availability=st.lists(
            some(
                {"for": some(provider=CALLERS, agent=CALLERS, group=CALLERS, depth=st.sampled_from([0, 3, ">=1,<3"]))},
                tools=LISTED,
                deny=LISTED,
                also_allow=LISTED,
                name=NAMES,
                replaces=NAMES,
            ),
            max_size=2,
        ),
        toolsets=unique(LISTED),
        groups=unique(LISTED),
        approvals=some(
            timeout_s=SECONDS,
            approvers=st.lists(GLOBS, max_size=2),
            always=st.booleans(),
            keep_days=st.integers(1, 3660),
        ),
        session_guards=some(
            read_before_write=some(
                {"mode": st.sampled_from(["strict", "warn", "off"])},
                reads=st.lists(NAMES, max_size=2),
                writes=st.lists(NAMES, max_size=2),
                argument=TEXTS.filter(bool),
            ),
            repeated_calls=STREAK,
            same_result=STREAK,
            no_progress=STREAK,
            read_streak=some(warn=COUNTS, deny=COUNTS, exploring=STREAK).filter(bool),
            cached_reads=some(seconds=SECONDS).filter(bool),
            depends_on=st.lists(
                some({"match": MATCHES, "needs": MATCHES}, message=TEXTS, args=st.lists(TEXTS, max_size=2)), max_size=2
            ),
            skip_duplicate=st.lists(some({"match": MATCHES}, args=st.lists(TEXTS, max_size=2)), max_size=2),
            after_call=st.lists(some({"match": MATCHES, "message": TEXTS}, outcomes=OUTCOMES), max_size=2),
        ),
        limits=limits,
        extensions=unique(OBJECTS),
        plugins=st.dictionaries(
            st.sampled_from(["toolcharter-git", "a.b"]), st.sampled_from([">=1,<2", "==1.0.*", "~= 2.1"])
        ),
        events=some(args=st.sampled_from(["full", "shape", "none"]), required=st.booleans()),
        cases=st.lists(CASES, max_size=2),
        hidden=st.lists(HIDDEN | some({"glob": HIDDEN, "containing": TEXTS.filter(bool)}), max_size=3).filter(
            lambda globs: not globs or any(not str(glob).startswith("!") for glob in globs)
        ),
        missing_ok=st.lists(NAMES | st.sampled_from(["group:fs", "group:mcp:s"]), max_size=2),
    )
    return draw(rest)
