"""`read_profile` collects, `load_profile` raises; neither raises anything else, whatever the file holds."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toolcharter.errors import ConfigurationError
from toolcharter.profile.read import load_profile, read_profile


def test_a_profile_with_faults_is_read_as_far_as_it_is_good(write) -> None:
    """The gate can look at the tools of a profile whose limits are wrong, and add its own faults."""
    source = read_profile(write("p.yaml", "profile: p\nlimits: 5\ntools:\n  git: {x: 1}\n  bash: []\n"))

    assert source.profile is not None
    assert source.profile.tools == {"git": {"x": 1}}
    assert [fault.path for fault in source.faults] == ["limits", "tools.bash"]
    assert source.places.of("tools", "git", "x") == "p.yaml:4:9"


def test_a_profile_that_cannot_be_read_still_has_a_place(write) -> None:
    """Faults that are added to an unusable file stand at its beginning."""
    source = read_profile(write("p.yaml", "["))

    assert (source.profile, source.places.of("tools", "git"), source.files) == (None, "p.yaml:1:1", (Path("p.yaml"),))


def test_a_profile_that_is_not_found_has_no_files() -> None:
    """Its name stands for its place."""
    source = read_profile("no-such-profile")

    assert (source.profile, source.places.of("x"), source.files) == (None, "no-such-profile:1:1", ())


def test_loading_raises_every_fault_at_once(write) -> None:
    """The text of the error is all faults, in the order of the file."""
    file = write("p.yaml", "profile: p\nfoo: 1\nevents: {args: al}\n")

    with pytest.raises(ConfigurationError) as refused:
        load_profile(file)

    assert str(refused.value) == (
        "p.yaml:2:1: foo: unknown key 'foo'.\n"
        "Known keys: 'allow', 'approvals', 'ask', 'availability', 'capabilities', 'cases', 'deny', 'description', "
        "'events', "
        "'extends', 'extensions', 'groups', 'hidden', 'limits', 'missing_ok', 'mode', 'notify', 'plugins', 'profile', "
        "'runner', 'session_guards', 'store', 'tools', 'toolsets'.\n"
        "p.yaml:3:16: events.args: expected one of 'full', 'shape', 'none', found the text 'al'."
    )


keys = st.sampled_from(
    [
        "profile",
        "description",
        "extends",
        "tools",
        "extensions",
        "plugins",
        "limits",
        "events",
        "cases",
        "missing_ok",
        "timeout_s",
        "git",
        "args",
        "expect",
        "deny",
        "allow",
        "rule",
        "when",
        "availability",
        "for",
        "depth",
        "session_guards",
        "notify",
        "match",
        "capabilities",
        "<<",
    ]
)
scalars = st.sampled_from(
    [
        "",
        "~",
        "true",
        "5",
        "-1",
        "1e999",
        "9" * 30,
        "'x'",
        '"\\0"',
        "*a",
        "&a x",
        "!t x",
        "git",
        "p.yaml",
        "a: b",
        "@",
        "\t",
    ]
) | st.text(max_size=5)
flows = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=4).map(lambda items: f"[{', '.join(items)}]")
        | st.lists(st.tuples(keys, inner), max_size=4).map(
            lambda pairs: "{" + ", ".join(f"{key}: {value}" for key, value in pairs) + "}"
        )
    ),
    max_leaves=12,
)
profiles = st.lists(st.tuples(keys, flows), max_size=6).map(
    lambda pairs: "".join(f"{key}: {value}\n" for key, value in pairs).encode("utf-8", "surrogatepass")
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(content=st.binary(max_size=60) | profiles)
def test_whatever_a_file_holds_is_a_profile_or_a_fault(tmp_path_factory, content) -> None:
    """Random bytes and random YAML give a profile, or faults that each have a place in the file."""
    file = tmp_path_factory.getbasetemp() / "p.yaml"
    file.write_bytes(content)

    source = read_profile(file)

    misplaced = [fault for fault in source.faults if not fault.place.startswith(f"{file}:")]
    assert misplaced == []
    assert source.faults or source.profile is not None
