"""docs/commands.md: what `doctor` starts is what the page lists, and nothing else."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[3] / "docs/commands.md").read_text()
PROFILE = """
profile: p
runner: host
tools: {git: {}, grep: {}, glob: {}, read_file: {}, bash: {}}
allow: ["bash:ls*"]
cases:
  - {tool: git, args: {action: log}, expect: allow}
  - {tool: bash, args: {command: ls}, expect: allow}
"""
WATCHED = """
import json, sys
from toolcharter.guards.process.host import HostProgramRunner

started = []

def noting(method):
    def note(self, job, *more):
        started.append(job.argv[0])
        return method(self, job, *more)
    return note

HostProgramRunner.run, HostProgramRunner.start = map(noting, (HostProgramRunner.run, HostProgramRunner.start))
from toolcharter.cli.group import toolcharter

toolcharter(["doctor", "--profile", "./p.yaml", "--events", "file:../events.jsonl", "--json"], standalone_mode=False)
json.dump(started, sys.stderr)
"""
"""Prints the programs that the runner is given; it runs them all the same."""


@pytest.mark.slow
@pytest.mark.needs_program("git")
@pytest.mark.needs_program("rg", package="ripgrep")
def test_the_page_lists_what_doctor_starts(tmp_path: Path) -> None:
    """Under a profile with a tool that looks with a program, two that read with one, and a shell, which is not entered."""
    folder = tmp_path / "ws"
    folder.mkdir()
    subprocess.run(["git", "init", "-q", folder], check=True)
    (folder / "p.yaml").write_text(PROFILE)
    environ = {**os.environ, "XDG_STATE_HOME": str(tmp_path / "state")}

    ran = subprocess.run(
        [sys.executable, "-P", "-c", WATCHED], cwd=folder, env=environ, capture_output=True, text=True, check=True
    )

    programs = {Path(program).name for program in json.loads(ran.stderr)}
    section = PAGE.partition("`doctor` starts these programs and no others")[2].partition("\n\nA check")[0]
    listed = {name for name in re.findall(r"`(\w+)`", section) if name in {"true", "git", "rg", "ls", "bash", "sh"}}
    assert programs == listed == {"true", "git", "rg"}
