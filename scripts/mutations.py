"""Makes the mutants of a module: each is the module with one change, small enough that a test should fail.

Types, decorators, docstrings and `__slots__` stay as they are. Nothing is imported or run.
"""

import ast
import copy
import difflib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

_COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
_OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
}
_NAMES = {"any": "all", "all": "any", "min": "max", "max": "min", "sorted": "list", "True": "False"}
_METHODS = {"startswith": "endswith", "endswith": "startswith", "partition": "rpartition", "append": "extend"}


class Mutant(NamedTuple):
    """One module with one change."""

    module: str
    """Its name below the package: `names`, `lint.rules`."""
    line: int
    source: str
    diff: tuple[str, ...]
    """The lines that differ, as `-old` and `+new`, in the module as `ast.unparse` formats it."""

    def __str__(self) -> str:
        return "\n".join((f"core/toolcharter/policy/{self.module.replace('.', '/')}.py:{self.line}", *self.diff))


def mutants_of(file: Path, module: str = "") -> Iterator[Mutant]:
    """Yield all mutants of *module*, by default the file's stem, in the order of its lines, without duplicates."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    original = ast.unparse(tree).splitlines()
    seen = {"\n".join(original)}
    for node, change in list(_changes(tree)):
        undo = change()
        source = ast.unparse(tree)
        undo()
        if source not in seen:
            seen.add(source)
            diff = difflib.unified_diff(original, source.splitlines(), lineterm="", n=0)
            lines = tuple(line for line in diff if line[0] in "+-" and line[:3] not in {"+++", "---"})
            yield Mutant(module or file.stem, node.lineno, source, lines)


Undo = Callable[[], object]
Change = Callable[[], Undo]


def _changes(parent: ast.AST) -> Iterator[tuple[Any, Change]]:
    """Yield each change below *parent* with its node: a function that makes the change and returns its reversal."""
    for field, value in ast.iter_fields(parent):
        if not _is_exempt(parent, field):
            for at, node in enumerate(value) if isinstance(value, list) else ((None, value),):
                if isinstance(node, ast.AST):
                    yield from ((node, _replacement(parent, field, at, other)) for other in _replacements(node, parent))
                    yield from _changes(node)


def _is_exempt(parent: ast.AST, field: str) -> bool:
    """Whether a field holds types or decorators, or code that only a type checker reads."""
    if isinstance(parent, ast.If) and _is_for_types(parent):
        return field != "orelse"
    if field in {"annotation", "returns", "decorator_list", "bases"}:
        return True
    if isinstance(parent, ast.AnnAssign):
        return ast.unparse(parent.annotation) == "TypeAlias"
    return isinstance(parent, ast.Assign) and ast.unparse(parent.targets[0]) == "__slots__"


def _is_for_types(node: ast.If | ast.While | ast.IfExp) -> bool:
    return isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def _replacement(parent: ast.AST, field: str, at: int | None, other: ast.AST) -> Change:
    def change() -> Undo:
        before = getattr(parent, field)
        if at is None:
            setattr(parent, field, other)
        else:
            setattr(parent, field, [*before[:at], other, *before[at + 1 :]])
        return lambda: setattr(parent, field, before)

    return change


def _replacements(node: ast.AST, parent: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes that can replace *node*."""
    for kind, change in _KINDS.items():
        if isinstance(node, kind):
            yield from change(node, parent)


def _with(node: Any, **fields: Any) -> Any:
    other = copy.copy(node)
    for name, value in fields.items():
        setattr(other, name, value)
    return other


def _compare(node: ast.Compare, _: ast.AST) -> Iterator[ast.AST]:
    for at, operator in enumerate(node.ops):
        for other in _COMPARISONS[type(operator)]:
            yield _with(node, ops=[*node.ops[:at], other(), *node.ops[at + 1 :]])


def _bool_op(node: ast.BoolOp, _: ast.AST) -> Iterator[ast.AST]:
    yield _with(node, op=ast.Or() if isinstance(node.op, ast.And) else ast.And())
    if len(node.values) > 1:
        yield from (_with(node, values=[*node.values[:at], *node.values[at + 1 :]]) for at in range(len(node.values)))


def _unary_op(node: ast.UnaryOp, _: ast.AST) -> Iterator[ast.AST]:
    yield node.operand


def _bin_op(node: ast.BinOp, _: ast.AST) -> Iterator[ast.AST]:
    if type(node.op) in _OPERATORS:
        yield _with(node, op=_OPERATORS[type(node.op)]())


def _constant(node: ast.Constant, parent: ast.AST) -> Iterator[ast.AST]:
    value = node.value
    if isinstance(value, bool):
        yield ast.Constant(not value)
    elif isinstance(value, int):
        yield from (ast.Constant(value + 1), ast.Constant(value - 1))
    elif isinstance(value, str) and not isinstance(parent, ast.Expr):
        yield ast.Constant(f"{value}XX")


def _branch(node: Any, _: ast.AST) -> Iterator[ast.AST]:
    if not _is_for_types(node):
        yield _with(node, test=ast.UnaryOp(ast.Not(), node.test))


def _comprehension(node: Any, _: ast.AST) -> Iterator[ast.AST]:
    for at, generator in enumerate(node.generators):
        for nth, test in enumerate(generator.ifs):
            for ifs in ([ast.UnaryOp(ast.Not(), test)], []):
                other = _with(generator, ifs=[*generator.ifs[:nth], *ifs, *generator.ifs[nth + 1 :]])
                yield _with(node, generators=[*node.generators[:at], other, *node.generators[at + 1 :]])


def _return(node: ast.Return, _: ast.AST) -> Iterator[ast.AST]:
    if node.value is not None and not (isinstance(node.value, ast.Constant) and node.value.value is None):
        yield _with(node, value=ast.Constant(None))


def _statement(node: Any, _: ast.AST) -> Iterator[ast.AST]:
    is_docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    if not is_docstring:
        yield ast.Pass()


def _yield(_node: Any, _: ast.AST) -> Iterator[ast.AST]:
    nothing: ast.expr = ast.Tuple([], ast.Load())
    yield ast.YieldFrom(nothing)


def _loop_end(node: ast.AST, _: ast.AST) -> Iterator[ast.AST]:
    yield ast.Continue() if isinstance(node, ast.Break) else ast.Break()


def _name(node: ast.Name, _: ast.AST) -> Iterator[ast.AST]:
    if node.id in _NAMES:
        yield _with(node, id=_NAMES[node.id])


def _call(node: ast.Call, _: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node.func, ast.Attribute) and node.func.attr in _METHODS:
        yield _with(node, func=_with(node.func, attr=_METHODS[node.func.attr]))
    if isinstance(node.func, ast.Name) and node.func.id in {"fold", "sorted", "set", "tuple"} and node.args:
        yield node.args[0]
    for at in range(len(node.keywords)):
        yield _with(node, keywords=[*node.keywords[:at], *node.keywords[at + 1 :]])


def _if_exp(node: ast.IfExp, _: ast.AST) -> Iterator[ast.AST]:
    yield from (node.body, node.orelse)


def _collection(node: Any, _: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Tuple) and not isinstance(node.ctx, ast.Load):
        return
    if len(node.elts) > 1:
        yield from (_with(node, elts=[*node.elts[:at], *node.elts[at + 1 :]]) for at in range(len(node.elts)))


_KINDS: dict[type[ast.AST] | tuple[type[ast.AST], ...], Callable[[Any, ast.AST], Iterator[ast.AST]]] = {
    ast.Compare: _compare,
    ast.BoolOp: _bool_op,
    ast.UnaryOp: _unary_op,
    ast.BinOp: _bin_op,
    ast.Constant: _constant,
    (ast.If, ast.While, ast.IfExp): _branch,
    (ast.GeneratorExp, ast.ListComp, ast.SetComp, ast.DictComp): _comprehension,
    ast.Return: _return,
    (ast.Expr, ast.AugAssign, ast.Raise): _statement,
    (ast.Yield, ast.YieldFrom): _yield,
    (ast.Break, ast.Continue): _loop_end,
    ast.Name: _name,
    ast.Call: _call,
    ast.IfExp: _if_exp,
    (ast.Tuple, ast.Set, ast.List): _collection,
}
