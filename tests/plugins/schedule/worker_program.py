"""A process that takes the jobs that are due at a time, says so, and goes no further until it is killed.

`python worker_program.py PROFILE WORKSPACE UNIX_TIME begun|done`: killed before it does anything, or before it has written that it did.
"""

import sys
from typing import Any

import toolcharter_schedule.scheduler as module
from toolcharter import Caller, open_live
from toolcharter_schedule.engine import ClaimedRun, Engine
from toolcharter_schedule.job_runner import JobRunner
from toolcharter_schedule.scheduler import Scheduler


def say(what: str) -> None:
    sys.stdout.write(f"{what}\n")
    sys.stdout.flush()


def main(profile: str, workspace: str, now: str, until: str) -> None:
    made: list[Scheduler] = []

    def scheduler(policy: Any, _: object) -> Scheduler:
        made.append(Scheduler(policy, lambda: float(now)))
        return made[-1]

    def begin(runner: JobRunner, _: Engine, claimed: ClaimedRun) -> None:
        if until == "done":
            runner.run(claimed)
        say(f"took {claimed.job.text}")

    module.Scheduler = scheduler  # type: ignore[assignment,misc]
    with open_live(profile, workspace=workspace, caller=Caller(agent="ada"), events=lambda _: None):
        say("there")
        sys.stdin.readline()
        made[-1].poll(begin)
        say("waits")
        sys.stdin.read()


if __name__ == "__main__":
    main(*sys.argv[1:])
