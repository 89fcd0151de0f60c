"""What a constructor may return: functions under decorators, partials, objects, and what is no tool."""

import asyncio
import functools
from dataclasses import replace
from typing import Annotated, Any

import pytest

from toolcharter.api.policy import ToolPolicy
from toolcharter.api.tool import ToolSpec
from toolcharter.errors import PluginError


def built(function: Any) -> ToolSpec[ToolPolicy]:
    return ToolSpec("act", ToolPolicy, lambda _workspace, _policy, _rt: function)


async def slowly(word: str) -> str:
    await asyncio.sleep(0)
    return word


def quickly(word: str, times: int = 1) -> str:
    """Say it.

    Args:
        word: What to say.
        times: How often.
    """
    return word * times


@functools.wraps(slowly)
def awaited_already(word: str) -> str:
    return f"{word}!"


@functools.wraps(quickly)
async def made_asynchronous(word: str, times: int = 1) -> str:
    await asyncio.sleep(0)
    return quickly(word, times)


class Sayer:
    def __call__(self, word: str) -> str:
        return word

    async def later(self, word: str) -> str:
        return await slowly(word)


@pytest.mark.parametrize(
    ("function", "text"),
    [
        pytest.param(slowly, "hi", id="asynchronous"),
        pytest.param(awaited_already, "hi!", id="synchronous-around-asynchronous"),
        pytest.param(made_asynchronous, "hi", id="asynchronous-around-synchronous"),
        pytest.param(functools.partial(quickly, times=2), "hihi", id="partial"),
        pytest.param(functools.partial(slowly), "hi", id="asynchronous-partial"),
        pytest.param(Sayer(), "hi", id="object"),
        pytest.param(Sayer().later, "hi", id="asynchronous-method"),
    ],
)
async def test_a_function_is_called_as_what_it_is(function, text, make_toolbox) -> None:
    """Whatever stands around a function, its result is what the caller gets."""
    toolbox = make_toolbox(built(function))

    result = await toolbox.acall("act", {"word": "hi"})

    assert (result.outcome, result.text) == ("ok", text)


@pytest.mark.parametrize("function", [slowly, awaited_already, made_asynchronous], ids=lambda item: item.__name__)
def test_the_same_from_synchronous_code(function, make_toolbox) -> None:
    """A decorator around either kind of function changes nothing for synchronous callers."""
    assert make_toolbox(built(function)).call("act", {"word": "hi"}).outcome == "ok"


def yields(word: str) -> Any:
    yield word


async def yields_slowly(word: str) -> Any:
    yield word


@pytest.mark.parametrize(
    "function", [yields, yields_slowly, functools.partial(yields)], ids=["sync", "async", "partial"]
)
def test_a_generator_is_no_tool(function, make_toolbox) -> None:
    """A body that would never run is refused when the toolbox is built."""
    with pytest.raises(PluginError, match="its function is a generator; a tool returns its result in one piece"):
        make_toolbox(built(function))


@pytest.mark.parametrize("function", [slowly, Sayer().later], ids=["function", "method"])
def test_an_asynchronous_function_is_not_isolated(function, make_toolbox) -> None:
    """No thread would help it, and each call of it would fail: the build says so."""
    with pytest.raises(PluginError, match="an asynchronous function cannot be isolated; its deadline cancels it"):
        make_toolbox(replace(built(function), isolate=True))


class Told:
    """As Strands' `@tool` wraps a function: callable, with the spec it shows."""

    tool_spec = {"name": "act", "description": "Say it aloud.", "inputSchema": {}}  # noqa: RUF012 - as there

    def __init__(self) -> None:
        functools.update_wrapper(self, quickly)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return quickly(*args, **kwargs)


@pytest.mark.parametrize(("function", "description"), [(quickly, "Say it."), (Told(), "Say it aloud.")])
def test_what_a_decorator_was_told_describes_the_tool(function, description, make_toolbox) -> None:
    """The docstring describes the tool unless Strands' decorator carries another text."""
    tool = make_toolbox(built(function))["act"]

    assert tool.description == description
    assert tool.parameters["properties"]["word"] == {"type": "string", "description": "What to say."}


def test_a_text_in_an_annotation_describes_an_argument(make_toolbox) -> None:
    """`Annotated[str, "..."]`, which Strands reads as well."""

    def act(word: Annotated[str, 5, "The word."]) -> str:
        return word

    assert make_toolbox(built(act))["act"].parameters["properties"]["word"]["description"] == "The word."
