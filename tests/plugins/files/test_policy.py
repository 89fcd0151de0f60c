"""The policies: what defaults let through, and which values stop the start."""

import re
from pathlib import Path

import pytest
from pydantic import ValidationError
from tests.rows import each_row

from toolcharter_files import (
    delete_file,
    edit_file,
    glob_files,
    grep,
    list_files,
    lock_paths,
    make_dir,
    move_file,
    read_file,
    register_tools,
    unlock_paths,
    write_file,
)

READING = (glob_files, grep, list_files, read_file)
CHANGING = (write_file, edit_file, move_file, delete_file, make_dir)
MODULES = (*READING, *CHANGING, lock_paths, unlock_paths)
README = Path(__file__).parents[3] / "plugins/files/README.md"


@pytest.mark.parametrize("module", READING, ids=lambda module: module.__name__)
def test_defaults_reach_the_workspace_only(module) -> None:
    """Without a word in the profile nothing outside and nothing protected is read."""
    policy = module.SPEC.policy()

    assert (policy.read_roots, policy.protected) == ((), (".git", ".toolcharter"))


@each_row("module", CHANGING, ids=lambda module: module.__name__)
def test_defaults_change_the_workspace_but_what_is_protected(module) -> None:
    """Who is given the tool may use it, where nothing says otherwise."""
    policy = module.SPEC.policy()

    assert (policy.writable, policy.protected) == (("**",), (".git", ".toolcharter"))


@each_row(
    ("globs", "message"),
    [
        (["src/**", "../x"], "'../x' is not relative to the workspace; write one such as 'src/**'"),
        (["/src"], "'/src' is not relative to the workspace"),
        ([""], "a glob is empty or contains a NUL"),
        (["x"] * 33, "there are more than 32 globs"),
        (
            ["!src/x"],
            "'!src/x' excludes nothing; list the path in `protected`, or write '\\!src/x' for the literal name",
        ),
        (
            ["src/**/*.{py,md"],
            "'src/**/*.{py,md' has '{' without '}'; write both, or '\\{' for the character itself",
        ),
        (["src/*.py}"], "'src/*.py}' has '}' without '{'; write both, or '\\}' for the character itself"),
        (["src/[ab/c"], "'src/[ab/c' has '[' without ']'; write both, or '\\[' for the character itself"),
        (["[!]x"], "'[!]x' has '[' without ']'"),
        (["{[,]}"], "'{[,]}' has '[' without ']'"),
        (["a" * 900, "b" * 900, "c" * 900, "d" * 900, "e" * 900], "have more than 4000 characters together"),
    ],
)
def test_scopes_that_mean_nothing_stop_the_start(globs: list[str], message: str) -> None:
    """A glob that leads elsewhere, or nowhere, is no scope."""
    with pytest.raises(ValidationError, match=re.escape(message)):
        write_file.WriteFilePolicy.from_profile({"writable": globs})


@each_row("glob", [r"\!x", r"a\{b", r"a\[b", "[{]x", "[!a]x", "{a,{b,c}}/**", "a]", "a!"])
def test_signs_that_mean_something_are_taken(glob: str) -> None:
    """Whole patterns, and signs that are written as such."""
    assert write_file.WriteFilePolicy.from_profile({"writable": [glob]}).writable == (glob,)


@each_row(
    ("values", "message"),
    [
        ({"read_roots": ["docs"]}, "'docs' is not an absolute path"),
        ({"protected": [""]}, "'' protects nothing; write a name such as '.env.*' or a folder's path"),
        ({"protected": ["a/../b"]}, "'a/../b' protects nothing; write a name such as '.env.*' or a folder's path"),
        ({"max_bytes": 0}, "Input should be greater than or equal to 1"),
        ({"max_bytes": "5"}, "Input should be a valid integer"),
        ({"max_byte": 5}, "Extra inputs are not permitted"),
    ],
)
def test_values_that_mean_nothing_stop_the_start(values, message: str) -> None:
    """A profile's mistake is told when it is read, not when a call meets it."""
    with pytest.raises(ValidationError, match=re.escape(message)):
        read_file.ReadFilePolicy.from_profile(values)


def test_every_policy_field_and_reason_is_in_the_readme() -> None:
    """The README's tables hold every field with its default and every reason, and none that is gone."""
    text = README.read_text()
    rows = re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE)
    fields = {name for module in MODULES for name in module.SPEC.policy.model_fields}
    reasons = {str(reason) for module in MODULES for reason in module.SPEC.own_reasons() or ()}
    tools = {spec.name for spec in register_tools()}

    assert fields | reasons | tools <= set(rows)
    assert set(rows) - fields - tools - reasons == {
        "changed_meanwhile",
        "hard_link",
        "invalid_path",
        "is_directory",
        "locks_unavailable",
        "not_directory",
        "not_empty",
        "not_regular",
        "path_exists",
        "path_locked",
        "path_not_found",
        "path_outside_workspace",
        "program_not_found",
        "protected_path",
        "read_failure",
        "write_failure",
    }
