"""`toolcharter serve` as a process: what stops it before it starts, several workers, and how it ends."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest
from tests.ports import own_port

from .serving import PROFILE

pytestmark = pytest.mark.slow


def _serve(place: Path, *words: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "XDG_STATE_HOME": str(place / "state"), "HOME": str(place)}
    command = [sys.executable, "-m", "toolcharter", "serve", *words]
    return subprocess.Popen(command, cwd=place, env=environment, stderr=subprocess.PIPE, text=True)


def _until_it_answers(url: str, server: subprocess.Popen[str]) -> None:
    until = time.monotonic() + 60
    while server.poll() is None and time.monotonic() < until:
        try:
            httpx.get(f"{url}/healthz").raise_for_status()
        except httpx.HTTPError:
            time.sleep(0.1)
        else:
            return
    pytest.fail("the service did not answer")


def test_faults_of_file_and_profiles_stop_it(tmp_path: Path) -> None:
    """With their places, and without a traceback."""
    (tmp_path / "work").mkdir()
    (tmp_path / "p.yaml").write_text("profile: p\ntools: {read_fil: {}}\n")
    (tmp_path / "service.yaml").write_text(
        "tenants: {acme: {agents: {a: {profile: ./p.yaml, workspace: work}, b: {profile: nobody, workspace: work}}}}\n"
    )

    server = _serve(tmp_path, "--config", "service.yaml", "--port", str(own_port()))
    _, told = server.communicate(timeout=60)

    assert server.returncode != 0
    assert f"{tmp_path / 'p.yaml'}:2:9: tools.read_fil: no installed plugin provides a tool named 'read_fil'." in told
    assert "tenants.acme.agents.b.profile: there is no profile named 'nobody'." in told
    assert "Traceback" not in told


def test_a_served_profile_answers_curl_and_ends_a_long_call_when_it_stops(tmp_path: Path) -> None:
    """`serve --dev` takes any agent; on SIGTERM it is gone within its time."""
    (tmp_path / "p.yaml").write_text(PROFILE)
    (tmp_path / "work").mkdir()
    port = own_port()
    url = f"http://127.0.0.1:{port}"
    server = _serve(tmp_path, "--dev", "-p", "./p.yaml", "-w", "work", "--port", str(port), "--events", "file:e.jsonl")
    _until_it_answers(url, server)
    curl = [
        "curl",
        "-s",
        "-X",
        "POST",
        f"{url}/v1/calls",
        "-H",
        "Content-Type: application/json",
        "-H",
        "X-Agent-ID: any",
    ]

    answer = subprocess.run([*curl, "-d", '{"tool":"list_files"}'], capture_output=True, text=True, check=True)
    server.send_signal(signal.SIGTERM)
    server.communicate(timeout=60)

    assert '"outcome":"ok"' in answer.stdout
    assert server.returncode in {0, -signal.SIGTERM}
    assert "toolbox.close" in (tmp_path / "e.jsonl").read_text()
