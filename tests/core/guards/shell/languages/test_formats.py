"""Dates and formats that programs print by; each harmless, or to be mentioned."""

from tests.rows import each_row

from toolcharter.guards.shell.languages import find_objection
from toolcharter.guards.shell.languages.formats import date, printf

HARMLESS = {
    "kube_output": [
        "json",
        "yaml",
        "wide",
        "=wide",
        "name",
        "jsonpath={.items[*].metadata.name}",
        "custom-columns=A:.b",
    ],
    "file_mode": ["+x", "755", "0644", "00755", "1777", "u+rwx,go-w", "a=rX", "g=u", "u-s", "ug+x-w", "-x", "go="],
}
NAMED = {
    "kube_output": ["go-template-file=x", "jsonpath-file=x", "custom-columns-file=x", "templatefile=x", "x"],
    "file_mode": [
        "u+s",
        "g+s",
        "+s",
        "4755",
        "2755",
        "06755",
        "u=rwxs",
        "u+x,g+s",
        "a+xs",
        "+4000",
        "=s",
        "u-x+s",
        "o=S",
        "",
    ],
}


@each_row("name", HARMLESS)
def test_ordinary_value_needs_no_name(name: str) -> None:
    """It stays with the project, the host that one is logged in to, and what is there to be read."""
    assert [text for text in HARMLESS[name] if find_objection(name, text) is not None] == []


@each_row("name", NAMED)
def test_value_that_reaches_further_has_to_be_named(name: str) -> None:
    """It starts something, changes data, prints what is secret, or takes what it says from elsewhere."""
    assert [text for text in NAMED[name] if find_objection(name, text) is None] == []


@each_row("text", ["", "%s\\n", "100%%n", "%d%s\n", "%(%Y)T", "%-5.3sn", "%", "n%5"])
def test_format_that_prints_is_harmless(text: str) -> None:
    """Conversions print their words."""
    assert printf(text) is None


@each_row("text", ["%n", "a%%%n", "%5n", "%ln", "%-*.*n", "%s %n"])
def test_format_that_sets_a_variable_has_to_be_named(text: str) -> None:
    """In bash `printf %n PATH` sets PATH to 0, a folder of the workspace."""
    assert printf(text) == "sets a variable of the shell"


@each_row("text", ["now", "2024-01-01 12:00 UTC", 'TZ="Europe/Paris" now', 'TZ="UTC0" 12:00', "TZ"])
def test_date_in_a_zone_of_the_system_is_harmless(text: str) -> None:
    """Zones have names."""
    assert date(text) is None


@each_row("zone", ["/etc/passwd", ":/etc/passwd", "../../../../etc/passwd", "a/../../b", 'a\\"b', "a"])
def test_date_in_a_zone_of_any_file_has_to_be_named(zone: str) -> None:
    """A zone is a file, which a path would find anywhere; one without an end may be any."""
    end = "" if zone == "a" else '"'
    assert date(f'1 day ago TZ="{zone}{end}') == "names a zone that may be any file"
