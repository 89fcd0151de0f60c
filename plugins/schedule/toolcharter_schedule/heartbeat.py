"""Heartbeats: jobs that let an agent follow HEARTBEAT.md at an interval. The operator sets them; no agent can."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from hashlib import sha256

from toolcharter import DiscoveryRuntime, StoreConflict
from toolcharter_schedule.policy import NEVER_IN_A_TASK, SchedulerPolicy
from toolcharter_schedule.records import Creator, Job, Retry
from toolcharter_schedule.run_history import next_due
from toolcharter_schedule.timing import NEVER, SECOND, Every, milliseconds

OWNER = "heartbeat"
"""The owner of these jobs: no caller has this owner, so that no tool shows or changes them."""


class Heartbeats:
    """The heartbeats of one profile and workspace."""

    def __init__(self, rt: DiscoveryRuntime, policy: SchedulerPolicy, place: str, clock: Callable[[], float]) -> None:
        self._rt = rt
        self._policy = policy
        self._place = place
        self._clock = clock

    def synchronise(self) -> None:
        """Make the heartbeat jobs that the profile names, and stop all other heartbeats."""
        every_s = self._policy.heartbeat_s
        named = self._policy.heartbeat_agents or (self._rt.caller.agent or "",)
        request = {} if every_s is None else {self._key(agent): (agent, milliseconds(every_s)) for agent in named}
        store = self._rt.store
        for stored in store.page(Job, where={"owner": OWNER}, limit=1_000).records:
            job = stored.record
            if job.place == self._place and job.id not in request and job.enabled:
                with suppress(StoreConflict):
                    store.put(job.model_copy(update={"enabled": False, "due": NEVER}), expected=stored.version)
        for key, (agent, every_ms) in request.items():
            found = store.get(Job, key)
            timing = Every(every_ms=every_ms, anchor_ms=milliseconds(self._clock()))
            if found is None or not found.record.enabled or _every(found.record) != every_ms:
                with suppress(StoreConflict):  # another process was faster
                    store.put(self._job(key, agent, timing), expected=0 if found is None else found.version)

    def _key(self, agent: str) -> str:
        return f"heartbeat-{sha256(f'{self._place}:{agent}'.encode()).hexdigest()[:20]}"

    def _job(self, key: str, agent: str, timing: Every) -> Job:
        caller = replace(self._rt.caller, agent=agent or None, delegation=None)
        now = timing.anchor_ms
        return Job(
            id=key,
            owner=OWNER,
            creator=Creator.of(caller),
            made_by="heartbeat",
            name=agent,
            timing=timing,
            work="task",
            text="",
            profile="",
            place=self._place,
            deny=NEVER_IN_A_TASK,
            retry=Retry(times=0),
            grace_ms=timing.every_ms // 2 or SECOND,
            created_ms=now,
            due=next_due(timing, (), now),
        )


def _every(job: Job) -> int:
    return job.timing.every_ms if isinstance(job.timing, Every) else 0
