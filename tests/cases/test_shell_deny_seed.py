"""Sample set 004's lists of denied patterns, first and later, and its exempt folders: as rules of profiles.

There a line runs unless a pattern is found in its text; the same with us is the mode `dangerous`, the floor and rules in
`deny`, which see each command as bash would. What the rules below do not say, the floor has to.
"""

from typing import Any

from tests.cases.shell_tree import Lines, sample_policy
from tests.rows import each_row
from tests.samples import row_params, sample_rows

SEED = sample_rows("seeds/004-shell-deny-seed")
GROUPS = sample_rows("seeds/004-shell-deny-groups")
EXEMPT = sample_rows("seeds/004-shell-path-exempt")

RULES = {
    "destructive_ops": ["bash:rm -*", "bash:RM -*", "bash:dd *", "bash:eval rm *", "bash:: >*", "bash:wipefs *"],
    "data_exfiltration": ["bash:curl *-F *", "bash:curl *127.0.0.1*", "bash:curl * -d*", "bash:curl *-T *"],
    "reverse_shell": [
        *("bash:telnet *", "bash:nc *", "bash:ncat *", "bash:socat *", "bash:*>/dev/tcp/*", "bash:*>/dev/udp/*"),
        *(
            f"bash:{program} *{word}*"
            for program in ("python*", "perl*", "ruby*")
            for word in ("socket", "Socket", "urllib")
        ),
        "bash:node -e *",
    ],
    "code_injection": ["bash:eval *", "bash:source *", "bash:. *"],
    "privilege_escalation": [
        form
        for name in ("sudo", "su", "doas", "pkexec", "unshare", "nsenter")
        for form in (f"bash:{name}", f"bash:{name} *")
    ],
    "env_injection": [f"bash:*{name}=*" for name in ("LD_PRELOAD", "LD_LIBRARY_PATH", "BASH_ENV", "PROMPT_COMMAND")],
    "filter_bypass": ["bash:history *", "bash:sed *w *", "bash:sed -i*"],
    "package_install": [
        *(f"bash:{program} {verb} *" for program in ("pip*", "npm", "go") for verb in ("install", "i")),
        "bash:python* -m pip install *",
    ],
    "persistence": ["bash:crontab *", "bash:systemctl enable *"],
    "process_control": ["bash:kill *", "bash:killall *", "bash:pkill *"],
    "env_dump": [
        *("bash:env", "bash:printenv*", "bash:declare -x*", "bash:export -p*", "bash:compgen *", "bash:*/environ"),
        *("bash:echo *$*", "bash:printf *$*", "bash:ruby -e *ENV*", "bash:python* -c *environ*"),
    ],
}
"""Sample set 004's groups, as rules of ours; those that the floor holds alone are not among them.

Commands are compared with case: where a file system folds it, a rule that denies has both spellings.
"""
ALL = {"mode": "dangerous", "deny": [rule for group in RULES.values() for rule in group]}
SETTINGS = 'design, section 4: "`deny`, `allow`, `notify`, `cases` append": a group is left out by not being written.'
EXEMPTIONS = (
    'design, section 4: "`deny`, ... hold in every mode": what is exempt is what `allow` names, all else is not.'
)


def lines(rows: list[dict[str, Any]]) -> list[Any]:
    return row_params([row for row in rows if "command" in row["input"]])


def is_blocked(row: dict[str, Any]) -> bool:
    wanted = {**row["expect"], **row.get("unified", {})}
    return bool(wanted.get("blocked", "rejected_with" in wanted))


@each_row("row", lines([*SEED, *GROUPS]))
def test_by_groups(row: dict[str, Any], decision_on: Lines) -> None:
    """With all groups, or the row's own and the floor, what is blocked is denied even where all else runs."""
    group = row["input"].get("group")
    profile = {**ALL, "deny": RULES.get(group, [])} if group else ALL

    outcome = decision_on(profile, row["input"]["command"]).outcome

    assert outcome == ("deny" if is_blocked(row) else "allow")


@each_row("row", lines([*SEED, *GROUPS]))
def test_unattended(row: dict[str, Any], decision_on: Lines) -> None:
    """Without a rule in `deny`, nothing that is blocked runs by rules for programs that read."""
    found = decision_on({**sample_policy(), "mode": "ask"}, row["input"]["command"])

    assert found.outcome in ({"ask", "deny"} if is_blocked(row) else {"ask", "allow"})


@each_row("row", row_params(EXEMPT))
def test_exempt_folder(row: dict[str, Any], decision_on: Lines) -> None:
    """What a rule names in a closed folder runs; beside it, and back out of it, nothing does."""
    exempt = row["input"]["exempt"]
    line = row["input"]["command"]
    # A rule covers a path outside, and code, only where it writes the word out.
    named = [f"bash:{program} {folder}tool.py" for program in ("cat", "python3") for folder in exempt]
    profile = {"mode": "restrict", "allow": [*named, "bash:cat *"], "deny": ["bash:*.goclaw/*/../*"]}

    outcome = decision_on(profile, line).outcome

    assert outcome == row["expect"]["decision"], EXEMPTIONS


def test_every_row_is_run() -> None:
    """What is no line of commands is a setting of groups."""
    assert all("command" in row["input"] for row in [*SEED, *EXEMPT])
    assert all("command" in row["input"] or "effective" in row["expect"] for row in GROUPS), SETTINGS
