"""Makes pydantic read the settings of a profile as named tuples, whose annotations define the file format.

`form` makes a named tuple readable from a mapping whose keys are its fields; no other key may be there. The metadata of
its annotations are pydantic's (`Field(gt=0)`) and those of this module, most of which word the faults. `BaseModel` is
not used, because each of its classes adds a third of a millisecond to every start.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from types import MappingProxyType, NoneType
from typing import Annotated, Any, LiteralString, NamedTuple, TypeVar, get_args

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler, TypeAdapter, ValidationError
from pydantic_core import CoreSchema, InitErrorDetails, PydanticCustomError, core_schema

from toolcharter.api.policy import field_docstrings
from toolcharter.profile.conditions import Condition, build_condition
from toolcharter.profile.names import NAME, NAME_FIX, anchored, fold_tool_name
from toolcharter.profile.nodes import Located, LocatedText, entries, to_plain
from toolcharter.profile.rules import Rule, parse_rule

T = TypeVar("T")
ParseValue = Callable[[Any, "Cache"], Any]
FAULT: LiteralString = "fault"
"""The type of the errors that `fault` makes: `what` and `fix` are whole sentences."""
MISMATCH: LiteralString = "unlike"
"""The type of the errors that `mismatch` makes, with `expected` and `fix`."""
_OWN_ERROR_TYPES: dict[str, LiteralString] = {FAULT: FAULT, MISMATCH: MISMATCH}
_PLACE_FIELD = "place"
"""The field that gets the mapping's place, as `file:line:column`. It is not a key."""
_STRICT = core_schema.CoreConfig(strict=True, extra_fields_behavior="forbid")
_NOTHING: Mapping[str, Any] = MappingProxyType({})


class Expected(NamedTuple):
    """Metadata: the words of a fault about a value of another type."""

    expected: str
    """The words after "expected", such as `a list of rules`."""
    fix: str = ""
    """What to write; `<key>` is replaced by the key."""


_NO_WORDS = Expected("")


class Required:
    """Metadata: the key is required, even if the field has a default; *fix* says what to write."""

    def __init__(self, fix: str) -> None:
        self.fix = fix


class Key:
    """Metadata: the key in the file, if it is not the field's name."""

    def __init__(self, key: str) -> None:
        self.key = key


class Inline:
    """Metadata: the fields of this form are keys of the mapping around it."""


INLINE = Inline()


class Cache:
    """A cache for one profile and its parents: each rule and each condition is parsed once."""

    def __init__(self) -> None:
        self._rules: dict[str, Rule] = {}
        self._conditions: dict[str, Condition] = {}

    def rule(self, text: str) -> Rule:
        """Parse a rule.

        Raises:
            RuleError: The text is not a rule.
        """
        if text not in self._rules:
            self._rules[text] = parse_rule(str(text))
        return self._rules[text]

    def condition(self, schema: Any) -> Condition:
        """Compile the JSON Schema of one argument.

        Raises:
            ConditionError: It cannot be compiled.
        """
        key = repr(schema)
        if key not in self._conditions:
            self._conditions[key] = build_condition(schema)
        return self._conditions[key]


def fault(what: str, fix: str = "", key: str = "") -> PydanticCustomError:
    """Return an error whose sentence *what* describes a wrong value, or the wrong entry *key* of a mapping."""
    return PydanticCustomError(FAULT, "{what}", {"what": what, "fix": fix, "key": key})


def mismatch(expected: str, fix: str = "", key: str = "") -> PydanticCustomError:
    """Return the error for a value, or the entry *key* of a mapping, that is not *expected*."""
    return PydanticCustomError(MISMATCH, "expected {expected}", {"expected": expected, "fix": fix, "key": key})


class FormKey(NamedTuple):
    """The facts about one key of a form."""

    annotation: Any
    """The annotation of the field, without None."""
    default: Any
    fix: str | None
    """What to write if the key is missing; None if the key is optional."""


class Form(NamedTuple):
    """Reads one named tuple; `form` makes it."""

    kind: Any
    words: Expected
    empty: str
    misplaced: Mapping[str, str]
    finish: Callable[[Any], Any] | None
    schema: Mapping[str, Any]

    def core_schema(self, _source: Any, _handler: GetCoreSchemaHandler) -> CoreSchema:
        """Return the schema by which pydantic validates the mapping. The first mapping that is read builds its keys."""
        return core_schema.with_info_plain_validator_function(lambda value, info: self.read(value, info.context))

    def json_schema(self, _core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """Return the schema by which editors check the mapping, with the docstrings of the fields."""
        written = handler(form_adapter(self.kind).core_schema)
        for name, text in key_descriptions(self.kind).items():
            written["properties"][name] = {"description": text, **written["properties"][name]}
        return {**written, **({"minProperties": 1} if self.empty else {}), **self.schema}

    def read(self, value: Any, cache: Cache) -> Any:
        """Read the mapping.

        Raises:
            ValidationError: Values in it are wrong. It holds all faults.
            PydanticCustomError: The mapping is wrong as a whole.
        """
        if self.empty and value == {}:
            raise fault("the mapping is empty.", self.empty)
        given = form_adapter(self.kind).validate_python(value, context=cache)
        made = _build_form(self.kind, given, _place_of(value))
        return made if self.finish is None else self.finish(made)


class _FormKeys:
    """Metadata that makes pydantic validate the keys of a form."""

    def __init__(self, kind: Any) -> None:
        self.kind = kind

    def __get_pydantic_core_schema__(self, _source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        keys = {
            name: core_schema.typed_dict_field(handler.generate_schema(key.annotation), required=key.fix is not None)
            for name, key in keys_of(self.kind).items()
        }
        return core_schema.typed_dict_schema(keys, config=_STRICT, extra_behavior="forbid")


@cache
def form_adapter(kind: Any) -> TypeAdapter[Any]:
    """Return the validator for the mapping that the form *kind* is read from."""
    return TypeAdapter(Annotated[Any, _FormKeys(kind)])


FORMS: dict[type, Form] = {}
"""The forms, by named tuple."""


def form(
    words: str | Expected,
    *,
    empty: str = "",
    misplaced: Mapping[str, str] = _NOTHING,
    finish: Callable[[Any], Any] | None = None,
    schema: Mapping[str, Any] = _NOTHING,
) -> Callable[[type[T]], type[T]]:
    """Make pydantic read a named tuple from a mapping with its fields as keys.

    A field without a default is required. A field whose default is None may be left out, but is never null.

    Args:
        words: What a fault calls the mapping, optionally with what to write instead of another value.
        empty: What to write instead of an empty mapping, if that would mean nothing; empty if it is permitted.
        misplaced: Keys that belong elsewhere, each with what to do instead.
        finish: Converts the named tuple; raises `fault` if its fields contradict each other.
        schema: Additions to the JSON Schema.
    """

    def decorate(kind: type[T]) -> type[T]:
        described: Any = kind
        FORMS[kind] = own = Form(
            kind, Expected(words) if isinstance(words, str) else words, empty, misplaced, finish, schema
        )
        described.__get_pydantic_core_schema__ = own.core_schema
        described.__get_pydantic_json_schema__ = own.json_schema
        return kind

    return decorate


@cache
def keys_of(kind: Any) -> Mapping[str, FormKey]:
    """Return the keys of the mapping that the form *kind* is read from, in order."""
    keys: dict[str, FormKey] = {}
    for name, declared in kind.__annotations__.items():
        annotation = _without_none(declared)
        metadata = getattr(annotation, "__metadata__", ())
        default = kind._field_defaults.get(name, Required)
        if INLINE in metadata:
            keys |= keys_of(annotation.__origin__)
        elif name != _PLACE_FIELD:
            fix = next((one.fix for one in metadata if isinstance(one, Required)), "" if default is Required else None)
            keys[_key_name(name, metadata)] = FormKey(annotation, None if default is Required else default, fix)
    return MappingProxyType(keys)


@cache
def key_descriptions(kind: Any) -> dict[str, str]:
    """Return the purpose of each key of a form: the docstrings of its fields."""
    texts = field_docstrings(kind)
    found: dict[str, str] = {}
    for name, annotation in kind.__annotations__.items():
        metadata = getattr(annotation, "__metadata__", ())
        if INLINE in metadata:
            found |= key_descriptions(annotation.__origin__)
        elif name != _PLACE_FIELD:
            found[_key_name(name, metadata)] = texts.get(name, "")
    return found


def _key_name(name: str, metadata: Iterable[Any]) -> str:
    return next((one.key for one in metadata if isinstance(one, Key)), name)


def _without_none(annotation: Any) -> Any:
    choices = get_args(annotation)
    return next(one for one in choices if one is not NoneType) if NoneType in choices else annotation


def _build_form(kind: Any, given: Mapping[str, Any], place: str) -> Any:
    values: dict[str, Any] = {}
    for name, annotation in kind.__annotations__.items():
        metadata = getattr(annotation, "__metadata__", ())
        if INLINE in metadata:
            values[name] = _build_form(annotation.__origin__, given, place)
        elif name == _PLACE_FIELD:
            values[name] = place
        elif (key := _key_name(name, metadata)) in given:
            values[name] = given[key]
    return kind(**values)


def _place_of(value: Any) -> str:
    return str(value.node.place) if isinstance(value, Located | LocatedText) else ""


class MapOf(NamedTuple):
    """Metadata of a mapping from names to one type of value."""

    words: Expected
    noun: str = "tool"
    pattern: str = NAME
    name_fix: str = NAME_FIX
    same: Callable[[str], str] = fold_tool_name
    """Returns the form in which two names are compared."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Return the schema by which pydantic validates the mapping."""
        names = core_schema.str_schema(pattern=anchored(self.pattern))
        mapping = core_schema.dict_schema(names, handler.generate_schema(get_args(source)[1]))
        return core_schema.no_info_wrap_validator_function(self._read, mapping)

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """Return the schema by which editors check the mapping. pydantic's own would accept other names, too."""
        below = next(iter(handler(core)["patternProperties"].values()))
        return {"type": "object", "propertyNames": {"pattern": anchored(self.pattern)}, "additionalProperties": below}

    def _read(self, value: Any, handler: Callable[[Any], Any]) -> Any:
        lines, good = [*self._find_duplicates(value)] if isinstance(value, Located) else [], dict[str, Any]()
        try:
            good = handler(value)
        except ValidationError as error:
            lines += _error_lines(error)
        if lines:
            raise ValidationError.from_exception_data("names", lines)
        return MappingProxyType(good)

    def _find_duplicates(self, value: Located) -> Iterator[InitErrorDetails]:
        first: dict[str, str] = {}
        for name in value:
            other = first.setdefault(self.same(name), name)
            if other != name:
                what = f"names the same {self.noun} as the entry at {entries(value.node)[other].place}."
                yield InitErrorDetails(type=fault(what, "Remove one of the two.", name), loc=(), input=value)


def _error_lines(error: ValidationError) -> Iterator[InitErrorDetails]:
    """Yield the entries of *error* in the form that a new error accepts."""
    for one in error.errors(include_url=False):
        context = one.get("ctx", {})
        ours = _OWN_ERROR_TYPES.get(one["type"])
        kind = one["type"] if ours is None else PydanticCustomError(ours, "{what}", context)
        yield InitErrorDetails(type=kind, loc=one["loc"], input=one["input"], ctx=context)


class ParsedBy:
    """Metadata: a function reads the value, which JSON Schema describes as *schema*.

    The function's errors say what it expects; *words* say it in the tables of the documentation.
    """

    def __init__(self, read: ParseValue, schema: Mapping[str, Any], words: Expected = _NO_WORDS) -> None:
        self.read, self.schema, self.words = read, schema, words

    def __get_pydantic_core_schema__(self, _source: Any, _handler: GetCoreSchemaHandler) -> CoreSchema:
        """Return a schema that calls the function."""
        return core_schema.with_info_plain_validator_function(lambda value, info: self.read(value, info.context))

    def __get_pydantic_json_schema__(self, _core: CoreSchema, _handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """Return *schema*."""
        return dict(self.schema)


class TextOr:
    """Metadata: a text that a function reads and *schema* describes, or the long form."""

    def __init__(self, long: Any, read: ParseValue, schema: Mapping[str, Any]) -> None:
        self.long, self.read, self.schema = long, read, schema

    def __get_pydantic_core_schema__(self, _source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Return a schema that reads text by the function, and anything else by the form."""
        return core_schema.with_info_wrap_validator_function(
            lambda value, following, info: (
                self.read(value, info.context) if isinstance(value, str) else following(value)
            ),
            handler.generate_schema(self.long),
        )

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """Return a schema that permits either of them."""
        return {"anyOf": [dict(self.schema), handler(core)]}


class ListOf:
    """Metadata of a tuple: a list."""

    def __init__(self, words: Expected) -> None:
        self.words = words

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Return the schema of the list."""
        return _tuple_schema(source, handler)


class OneOrMore(ListOf):
    """Metadata of a tuple: one value, or a list of at least one."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Return the schema of the list; a single value becomes a list first."""
        return core_schema.no_info_before_validator_function(self._to_list, _tuple_schema(source, handler))

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """Return a schema that permits either of them."""
        several = handler(core)
        return {"anyOf": [several["items"], {**several, "minItems": 1}]}

    def _to_list(self, value: Any) -> Any:
        if value == []:
            raise fault("the list is empty.", f"Write {self.words.expected}.")
        return value if isinstance(value, list) else [value]


def _tuple_schema(source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
    return core_schema.tuple_variable_schema(handler.generate_schema(get_args(source)[0]), strict=False)


def list_of(expected: str) -> ListOf:
    """Return the metadata of a tuple that is a list, which a fault calls *expected*."""
    return ListOf(Expected(expected))


def mapping_of(expected: str) -> ParsedBy:
    """Return the metadata of a mapping that stays as it is written, because its plugin validates the content."""
    words = Expected(expected, "Write `<key>: {}`.")

    def read(value: Any, _: "Cache") -> dict[str, Any]:
        if not isinstance(value, Located):
            raise mismatch(*words)
        values: dict[str, Any] = to_plain(value.node)
        return values

    return ParsedBy(read, {"type": "object"}, words)
