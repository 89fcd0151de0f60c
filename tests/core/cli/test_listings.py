"""`toolcharter tools`, `plugins`, `profiles` and `reasons`: what there is."""

import json
from subprocess import PIPE, STDOUT

import pytest
from click.testing import Result

from .conftest import MODULE, PROFILE, QUIET, install

ECHO = {"kind": "builtin", "safety": "low", "capabilities": ["text"]}


def test_tools_of_a_profile_are_listed(run, desk) -> None:
    """A profile's tools, each with its safety, capabilities and first line; and the files that the profile is made of."""
    (desk / "child.yaml").write_text("profile: child\nextends: [demo]\n")

    result = run("tools", "--profile", "./child.yaml", *QUIET[2:])

    text = (
        "name  safety  capabilities  description\necho  low     text          Say a word.\n"
        "Profile files: child.yaml, demo.yaml\n"
    )
    assert (result.stdout, result.stderr, result.exit_code) == (text, "", 0)


def test_tools_of_a_profile_as_json_have_their_schemas(run) -> None:
    """A driver in another language learns from it what to tell its model."""
    result = run("tools", "--json", *QUIET)

    (tool,) = json.loads(result.stdout)
    parameters = tool.pop("parameters")
    assert tool == {
        "name": "echo",
        "description": "Say a word.",
        "output_schema": None,
        "profile_files": ["demo.yaml"],
        **ECHO,
    }
    assert parameters["properties"]["word"] == {"type": "string", "description": "Which."}


def test_installed_tools_are_listed(run) -> None:
    """Without a profile, all that could be listed in one, and by what they are provided."""
    result = run("tools")

    text = (
        "name  distribution      version  safety  capabilities  description\n"
        "echo  toolcharter-demo  1.0      low     text          Says words.\n"
    )
    assert (result.stdout, result.exit_code) == (text, 0)


def test_undeclared_capabilities_are_named(run, site) -> None:
    """A tool that declares nothing is told apart from one that touches nothing."""
    module = MODULE.replace('capabilities={"text"}, ', "").replace("reasons=EchoReason, ", "")
    (site / "toolcharter_demo/__init__.py").write_text(module)

    tools, plugins = run("tools", "--json"), run("plugins")

    assert json.loads(tools.stdout)[0]["capabilities"] is None
    assert plugins.stdout.splitlines()[1].split() == ["toolcharter-demo", "1.0", "echo", "undeclared", "undeclared"]
    assert "undeclared" in run("tools").stdout


def test_plugins_show_what_they_would_bring(run) -> None:
    """Capabilities and reasons are known before a profile grants them."""
    result = run("plugins", "--check")

    text = (
        "distribution      version  check  provides  capabilities  reasons\n"
        "toolcharter-demo  1.0      ok     echo      text          word_not_allowed\n"
    )
    assert (result.stdout, result.stderr, result.exit_code) == (text, "", 0)


def test_plugins_as_json(run, site) -> None:
    """The same for programs."""
    result = run("plugins", "--json")

    assert json.loads(result.stdout) == [
        {
            "distribution": "toolcharter-demo",
            "version": "1.0",
            "place": str(site / "toolcharter_demo-1.0.dist-info"),
            "trusted": True,
            "permitted": True,
            "tools": {"echo": {**ECHO, "reasons": ["word_not_allowed"]}},
            "extensions": [],
            "commands": [],
            "problems": [],
        }
    ]


def test_broken_plugins_are_listed_and_reported_on_demand(run, site) -> None:
    """A list stays a list; `--check` says what is wrong and ends with status 2."""
    install(site, "broken", module="import nowhere")
    install(site, "mirror", module="", group="toolcharter.extensions")

    listed, checked = run("plugins"), run("plugins", "--check")

    rows = [line.split() for line in listed.stdout.splitlines()[1:]]
    assert rows[0] == ["broken", "1.0", "echo", "not", "loaded;", "see", "--check"]
    assert rows[1] == ["mirror", "1.0", "echo", "(extension)"]
    assert (listed.stderr, listed.exit_code, checked.exit_code) == ("", 0, 2)
    assert checked.stdout.splitlines()[1].split()[:5] == ["broken", "1.0", "2", "problems", "echo"]
    problems = checked.stderr.split("\n\n")
    assert "broken 1.0: importing 'broken' failed: ModuleNotFoundError: No module named 'nowhere'" in checked.stderr
    assert [problem.split(":")[0] for problem in problems] == [
        "broken 1.0",
        "broken 1.0",
        "mirror 1.0",
        "toolcharter-demo 1.0",
    ]
    assert json.loads(run("plugins", "--json").stdout)[0]["tools"] == {"echo": None}


def test_tools_that_cannot_be_built_are_told(run, site) -> None:
    """`--check` builds with the default policy what builds with one; the rest takes a profile."""
    build = "def build(workspace, policy, rt):\n    "
    broken = MODULE.replace('"echo", EchoPolicy', '"crash", EchoPolicy').replace(build, f"{build}1 / 0\n    ")
    needy = MODULE.replace('"echo", EchoPolicy', '"needy", EchoPolicy').replace("] = ()\n", "]\n", 1)
    install(site, "broken", module=broken)
    install(site, "needy", module=needy)
    for name, tool in (("broken", "crash"), ("needy", "needy")):
        (site / f"{name}-1.0.dist-info/entry_points.txt").write_text(f"[toolcharter]\n{tool} = {name}\n")

    result = run("plugins", "--check")

    told = (
        "broken 1.0: building the tool 'crash' failed: ZeroDivisionError: division by zero.\n"
        "A constructor must do no I/O; its author has to fix it.\n"
    )
    verdicts = [line.split()[2:4] for line in result.stdout.splitlines()[1:]]
    assert (result.stderr, verdicts, result.exit_code) == (told, [["1", "problem"], ["ok", "needy"], ["ok", "echo"]], 2)


def test_findable_profiles_are_listed(run, desk) -> None:
    """Every profile that a bare name finds, with its place."""
    (desk / "profiles").mkdir()
    (desk / "profiles/good.yaml").write_text("profile: good\ndescription: |\n  Does good.\n  Always.\ntools: {}\n")
    (desk / "profiles/bad.yaml").write_text("profile: bad\ntools: {eco: {}}\n")

    result = run("profiles")

    text = "name  place               description\nbad   profiles/bad.yaml\ngood  profiles/good.yaml  Does good.\n"
    assert (result.stdout, result.stderr, result.exit_code) == (text, "", 0)


def test_profiles_are_checked_to_the_end(run, desk) -> None:
    """`--check` loads and builds them, reports every fault once, and ends with status 2."""
    (desk / "other.yaml").write_text("profile: other\ntools: {eco: {}}\nlimit: 1\n")

    result = run("profiles", "--check", "./demo.yaml", "./other.yaml")

    listed = (
        "name   check     place         description\ndemo   ok        ./demo.yaml   Says words.\n"
        "other  2 faults  ./other.yaml\n"
    )
    places = [fault.partition(" ")[0] for fault in result.stderr.split("\n\n")]
    assert (result.stdout, places, result.exit_code) == (listed, ["./other.yaml:2:9:", "./other.yaml:3:1:"], 2)


def test_good_profiles_pass_the_check(run) -> None:
    """Status 0 and nothing on standard error."""
    result = run("profiles", "--check", "--json", "./demo.yaml")

    row = {"name": "demo", "description": "Says words.", "place": "./demo.yaml", "faults": [], "warnings": []}
    assert (json.loads(result.stdout), result.stderr, result.exit_code) == ([row], "", 0)


def test_faults_come_before_the_profiles(shell) -> None:
    """Whoever reads both streams in one meets what is wrong first, and a line for each profile below it."""
    (shell.desk / "other.yaml").write_text("profile: other\ntools: {eco: {}}\n")

    ran = shell.start("profiles", "--check", "./other.yaml", "./demo.yaml", stdout=PIPE, stderr=STDOUT)

    lines = ran.communicate()[0].decode().splitlines()
    assert [line.split()[0] for line in lines if line] == ["./other.yaml:2:9:", "Did", "name", "other", "demo"]


def test_undeclared_capabilities_are_warned_of(run, desk, site) -> None:
    """`--check` names the tools that count as the worst, at their place in the profile; status 0."""
    module = MODULE.replace('capabilities={"text"}, ', "")
    (site / "toolcharter_demo/__init__.py").write_text(module)

    result = run("profiles", "--check", "./demo.yaml")

    warning = (
        "Warning: ./demo.yaml:5:3: tools.echo: declares no capabilities, so it counts as touching everything, "
        "at the highest safety level. The plugin's author has to declare them.\n"
    )
    table = "name  check      place        description\ndemo  1 warning  ./demo.yaml  Says words.\n"
    assert (result.stdout, result.stderr, result.exit_code) == (table, warning, 0)


def test_needless_exceptions_are_warned_of(run, desk) -> None:
    """An entry of `missing_ok` that names no tool of the profile is most likely misspelt."""
    (desk / "p.yaml").write_text(
        "profile: p\ntools: {later: {}}\nlimits: {tools: {Last: {timeout_s: 1}}}\nmissing_ok: [later, last, eco, zzz]\n"
    )

    result = run("profiles", "--check", "--json", "./p.yaml")

    (row,) = json.loads(result.stdout)
    assert (row["faults"], row["warnings"], result.exit_code) == (
        [],
        [
            (
                "./p.yaml:4:27: missing_ok.2: the profile names no tool 'eco', so this entry has no effect. "
                "Did you mean 'echo'?"
            ),
            (
                "./p.yaml:4:32: missing_ok.3: the profile names no tool 'zzz', so this entry has no effect. "
                "Remove it, or list the tool."
            ),
        ],
        0,
    )


@pytest.mark.parametrize(
    ("value", "warnings"),
    [
        pytest.param(
            "dmo,zzz",
            [
                (
                    "Warning: TOOLCHARTER_PLUGINS names 'dmo', but no installed distribution has it. "
                    "Did you mean 'demo'?"
                ),
                "Warning: TOOLCHARTER_PLUGINS names 'zzz', but no installed distribution has it.",
            ],
            id="misspelt",
        ),
        pytest.param("demo,toolcharter_demo", [], id="short-and-whole"),
    ],
)
@pytest.mark.parametrize("command", ["tools", "plugins"])
def test_a_restriction_to_nothing_is_warned_of(run, monkeypatch, command, value, warnings) -> None:
    """An empty list says why it is empty."""
    monkeypatch.setenv("TOOLCHARTER_PLUGINS", value)

    result = run(command)

    assert (result.stderr.splitlines(), result.exit_code) == (warnings, 0)


def test_profiles_are_shown_as_what_they_come_to(run, desk) -> None:
    """With all that they extend and without defaults, as YAML for people and as JSON for programs."""
    (desk / "profiles").mkdir()
    (desk / "profiles/base.yaml").write_text("profile: base\nmode: policy\ndeny: [echo]\n")
    (desk / "profiles/child.yaml").write_text("profile: child\nextends: [base]\ndeny: ['bash:*']\n")

    every, one = run("profiles", "--show"), run("profiles", "--show", "--json", "child")

    text = 'profile: base\ndeny: [echo]\n---\nprofile: child\ndeny:\n- echo\n- "bash:*"\n'
    assert (every.stdout, every.stderr, every.exit_code) == (text, "", 0)
    assert json.loads(one.stdout) == [{"profile": "child", "deny": ["echo", "bash:*"]}]


def test_a_profile_with_faults_is_not_shown(run, desk) -> None:
    """What is at fault comes to nothing."""
    (desk / "p.yaml").write_text("profile: p\nx: 1\ny: 2\n")

    result = run("profiles", "--show", "./demo.yaml", "./p.yaml")

    told = [fault.partition(" ")[0] for fault in result.stderr.split("\n\n")]
    assert (result.stdout, told, result.exit_code) == ("", ["./p.yaml:2:1:", "./p.yaml:3:1:"], 2)


def test_profile_that_does_not_exist_is_a_fault(run) -> None:
    """A named profile is always judged."""
    result = run("profiles", "./nope.yaml")

    assert (result.stderr.splitlines()[0], result.exit_code) == ("./nope.yaml: there is no such file.", 2)


def test_reasons_of_a_tool_are_explained_by_its_readme(run) -> None:
    """The table in the README is the only one there is."""
    result = run("reasons", "echo")

    text = (
        "reason            from  outcome  retry  meaning\n"
        "word_not_allowed  echo  denied   no     The word is not in the list.\n"
    )
    assert (result.stdout, result.exit_code) == (text, 0)


def test_all_reasons_are_explained(run) -> None:
    """Core's, the guards' and the tools', in that order."""
    result = run("reasons", "--json")

    rows = json.loads(result.stdout)
    assert rows[0] == {
        "source": "core",
        "reason": "unknown_tool",
        "outcome": "denied",
        "retry": False,
        "meaning": "The profile has no tool of this name.",
    }
    assert [*dict.fromkeys(row["source"] for row in rows)] == ["core", "guards", "echo"]


def test_undocumented_reason_is_listed_bare(run, site) -> None:
    """A reason without a row in the README still exists; core's table tells what may be retried."""
    (site / "toolcharter_demo-1.0.dist-info/METADATA").write_text("Name: toolcharter-demo\nVersion: 1.0\n")

    result = run("reasons")

    rows = {line.split()[0]: line.split()[1:] for line in result.stdout.splitlines()}
    said = "echo no (outcome and meaning come from the plugin's README, which has no row for it)"
    assert (" ".join(rows["word_not_allowed"]), rows["timed_out"][:3]) == (said, ["core", "error", "yes"])


def test_reasons_of_an_extension_are_listed(run, site) -> None:
    """A check denies with words of its own; its README explains them too."""
    metadata = site / "toolcharter_demo-1.0.dist-info"
    with (metadata / "entry_points.txt").open("a") as file:
        file.write("[toolcharter.extensions]\nrest = toolcharter_demo\n")
    with (metadata / "METADATA").open("a") as file:
        file.write("| `day_of_rest` | denied | yes | It is Sunday. |\n")
    with (site / "toolcharter_demo/__init__.py").open("a") as file:
        file.write(
            "\n\n@hookimpl\ndef register_extensions():\n"
            "    return [ExtensionSpec('rest', CheckPolicy, print, reasons=['day_of_rest'])]\n"
        )

    result = run("reasons", "rest", "--json")

    assert json.loads(result.stdout) == [
        {"source": "rest", "reason": "day_of_rest", "outcome": "denied", "retry": True, "meaning": "It is Sunday."}
    ]


def test_reason_with_two_meanings_is_listed_twice(run, site) -> None:
    """One word may deny and fail: every row of the README is shown."""
    with (site / "toolcharter_demo-1.0.dist-info/METADATA").open("a") as file:
        file.write("| `word_not_allowed` | error | yes | The word is none. |\n")

    result = run("reasons", "echo", "--json")

    assert [(row["reason"], row["outcome"], row["retry"], row["meaning"]) for row in json.loads(result.stdout)] == [
        ("word_not_allowed", "denied", False, "The word is not in the list."),
        ("word_not_allowed", "error", True, "The word is none."),
    ]


@pytest.mark.parametrize(("name", "guess"), [("eco", " Did you mean 'echo'?"), ("zzz", "")])
def test_reasons_of_an_unknown_tool_are_usage(run, name, guess) -> None:
    """A misspelt tool is told so."""
    result = run("reasons", name)

    error = f"Error: No installed tool named {name!r} declares reasons.{guess}"
    assert (result.stderr.splitlines()[-1], result.exit_code) == (error, 2)


def test_a_check_judges_the_users_profiles(run, desk) -> None:
    """What is installed is not the user's to mend: its faults do not fail a check, unless it is asked for."""
    shipped = desk / "shipped"
    shipped.mkdir()
    (shipped / "ready.yaml").write_text("profile: ready\ntools: {nope: {}}\n")

    alone = run("profiles", "--check")
    own = desk / "profiles"
    own.mkdir()
    (own / "mine.yaml").write_text(PROFILE)
    mine, everywhere, named = (
        run("profiles", *words) for words in (["--check"], ["--check", "--all"], ["--check", "ready"])
    )

    def judged(result: Result) -> list[str]:
        return [line.split()[0] for line in result.stdout.splitlines()[1:]]

    assert [(judged(result), result.exit_code) for result in (alone, mine, everywhere, named)] == [
        (["ready"], 2),
        (["mine"], 0),
        (["mine", "ready"], 2),
        (["ready"], 2),
    ]
    assert judged(run("profiles")) == ["mine", "ready"]


@pytest.mark.parametrize(
    ("form", "keys"),
    [
        ("openai", {"type", "name", "description", "parameters", "strict"}),
        ("openai-chat", {"type", "function"}),
        ("anthropic", {"name", "description", "input_schema"}),
        ("mcp", {"name", "description", "inputSchema", "annotations"}),
        ("json", {"name", "description", "parameters", "output_schema", "capabilities", "safety", "kind"}),
    ],
)
def test_tools_in_the_format_of_an_interface(run, desk, form, keys) -> None:
    """What a model's interface takes as its list of tools."""
    (shown,) = json.loads(run("tools", *QUIET, "--format", form).stdout)

    assert set(shown) == keys


def test_a_format_needs_a_profile(run) -> None:
    """All that is installed is no list for a model."""
    result = run("tools", "--format", "mcp")

    assert (result.exit_code, "--format needs --profile." in result.stderr) == (2, True)
