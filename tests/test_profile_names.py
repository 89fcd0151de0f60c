"""No clone gives a shipped profile another parent: by name, by `extends`, in Python and on the command line."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from toolcharter import ConfigurationError, build_tools

ROOT = Path(__file__).parents[1]
SHIPPED = sorted(file.stem for file in (ROOT / "profiles").glob("*.yaml"))
WITH_PARENTS = [name for name in SHIPPED if name != "minimal"]
LOOSE = "profile: minimal\nmode: dangerous\nrunner: host\ntools: {bash: {}, read_file: {}, write_file: {}}\nallow: ['bash:*']\n"


@pytest.fixture
def clone(tmp_path, monkeypatch) -> Path:
    """The current folder: a cloned repository with a folder of profiles."""
    folder = tmp_path / "clone"
    (folder / "profiles").mkdir(parents=True)
    monkeypatch.chdir(folder)
    return folder


def own(tmp_path: Path, name: str) -> Path:
    """A profile of the user's own, outside the clone, that extends a shipped one."""
    file = tmp_path / "home.yaml"
    file.write_text(f"profile: home\nextends: [{name}]\n")
    return file


def digest(profile: str | Path, workspace: Path) -> str:
    with build_tools(profile, workspace=workspace, events=lambda _: None) as toolbox:
        return toolbox.digest


@pytest.mark.parametrize("name", WITH_PARENTS)
def test_a_copy_with_another_parent_is_refused(clone, tmp_path, name) -> None:
    """A profile that is copied word by word and finds a looser parent is another profile: nothing is built."""
    shutil.copy(ROOT / f"profiles/{name}.yaml", clone / "profiles")
    (clone / "profiles/minimal.yaml").write_text(LOOSE)

    for profile in (name, own(tmp_path, name)):
        with pytest.raises(ConfigurationError, match=f"the name '{name}' means different profiles"):
            build_tools(profile, workspace=clone)
    command = [sys.executable, "-m", "toolcharter.cli", "tools", "--profile", name]
    ended = subprocess.run(command, cwd=clone, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (2, "")


@pytest.mark.parametrize("name", WITH_PARENTS)
def test_a_looser_parent_alone_is_not_read(clone, tmp_path, name) -> None:
    """A shipped profile finds its parents among the shipped ones, whatever ./profiles holds."""
    expected = digest(name, clone), digest(own(tmp_path, name), clone)
    (clone / "profiles/minimal.yaml").write_text(LOOSE)

    assert (digest(name, clone), digest(own(tmp_path, name), clone)) == expected


@pytest.mark.parametrize("name", SHIPPED)
def test_equal_copies_are_the_shipped_profiles(clone, tmp_path, name) -> None:
    """A clone that carries all shipped profiles unchanged changes nothing, and its files are not read."""
    expected = digest(name, clone), digest(own(tmp_path, name), clone)
    for file in (ROOT / "profiles").glob("*.yaml"):
        shutil.copy(file, clone / "profiles")

    assert (digest(name, clone), digest(own(tmp_path, name), clone)) == expected
    with build_tools(name, workspace=clone, events=lambda _: None) as toolbox:
        assert all(file.is_relative_to(ROOT) for file in toolbox.files)


@pytest.mark.parametrize("nested", [False, True], ids=["one repository", "a repository within"])
def test_a_profile_planted_below_replaces_none_of_the_repository(clone, tmp_path, monkeypatch, nested) -> None:
    """An agent of the whole repository wrote `packages/app/profiles/deploy.yaml`, and a person starts there later."""
    (clone / "profiles/deploy.yaml").write_text("profile: deploy\nextends: [minimal]\n")
    below = clone / "packages/app"
    (below / "profiles").mkdir(parents=True)
    (below / "profiles/deploy.yaml").write_text(LOOSE.replace("minimal", "deploy"))
    for folder in [clone, *([below] if nested else [])]:
        (folder / ".git").mkdir()
    monkeypatch.chdir(below)

    with pytest.raises(ConfigurationError, match="means different profiles: 'profiles/deploy\\.yaml' and "):
        build_tools("deploy", workspace=clone)
    with pytest.raises(ConfigurationError, match="the name 'deploy' means different profiles"):
        build_tools(own(tmp_path, "deploy"), workspace=clone)


def test_equal_profiles_in_folders_of_a_repository_are_one(clone, monkeypatch) -> None:
    """A copy with the same parents is the same profile, and so is one that has its name alone."""
    (clone / ".git").mkdir()
    below = clone / "packages/app/profiles"
    below.mkdir(parents=True)
    for folder in (clone / "profiles", below):
        (folder / "deploy.yaml").write_text("profile: deploy\nextends: [minimal]\n")
    (below / "app.yaml").write_text("profile: app\nextends: [deploy]\n")
    expected = digest("deploy", clone)
    monkeypatch.chdir(below.parent)

    assert digest("deploy", clone) == expected
    assert digest("app", clone)
