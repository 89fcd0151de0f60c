"""Which tests hold the classes of the 27 attacks that succeeded on commit b23934c, where agents had the most ordinary tools.

An attack on what the gate executes or believes depends on where the Python environment lies and on what the profile
grants: a test of its class starts an environment in the workspace and one beside it, and `test_ground_profiles.py` has each
tool of each shipped profile try. The others are attacks on parts that all profiles share, wherever the environment lies.
"""

import ast
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
PROFILES = "tests/test_ground_profiles.py::test_no_tool_of_a_shipped_profile_changes_what_the_gate_believes"
BOXED = "tests/test_ground.py::test_no_program_in_a_sandbox_changes_what_the_gate_executes_or_believes"
FILES = "tests/test_ground.py::test_no_file_tool_changes_what_the_gate_executes_or_believes"
NAMES = "tests/test_profile_names.py::test_a_copy_with_another_parent_is_refused"
KEPT = "tests/core/gate/test_kept_approvals.py"
SUPERVISOR = (
    "tests/test_ground_profiles.py::test_a_program_in_a_sandbox_does_not_choose_the_interpreter_of_a_supervisor"
)
HOSTILE = "tests/plugins/web/test_hostile.py::test_hostile_pages_and_selectors_stop_nobody"


class Attack(NamedTuple):
    """One that succeeded."""

    what: str
    tests: tuple[str, ...]
    """Each fails if any attack of the class succeeds."""
    is_on_the_ground: bool = False
    """On what the gate executes or believes."""


ATTACKS = {
    1: Attack("a tool writes .venv/bin/rg, which the gate starts", (PROFILES, FILES), is_on_the_ground=True),
    2: Attack(
        "a tool writes the sources of an editable install",
        (
            "tests/test_ground.py::test_the_source_of_a_plugin_and_of_what_it_needs_is_protected",
            "tests/test_ground.py::test_the_users_own_project_may_be_written_where_it_is_installed_as_editable",
        ),
        is_on_the_ground=True,
    ),
    3: Attack(
        "a tool writes a module beside the script, which the gate imports later",
        (
            "tests/test_ground.py::test_nothing_that_a_tool_wrote_is_imported_by_the_gate",
            "tests/test_ground.py::test_the_next_start_imports_nothing_from_the_workspace_with",
        ),
        is_on_the_ground=True,
    ),
    4: Attack("a tool rewrites another profile of the project", (PROFILES, FILES), is_on_the_ground=True),
    5: Attack("a tool writes or deletes .venv/bin/python and pyvenv.cfg", (PROFILES, FILES), is_on_the_ground=True),
    6: Attack(
        "git exchanges the profile for an older one",
        (
            "tests/test_ground.py::test_git_exchanges_nothing_that_the_gate_believes",
            "tests/test_ground_profiles.py::test_a_fixer_switches_to_no_branch_that_changes_what_the_gate_believes",
        ),
        is_on_the_ground=True,
    ),
    7: Attack(
        "a changed tool is moved to its name in other letters, and no longer asked about",
        ("tests/core/gate/test_live.py::test_changed_tool_asks_under_each_case_of_its_name",),
    ),
    8: Attack(
        "a skill's time limit is no number", ("tests/plugins/cli_tools/test_skills.py::test_what_cannot_be_a_skill",)
    ),
    9: Attack(
        "a program lowers its mark and outlives its call",
        (
            "tests/core/guards/process/test_start.py::test_what_a_program_starts_ends_with_it",
            "tests/core/guards/process/test_start.py::test_what_a_program_starts_ends_with_the_toolbox",
        ),
    ),
    10: Attack(
        "a kept approval of one tool lets another one run",
        (
            f"{KEPT}::test_another_tool_that_runs_the_same_line_is_asked_about",
            f"{KEPT}::test_whatever_else_is_different_the_person_is_asked",
        ),
    ),
    11: Attack(
        "a kept approval follows a link that appeared later",
        (f"{KEPT}::test_a_path_that_leads_elsewhere_by_now_is_refused",),
    ),
    12: Attack(
        "an approval for a sandbox counts on the host",
        (f"{KEPT}::test_whatever_else_is_different_the_person_is_asked",),
    ),
    13: Attack(
        "a selector holds the interpreter's lock for minutes",
        (HOSTILE, "tests/plugins/web/test_hostile.py::test_ctrl_c_ends_a_hostile_call"),
    ),
    14: Attack("a page takes a core for minutes", (HOSTILE,)),
    15: Attack("a clone gives a shipped profile another parent", (NAMES, PROFILES), is_on_the_ground=True),
    16: Attack(
        "a tool writes what the link .toolcharter/policy.yaml leads to", (PROFILES, FILES, BOXED), is_on_the_ground=True
    ),
    17: Attack(
        "a link's target is seen from the wrong folder",
        ("tests/core/guards/shell/test_links.py::test_a_target_is_seen_from_its_link",),
    ),
    18: Attack("a tool writes profiles beside the folder of the start", (PROFILES, FILES), is_on_the_ground=True),
    19: Attack("a program in a sandbox writes profiles of the next start", (BOXED, NAMES), is_on_the_ground=True),
    20: Attack(
        "a program in a sandbox replaces the interpreter of the supervisor",
        (
            BOXED,
            SUPERVISOR,
        ),
        is_on_the_ground=True,
    ),
    21: Attack(
        "the agent answers for the approver, whose service is down",
        ("tests/plugins/approver/test_proofs.py::test_one_who_guesses_the_secret_approves_nothing",),
    ),
    22: Attack(
        "identifiers carry a secret into events",
        (
            "tests/core/gate/test_redact.py::test_what_leaves_the_gate_is_short_whole_and_without_secrets",
            "tests/test_canary.py::test_no_secret_comes_out_of_a_session",
        ),
    ),
    23: Attack(
        "an edit runs past its limit, and is told as failed although it was made",
        (
            "tests/plugins/files/test_limits.py::test_what_has_been_written_is_no_failure",
            "tests/plugins/files/test_limits.py::test_nothing_is_written_past_the_limit",
        ),
    ),
    24: Attack(
        "a mask hides code from who approves it",
        (
            "tests/core/gate/approvals/test_masks.py::test_a_mask_never_hides_what_could_be_code",
            f"{KEPT}::test_a_script_whose_text_a_mask_would_hide_is_not_asked_about",
        ),
    ),
    25: Attack("the rule that would be kept holds a secret", (f"{KEPT}::test_no_secret_is_kept_or_logged",)),
    26: Attack(
        "a path with .. meets a rule of allow",
        ("tests/core/gate/test_paths_in_rules.py::test_allow_rules_take_no_detour",),
    ),
    27: Attack(
        "a named pipe for .git hangs each start",
        ("tests/core/gate/test_pipes_in_the_workspace.py::test_a_pipe_is_not_waited_for",),
    ),
}


@cache
def takers(file: str) -> dict[str, set[str]]:
    """The names of a file's tests, each with what it takes."""
    tree = ast.parse((ROOT / file).read_text())
    found = [one for one in ast.walk(tree) if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)]
    return {one.name: {given.arg for given in one.args.args} for one in found if one.name.startswith("test_")}


def test_each_attack_is_held_by_tests_that_exist() -> None:
    """And each on the ground by one that has its environment in the workspace, and beside it."""
    places = {number: [test.partition("::") for test in one.tests] for number, one in ATTACKS.items()}
    absent = [(number, name) for number, found in places.items() for file, _, name in found if name not in takers(file)]
    in_one_place = [
        number
        for number, found in places.items()
        if ATTACKS[number].is_on_the_ground
        and not any("project" in takers(file).get(name, ()) for file, _, name in found)
    ]

    assert sorted(ATTACKS) == [*range(1, 28)]
    assert (absent, in_one_place) == ([], [])
