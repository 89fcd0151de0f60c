"""The contract test: the duties of every plugin towards its users, as tests for the plugin's own suite.

A plugin's whole `tests/test_contract.py` is:

    from toolcharter.testing.contract import contract_of

    TestContract = contract_of("toolcharter-greet")

Without a name, it tests every installed plugin.
"""

import subprocess
import sys
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import orjson
import pytest
from pydantic import ValidationError

from toolcharter.api.extension import ExtensionSpec
from toolcharter.api.tool import ToolSpec
from toolcharter.errors import ConfigurationError, Fault, did_you_mean
from toolcharter.events.contract import AFTER, APPROVAL_DECISION, APPROVAL_REQUEST, BEFORE, POLICY_BEFORE, POLICY_DENY
from toolcharter.gate.toolbox import Tool, Toolbox
from toolcharter.loader.listing import list_plugins
from toolcharter.loader.load import load_plugins
from toolcharter.loader.scan import EntryPoint, InstalledPlugins, find_installed, normalise
from toolcharter.profile.model import Limits
from toolcharter.testing.plugin import COVERAGE
from toolcharter.testing.probe import Guesses
from toolcharter.testing.readme import documented_defaults, documented_reasons, read_readme, states_default
from toolcharter.testing.samples import OPENING, SAMPLE_FILE, missing_fields, sample_arguments, sample_policies
from toolcharter.testing.toolboxes import toolbox_of

_TIME = Limits(timeout_s=10.0)
_PROBE = "import sys; from toolcharter.testing.probe import main; main(*sys.argv[1:])"
_PROBE_TIMEOUT_S = 120

Policies = Mapping[str, list[dict[str, Any]]]
Report = dict[str, dict[str, list[str]]]
"""The effects that the probe recorded, by phase and tool or extension."""


class Subject(NamedTuple):
    """An installed tool or extension, and the README of its distribution."""

    spec: Any
    """Its `ToolSpec` or `ExtensionSpec`."""
    entry: EntryPoint
    readme: str


Find = Callable[[tuple[str, ...]], list[Subject]]
_FOUND = pytest.StashKey[dict[tuple[Find, tuple[str, ...]], list[Subject]]]()


class Contract:
    """One test per clause of the contract, run for every tool or every extension; made by `contract_of`."""

    distributions: ClassVar[tuple[str, ...]] = ()
    guesses: ClassVar[Guesses] = Guesses({}, {})
    open_defaults: ClassVar[Mapping[str, Mapping[str, str]]] = {}
    reports: ClassVar[dict[str, Report]] = {}
    """By tool or extension, because two clauses read the report of the same process."""

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Parametrise each test with the tools or the extensions that it applies to."""
        if "extension" in metafunc.fixturenames:
            extensions = self._find_once(metafunc.config, extension_subjects)
            metafunc.parametrize("extension", extensions, ids=[one.spec.name for one in extensions])
            return
        found = self._find_once(metafunc.config, subjects)
        if metafunc.function.__name__ == "test_a_staged_body_acts_only_after_its_mark":
            found = [subject for subject in found if subject.spec.staged]
        metafunc.parametrize("subject", found, ids=[subject.spec.name for subject in found])

    def _find_once(self, config: pytest.Config, find: Find) -> list[Subject]:
        """Return the result of *find*, which loads plugins, computed once per run for all clauses."""
        found = config.stash.setdefault(_FOUND, {})
        if (find, self.distributions) not in found:
            found[find, self.distributions] = find(self.distributions)
        return found[find, self.distributions]

    def test_the_spec_is_complete(self, subject: Subject, toolcharter_workspace: Path) -> None:
        """The tool and each of its arguments are described; capabilities and reasons are declared."""
        with _build_toolbox(subject.spec, self.guesses, toolcharter_workspace) as toolbox:
            _fail(subject, find_missing_parts(subject.spec, toolbox[subject.spec.name]))

    def test_every_reason_is_documented(self, subject: Subject) -> None:
        """The README has a table headed `reason` with a row for each declared reason."""
        missing = (subject.spec.own_reasons() or frozenset()) - documented_reasons(subject.readme)
        _fail(subject, [f"the README's table of reasons has no row for `{reason}`" for reason in sorted(missing)])

    def test_every_reason_is_reached(self, subject: Subject, pytestconfig: pytest.Config) -> None:
        """Some test of this run shows each declared reason; checked when the run ends."""
        pytestconfig.stash[COVERAGE].demand(subject.spec)

    def test_every_policy_field_is_documented(self, subject: Subject) -> None:
        """The README has a table with a `default` column and a row for each field that gives its default."""
        _fail(subject, find_undocumented_fields(subject.spec, documented_defaults(subject.readme)))

    def test_defaults_let_the_least_through(self, subject: Subject) -> None:
        """`{}` is a valid policy, or lacks only required fields. No default of an opening field opens anything."""
        _fail(subject, find_open_defaults(subject.spec, self.open_defaults.get(subject.spec.name, {})))

    def test_events_are_in_order(self, subject: Subject, toolcharter_workspace: Path) -> None:
        """Calls of the tool write exactly the events of the contract, without faults."""
        events: list[dict[str, Any]] = []
        (toolcharter_workspace / SAMPLE_FILE).write_text("sample\n")
        with _build_toolbox(subject.spec, self.guesses, toolcharter_workspace, events) as toolbox:
            own = self.guesses.samples.get(subject.spec.name, ())
            samples = (*sample_arguments(toolbox[subject.spec.name].parameters), *own)
            _fail(subject, find_event_faults(toolbox, subject.spec, samples, events))

    def test_a_staged_body_acts_only_after_its_mark(self, subject: Subject, tmp_path_factory: Any) -> None:
        """Dry runs of sample calls write nothing, start no program except by `rt.inspect`, and use no network."""
        _fail(subject, self._run_probe(subject, tmp_path_factory)["dry run"][subject.spec.name])

    def test_import_and_construction_have_no_side_effects(self, subject: Subject, tmp_path_factory: Any) -> None:
        """Neither writes, prints, starts or connects anything. The constructor does not open a file, either."""
        report, name = self._run_probe(subject, tmp_path_factory), subject.spec.name
        _fail(
            subject,
            [
                *(f"importing it: {what}" for what in report["import"][name]),
                *(f"constructing it: {what}" for what in report.get("construction", {}).get(name, ())),
            ],
        )

    def test_an_extension_is_documented(self, extension: Subject) -> None:
        """Like for tools: the README has a row for each reason, and one with its default for each policy field."""
        missing = {str(reason) for reason in extension.spec.reasons} - documented_reasons(extension.readme)
        rows = [f"the README's table of reasons has no row for `{reason}`" for reason in sorted(missing)]
        _fail(extension, [*rows, *find_undocumented_fields(extension.spec, documented_defaults(extension.readme))])

    def test_defaults_of_an_extension_let_the_least_through(self, extension: Subject) -> None:
        """Like for tools."""
        _fail(extension, find_open_defaults(extension.spec, self.open_defaults.get(extension.spec.name, {})))

    def test_building_an_extension_has_no_side_effects(self, extension: Subject, tmp_path_factory: Any) -> None:
        """Import and constructor write, print, start and connect nothing. The constructor opens no file, either."""
        report, name = self._run_probe(extension, tmp_path_factory), extension.spec.name
        _fail(
            extension,
            [
                *(f"importing it: {what}" for what in report["import"][name]),
                *(f"constructing it: {what}" for what in report.get("construction", {}).get(name, ())),
            ],
        )

    def _run_probe(self, subject: Subject, tmp_path_factory: Any) -> Report:
        kind = "tools" if isinstance(subject.spec, ToolSpec) else "extensions"
        key = f"{kind} {subject.spec.name}"
        if key not in self.reports:
            self.reports[key] = _run_probe(subject, kind, self.guesses, tmp_path_factory.mktemp("probe"))
        return self.reports[key]


def contract_of(
    *distributions: str,
    policies: Policies | None = None,
    samples: Policies | None = None,
    open_defaults: Mapping[str, Mapping[str, str]] | None = None,
) -> type[Contract]:
    """Return the contract test of these plugins, as a class for pytest to collect.

    Args:
        distributions: Names of installed distributions; every installed plugin by default.
        policies: By tool or extension, policies to try in addition to those that its model suggests.
        samples: By tool, arguments to try in addition to those that its schema suggests.
        open_defaults: By tool or extension, fields whose default permits something, each with the reason why it
            permits no more than necessary: `{"git": {"allowed_branches": "allow_push is false"}}`.
    """
    members = {
        "distributions": distributions,
        "guesses": Guesses(policies or {}, samples or {}),
        "open_defaults": open_defaults or {},
        "reports": {},
        "__doc__": Contract.__doc__,
    }
    return type("TestContract", (Contract,), members)


def subjects(distributions: Collection[str] = (), index: InstalledPlugins | None = None) -> list[Subject]:
    """Return the tools of these installed distributions, or of all, sorted by distribution and name.

    Raises:
        ConfigurationError: A distribution is not installed or does not load.
    """
    index = index or find_installed()
    tools = index.tools
    found: list[Subject] = []
    for distribution in sorted(_wanted_distributions(distributions, index)):
        entries = {name: entry for name, entry in tools.items() if entry.distribution == distribution}
        loaded = load_plugins(dict.fromkeys(entries, "contract"), index=index)
        found += [
            Subject(tool.spec, entries[name], read_readme(entries[name])) for name, tool in sorted(loaded.specs.items())
        ]
    return found


def extension_subjects(distributions: Collection[str] = (), index: InstalledPlugins | None = None) -> list[Subject]:
    """Return the extensions of these installed distributions, or of all, sorted by distribution and name.

    Extensions that only open sinks have no spec and are left out.

    Raises:
        ConfigurationError: A distribution is not installed.
    """
    index = index or find_installed()
    wanted, entries = _wanted_distributions(distributions, index), index.extensions
    plugins = [plugin for plugin in list_plugins(index) if normalise(plugin.distribution) in wanted]
    return [
        Subject(spec, entries[name], read_readme(entries[name]))
        for plugin in plugins
        for name, spec in sorted(plugin.extension_specs.items())
        if name in entries
    ]


def _wanted_distributions(distributions: Collection[str], index: InstalledPlugins) -> set[str]:
    known = {entry.distribution for entry in (*index.tools.values(), *index.extensions.values())}
    wanted = {normalise(name) for name in distributions} or known
    absent = sorted(wanted - known)
    if absent:
        raise ConfigurationError(
            Fault(
                name,
                "",
                "no plugin of this name is installed.",
                f"{did_you_mean(name, known)} Install it: pip install -e PATH/TO/toolcharter -e .".lstrip(),
            )
            for name in absent
        )
    return wanted


def find_missing_parts(spec: ToolSpec[Any], tool: Tool) -> list[str]:
    """Return what the spec, or the function that it builds, does not describe or declare."""
    properties: dict[str, Any] = tool.parameters.get("properties", {})
    actions = properties.get("action", {}).get("enum", ())
    undeclared = [action for action in actions if spec.capabilities_of(action) is None]
    return [
        *(["it has no description: write a docstring"] if not tool.description else ()),
        *(
            f"the argument {name!r} is not described: name it under Args:"
            for name, item in properties.items()
            if not item.get("description")
        ),
        *(["it declares no capabilities: write capabilities={...}"] if spec.capabilities is None else ()),
        *(f"the action {action!r} declares no capabilities" for action in undeclared if spec.capabilities is not None),
        *(["it declares no reasons: write reasons=..., () if it has none"] if spec.reasons is None else ()),
    ]


def find_undocumented_fields(
    spec: ToolSpec[Any] | ExtensionSpec[Any], documented: Mapping[str, list[str]]
) -> list[str]:
    """Return the fields of the policy that no table has, or that a table has with another default."""
    required = set(spec.policy.model_json_schema().get("required", ()))
    faults = []
    for name, default in _policy_defaults(spec).items():
        if name not in documented:
            faults.append(f"no table with a `default` column in the README has a row for the field `{name}`")
        elif name not in required and not any(states_default(cell, default) for cell in documented[name]):
            faults.append(
                f"the default of `{name}` is {default!r}, and the README says {' or '.join(documented[name])}"
            )
    return faults


def find_open_defaults(spec: ToolSpec[Any] | ExtensionSpec[Any], excused: Mapping[str, str]) -> list[str]:
    """Return the defaults that permit more than necessary.

    A field whose name begins with `allow` or `extra` is closed if its default is empty or false. A list
    of actions is closed, too, if all of them only read, according to the spec's capabilities. A field
    whose name begins with `enforce` or `require` is closed if its default is not false.
    """
    try:
        list(missing_fields(spec.policy))
    except ValidationError as error:
        return [f"the policy {{}} is refused: {error}"]
    faults = []
    for name, default in _policy_defaults(spec).items():
        opens = name.startswith(OPENING) and (default or default is None) and not _only_reads(spec, default)
        if (opens or (name.startswith(("enforce", "require")) and default is False)) and not excused.get(name):
            faults.append(f"the default of `{name}` is {default!r}, which permits more than necessary")
    return faults


def find_event_faults(
    toolbox: Toolbox, spec: ToolSpec[Any], samples: Iterable[dict[str, Any]], events: list[dict[str, Any]]
) -> list[str]:
    """Return the faults in the events that calls of the tool append to *events*.

    A call that would be allowed is made only if the tool's safety level is low or the tool only reads.
    """
    harmless = spec.safety == "low" or _has_only_reads(spec, spec.all_capabilities())
    calls: list[Any] = [None]
    calls += [args for args in samples if harmless or toolbox.decide(spec.name, args).outcome != "allow"]
    faults = []
    for args in calls:
        events.clear()
        result = toolbox.call(spec.name, args)
        got = [event["event"] for event in events if event["call_id"] == result.call_id]
        wanted = _expected_events(result.outcome, events[-1]["stage"])
        if got != wanted:
            faults.append(f"a call with {args!r} left {got}, not {wanted}")
        faults += [f"a call with {args!r} left the fault {word!r}" for word in events[-1].get("fault", ())]
    return faults


def _expected_events(outcome: str, stage: str | None) -> list[str]:
    if stage == "arguments":
        return [BEFORE, AFTER]
    asked = (APPROVAL_REQUEST, APPROVAL_DECISION) if stage == "approval" else ()  # There is no approver.
    return [BEFORE, POLICY_BEFORE, *asked, *([POLICY_DENY] if outcome == "denied" else ()), AFTER]


def _only_reads(spec: ToolSpec[Any] | ExtensionSpec[Any], default: Any) -> bool:
    return (
        isinstance(spec, ToolSpec)
        and isinstance(default, list)
        and all(_has_only_reads(spec, spec.capabilities_of(str(action))) for action in default)
    )


def _has_only_reads(spec: ToolSpec[Any], capabilities: frozenset[str] | None) -> bool:
    """Whether the capabilities only read. A bounded tool may run a program for that: its caller cannot choose it."""
    harmless = {"proc:exec"} if spec.kind == "builtin" else set[str]()
    return capabilities is not None and all(word.endswith(":read") or word in harmless for word in capabilities)


def _policy_defaults(spec: ToolSpec[Any] | ExtensionSpec[Any]) -> dict[str, Any]:
    """Return the default of each field as JSON; False for a required field, which permits nothing by itself."""
    fields = spec.policy.model_fields
    filled = spec.policy.model_construct()
    dumped = filled.model_dump(mode="json", warnings=False)
    return {name: False if fields[name].is_required() else dumped[name] for name in fields}


def _build_toolbox(
    spec: ToolSpec[Any], guesses: Guesses, workspace: Path, events: list[dict[str, Any]] | None = None
) -> Toolbox:
    """Build a toolbox with the most restrictive policy that is valid."""
    valid = (*sample_policies(spec), *guesses.policies.get(spec.name, ()))
    if not valid:
        pytest.fail(f"{spec.name}: no policy can be guessed; hand one to contract_of(policies=...)", pytrace=False)
    sink = ([] if events is None else events).append
    return toolbox_of(spec, workspace=workspace, policies={spec.name: valid[0]}, events=sink, limits=_TIME)


def _run_probe(subject: Subject, kind: str, guesses: Guesses, folder: Path) -> Report:
    """Return what a separate process records while it loads the tool or extension, builds it and makes dry runs."""
    workspace = folder / "workspace"
    workspace.mkdir()
    (workspace / SAMPLE_FILE).write_text("sample\n")
    request = {"workspace": str(workspace), kind: [subject.spec.name], **guesses._asdict()}
    (folder / "request").write_bytes(orjson.dumps(request))
    # -P keeps the current folder out of `sys.path`, as the `toolcharter` command does.
    command = [sys.executable, "-P", "-c", _PROBE, str(folder / "request"), str(folder / "report")]
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=_PROBE_TIMEOUT_S, check=False)
    if ran.returncode:
        pytest.fail(f"{subject.spec.name}: the probe failed:\n{ran.stderr}", pytrace=False)
    report: Report = orjson.loads((folder / "report").read_bytes())
    return report


def _fail(subject: Subject, faults: Iterable[str]) -> None:
    __tracebackhide__ = True
    listed = [f"{subject.entry.owner}: {subject.spec.name}: {fault}" for fault in faults]
    if listed:
        pytest.fail("\n".join(listed), pytrace=False)
