"""A profile written back: what it comes to, as a file would say it."""

from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from toolcharter.profile.dump import dump, profile_values
from toolcharter.profile.model import Profile
from toolcharter.profile.read import load_profile

from .random_profiles import as_yaml, profiles
from .test_model import EVERY_KEY


def digest(profile: Profile) -> str:
    return profile.digest(profile.tools, profile.extensions, {})


def loaded(folder: Path, text: str) -> Profile:
    file = folder / "p.yaml"
    file.write_text(text, encoding="utf-8")
    return load_profile(file)


def test_parents_are_put_together_and_defaults_left_out(write) -> None:
    """The whole text of a small one: keys in the order of the documentation, quotes where YAML wants them."""
    write("a.yaml", "profile: a\nmode: policy\ntools: {git: {x: [1, yes]}}\ndeny: [git:push]\nlimits: {timeout_s: 5}")
    child = load_profile(write("p.yaml", "profile: p\nextends: [a]\ndeny: ['bash:*: #']\nevents: {args: full}"))

    assert dump(child) == dedent("""\
        profile: p
        tools:
          git:
            x: [1, 'yes']
        deny:
        - "git:push"
        - "bash:*: #"
        limits: {timeout_s: 5.0}
        """)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("profile: p\n", id="nothing"),
        pytest.param(EVERY_KEY, id="every key of the policy"),
        pytest.param("profile: p\navailability: [{for: {}}]\ndescription: ''", id="an entry for everybody"),
        pytest.param("profile: p\ntools: {git: {}}\nlimits: {tools: {Git: {}}}", id="limits of no limit"),
        pytest.param("profile: p\ntools: {x: {a: &a [1], b: *a}}", id="an alias"),
        pytest.param("profile: p\ncapabilities: {allow: []}\napprovals: {approvers: []}", id="lists that are empty"),
    ],
)
def test_what_is_written_is_read_again(tmp_path, text) -> None:
    """Written and read, it is the same profile."""
    profile = loaded(tmp_path, text)

    again = loaded(tmp_path, dump(profile))

    assert (profile_values(again), digest(again)) == (profile_values(profile), digest(profile))
    assert (again.cases, again.description) == (profile.cases, profile.description)


@pytest.mark.slow
@settings(suppress_health_check=list(HealthCheck), deadline=None, max_examples=150)
@given(values=profiles())
def test_any_profile_survives_a_round(tmp_path_factory, values: dict[str, Any]) -> None:
    """Whatever texts, numbers and lists a file holds: what is written says the same and has the same digest."""
    folder = tmp_path_factory.getbasetemp()
    profile = loaded(folder, as_yaml(values))

    again = loaded(folder, dump(profile))

    assert (profile_values(again), digest(again), again.cases) == (
        profile_values(profile),
        digest(profile),
        profile.cases,
    )
