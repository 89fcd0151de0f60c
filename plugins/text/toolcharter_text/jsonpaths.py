"""Evaluates JSONPath (RFC 9535) with a budget of steps, so that no query and no document can take for ever.

The library `python-jsonpath` parses the query, in its strict mode. Its regular expressions are replaced, and each node,
each comparison and each filter result is counted. Import this module only for a query: the import is slow.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from jsonpath import JSONPath, JSONPathEnvironment, JSONPathMatch
from jsonpath.exceptions import JSONPathError, JSONPathRecursionError
from jsonpath.filter import FilterQuery, walk
from jsonpath.function_extensions import ExpressionType, FilterFunction
from jsonpath.selectors import Filter
from jsonpath.serialize import canonical_string

from toolcharter import ToolError
from toolcharter_text.common import NARROWER, SharedReason, check_time
from toolcharter_text.patterns import Pattern, PatternError

MAX_QUERY_CHARS = 1000
COST_OF_A_STEP = 1000
"""The cost of a pattern that takes about as long as one step of a query."""
# A dot outside of a class; escaped characters and whole classes match first.
_DOT = re.compile(r"\\.|\[(?:\\.|[^\]\\])*\]|(\.)")


class QueryError(ValueError):
    """The query is not a valid JSONPath."""


class Found(NamedTuple):
    """One node that a query selects."""

    path: str
    """The normalized path (RFC 9535, section 2.7)."""
    name: str | None
    """The name of the member that it is or, for an array's element, that holds the array; None if there is none."""
    value: Any


class Budget:
    """The steps and the time that a query has left.

    Args:
        steps: How many nodes, comparisons and filter results are allowed.
        until: The deadline, on `time.monotonic`'s clock.
    """

    def __init__(self, steps: int, until: float) -> None:
        self._steps = steps
        self._until = until

    def spend(self, steps: int = 1) -> None:
        """Use up *steps*.

        Raises:
            ToolError: `too_costly`, if no steps are left; `timed_out`.
        """
        self._steps -= steps
        if self._steps < 0:
            message = "The query takes more steps than the profile allows."
            raise ToolError(message, reason=SharedReason.TOO_COSTLY, hint=NARROWER)
        check_time(self._until)


class Query:
    """A parsed query.

    Raises:
        QueryError: *text* is not a valid JSONPath; the message has the character of the error, counted from 1.
    """

    def __init__(self, text: str, budget: Budget) -> None:
        if len(text) > MAX_QUERY_CHARS:
            raise QueryError(f"it is longer than {MAX_QUERY_CHARS} characters")
        self._path = _with_budget(_compile_query(text, budget), budget)

    def find(self, document: Any) -> Iterator[Found]:
        """Yield the nodes that it selects from *document*, in its order, evaluated lazily.

        Raises:
            ToolError: `too_costly`, `timed_out`.
        """
        try:
            yield from map(_to_found, self._path.finditer(document))
        except RecursionError as error:
            message = "The query has too many steps for a document of this depth."
            raise ToolError(message, reason=SharedReason.TOO_COSTLY, hint=NARROWER) from error


def _compile_query(text: str, budget: Budget) -> JSONPath:
    try:
        path = _Environment(budget).compile(text)
    except JSONPathRecursionError as error:
        raise QueryError("it nests too deeply") from error
    except JSONPathError as error:
        at = len(text) if error.token is None or error.token.index < 0 else error.token.index
        raise QueryError(f"character {at + 1}: {error.message}") from error
    except (ValueError, OverflowError) as error:
        raise QueryError("a number in it is out of range") from error
    assert isinstance(path, JSONPath)  # noqa: S101 - strict mode has no compound paths
    return path


def _with_budget(path: JSONPath, budget: Budget) -> "_Path":
    """Make *path*, and the queries in its filters, count their steps."""
    for selector in (selector for segment in path.segments for selector in segment.selectors):
        if isinstance(selector, Filter):
            for part in walk(selector.expression):
                if isinstance(part, FilterQuery):
                    part.path = _Path(part.path, budget)
    return _Path(path, budget)


def _to_found(node: JSONPathMatch) -> Found:
    names = [part for part in node.parts if isinstance(part, str)]
    steps = (f"[{canonical_string(part)}]" if isinstance(part, str) else f"[{part}]" for part in node.parts)
    return Found("$" + "".join(steps), names[-1] if names else None, node.obj)


class _Node(JSONPathMatch):
    """A node that costs a step when it is made, and does not keep its children."""

    __slots__ = ("budget",)

    def __init__(self, obj: object, parts: tuple[int | str, ...], root: Any, budget: Budget) -> None:
        budget.spend()
        super().__init__(filter_context={}, obj=obj, parent=None, path="", parts=parts, root=root)
        self.budget = budget

    def add_child(self, *children: JSONPathMatch) -> None:
        """Do nothing: otherwise all nodes of a large document would stay in memory."""

    def new_child(self, obj: object, key: int | str) -> JSONPathMatch:
        """Make the child node at *key*."""
        return _Node(obj, (*self.parts, key), self.root, self.budget)


class _Path(JSONPath):
    """A path whose nodes cost steps. The library's own class would also parse a document that is a string as JSON."""

    __slots__ = ("_budget",)

    def __init__(self, path: JSONPath, budget: Budget) -> None:
        super().__init__(env=path.env, segments=path.segments)
        self._budget = budget

    def finditer(self, data: Any, *, filter_context: Mapping[str, Any] | None = None) -> Iterable[JSONPathMatch]:  # noqa: ARG002 - the library's signature
        """Return the selected nodes lazily."""
        nodes: Iterable[JSONPathMatch] = [_Node(data, (), data, self._budget)]
        for segment in self.segments:
            nodes = segment.resolve(nodes)
        return nodes


class _Environment(JSONPathEnvironment):
    """The library's environment in strict mode, with counted steps and regular expressions on RE2."""

    max_recursion_depth = 1000  # documents have their own limit

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        super().__init__(strict=True)

    def setup_function_extensions(self) -> None:
        """Set up the functions of RFC 9535, section 2.4, with our own `match` and `search`."""
        super().setup_function_extensions()
        self.function_extensions["match"] = _MatchFunction(self._budget, whole=True)
        self.function_extensions["search"] = _MatchFunction(self._budget, whole=False)

    def is_truthy(self, obj: object) -> bool:
        """Return the result of a filter."""
        self._budget.spend()
        return super().is_truthy(obj)

    def compare(self, left: object, operator: str, right: object) -> bool:
        """Compare two values, which is slow for large values."""
        self._budget.spend()
        return super().compare(left, operator, right)


class _MatchFunction(FilterFunction):
    """`match` and `search`: only two strings can match. Source: RFC 9535, sections 2.4.6 and 2.4.7."""

    def __init__(self, budget: Budget, *, whole: bool) -> None:
        self._budget = budget
        self._whole = whole

    @property
    def arg_types(self) -> list[ExpressionType]:
        """The types of both arguments, the string and the pattern."""
        return [ExpressionType.VALUE, ExpressionType.VALUE]

    @property
    def return_type(self) -> ExpressionType:
        """A logical value."""
        return ExpressionType.LOGICAL

    def __call__(self, value: object, pattern: object) -> bool:
        """Return whether *value* matches; an invalid pattern matches nothing."""
        if not isinstance(value, str) or not isinstance(pattern, str):
            return False
        compiled = _compile_regexp(pattern)
        if compiled is None:
            return False
        self._budget.spend(1 + compiled.cost(value) // COST_OF_A_STEP)
        return compiled.matches_all(value) if self._whole else compiled.find(value) is not None


def _compile_regexp(source: str) -> Pattern | None:
    """Compile an I-Regexp (RFC 9485) for RE2: its dot matches no line break. RE2's other syntax is accepted, too."""
    try:
        return Pattern(_DOT.sub(lambda found: r"[^\n\r]" if found[1] else found[0], source))
    except PatternError:
        return None
