"""The pytest plugin, in projects of its own."""

import importlib
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from toolcharter.testing import plugin
from toolcharter.testing.coverage import ReasonCoverage

PROFILE = """\
profile: greeter
tools:
  greet: {allowed_names: [Ann]}
cases:
  - {tool: greet, args: {name: Ann}, expect: allow, name: Ann is greeted}
  - {tool: greet, args: {name: Bob}, expect: deny, reason: name_not_allowed, stage: tool}
"""
WRONG = (
    PROFILE
    + """\
  - {tool: greet, args: {name: Ann}, expect: deny, reason: name_not_allowed, name: nobody is greeted}
"""
)
TESTS = """
import pytest
from toolcharter.testing import assert_denied, assert_error, assert_events

def test_denial(toolcharter_toolbox, toolcharter_events):
    assert_denied(toolcharter_toolbox("greeter")["greet"](name="Bob"), "name_not_allowed")
    assert_events(
        toolcharter_events,
        ["hook.tool.before", "hook.policy.before", "hook.policy.deny", "hook.tool.after"],
    )

def test_nobody(toolcharter_tool):
    from acme_greet import SPEC
    assert_error(toolcharter_tool(SPEC)(name=""), "name_empty")
    assert_denied(toolcharter_tool(SPEC, {"allowed_names": ["Ann"]})(name="Bob"), "name_not_allowed")
"""
# Without plugins that these tests do not ask for: importing hypothesis anew in each run takes most of its time.
QUIET = tuple(f"-pno:{name}" for name in ("cacheprovider", "asyncio", "xdist", "cov", "hypothesispytest"))


@pytest.fixture
def project(pytester: pytest.Pytester, site: Path, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A project with one profile, whose cases are tests."""
    monkeypatch.setenv("COLUMNS", "200")
    pytester.makeini("[pytest]\ntestpaths = tests\ntoolcharter_profiles =\n  profiles/*.yaml\n")
    pytester.mkdir("tests")
    pytester.mkdir("profiles").joinpath("greeter.yaml").write_text(PROFILE)
    return pytester


def run(project: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    return project.runpytest_inprocess(*QUIET, *arguments)


def test_cases_are_items(project: pytest.Pytester) -> None:
    """Each case is a test whose id is the profile and the case's name, or its call and expectation."""
    result = run(project, "--collect-only", "-q")

    assert result.ret == 0
    assert result.outlines[:2] == [
        "profiles/greeter.yaml::Ann is greeted",
        "profiles/greeter.yaml::greet name=Bob: name_not_allowed",
    ]
    result.stdout.no_fnmatch_line("*reasons shown*")


def test_a_failed_case_shows_what_differs_and_no_traceback(project: pytest.Pytester) -> None:
    """Expected and got, the deciding stage and the place; then what the run has shown."""
    (project.path / "profiles/greeter.yaml").write_text(WRONG)

    result = run(project)

    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(
        [
            "*___ nobody is greeted ___*",
            "profiles/greeter.yaml:7:5: nobody is greeted",
            '  call        greet {"name":"Ann"}',
            "  expected    deny, reason name_not_allowed",
            "  got         allow, stage mode",
            "  tool checks passed",
            "*= toolcharter: reasons shown =*",
            "greeter  greet  1 of 2, never: name_empty",
            "1 of 2 declared reasons shown (50 %)",
        ],
        consecutive=False,
    )
    result.stdout.no_fnmatch_line("*Traceback*")
    result.stdout.no_fnmatch_line("*items.py*")


def test_reasons_are_told_within_the_terminals_width(project: pytest.Pytester, monkeypatch) -> None:
    """A tool with many reasons takes some lines of a screen and not one that is as long as it likes."""
    monkeypatch.setenv("COLUMNS", "40")
    (project.path / "profiles/greeter.yaml").write_text(WRONG)

    result = run(project)

    result.stdout.fnmatch_lines(["greeter  greet  1 of 2, never:", "    name_empty"], consecutive=True)


def test_a_case_can_be_chosen_by_its_id(project: pytest.Pytester) -> None:
    """An id from a failed run is an argument for the next."""
    run(project, "profiles/greeter.yaml::Ann is greeted").assert_outcomes(passed=1)


def test_only_a_bare_pytest_adds_the_cases(project: pytest.Pytester) -> None:
    """Who names what to run gets that, and nothing else."""
    project.makepyfile(**{"tests/test_one": "def test_one(): pass"})

    run(project, "tests").assert_outcomes(passed=1)


def test_other_yaml_is_left_alone(project: pytest.Pytester) -> None:
    """Only the profiles that the ini option names are collected."""
    (project.path / "tests/other.yaml").write_text("no: profile")

    run(project).assert_outcomes(passed=2)


def test_a_broken_profile_is_a_collection_error_with_all_faults(project: pytest.Pytester) -> None:
    """One attempt shows all there is to mend."""
    (project.path / "profiles/bad.yaml").write_text("profile: bad\ntools: {gret: {}}\nlimts: {}\n")

    result = run(project)

    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        [
            "profiles/bad.yaml:2:9: tools.gret: no installed plugin*",
            "profiles/bad.yaml:3:1: limts: unknown key 'limts'.",
        ]
    )


def test_a_tool_that_cannot_be_built_fails_its_cases_with_the_cause(project: pytest.Pytester, site: Path) -> None:
    """A constructor that raises is told without a traceback through the gate."""
    source = (site / "acme_greet.py").read_text()
    (site / "acme_greet.py").write_text(source.replace("    def greet(name", "    1 / 0\n    def greet(name"))

    result = run(project)

    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(["acme-greet 1.0: building the tool 'greet' failed: ZeroDivisionError*"])
    result.stdout.no_fnmatch_line("*items.py*")


def test_what_nobody_foresaw_keeps_its_traceback(project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hiding the way of an unknown error would help nobody."""

    def fall(*_: object) -> None:
        raise RuntimeError("unforeseen")

    monkeypatch.setattr("toolcharter.testing.items.run_case", fall)

    result = run(project)

    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(["E * RuntimeError: unforeseen"])


@pytest.mark.parametrize(
    ("named", "message"),
    [
        pytest.param("profiles/greter.yaml", "*there is no file*greter.yaml'.", id="path"),
        pytest.param("none/*.yaml", "*no profile below * matches.", id="glob"),
        pytest.param("no_such_profile", "*there is no profile named 'no_such_profile'.", id="name"),
    ],
)
def test_a_profile_that_is_not_there_is_a_usage_error(project: pytest.Pytester, named: str, message: str) -> None:
    """A misspelt profile never means that its cases are left out in silence."""
    project.makeini(f"[pytest]\ntoolcharter_profiles =\n  {named}\n")

    result = run(project)

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: toolcharter_profiles: {message}"])


def test_a_profile_is_found_by_name(project: pytest.Pytester) -> None:
    """A bare name finds a profile in the project's own folder."""
    project.makeini("[pytest]\ntoolcharter_profiles = greeter\n")

    run(project).assert_outcomes(passed=2)


@pytest.mark.parametrize(
    ("arguments", "ini", "status"),
    [
        pytest.param(["--toolcharter-reasons-min=50"], "", 0, id="reached"),
        pytest.param(["--toolcharter-reasons-min=50.1"], "", 1, id="missed"),
        pytest.param([], "toolcharter_reasons_min = 50.1", 1, id="ini"),
        pytest.param(["--toolcharter-reasons-min=0"], "toolcharter_reasons_min = 90", 0, id="option-wins"),
        pytest.param(["--toolcharter-reasons-min=90", "--collect-only"], "", 0, id="collect-only"),
        pytest.param(["--toolcharter-reasons-min=101"], "", 4, id="no-percentage"),
        pytest.param([], "toolcharter_reasons_min = most", 4, id="no-percentage-in-ini"),
    ],
)
def test_the_minimum_decides_the_exit_status(
    project: pytest.Pytester, arguments: list[str], ini: str, status: int
) -> None:
    """A green run that shows too few reasons is not green."""
    project.makeini(f"[pytest]\ntoolcharter_profiles = profiles/greeter.yaml\n{ini}\n")

    result = run(project, *arguments)

    assert result.ret == status
    if status == 1:
        result.stdout.fnmatch_lines(
            ["FAILED: the tests show 50.00 % of the declared reasons; at least 50.1 % is required"]
        )


def test_a_failed_run_keeps_its_own_status(project: pytest.Pytester) -> None:
    """The minimum does not hide what else went wrong."""
    (project.path / "profiles/greeter.yaml").write_text("profile: [")

    assert run(project, "--toolcharter-reasons-min=100").ret == pytest.ExitCode.INTERRUPTED


def test_fixtures_build_toolboxes_and_hold_events(project: pytest.Pytester) -> None:
    """A test names a profile or a spec, and has toolbox, workspace and events; all reasons come together."""
    project.makepyfile(**{"tests/test_greet": TESTS})

    result = run(project, "--toolcharter-reasons-min=50")

    result.assert_outcomes(passed=4)
    result.stdout.fnmatch_lines(
        [
            "greeter    greet  1 of 2, never: name_empty",
            "in-memory  greet  2 of 2",
            "3 of 4 declared reasons shown (75 %)",
        ]
    )


def test_fixture_workspace_is_empty_and_the_tools_own(project: pytest.Pytester) -> None:
    """A test's workspace is below its temporary folder, or what the test hands in."""
    project.makepyfile(
        **{
            "tests/test_place": """
            def test_place(toolcharter_workspace, tmp_path, toolcharter_toolbox):
                assert toolcharter_workspace.parent == tmp_path and not list(toolcharter_workspace.iterdir())
                assert toolcharter_toolbox("greeter", workspace=tmp_path)._state.workspace == tmp_path.resolve()
                assert toolcharter_toolbox("profiles/greeter.yaml")._state.workspace == toolcharter_workspace.resolve()
            """
        }
    )

    run(project, "tests").assert_outcomes(passed=1)


def test_a_tool_without_a_list_of_reasons_is_named(project: pytest.Pytester, site: Path) -> None:
    """Nothing can be counted where a spec leaves its reasons open, and the summary says so."""
    source = (site / "acme_greet.py").read_text()
    (site / "acme_greet.py").write_text(source.replace("reasons=GreetReason, ", ""))

    run(project).stdout.fnmatch_lines(["greeter  greet  declares no list of reasons"])


def test_a_demand_that_nothing_meets_fails_a_whole_run(project: pytest.Pytester) -> None:
    """The contract asks for every reason; a part of the suite is not judged by it."""
    demand = "def test_demand(pytestconfig): pytestconfig.stash[COVERAGE].demand(SPEC)"
    imports = "from acme_greet import SPEC\nfrom toolcharter.testing.plugin import COVERAGE\n"
    project.makepyfile(**{"tests/test_demand": imports + demand})

    whole, part = run(project), run(project, "tests/test_demand.py")

    assert (whole.ret, part.ret) == (1, 0)
    whole.stdout.fnmatch_lines(["FAILED: contract of 'greet': no test reaches name_empty"])


def test_workers_send_and_the_controller_receives() -> None:
    """What pytest-xdist does with the two hooks; a worker that crashed has nothing to send."""
    config, stash = SimpleNamespace(workeroutput={}, stash={}), {plugin.COVERAGE: ReasonCoverage()}
    config.stash[plugin.COVERAGE] = ReasonCoverage()
    config.stash[plugin.COVERAGE].merge({"listed": [("p", "t", ["odd"])], "shown": [], "demanded": []})

    plugin.pytest_sessionfinish(SimpleNamespace(config=config))  # type: ignore[arg-type]
    controller = SimpleNamespace(stash=stash)
    plugin.pytest_testnodedown(SimpleNamespace(config=controller, workeroutput=config.workeroutput))
    plugin.pytest_testnodedown(SimpleNamespace(config=controller))

    assert stash[plugin.COVERAGE].rows() == [("p", "t", (), ("odd",), False)]


def test_a_run_without_profiles_says_nothing(pytester: pytest.Pytester) -> None:
    """In a project that only has toolcharter installed the plugin is not seen."""
    pytester.makepyfile("def test_one(): pass")

    result = run(pytester)

    result.assert_outcomes(passed=1)
    result.stdout.no_fnmatch_line("*toolcharter*reasons*")


def test_without_the_plugin_nothing_is_left(project: pytest.Pytester) -> None:
    """`-p no:toolcharter` turns everything off; pytest says that it does not know the options."""
    result = run(project, "-p", "no:toolcharter", "--strict-markers", "-W", "ignore")

    assert result.ret == pytest.ExitCode.NO_TESTS_COLLECTED


def test_loading_the_plugin_imports_nothing_that_costs(monkeypatch: pytest.MonkeyPatch) -> None:
    """The plugin is loaded by pytest in every project beside toolcharter."""
    for name in [name for name in sys.modules if name.split(".")[0] in {"toolcharter", "pydantic", "orjson", "yaml"}]:
        monkeypatch.delitem(sys.modules, name)
    before = set(sys.modules)

    importlib.import_module("toolcharter.testing.plugin")

    loaded = set(sys.modules) - before
    for name in loaded:
        monkeypatch.delitem(sys.modules, name)
    assert loaded == {
        "toolcharter",
        "toolcharter._lazy",
        "toolcharter._own_imports",
        "toolcharter.gate",
        "toolcharter.gate.observers",
        "toolcharter.testing",
        "toolcharter.testing.coverage",
        "toolcharter.testing.plugin",
    }


def test_public_names_are_those_of_the_table() -> None:
    """What a type checker sees of `toolcharter.testing` is what there is."""
    import toolcharter.testing as package  # noqa: PLC0415 - as after a fresh import

    listed: dict[str, Any] = {name: getattr(package, name) for name in package.__all__}

    assert all(value.__name__ == name for name, value in listed.items())
    assert set(package.__all__) <= set(dir(package))
    with pytest.raises(AttributeError, match=r"^module 'toolcharter.testing' has no attribute 'nope'$"):
        _ = package.nope
