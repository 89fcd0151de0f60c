"""`TypedDict` on Python 3.11: pydantic reads only the one of `typing_extensions` there.

Source: https://errors.pydantic.dev/2/u/typed-dict-version; goes when 3.11 does.
"""

import sys
from types import UnionType
from typing import Any, NotRequired, Required, Union, get_args, get_origin, get_type_hints

import typing_extensions


def readable(annotation: Any) -> Any:
    """*annotation* with each `typing.TypedDict` in it replaced by an equal one that pydantic can read.

    One that contains itself stays as it is, and pydantic will say what to do.
    """
    if sys.version_info >= (3, 12):
        return annotation
    try:
        return _replaced(annotation)
    except RecursionError:
        return annotation


def _replaced(annotation: Any) -> Any:
    if typing_extensions.is_typeddict(annotation):
        return _converted(annotation)
    arguments = get_args(annotation)
    replaced = tuple(_replaced(argument) for argument in arguments)
    if replaced == arguments:
        return annotation
    origin: Any = get_origin(annotation)
    if origin in {Union, UnionType}:
        return Union[replaced]  # noqa: UP007 - `|` takes no tuple
    return origin[replaced]


def _converted(annotation: Any) -> Any:
    if type(annotation).__module__ == "typing_extensions":
        return annotation
    fields: dict[str, Any] = {}
    for name, hint in get_type_hints(annotation, include_extras=True).items():
        plain = get_args(hint)[0] if get_origin(hint) in {Required, NotRequired} else hint
        marker: Any = Required if name in annotation.__required_keys__ else NotRequired
        fields[name] = marker[_replaced(plain)]
    make: Any = typing_extensions.TypedDict  # checkers know its literal form only
    return make(annotation.__name__, fields)
