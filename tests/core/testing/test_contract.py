"""The contract's clauses, one by one, in this process; `test_outside.py` has them as a plugin's own tests."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import Field

from toolcharter.api.policy import ToolPolicy
from toolcharter.api.tool import ToolSpec
from toolcharter.errors import ConfigurationError
from toolcharter.testing import contract
from toolcharter.testing.contract import (
    Contract,
    contract_of,
    extension_subjects,
    find_event_faults,
    find_missing_parts,
    find_open_defaults,
    find_undocumented_fields,
    subjects,
)
from toolcharter.testing.probe import Guesses
from toolcharter.testing.toolboxes import toolbox_of

from .conftest import WATCHMAN, WATCHMAN_README, install_plugin


class Policy(ToolPolicy):
    root: str
    allow_push: bool = True
    allowed_actions: tuple[str, ...] = ("log",)
    allowed_branches: tuple[str, ...] | None = None
    extra_names: tuple[str, ...] = ()
    enforce_prefix: bool = False
    limit: int = 3


def build(workspace, policy, rt):
    def tell(action: Literal["log", "push"], word: str = ""):
        if word == "deny":
            return rt.start("tell").deny("odd")
        if word:
            raise RuntimeError("oh")
        return "done"

    return tell


def spec_of(**facts: Any) -> ToolSpec[Any]:
    return ToolSpec("tell", Policy, build, **facts)


def test_installed_tools_come_with_their_readme(site: Path) -> None:
    """All of them, or those of the named distributions, whatever way the name is written."""
    found = subjects()

    assert [(subject.spec.name, subject.entry.distribution) for subject in found] == [("greet", "acme-greet")]
    assert "name_empty" in found[0].readme
    assert [subject.spec.name for subject in subjects(["Acme_Greet"])] == ["greet"]


def test_a_plugin_that_is_not_installed_is_a_configuration_error(site: Path) -> None:
    """A misspelt name must not mean that nothing is tested."""
    with pytest.raises(ConfigurationError) as caught:
        subjects(["acme-gret"])

    assert str(caught.value) == (
        "acme-gret: no plugin of this name is installed.\nDid you mean 'acme-greet'? Install it: pip install -e PATH/TO/toolcharter -e ."
    )


@pytest.mark.parametrize(
    ("facts", "told"),
    [
        pytest.param(
            {},
            [
                "it has no description: write a docstring",
                "the argument 'action' is not described: name it under Args:",
                "the argument 'word' is not described: name it under Args:",
                "it declares no capabilities: write capabilities={...}",
                "it declares no reasons: write reasons=..., () if it has none",
            ],
            id="nothing",
        ),
        pytest.param(
            {
                "description": "Tells.",
                "reasons": (),
                "capabilities": {"log": {"fs:read"}},
                "parameters": {
                    "type": "object",
                    "properties": {"action": {"enum": ["log", "push"], "description": "What."}},
                },
            },
            ["the action 'push' declares no capabilities"],
            id="an-action",
        ),
        pytest.param(
            {"description": "Tells.", "reasons": (), "capabilities": {"fs:read"}, "parameters": {"type": "object"}},
            [],
            id="complete",
        ),
    ],
)
def test_a_spec_must_be_complete(facts: dict[str, Any], told: list[str], tmp_path: Path) -> None:
    """Description, arguments, capabilities of every action, reasons."""
    spec = spec_of(**facts)

    with toolbox_of(spec, workspace=tmp_path, policies={"tell": {"root": "."}}) as toolbox:
        assert find_missing_parts(spec, toolbox["tell"]) == told


def test_every_field_needs_a_row_with_its_default() -> None:
    """A required one has any default cell."""
    documented = {
        "root": ["required"],
        "allow_push": ["`true`"],
        "allowed_actions": ["`[log]`"],
        "allowed_branches": ["absent"],
        "enforce_prefix": ["`true`", "`yes`"],
        "limit": ["`4`", "`3`"],
    }

    assert find_undocumented_fields(spec_of(), documented) == [
        "no table with a `default` column in the README has a row for the field `extra_names`",
        "the default of `enforce_prefix` is False, and the README says `true` or `yes`",
    ]


@pytest.mark.parametrize(
    ("capabilities", "excused", "open_fields"),
    [
        pytest.param(None, {}, ["allow_push", "allowed_actions", "allowed_branches", "enforce_prefix"], id="plain"),
        pytest.param(
            {"log": {"fs:read", "proc:exec"}}, {}, ["allow_push", "allowed_branches", "enforce_prefix"], id="reads"
        ),
        pytest.param(
            {"log": {"fs:write"}},
            {"allowed_branches": "pushing is off", "allow_push": ""},
            ["allow_push", "allowed_actions", "enforce_prefix"],
            id="excused-with-a-reason",
        ),
    ],
)
def test_defaults_must_be_closed(
    capabilities: Mapping[str, Any] | None, excused: dict[str, str], open_fields: list[str]
) -> None:
    """What opens is empty, false or only reads; what closes is on; an excuse has a reason."""
    told = find_open_defaults(spec_of(capabilities=capabilities), excused)

    assert [line.split("`")[1] for line in told] == open_fields
    assert told[0] == "the default of `allow_push` is True, which permits more than necessary"


def test_defaults_must_not_contradict_each_other() -> None:
    """A policy of `{}` may only lack fields."""

    class Contradicting(ToolPolicy):
        limit: int = Field(0, ge=1)

    told = find_open_defaults(ToolSpec("tell", Contradicting, build), {})

    assert [line.partition(":")[0] for line in told] == ["the policy {} is refused"]


SAMPLES: list[dict[str, Any]] = [
    {"action": "log"},
    {"action": "log", "word": "deny"},
    {"action": "log", "word": "raise"},
    {"wrong": 1},
]


@pytest.mark.parametrize(
    "facts",
    [
        pytest.param({"safety": "low"}, id="low"),
        pytest.param({"capabilities": {"fs:read"}}, id="reads"),
        pytest.param({"capabilities": {"fs:write"}}, id="not-called"),
        pytest.param({"kind": "bash"}, id="denied"),
    ],
)
def test_events_of_every_outcome_are_in_order(facts: dict[str, Any], tmp_path: Path) -> None:
    """Ok, denied, failed and invalid calls of an honest tool leave what the contract says."""
    events: list[dict[str, Any]] = []
    spec = spec_of(**facts)

    with toolbox_of(spec, workspace=tmp_path, policies={"tell": {"root": "."}}, events=events.append) as toolbox:
        assert find_event_faults(toolbox, spec, SAMPLES, events) == []


def test_faults_of_a_tool_and_missing_events_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The call stands beside what it left."""

    def twice(workspace, policy, rt):
        def tell():
            ctx = rt.start("tell")
            ctx.ok("")
            return ctx.ok("")

        return tell

    events: list[dict[str, Any]] = []
    spec = ToolSpec("tell", ToolPolicy, twice, safety="low")
    monkeypatch.setattr(contract, "POLICY_BEFORE", "other")

    with toolbox_of(spec, workspace=tmp_path, events=events.append) as toolbox:
        told = find_event_faults(toolbox, spec, [{}], events)

    left = ["hook.tool.before", "hook.policy.before", "hook.tool.after"]
    wanted = ["hook.tool.before", "other", "hook.tool.after"]
    assert told == [
        f"a call with {{}} left {left}, not {wanted}",
        "a call with {} left the fault 'ended_twice'",
    ]


def test_a_class_for_pytest_has_what_the_author_said() -> None:
    """Nothing of it is shared with another plugin's."""
    made = contract_of("a", "b", policies={"t": [{}]}, samples={"t": [{}]}, open_defaults={"t": {"f": "why"}})

    assert (made.distributions, made.guesses, made.open_defaults) == (
        ("a", "b"),
        Guesses({"t": [{}]}, {"t": [{}]}),
        {"t": {"f": "why"}},
    )
    assert issubclass(made, Contract)
    assert contract_of().distributions == ()


def test_a_policy_that_cannot_be_guessed_is_asked_for(tmp_path: Path) -> None:
    """The author then hands one in."""

    class Picky(ToolPolicy):
        root: str = Field(pattern="^/never/guessed$")

    spec = ToolSpec("tell", Picky, build)

    with pytest.raises(pytest.fail.Exception) as caught:
        contract._build_toolbox(spec, Guesses({}, {}), tmp_path)
    with contract._build_toolbox(spec, Guesses({"tell": [{"root": "/never/guessed"}]}, {}), tmp_path) as toolbox:
        assert list(toolbox) == ["tell"]

    assert caught.value.msg == "tell: no policy can be guessed; hand one to contract_of(policies=...)"


def test_a_probe_that_dies_fails_its_test(site: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What it said last is shown."""
    monkeypatch.setattr(contract, "_PROBE", "import no_such_module")

    with pytest.raises(
        pytest.fail.Exception, match=r"(?s)greet: the probe failed:\n.*No module named 'no_such_module'"
    ):
        contract._run_probe(subjects()[0], "tools", Guesses({}, {}), tmp_path)


def test_a_fault_fails_with_distribution_version_and_tool(site: Path) -> None:
    """Who reads it knows whose it is."""
    with pytest.raises(pytest.fail.Exception) as caught:
        contract._fail(subjects()[0], ["one", "two"])

    assert caught.value.msg == "acme-greet 1.0: greet: one\nacme-greet 1.0: greet: two"


def test_extensions_are_held_to_the_contract_too(site: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Those of the named distributions, with their README; each clause says what is missing."""
    readme = WATCHMAN_README.replace("`[]`", "`[git]`").replace("not_on_duty", "asleep")
    install_plugin(site, "acme-watch", WATCHMAN, "watchman", readme=readme, group="toolcharter.extensions")
    (bad,) = extension_subjects(["acme-watch"])
    install_plugin(site, "acme-watch", WATCHMAN, "watchman", readme=WATCHMAN_README, group="toolcharter.extensions")
    (good,) = extension_subjects()

    with pytest.raises(pytest.fail.Exception) as caught:
        Contract().test_an_extension_is_documented(bad)
    Contract().test_an_extension_is_documented(good)
    Contract().test_defaults_of_an_extension_let_the_least_through(good)

    assert str(caught.value).splitlines() == [
        "acme-watch 1.0: watchman: the README's table of reasons has no row for `not_on_duty`",
        "acme-watch 1.0: watchman: the default of `allowed_tools` is [], and the README says `[git]`",
    ]
    assert (extension_subjects(["acme-greet"]), subjects(["acme-watch"])) == ([], [])


def test_an_extension_whose_default_opens_something_is_told(site: Path) -> None:
    """As of tools, unless the test says why that is the least."""
    source = WATCHMAN.replace("] = ()", '] = ("*",)')
    install_plugin(site, "acme-watch", source, "watchman", group="toolcharter.extensions")
    (subject,) = extension_subjects(["acme-watch"])

    told = "the default of `allowed_tools` is ['*'], which permits more than necessary"
    assert find_open_defaults(subject.spec, {}) == [told]
    assert find_open_defaults(subject.spec, {"allowed_tools": "a watchman who stops nobody is useless"}) == []
