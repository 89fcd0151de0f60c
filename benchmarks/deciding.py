"""The cost of finding the rules for a call, and its growth with the number of rules."""

from measure import Row, Subject, ratio

_RULES = Subject("ours/rules.py")

ROWS = (
    Row(
        "decision on a command seen before, 10,000 rules / 10 rules, through a toolbox",
        ratio((_RULES, "many again"), (_RULES, "few again")),
        1.1,
    ),
    Row(
        "decision on an unseen command, 10,000 rules in `deny` and `allow` / 10 rules",
        ratio((_RULES, "many decided"), (_RULES, "few decided")),
        1.5,
    ),
    Row(
        "decision on an unseen command, 10,000 rules that begin and end with `*` / matching one compiled `re` after the other",
        ratio((_RULES, "many starred decided"), (_RULES, "one by one")),
        0.005,
        price="the look-up in the index alone meets it (below); the rest is the way through the stages of a decision, with its objects, "
        "which a call that comes again does not pay.",
    ),
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
