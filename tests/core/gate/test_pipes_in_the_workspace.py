"""A workspace in which something the gate reads has become a pipe: whoever starts there must not wait for its writer."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

FAR_S = 120
READ = [
    ".git",
    ".git/HEAD",
    ".git/config",
    ".git/config.worktree",
    ".git/commondir",
    ".git/index",
    ".git/info/attributes",
    ".gitmodules",
    ".gitattributes",
    ".gitignore",
    ".toolcharter",
    ".toolcharter/policy.yaml",
    "profiles/reviewer.yaml",
    "pyproject.toml",
    "tools/one/skill.yaml",
]
_SCRIPT = """
import sys
from toolcharter import build_tools, ConfigurationError
profile, workspace = sys.argv[1:]
try:
    with build_tools(profile, workspace=workspace, events=lambda _: None) as toolbox:
        for tool, args in (
            ("bash", {"command": "git status"}), ("bash", {"command": "git log"}), ("git", {"action": "status"}),
            ("git", {"action": "diff"}), ("read_file", {"path": ".gitignore"}), ("grep", {"query": "x"}),
            ("glob", {"globs": "*"}), ("list_files", {}), ("write_file", {"path": "new", "content": ""}),
            ("edit_file", {"path": ".gitignore", "old_string": "a", "new_string": "b"}),
        ):
            print(tool, toolbox.call(tool, args).outcome)
except ConfigurationError as error:
    print("refused", error)
"""


@pytest.mark.parametrize("name", READ)
@pytest.mark.needs_program("git")
def test_a_pipe_is_not_waited_for(tmp_path: Path, name: str) -> None:
    """Building a toolbox and one call of each tool end, whatever file of the workspace is a pipe by then."""
    workspace = tmp_path / "ws"
    workspace.mkdir()
    subprocess.run(["git", "init", "-q", workspace], check=True, timeout=FAR_S)
    (workspace / ".gitignore").write_text("a\n")
    place = workspace / name
    if place.is_dir():
        place.rename(tmp_path / "away")
    place.parent.mkdir(parents=True, exist_ok=True)
    place.unlink(missing_ok=True)
    os.mkfifo(place)
    profile = tmp_path / "p.yaml"
    profile.write_text(
        "profile: test\nrunner: host\nallow: ['bash:git *']\nlimits: {timeout_s: 3}\n"
        "tools: {bash: {}, git: {}, read_file: {}, grep: {}, glob: {}, list_files: {}, write_file: {}, edit_file: {}}\n"
    )

    ran = subprocess.run(
        [sys.executable, "-c", _SCRIPT, profile, workspace],
        cwd=workspace,
        capture_output=True,
        text=True,
        timeout=FAR_S,
        check=False,
    )

    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith("refused ") or ran.stdout.count("\n") == 10
