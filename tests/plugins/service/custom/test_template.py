"""Shell lines with places: each value is one word of data, whatever it holds."""

import shlex
import subprocess
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rows import each_row

from toolcharter import Denied, ToolError
from toolcharter_service.custom.template import Template, TemplateFault, single_quoted


@each_row(
    "line",
    [
        "echo '{{.x}}'",
        'echo "{{.x}}"',
        "echo $'{{.x}}'",
        "echo 'a'\"{{.x}}\"",
        "a='it'\\''s {{.x}}'",
        'echo "a\\"{{.x}}"',
        'echo "$(ls {{.x}})"',
        "echo `ls {{.x}}`",
        "ls # {{.x}}",
        "ls a;# {{.x}}",
        "cat <<EOF\n{{.x}}\nEOF",
        "cat <<'EOF'\n{{.x}}\nEOF",
        "cat <<-EOF {{.x}}\nEOF",
        "echo $(( {{.x}} ))",
        "(( {{.x}} ))",
        "[[ {{.x}} == a ]]",
        "echo ${y:-{{.x}}}",
        "echo $[{{.x}}]",
    ],
)
def test_places_in_quotes(line: str) -> None:
    """And where quotes quote nothing."""
    with pytest.raises(TemplateFault) as found:
        Template.parse(line)

    assert found.value.reason == "placeholder_in_quotes"


@each_row("line", ["echo {{x}}", "echo {{ .x }}", "echo {{.x-y}}", "echo {{.x.y}}", "echo '{{.Names | f}}'"])
def test_what_only_looks_like_a_place(line: str) -> None:
    """A line that would be run as it stands is told."""
    with pytest.raises(TemplateFault) as found:
        Template.parse(line)

    assert found.value.reason == "bad_placeholder"


@each_row("line", ["echo \0", "echo \x1b[2J", "echo a\r"])
def test_signs_that_nobody_sees(line: str) -> None:
    """No control character, but newline and tab."""
    with pytest.raises(TemplateFault, match="control character"):
        Template.parse(line)


@each_row(
    ("line", "values", "rendered"),
    [
        pytest.param("echo {{.x}}", {"x": "a b"}, "echo 'a b'", id="a text"),
        pytest.param("echo {{.x}}", {"x": "it's"}, "echo 'it'\\''s'", id="a quote"),
        pytest.param("echo {{.x}}", {"x": ""}, "echo ''", id="nothing"),
        pytest.param("echo {{.x}}", {"x": "$(id)"}, "echo '$(id)'", id="a substitution"),
        pytest.param("echo {{.x}} {{.y}}", {"x": "{{.y}}", "y": "b"}, "echo '{{.y}}' 'b'", id="a place in a value"),
        pytest.param("echo {{.x}}{{.x}}", {"x": "a"}, "echo 'a''a'", id="twice"),
        pytest.param("echo {{.x}}", {"x": 3}, "echo '3'", id="a number"),
        pytest.param("echo {{.x}}", {"x": True}, "echo 'true'", id="yes"),
        pytest.param("echo {{.x}}", {"x": {"a": [1]}}, "echo '{\"a\":[1]}'", id="an object"),
        pytest.param("echo --a={{.x}}", {"x": "-n"}, "echo --a='-n'", id="a dash within a word"),
        pytest.param("echo {{.x}}{{.y}}", {"x": "a", "y": "-n"}, "echo 'a''-n'", id="a dash behind a value"),
        pytest.param("echo '{}' a#{{.x}}", {"x": "b"}, "echo '{}' a#'b'", id="braces and no comment"),
    ],
)
def test_rendered(line: str, values: dict[str, Any], rendered: str) -> None:
    """In one pass."""
    assert Template.parse(line).render(values) == rendered


@each_row(
    "line",
    ["e {{.x}}", "{{.x}}", "e ''{{.x}}", 'e ""{{.x}}', "e $(true){{.x}}", "e $a{{.x}}", "e ${a}{{.x}}", "e\\\n{{.x}}"],
)
def test_a_leading_dash(line: str) -> None:
    """Also behind what may turn out to be nothing."""
    with pytest.raises(Denied) as found:
        Template.parse(line).render({"x": "-n"})

    assert found.value.reason == "leading_dash_not_allowed"


@each_row("values", [{}, {"x": None}], ids=["missing", "null"])
def test_a_missing_value(values: dict[str, Any]) -> None:
    """Is an error."""
    with pytest.raises(ToolError, match="x required"):
        Template.parse("echo {{.x}}").render(values)


@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=40))
def test_a_value_is_one_word(text: str) -> None:
    """To any reader of a shell's quotes."""
    assert shlex.split(f"echo {single_quoted(text)}") == ["echo", text]


def test_a_real_shell_reads_the_same() -> None:
    """Bash gets every sign of ASCII, and what looks like code, as it was."""
    text = "".join(map(chr, range(1, 127))) + "$(id) `id` ${x} !! \\ '\"' \n; rm x"
    line = Template.parse("printf %s a{{.x}}").render({"x": text})

    done = subprocess.run(["bash", "-c", line], capture_output=True, check=True)

    assert done.stdout.decode() == f"a{text}"
