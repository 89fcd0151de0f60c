"""AgentDojo's suites: their tools, their tasks' calls, their own checks. Only this module imports AgentDojo."""

import json
import pickle
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from importlib.metadata import version
from typing import Any

from agentdojo.agent_pipeline.tool_execution import tool_result_to_str
from agentdojo.functions_runtime import FunctionCall, FunctionsRuntime
from agentdojo.task_suite.load_suites import get_suite
from agentdojo.types import text_content_block_from_string
from pydantic_core import to_jsonable_python
from written_attacks import WRITTEN

PACKAGE = version("agentdojo")
BENCHMARK = "v1.2.2"
"""The newest version of the benchmark that this version of the package has."""
NAMES = ("workspace", "slack", "travel", "banking")

Call = tuple[str, dict[str, Any]]
"""A tool and its arguments, as JSON types."""


class Suite:
    """One of AgentDojo's suites. The tools' bodies change environments in place."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._suite = get_suite(BENCHMARK, name)
        self._runtime = FunctionsRuntime(self._suite.tools)
        self._pristine = self._suite.load_and_inject_default_environment({})
        self.user_tasks: Mapping[str, Any] = _in_order(self._suite.user_tasks)
        self.injection_tasks: Mapping[str, Any] = _in_order(self._suite.injection_tasks)

    @cached_property
    def schemas(self) -> Mapping[str, dict[str, Any]]:
        """The JSON Schema of the arguments of each tool."""
        return {tool.name: tool.parameters.model_json_schema() for tool in self._suite.tools}

    def environment(self, user_task: str) -> Any:
        """Return a fresh environment for *user_task*."""
        return self.user_tasks[user_task].init_environment(_copy(self._pristine))

    def user_calls(self, user_task: str) -> list[Call]:
        """Return the calls that solve *user_task*, from the suite."""
        return [_call(call) for call in self.user_tasks[user_task].ground_truth(self.environment(user_task))]

    def injected_calls(self, injection_task: str, environment: Any) -> Iterator[Call]:
        """Yield the calls of an attack on *environment*: the suite's own, or ours if the suite has none."""
        given = self.injection_tasks[injection_task].ground_truth(_copy(environment))
        if given:
            yield from map(_call, given)
        elif written := WRITTEN.get((self.name, injection_task)):
            yield from written(environment)

    def needs_a_tool(self, injection_task: str) -> bool:
        """Whether the attack needs a call at all; otherwise it is only words in the model's answer."""
        task = self.injection_tasks[injection_task]
        return bool(task.ground_truth(_copy(self._pristine))) or (self.name, injection_task) in WRITTEN

    def body(self, environment: Any, tool: str) -> Callable[[Mapping[str, Any]], str]:
        """Return the body of *tool* for the gate. It takes validated arguments, changes *environment*, returns text."""

        def run(args: Mapping[str, Any]) -> str:
            result, _ = self._runtime.run_function(environment, tool, args, raise_on_error=True)
            said: str = tool_result_to_str(result)
            return said

        return run

    def is_useful(self, user_task: str, before: Any, after: Any, calls: list[Call]) -> bool:
        """Run the suite's own check of *user_task*, with the answer that a perfect model would give."""
        task = self.user_tasks[user_task]
        answer = [text_content_block_from_string(task.GROUND_TRUTH_OUTPUT)]
        return bool(self._suite._check_task_result(task, answer, _copy(before), _copy(after), _traces(calls)))  # noqa: SLF001  The check that the suite's own runs use.

    def is_attacked(self, injection_task: str, before: Any, after: Any, calls: list[Call]) -> bool:
        """Run the suite's own check whether the attack reached its goal, with the answer that the attacker wants.

        *calls* are only the calls that ran. The suite counts each of them as done, so a refused call must not be among
        them.
        """
        task = self.injection_tasks[injection_task]
        answer = [text_content_block_from_string(task.GROUND_TRUTH_OUTPUT)]
        return bool(self._suite._check_task_result(task, answer, _copy(before), _copy(after), _traces(calls)))  # noqa: SLF001  The same check.


def _copy(environment: Any) -> Any:
    return pickle.loads(pickle.dumps(environment))  # Several times faster than `deepcopy`.


def _call(call: FunctionCall) -> Call:
    return call.function, json.loads(json.dumps(to_jsonable_python(dict(call.args))))


def _traces(calls: list[Call]) -> list[FunctionCall]:
    return [FunctionCall(function=tool, args=args) for tool, args in calls]


def _in_order(tasks: Mapping[str, Any]) -> dict[str, Any]:
    return dict(sorted(tasks.items(), key=lambda item: int(item[0].rpartition("_")[2])))
