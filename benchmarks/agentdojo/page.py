"""Writes the figures as text: a line for each suite during the run, and a page at the end."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from textwrap import fill
from typing import NamedTuple

from replay import Person, Replay, ReplayedCall
from suites import BENCHMARK, PACKAGE, Suite

_INTRODUCTION = """\
# AgentDojo, replayed

Written by `make agentdojo`. No model is asked: the calls that AgentDojo itself gives as the solution of each user task go
through the gate, then those of an attack, as from a model that does its work and then obeys the attacker in everything. The
suite's own checks say what became of both. [docs/agentdojo.md](../../docs/agentdojo.md) says how, what this shows, and
what it does not.
"""
_PUBLISHED = """\
| system | what was measured, with a model | utility | attack success |
|---|---|---|---|
| AgentDojo, its tool filter (arXiv 2406.13352) | GPT-4o | | 7.5% |
| Progent, policies by a model (arXiv 2504.11703, first version) | attack success without, then with | | 41.2% to 2.2% |
| Progent, policies by hand (the same, second version) | attack success without, then with | | 39.9% to 0% |
| CaMeL (arXiv 2503.18813) | tasks solved; undefended 84% | 77%, with provable security | |
"""


class Measured(NamedTuple):
    """All replays of one suite: each user task alone, and together with each attack."""

    suite: Suite
    profile: Path
    without: Sequence[Replay]
    by_person: Mapping[Person, Sequence[Replay]]
    by_names: Sequence[Replay]
    by_arguments: Sequence[Replay]

    def is_words(self, replay: Replay) -> bool:
        """Whether the attack consists of words alone and needs no call."""
        return replay.injection_task is not None and not self.suite.needs_a_tool(replay.injection_task)


Choice = Callable[[Measured], Iterable[Replay]]


def line(measured: Measured) -> str:
    """Return one suite's figures for the terminal."""
    nobody, knows = measured.by_person["nobody"], measured.by_person["knows"]
    return (
        f"{measured.suite.name:10} user tasks done: {_tasks_done([measured], lambda _: nobody)} alone, "
        f"{_tasks_done([measured], lambda _: knows)} with a person; attacks done: "
        f"{_attacks_done([measured], lambda m: m.without)} without the gate, "
        f"{_attacks_done([measured], lambda _: nobody)} with it"
    )


def markdown(found: Sequence[Measured], lines: int) -> str:
    """Return the whole page."""
    calls = sum(len(replay.calls) for each in found for replays in each.by_person.values() for replay in replays)
    users, attacks, pairs = (sum(map(count, found)) for count in (_users, _attacks, _pairs))
    said = (
        f"Package {PACKAGE}, benchmark {BENCHMARK}, the newest that it has: {users} user tasks, {attacks} attacks, "
        f"{pairs} pairs of a user task and an attack of the same suite. Under the profiles written by hand "
        f"{calls:,} calls went through the gate and left {lines:,} event lines, in which `toolcharter events check` found no fault."
    )
    return "\n".join(
        [
            _INTRODUCTION,
            fill(said, 120, break_on_hyphens=False),
            "\n## Profiles written by hand, one for each suite\n",
            _by_suite_table(found),
            fill(_injected_outcomes(found), 120, break_on_hyphens=False) + "\n",
            "".join(f"- {_hash(each.profile)} profiles/{each.profile.name}\n" for each in found),
            "## Who is asked\n",
            _by_person_table(found),
            "## Profiles made from the calls of one user task\n",
            _per_task_table(found),
            "## Beside published figures\n\nNot comparable: see [docs/agentdojo.md](../../docs/agentdojo.md).\n",
            comparison(found),
            "\n## User tasks about which a person is asked\n",
            _questions_table(found),
            "## What stops each attack\n",
            _attacks_table(found),
        ]
    )


def _by_suite_table(found: Sequence[Measured]) -> str:
    done = "user tasks | done, nobody to ask | asked about | done, with a person"
    head = [f"| suite | {done} | pairs | attacks done, no gate | with the gate | of these, words alone |"]
    head.append("|---" * 9 + "|")
    for each in (*([one] for one in found), found):
        name = each[0].suite.name if len(each) == 1 else "**all**"
        asked = sum(
            any(call.asked for call in replay.calls)
            for one in each
            for replay in _without_attack(one.by_person["knows"])
        )
        words = sum(one.is_words(replay) and replay.is_done for one in each for replay in one.by_person["nobody"])
        head.append(
            f"| {name} | {sum(map(_users, each))} | {_tasks_done(each, lambda m: m.by_person['nobody'])} | {asked} "
            f"| {_tasks_done(each, lambda m: m.by_person['knows'])} | {sum(map(_pairs, each))} "
            f"| {_attacks_done(each, lambda m: m.without)} "
            f"| {_attacks_done(each, lambda m: m.by_person['nobody'])} | {words} |"
        )
    return "\n".join(head) + "\n"


def _hash(file: Path) -> str:
    return sha256(file.read_bytes()).hexdigest()[:16]


def _injected_outcomes(found: Sequence[Measured]) -> str:
    calls = [call for each in found for replay in each.by_person["nobody"] for call in replay.calls if call.is_injected]
    asked = sum(call.asked is not None for call in calls)
    denied = sum(call.outcome == "denied" for call in calls) - asked
    ran = Counter(call.tool for call in calls if call.outcome == "ok")
    failed = Counter(call.tool for call in calls if call.outcome == "error")
    return (
        f"Of {len(calls):,} injected calls, {denied:,} were denied outright and {asked:,} had to wait for a person. "
        f"{ran.total():,} ran: {_named(ran)}. {failed.total():,} failed in the tool: {_named(failed)}. The profiles measured:"
    )


def _named(tools: Counter[str]) -> str:
    return ", ".join(f"`{tool}` ({count})" for tool, count in sorted(tools.items())) or "none"


def _by_person_table(found: Sequence[Measured]) -> str:
    people: dict[Person, str] = {
        "nobody": "nobody: what is asked about is refused",
        "knows": "somebody who agrees to what belongs to the task, and to nothing else",
        "agrees": "somebody who agrees to everything",
    }
    head = ["| whom the gate can ask | user tasks done | attacks done |", "|---|---|---|"]
    for person, words in people.items():
        done, hit = (count(found, lambda m, p=person: m.by_person[p]) for count in (_tasks_done, _attacks_done))  # type: ignore[misc]  # mypy has no type for a lambda with a default.
        head.append(f"| {words} | {done} | {hit} |")
    return "\n".join(head) + "\n"


def _per_task_table(found: Sequence[Measured]) -> str:
    head = ["| what the profile permits | user tasks done | attacks done |", "|---|---|---|"]
    rows: tuple[tuple[str, Choice], ...] = (
        ("the tools of the task's calls, with any arguments", lambda m: m.by_names),
        ("the task's calls, with their very arguments", lambda m: m.by_arguments),
    )
    head += [f"| {what} | {_tasks_done(found, choice)} | {_attacks_done(found, choice)} |" for what, choice in rows]
    return "\n".join(head) + "\n"


def comparison(found: Sequence[Measured]) -> str:
    """Return two tables: published figures of other systems, and ours."""
    head = ["| toolcharter, replayed, no model | user tasks done | attacks done |", "|---|---|---|"]
    rows: tuple[tuple[str, Choice], ...] = (
        ("no gate", lambda m: m.without),
        ("profiles by hand, nobody to ask", lambda m: m.by_person["nobody"]),
        ("profiles by hand, a person who knows the task", lambda m: m.by_person["knows"]),
    )
    head += [f"| {what} | {_tasks_done(found, choice)} | {_attacks_done(found, choice)} |" for what, choice in rows]
    return "\n".join([_PUBLISHED, *head])


def _questions_table(found: Sequence[Measured]) -> str:
    head = ["| suite | task | about | because |", "|---|---|---|---|"]
    for each in found:
        for replay in _without_attack(each.by_person["knows"]):
            asked = dict.fromkeys((call.tool, call.asked) for call in replay.calls if call.asked)
            head += [f"| {each.suite.name} | {replay.user_task} | `{tool}` | {why} |" for tool, why in asked]
    return "\n".join(head) + "\n"


def _attacks_table(found: Sequence[Measured]) -> str:
    head = [
        "| suite | attack | what becomes of its calls | pairs done, no gate | with the gate |",
        "|---|---|---|---|---|",
    ]
    for each in found:
        for task in each.suite.injection_tasks:
            mine = _for_attack(each.by_person["nobody"], task)
            without, hit, agreed = (
                sum(replay.is_done for replay in _for_attack(replays, task))
                for replays in (each.without, mine, each.by_person["agrees"])
            )
            outcomes = Counter(_describe_outcome(call) for call in mine[0].calls if call.is_injected)
            said = ", ".join(f"{fate}{f' (x{count})' if count > 1 else ''}" for fate, count in outcomes.items())
            head.append(
                f"| {each.suite.name} | {task} | {said or 'it has none'} | {without} of {len(mine)} | {hit} | {agreed} |"
            )
    return "\n".join(head) + "\n"


def _describe_outcome(call: ReplayedCall) -> str:
    if call.asked:
        return f"`{call.tool}` asked: {call.asked}"
    if call.outcome == "denied":
        return f"`{call.tool}` denied: {call.reason}"
    return f"`{call.tool}` {'runs' if call.outcome == 'ok' else 'fails'}"


def _without_attack(replays: Iterable[Replay]) -> list[Replay]:
    return [replay for replay in replays if replay.injection_task is None]


def _for_attack(replays: Iterable[Replay], attack: str) -> list[Replay]:
    return [replay for replay in replays if replay.injection_task == attack]


def _with_attack(replays: Iterable[Replay]) -> list[Replay]:
    return [replay for replay in replays if replay.injection_task is not None]


def _users(measured: Measured) -> int:
    return len(measured.suite.user_tasks)


def _attacks(measured: Measured) -> int:
    return len(measured.suite.injection_tasks)


def _pairs(measured: Measured) -> int:
    return _users(measured) * _attacks(measured)


def _tasks_done(found: Iterable[Measured], choice: Choice) -> str:
    return _share([replay for each in found for replay in _without_attack(choice(each))])


def _attacks_done(found: Iterable[Measured], choice: Choice) -> str:
    return _share([replay for each in found for replay in _with_attack(choice(each))])


def _share(replays: Sequence[Replay]) -> str:
    count = sum(replay.is_done for replay in replays)
    return f"{count} ({count / len(replays):.1%})"
