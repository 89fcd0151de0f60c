"""Makes the tables of the service's page: its routes, from the OpenAPI document, and the keys of its configuration."""

import ast
import inspect
import textwrap
from collections.abc import Collection, Iterator
from itertools import pairwise
from types import UnionType
from typing import Any, get_args, get_origin

from pydantic import BaseModel

from toolcharter import StoreEngine, StoreHandle, StoreUnavailable
from toolcharter_service.auth import Principal, Role
from toolcharter_service.auth.dependency import RequireRole
from toolcharter_service.config import ConfigFile, ServiceConfig
from toolcharter_service.http.app import create_app
from toolcharter_service.service import Service
from toolcharter_service.workers.settings import WorkerConfig

_AGENTS = {"agents": {"*": {"profile": "reviewer", "workspace": "/"}}}
_METHODS = ("get", "post", "put", "patch", "delete")


def _no_store() -> StoreEngine:
    raise StoreUnavailable("Nobody reads records here.")


def routes() -> str:
    """Return a table of the routes of the OpenAPI document, with the roles they are for and their answers."""
    config = ServiceConfig.model_validate({"tenants": {"acme": _AGENTS}})
    service = Service(ConfigFile(config), stores=StoreHandle(_no_store))
    app = create_app(service)
    known = list(_flat(app.routes))
    rows = []
    for path, operations in app.openapi()["paths"].items():
        for method in _METHODS:
            if (operation := operations.get(method)) is None:
                continue
            of = max(
                (
                    one
                    for one in known
                    if path.endswith(one.path)
                    and method.upper() in one.methods
                    and operation["operationId"].startswith(one.name)
                ),
                key=lambda one: len(one.path),
            )
            rows.append(
                (
                    f"`{method.upper()} {path}`",
                    *_allowed(of.dependant, operation["responses"]),
                    ", ".join(sorted(operation["responses"])),
                )
            )
    service.bus.close()
    return _table(("request", "roles", "scope", "answers"), rows)


def _flat(found: Any) -> Iterator[Any]:
    for one in found:
        if hasattr(one, "original_router"):
            yield from _flat(one.original_router.routes)
        elif hasattr(one, "dependant"):
            yield one


def _required(dependant: Any) -> Iterator[RequireRole]:
    for one in dependant.dependencies:
        if isinstance(one.call, RequireRole):
            yield one.call
        yield from _required(one)


def _allowed(dependant: Any, answers: Collection[str]) -> tuple[str, str]:
    """Return the roles of which one suffices, and the scopes that a caller with narrowed scopes needs."""
    needed = list(_required(dependant))
    if not needed:
        return "anybody who has signed in" if "401" in answers else "anybody", ""
    enough = [
        role.value
        for role in Role
        if all(any(Principal("acme", "ann", frozenset({role})).has(each) for each in one.roles) for one in needed)
    ]
    return ", ".join(enough), ", ".join(f"`{one.scope.value}`" for one in needed if one.scope is not None)


def service_keys() -> str:
    """Return a table of the keys of the service's file."""
    return _table(("key", "default", "meaning"), _keys(ServiceConfig))


def worker_keys() -> str:
    """Return a table of the keys of a worker's file."""
    return _table(("key", "default", "meaning"), _keys(WorkerConfig))


def _keys(model: type[BaseModel], prefix: str = "") -> Iterator[tuple[str, ...]]:
    about = _field_docstrings(model)
    for name, field in model.model_fields.items():
        below = _model_in(field.annotation)
        default = "required" if field.is_required() else _shown(field.default)
        said = about.get(name) or _sentence_of(below)
        assert said, f"{model.__name__}.{name} has no docstring, nor has what it holds"
        yield f"`{prefix}{name}`", default, said.replace("|", r"\|")
        if below is not None:
            marks = {tuple: "[]", dict: ".NAME"}
            kind = get_origin(field.annotation)
            mark = marks[tuple] if kind is tuple else marks[dict] if kind not in {None, UnionType} else ""
            yield from _keys(below, f"{prefix}{name}{mark}.")


def _sentence_of(model: type[BaseModel] | None) -> str:
    """Return the first sentence of a model, for a key without a docstring of its own."""
    return "" if model is None else inspect.cleandoc(model.__doc__ or "").partition("\n\n")[0].replace("\n", " ")


def _field_docstrings(model: type[BaseModel]) -> dict[str, str]:
    """Return the docstring of each field. The source is parsed as text, so that every Python writes the same."""
    body = ast.parse(textwrap.dedent(inspect.getsource(model))).body[0]
    assert isinstance(body, ast.ClassDef)
    return {
        field.target.id: " ".join(said.value.value.split())
        for field, said in pairwise(body.body)
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
        if isinstance(said, ast.Expr) and isinstance(said.value, ast.Constant) and isinstance(said.value.value, str)
    }


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """Return the model that a key holds, alone or in a collection; None for text that may be a mapping instead."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    parts = get_args(annotation)
    if str in parts and get_origin(annotation) is UnionType:
        return None
    return next((found for part in parts if (found := _model_in(part)) is not None), None)


def _shown(value: Any) -> str:
    if isinstance(value, BaseModel) or value in ((), {}, None):
        return ""
    if isinstance(value, tuple):
        return f"`[{', '.join(map(str, value))}]`"
    return f"`{str(value).lower() if isinstance(value, bool) else value or chr(34) * 2}`"


def _table(head: tuple[str, ...], rows: Any) -> str:
    lines = [f"| {' | '.join(line)} |" for line in (head, *rows)]
    return "\n".join((lines[0], "|" + "---|" * len(head), *lines[1:]))
