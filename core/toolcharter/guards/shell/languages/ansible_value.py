"""Variables on the command line of Ansible: text, but no file of it and no template, whose look-ups run programs.

Source: ansible-core 2.19, "ansible-playbook --help" of `--extra-vars`; "Lookups", `pipe`.
"""

from toolcharter.guards.shell.languages import aws_value


def objection(text: str) -> str | None:
    """Why *text* has to be named; None if it stands for itself."""
    if "{{" in text or "{%" in text or "!" in text:
        return "may be a template, which can run programs"
    return aws_value.objection(text)
