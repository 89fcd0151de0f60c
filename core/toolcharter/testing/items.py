"""Makes pytest items from a profile's cases."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from toolcharter.errors import ConfigurationError, ToolcharterError
from toolcharter.gate.build.open import Plan, open_toolbox, plan_profile
from toolcharter.gate.toolbox import Toolbox
from toolcharter.profile.model import Case
from toolcharter.testing.cases import CaseResult, run_case, unique_names
from toolcharter.testing.coverage import ReasonCoverage
from toolcharter.testing.profiles import display_path, find_profiles


class CaseFailed(Exception):
    """The decision on a case differs from the expected one; the text explains how."""

    def __init__(self, result: CaseResult) -> None:
        super().__init__(result.explain())
        self.result = result


class CaseCollector:
    """Collects the cases of the profiles in the ini option `toolcharter_profiles`; registered only if it names any.

    A bare `pytest` in the root folder runs the cases together with the tests; `pytest tests` does not.
    `pytest profiles/reviewer.yaml` runs the cases of one profile.
    """

    def __init__(self, config: pytest.Config, named: Sequence[str], coverage: ReasonCoverage) -> None:
        try:
            self.files = find_profiles(named, config.rootpath)
        except ConfigurationError as error:
            raise pytest.UsageError(f"toolcharter_profiles: {error}") from error
        self.coverage = coverage
        self.workspace = config.rootpath / config.getini("toolcharter_workspace")
        if _is_whole_run(config):
            config.args += map(str, self.files)

    def pytest_collect_file(self, file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
        """Collect the profiles' files that the ini option names, and no other YAML."""
        if file_path not in self.files:
            return None
        file: ProfileFile = ProfileFile.from_parent(parent, path=file_path)
        file.cases = self
        return file


class ProfileFile(pytest.File):
    """One profile. Its toolbox exists from its first case to its last."""

    cases: CaseCollector
    plan: Plan
    toolbox: Toolbox | None = None

    def collect(self) -> Iterator[pytest.Item]:
        """Yield one item per case. A profile that cannot be used is a collection error with all its faults."""
        try:
            self.plan = plan_profile(display_path(self.path))
        except ConfigurationError as error:
            raise self.CollectError(str(error)) from None
        self.cases.coverage.expect_plan(self.plan)
        for name, case in unique_names(self.plan.profile.cases):
            item: CaseItem = CaseItem.from_parent(self, name=name)
            item.case = case
            yield item

    def decide(self, case: Case) -> CaseResult:
        """Decide a case by the profile's toolbox, which is built for the first case."""
        if self.toolbox is None:
            self.toolbox = open_toolbox(self.plan, workspace=self.cases.workspace, caller=None, sinks=(), strict=True)
        return run_case(self.toolbox, case)

    def teardown(self) -> None:
        """Close the toolbox."""
        if self.toolbox is not None:
            self.toolbox.close()
            self.toolbox = None


class CaseItem(pytest.Item):
    """One case."""

    case: Case

    def runtest(self) -> None:
        """Fail unless the profile's decision is the expected one."""
        profile = self.getparent(ProfileFile)
        assert profile is not None  # noqa: S101 - ProfileFile.collect made the item
        result = profile.decide(self.case)
        if not result.passed:
            raise CaseFailed(result)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Describe the difference, without a traceback: no code is at fault."""
        if isinstance(excinfo.value, CaseFailed | ToolcharterError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Return the place of the case; with `extends`, it may be in another file than its profile."""
        file, line, _ = self.case.place.rsplit(":", 2)
        return Path(file).absolute(), int(line) - 1, self.name


def _is_whole_run(config: pytest.Config) -> bool:
    """Whether pytest was started in the root folder without arguments that select tests."""
    return config.args_source is not config.ArgsSource.ARGS and config.invocation_params.dir == config.rootpath
