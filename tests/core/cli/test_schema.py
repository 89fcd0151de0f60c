"""`toolcharter schema`: the JSON Schema for editors, with what is installed."""

import json

import pytest
from jsonschema_rs import Draft202012Validator

from .conftest import MODULE, install


def test_schema_holds_the_installed_policies(run) -> None:
    """The tool's policy, under what its module says of itself; nothing on standard error."""
    result = run("schema")

    schema = json.loads(result.stdout)
    policy = schema["$defs"]["tools.echo"]
    assert (list(schema["properties"]["tools"]["properties"]), policy["description"]) == (["echo"], "Says words.")
    assert list(policy["properties"]) == ["allowed", "fail_at_close"]
    assert (result.stderr, result.exit_code) == ("", 0)
    assert Draft202012Validator(schema).is_valid({"profile": "demo", "tools": {"echo": {"allowed": ["hi"]}}})
    assert not Draft202012Validator(schema).is_valid({"profile": "demo", "tools": {"echo": {"allow": ["hi"]}}})


def test_schema_holds_the_policies_of_extensions(run, site) -> None:
    """By the name under which a profile lists them."""
    with (site / "toolcharter_demo-1.0.dist-info/entry_points.txt").open("a") as file:
        file.write("[toolcharter.extensions]\nrest = toolcharter_demo\n")
    with (site / "toolcharter_demo/__init__.py").open("a") as file:
        file.write(
            "\n\n@hookimpl\ndef register_extensions():\n    return [ExtensionSpec('rest', CheckPolicy, print)]\n"
        )

    schema = json.loads(run("schema").stdout)

    assert list(schema["$defs"]["extensions.rest"]["properties"]) == ["advisory", "timeout_s"]


def test_plugins_that_do_not_load_are_told(run, site, monkeypatch) -> None:
    """Their tools are missing from the schema; why stands on standard error, the rest is printed."""
    install(site, "broken", module=MODULE.replace("import json", "import nowhere"))
    (site / "broken-1.0.dist-info/entry_points.txt").write_text("[toolcharter]\ncrash = broken\n")
    monkeypatch.setenv("TOOLCHARTER_PLUGINS", "demo,broken,zzz")

    result = run("schema")

    told = result.stderr.splitlines()
    assert told[0] == "Warning: TOOLCHARTER_PLUGINS names 'zzz', but no installed distribution has it."
    assert told[1].startswith("Warning: broken: importing 'broken' failed: ModuleNotFoundError")
    assert (list(json.loads(result.stdout)["properties"]["tools"]["properties"]), result.exit_code) == (["echo"], 0)


@pytest.mark.parametrize(
    ("words", "title"),
    [
        pytest.param(("--ceiling",), "A ceiling of toolcharter: workspace", id="by default the workspace's"),
        pytest.param(("--ceiling", "workspace"), "A ceiling of toolcharter: workspace", id="workspace"),
        pytest.param(("--ceiling", "admin"), "A ceiling of toolcharter: admin", id="administrator"),
    ],
)
def test_schema_of_a_ceiling(run, words, title) -> None:
    """It depends on nothing that is installed."""
    result = run("schema", *words)

    schema = json.loads(result.stdout)
    assert (schema["title"], list(schema["properties"])) == (
        title,
        ["deny", "ask", "mode", "capabilities", "limits", "notify"],
    )
