"""The inventory: what of some paths lies in a workspace, as a list in which none lies below another."""

from pathlib import Path

from tests.rows import each_row

from toolcharter.guards.inventory import Inventory, make_inventory

WORKSPACE = Path("/srv/ws")


def test_only_what_lies_in_the_workspace_counts_and_once() -> None:
    """What lies below another place goes with it; the workspace itself, and a folder of a similar name, do not count."""
    trusted = [
        "/srv/ws/.venv/bin",
        "/srv/ws/.venv",
        "/srv/ws/a-b/x",
        "/srv/ws/a",
        "/srv/ws",
        "/srv",
        "/srv/ws2/x",
        "/usr",
    ]

    made = make_inventory(WORKSPACE, trusted, sealed=["/srv/ws/.venv/lib", "/usr/lib"], repositories=["/srv/ws/store"])

    assert made == Inventory(WORKSPACE, (".toolcharter", ".venv", "a", "a-b/x"), (".venv/lib",), ("store",))


def test_a_workspace_that_is_the_root_of_the_disk_has_everything() -> None:
    """There each absolute path is one in the workspace."""
    made = make_inventory(Path("/"), ["/usr/bin", "/"])

    assert made.places == (".toolcharter", "usr/bin")
    assert (made.covers("/usr/bin/x"), made.covers("/usr/binary")) == (True, False)


@each_row(
    ("path", "covered"),
    [
        ("/srv/ws/.venv", True),
        ("/srv/ws/.venv/bin/python", True),
        ("/srv/ws/.venv2", False),
        ("/srv/ws", False),
        ("/srv/other/.venv", False),
        ("/srv/ws/.toolcharter/policy.yaml", True),
    ],
)
def test_a_place_covers_itself_and_what_lies_below(path: str, *, covered: bool) -> None:
    """By components, never by letters."""
    assert make_inventory(WORKSPACE, ["/srv/ws/.venv"]).covers(path) is covered
