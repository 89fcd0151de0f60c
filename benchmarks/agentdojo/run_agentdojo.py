"""Replay AgentDojo's user tasks and attacks through profiles, print the figures, and write `results.md`.

make agentdojo [ARGS="--suite slack --output FILE"]
"""

import argparse
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import page
import per_task
from check_profiles import faults
from replay import NoGate, Person, Replay, ToolcharterGate, replay, replay_all
from suites import NAMES, Call, Suite

HERE = Path(__file__).resolve().parent
PEOPLE: tuple[Person, ...] = ("nobody", "knows", "agrees")


def main(words: Sequence[str] | None = None) -> int:
    """Run the replay; return 1 if a profile is not what it claims to be, or if an event file is damaged."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--suite", action="append", choices=NAMES, help="run only this suite; may be repeated")
    parser.add_argument("--output", type=Path, default=HERE / "results.md", help="the page to write")
    options = parser.parse_args(words)
    suites = [Suite(name) for name in NAMES if name in (options.suite or NAMES)]
    wrong = [fault for suite in suites for fault in faults(suite, _profile(suite))]
    if wrong:
        print("\n".join(wrong), file=sys.stderr)
        return 1
    found: list[page.Measured] = []
    with TemporaryDirectory() as folder:
        for suite in suites:
            found.append(_measured(suite, Path(folder)))
            print(page.line(found[-1]), flush=True)
        lines = _checked_events(sorted(Path(folder).glob("*.jsonl")))
    if lines is None:
        return 1
    print(f"\n{page.comparison(found)}\nNot comparable with each other: docs/agentdojo.md says why.")
    options.output.write_text(page.markdown(found, lines))
    return 0


def _profile(suite: Suite) -> Path:
    return HERE / "profiles" / f"{suite.name}.yaml"


def _measured(suite: Suite, folder: Path) -> page.Measured:
    workspace = folder / f"{suite.name}.workspace"
    workspace.mkdir()
    by_person: dict[Person, list[Replay]] = {}
    for person in PEOPLE:
        events = folder / f"{suite.name}-{person}.jsonl"
        with ToolcharterGate(_profile(suite), suite.schemas, workspace, person, events) as gate:
            by_person[person] = replay_all(suite, gate)
    return page.Measured(
        suite,
        _profile(suite),
        replay_all(suite, NoGate()),
        by_person,
        _replayed_by_task(suite, workspace, per_task.of_names),
        _replayed_by_task(suite, workspace, lambda calls: per_task.of_arguments(calls, suite.schemas)),
    )


def _replayed_by_task(
    suite: Suite, workspace: Path, profile_of: Callable[[Sequence[Call]], dict[str, Any]]
) -> list[Replay]:
    """Replay each user task, alone and with each attack, under a profile made for this task."""
    replays: list[Replay] = []
    for user_task in suite.user_tasks:
        profile = workspace.with_suffix(f".{user_task}.yaml")
        per_task.write(profile_of(suite.user_calls(user_task)), profile)
        with ToolcharterGate(profile, suite.schemas, workspace) as gate:
            replays += [replay(suite, gate, user_task, attack) for attack in (None, *suite.injection_tasks)]
    return replays


def _checked_events(files: Sequence[Path]) -> int | None:
    """Return the number of event lines of the governed calls; None if `toolcharter events check` finds a fault."""
    command: list[str | Path] = [Path(sys.executable).with_name("toolcharter"), "events", "check", *files]
    if subprocess.run(command, stdout=subprocess.DEVNULL, check=False).returncode:
        return None
    return sum(file.read_bytes().count(b"\n") for file in files)


if __name__ == "__main__":
    sys.exit(main())
