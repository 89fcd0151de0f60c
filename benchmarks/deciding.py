"""What finding the rules for a call costs, and how it grows with their number."""

from measure import Row, Subject, ratio

_RULES = Subject("ours/rules.py")

ROWS = (
    Row(
        "first of 10,000 globs that matches an unseen subject / of 10",
        ratio((_RULES, "many"), (_RULES, "few")),
        1.5,
    ),
    Row(
        "first of 10,000 globs that begin and end with `*` / of 10",
        ratio((_RULES, "many starred"), (_RULES, "few starred")),
        1.5,
    ),
    Row(
        "first of 10,000 globs that begin and end with `*` / compiled `re` one by one",
        ratio((_RULES, "many starred"), (_RULES, "one by one")),
        0.005,
    ),
    Row(
        "reading and indexing 10,000 globs / compiling each with `re`",
        ratio((_RULES, "build"), (_RULES, "compile")),
        0.25,
    ),
)
