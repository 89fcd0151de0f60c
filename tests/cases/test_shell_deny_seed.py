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


def rules(names: str, *forms: str) -> list[str]:
    """A rule for each of *names*, and for each form of a line with it."""
    return [f"bash:{form.format(name)}" for name in names.split() for form in forms]


RULES = {
    "destructive_ops": [
        *rules("rm", "{} -*", "{} * -*"),
        *rules("RM dd wipefs diskpart", "{} *"),
        *("bash:eval rm *", "bash:: >*", "bash:del /*", "bash:rmdir /*", "bash:cmd* /c format*"),
        *rules("suspend hibernate", "systemctl {}*"),
    ],
    "data_exfiltration": [
        *rules("-d -T -XP --data --form --upload", "curl *{}*"),
        *("bash:curl *-F *", "bash:curl *-X P*", "bash:curl *--request P*"),
        *rules("--post- --method=P --body-", "wget *{}*"),
        *rules("localhost 127.0.0.1 0.0.0.0", "curl *{}*", "wget *{}*"),
        *rules("nslookup dig host", "{} *"),
    ],
    "reverse_shell": [
        *rules("telnet nc ncat netcat socat mkfifo", "{} *"),
        *("bash:*>/dev/tcp/*", "bash:*>/dev/udp/*", "bash:openssl *s_client*", "bash:awk */inet/*", "bash:node -e *"),
        *rules("socket Socket urllib http requests aiohttp", "python* *{}*", "perl* *{}*", "ruby* *{}*"),
    ],
    "code_injection": rules("eval source .", "{} *"),
    "privilege_escalation": rules(
        "sudo su doas pkexec runuser unshare nsenter mount umount capsh setcap getcap", "{}", "{} *"
    ),
    "dangerous_paths": ["bash:chmod * /*", "bash:chown * /*"],
    "env_injection": [
        *rules("LD_PRELOAD LD_LIBRARY_PATH DYLD_INSERT_LIBRARIES GIT_EXTERNAL_DIFF GIT_DIFF_OPTS BASH_ENV", "*{}=*"),
        *rules("LD_ DYLD_ BASH_ENV ENV= PROMPT_COMMAND", "export {}*"),
        *("bash:PROMPT_COMMAND=*", "bash:ENV=*", "bash:*/etc/ld.so.preload*"),
    ],
    "container_escape": rules("docker.sock /proc/sys/ /sys/kernel/ /sys/fs/ /sys/class/ /sys/devices/", "*{}*"),
    "crypto_mining": [
        *rules(
            "xmrig cpuminer minerd cgminer bfgminer ethminer nbminer t-rex phoenixminer lolminer gminer claymore", "{}*"
        ),
        *rules("stratum+tcp:// stratum+ssl://", "*{}*"),
    ],
    "filter_bypass": [
        *("bash:history *", "bash:sed *w *", "bash:sed -i*", "bash:sed */e*", "bash:sort *--compress-program*"),
        *rules("--upload-pack= --receive-pack= --exec=", "git *{}*"),
        *("bash:rg *--pre*", "bash:grep *--pre=*", "bash:man *--html=*"),
        *rules("P p E e A a K k", "*@{}}}*"),
    ],
    "network_recon": [
        *rules("nmap masscan zmap rustscan chisel frp ngrok cloudflared bore localtunnel", "{} *"),
        *rules("ssh scp sftp", "{} *@*"),
    ],
    "package_install": [
        *rules("install i uninstall", "pip* {} *", "npm {} *", "npm {}", "go {} *"),
        *("bash:python* -m pip *", "bash:apk add *", "bash:apk del *", "bash:yarn add *", "bash:yarn global *"),
        *("bash:pnpm add *", "bash:pnpm install*"),
    ],
    "persistence": [
        *("bash:crontab", "bash:crontab *", "bash:systemctl enable *"),
        *rules("bashrc bash_profile profile zshrc", "*>~/.{}", "*>>~/.{}", "tee *.{}*"),
    ],
    "process_control": rules("kill killall pkill", "{} *"),
    "env_dump": [
        *rules("env set", "{}", "{} >*"),
        *("bash:printenv*", "bash:declare -x*", "bash:export -p*", "bash:compgen *", "bash:strings */proc/*"),
        *rules("/environ", "*{}", "*{} *"),
        *("bash:echo *$*", "bash:printf *$*", "bash:ruby -e *ENV*", "bash:node -e *process.env*"),
        *rules("environ getenv", "python* -c *{}*"),
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
