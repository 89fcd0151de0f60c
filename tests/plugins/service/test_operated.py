"""`toolcharter serve --config` as processes that are killed, doubled and restarted: jobs run once, `gateway` asks a person."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.ports import own_port
from tests.waiting import until

from toolcharter import open_store
from toolcharter_schedule.heartbeat import OWNER
from toolcharter_schedule.jobs import session_of
from toolcharter_schedule.records import Job, Run
from toolcharter_schedule.timing import At, Every
from toolcharter_service.auth import Role
from toolcharter_service.auth.tokens import NewToken, create_token

pytestmark = pytest.mark.slow

ACTIONS = ["status", "agents", "config_get", "reload", "restart", "stop"]
NIGHT: dict[str, Any] = {
    "profile": "night",
    "mode": "dangerous",
    "tools": {
        "list_files": {},
        "read_file": {},
        "gateway": {"allowed_actions": ACTIONS},
        "schedule": {"allowed_actions": ["create", "list", "cancel"], "allow_tasks": True, "unattended": True},
        "cron": {
            "allowed_actions": ["status", "list", "add", "update", "runs"],
            "allow_tasks": True,
            "unattended": True,
            "least_interval_s": 1,
        },
    },
    "extensions": {
        "scheduler": {"look_s": 0.2, "heartbeat_s": 86_400, "heartbeat_agents": ["ada"]},
        "scripted": {"runs": [{"calls": [{"tool": "list_files", "args": {}}], "answer": "HEARTBEAT_OK"}]},
    },
}


class Place:
    """A configuration with the one agent `ada`, those who may ask its service, and the processes that serve it."""

    def __init__(self, folder: Path, store: str) -> None:
        self.folder, self.url = folder, store
        self.processes: list[subprocess.Popen[bytes]] = []
        self.client = httpx.Client(timeout=60)
        workspace = folder / "work"
        workspace.mkdir()
        (workspace / "HEARTBEAT.md").write_text("See whether the tea is ready.\n")
        (folder / "night.yaml").write_text(json.dumps(NIGHT))
        written = {
            "store": store,
            "events": [f"file:{folder / 'events.jsonl'}"],
            "tenants": {"acme": {"agents": {"ada": {"profile": "./night.yaml", "workspace": "work"}}}},
        }
        (folder / "service.yaml").write_text(json.dumps(written))
        self.ada, self.ann = (
            create_token("acme", NewToken(name=name, user=user, roles=(role,), agents=agents), "test")
            for name, user, role, agents in (("ada", "kim", Role.CALLER, ("ada",)), ("ann", "ann", Role.APPROVER, None))
        )
        with open_store(store) as opened:
            for each in (self.ada, self.ann):
                opened.bound("", "toolcharter-service").put(each.record)

    def serve(self, port: int) -> str:
        """The address of one process more, once it answers."""
        environment = {**os.environ, "XDG_STATE_HOME": str(self.folder / "state"), "HOME": str(self.folder)}
        command = [sys.executable, "-m", "toolcharter", "serve", "--config", "service.yaml", "--port", str(port)]
        self.processes.append(subprocess.Popen(command, cwd=self.folder, env=environment))
        url = f"http://127.0.0.1:{port}"
        until(lambda: self.answers(url))
        return url

    def answers(self, url: str) -> bool:
        """Whether a process serves there."""
        time.sleep(0.1)  # each look takes from it some of the time in which it would be there
        try:
            return self.client.get(f"{url}/healthz").is_success
        except httpx.HTTPError:
            return False

    def call(self, url: str, tool: str, **args: Any) -> dict[str, Any]:
        """What came of a call of the agent, by HTTP."""
        headers = {"Authorization": f"Bearer {self.ada.text}"}
        answer = self.client.post(f"{url}/v1/calls", json={"tool": tool, "args": args}, headers=headers)
        found: dict[str, Any] = answer.raise_for_status().json()
        return found

    def agreed(self, url: str, **args: Any) -> dict[str, Any]:
        """What came of a call of `gateway` that a person has agreed to, by HTTP."""
        headers = {"Authorization": f"Bearer {self.ann.text}"}

        def waiting() -> list[dict[str, Any]]:
            answer = self.client.get(f"{url}/v1/approvals", params={"status": "pending"}, headers=headers)
            return list(answer.raise_for_status().json()["approvals"])

        with ThreadPoolExecutor(1) as pool:
            made = pool.submit(self.call, url, "gateway", **args)
            until(waiting)
            (one,) = waiting()
            said = {"answer": "allow_once", "digest": one["digest"]}
            self.client.post(f"{url}/v1/approvals/{one['id']}", json=said, headers=headers).raise_for_status()
            assert one["reason"] == "operates_service"
            return made.result(60)

    def job(self, url: str, when: dict[str, Any]) -> str:
        """The id of a new job of `cron`."""
        made = self.call(url, "cron", action="add", job={"name": "news", "schedule": when, "message": "go"})
        assert made["outcome"] == "ok", made["text"]
        key: str = made["data"]["job"]["id"]
        return key

    def make_due(self, job: str, seconds: float, **changes: Any) -> None:
        """Let *job* be due so many seconds from now, however long it took to make it."""
        due = in_ms(seconds)
        with open_store(self.url) as opened:
            store = opened.bound("acme", "toolcharter-schedule")
            found = store.get(Job, job)
            assert found is not None
            store.put(found.record.model_copy(update={"timing": At(at_ms=due), "due": due, **changes}))

    def states(self, url: str, job: str) -> list[str]:
        """What became of each time that a job was due, as its owner is told."""
        return [run["state"] for run in self.call(url, "cron", action="runs", jobId=job)["data"]["entries"]]

    def ran(self) -> Counter[str]:
        """How often the agent of each session has done what tasks have it do, in all processes."""
        lines = map(json.loads, (self.folder / "events.jsonl").read_text().splitlines())
        done = (one for one in lines if one["event"] == "hook.tool.after" and one["tool"] == "list_files")
        return Counter(one["session"] for one in done)

    def records(self) -> tuple[dict[str, Job], list[Run]]:
        """All jobs by their ids, and all times that one was due."""
        with open_store(self.url) as opened:
            store = opened.bound("acme", "toolcharter-schedule")
            jobs = {one.record.id: one.record for one in store.page(Job, limit=100).records}
            return jobs, [one.record for one in store.page(Run, limit=100).records]


@contextmanager
def placed(folder: Path, store: str) -> Generator[Place]:
    place = Place(folder, store)
    try:
        yield place
    finally:
        for process in place.processes:
            process.kill()
            process.wait()
        place.client.close()


def in_ms(seconds: float) -> int:
    return int((time.time() + seconds) * 1000)


def test_jobs_go_on_where_a_killed_service_has_left_them(tmp_path: Path, store_url: str) -> None:
    """What had run does not run again; what was due meanwhile runs once within its grace, else it is told as missed."""
    with placed(tmp_path, store_url) as place:
        port = own_port()
        url = place.serve(port)
        place.make_due(place.job(url, {"kind": "at", "atMs": in_ms(3600)}), 0)
        until(lambda: sum(place.ran().values()) == 1)
        missed = place.job(url, {"kind": "at", "atMs": in_ms(3600)})
        at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 3600))
        late = place.call(url, "schedule", action="create", at=at, task="go")
        assert late["outcome"] == "ok", late["text"]
        place.processes[0].send_signal(signal.SIGKILL)
        place.processes[0].wait()
        before, (jobs, _) = place.ran(), place.records()
        (beat,) = (job for job in jobs.values() if job.owner == OWNER)
        with open_store(store_url) as opened:
            due = in_ms(0)
            timing = Every(every_ms=86_400_000, anchor_ms=due - 86_400_000)
            sooner = beat.model_copy(update={"timing": timing, "due": due})
            opened.bound("acme", "toolcharter-schedule").put(sooner)
        place.make_due(missed, -2, grace_ms=1000)
        place.make_due(late["data"]["id"], -2)

        url = place.serve(port)

        until(lambda: place.states(url, missed) == ["missed"])
        expected = before + Counter([session_of(jobs[late["data"]["id"]]), session_of(beat)])
        until(lambda: place.ran() == expected)
        time.sleep(0.5)  # two looks more
        assert (place.ran(), sum(before.values())) == (expected, 1)


@pytest.mark.parametrize("store_url", ["postgresql"], indirect=True)
def test_two_services_over_one_store_run_each_time_once(tmp_path: Path, store_url: str) -> None:
    """Whichever takes it; the other one has looked for it as well."""
    with placed(tmp_path, store_url) as place:
        one, other = place.serve(own_port()), place.serve(own_port())
        often = place.job(one, {"kind": "every", "everyMs": 1000})
        once = [place.job(url, {"kind": "at", "atMs": in_ms(3600)}) for url in (one, other) * 2]
        jobs, _ = place.records()
        for job in once:
            place.make_due(job, 0.5)
        until(lambda: place.states(other, often).count("ok") >= 3)

        place.call(other, "cron", action="update", jobId=often, patch={"disabled": True})
        until(lambda: not {"waiting", "running"} & {*place.states(one, often)})
        until(lambda: {session_of(jobs[job]) for job in once} <= {*place.ran()})

        _, runs = place.records()
        # One more run may have been waiting when the job was disabled: it ended before its first attempt.
        begun = [run for run in runs if run.job == often and run.attempt]
        assert {(run.state, run.attempt) for run in begun} == {("ok", 1)}
        assert place.ran() == {session_of(jobs[often]): len(begun), **{session_of(jobs[job]): 1 for job in once}}


def test_a_person_lets_an_agent_operate_its_service(tmp_path: Path, store_url: str) -> None:
    """Each action, on a real process: it is restarted as it was begun, and it ends."""
    with placed(tmp_path, store_url) as place:
        url = place.serve(own_port())
        (process,) = place.processes

        seen = {action: place.agreed(url, action=action) for action in ACTIONS[:4]}
        restarted = place.agreed(url, action="restart")
        worker = seen["status"]["data"]["worker"]
        assert [one["outcome"] for one in (*seen.values(), restarted)] == ["ok"] * 5, [*seen.values(), restarted]
        until(lambda: place.answers(url) and place.agreed(url, action="status")["data"]["worker"] != worker)
        again = place.agreed(url, action="status")["data"]
        stopped = place.agreed(url, action="stop")

        assert stopped["data"] == {"stopping": True}
        assert (process.wait(60), again["process"]) == (0, seen["status"]["data"]["process"])
        assert seen["agents"]["data"]["agents"][0]["agent"] == "ada"
        assert seen["reload"]["data"]["failed"] == []
        shown = seen["config_get"]["data"]
        assert (shown["store"], shown["events"], [*shown["tenants"]]) == ("***", ["***"], ["acme"])
        assert store_url not in seen["config_get"]["text"]
