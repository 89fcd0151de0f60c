"""A host over real tools: files and a shell without a sandbox, in a folder of its own."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from toolcharter.hosts import Host, open_host

PROFILE = """
profile: hosted
description: Reads and writes files, runs echo, asks before it deletes.
runner: host
tools:
  read_file: {}
  write_file: {}
  delete_file: {}
  bash: {}
missing_ok: [search_notes, weather]
ask: [delete_file]
allow: ["bash:echo *", "custom:search_notes"]
limits: {timeout_s: 20, tools: {search_notes: {timeout_s: 60}}}
"""


class Place:
    """A workspace, its profile and the events of its calls."""

    def __init__(self, folder: Path) -> None:
        self.workspace = folder / "workspace"
        self.workspace.mkdir()
        (self.workspace / "notes.txt").write_text("first\n")
        self.profile = folder / "hosted.yaml"
        self.profile.write_text(PROFILE)
        self.lines = folder / "events.jsonl"

    def open(self, **more: Any) -> Host:
        return open_host(self.profile, workspace=self.workspace, events=f"file:{self.lines}", **more)

    def hurry(self) -> None:
        """Give `search_notes` less time than any body needs that does not end."""
        self.profile.write_text(PROFILE.replace("search_notes: {timeout_s: 60}", "search_notes: {timeout_s: 0.3}"))

    def events(self, call_id: str | None = None) -> list[str]:
        """The names of the events of calls, in order; of one call, if it is named."""
        read = [json.loads(line) for line in self.lines.read_text().splitlines()]
        return [
            event["event"] for event in read if event["call_id"] is not None and call_id in {None, event["call_id"]}
        ]

    def fields(self, event: str) -> list[dict[str, Any]]:
        """All events of that name."""
        read = [json.loads(line) for line in self.lines.read_text().splitlines()]
        return [each for each in read if each["event"] == event]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.fixture
def host(place: Place) -> Iterator[Host]:
    with place.open() as opened:
        yield opened
