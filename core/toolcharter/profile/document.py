"""Parses one file into a tree that fits a form, or into faults."""

from typing import TYPE_CHECKING, TypeVar

from pydantic import ValidationError

from toolcharter._lazy import lazy
from toolcharter.errors import Fault
from toolcharter.profile.forms import FORMS, Cache
from toolcharter.profile.nodes import Entry, KeyPath, Node, Place, Places, entries, remove_paths, to_located
from toolcharter.profile.parse import line_and_column, parse_yaml

if TYPE_CHECKING:
    from toolcharter.profile import faults as wording
else:
    wording = lazy("toolcharter.profile.faults")

T = TypeVar("T")


def read_document(
    content: bytes, file: str, kind: type[T], cache: Cache, faults: list[Fault], *, least: str = "profile: NAME"
) -> tuple[Node | None, T | None]:
    """Parse *content* into a tree without its faulty parts, and into the form *kind*; None if nothing is usable.

    Args:
        content: The whole file.
        file: Its name in places.
        kind: The form to read it as.
        cache: What was read of other files of the same profile.
        faults: Gets all faults, each with its place.
        least: What to write into an empty file.
    """
    text = decode_utf8(content, file, faults)
    root = None if text is None else parse_yaml(text, file, faults, least=least)
    if root is None:
        return None, None
    # Where the parser has replaced a refused value, a fault of the form would be about the replacement.
    refused, found = {fault.place for fault in faults}, list[Fault]()
    good = validate_tree(root, kind, cache, found)
    faults.extend(fault for fault in found if fault.place not in refused)
    return good


def validate_tree(root: Node, kind: type[T], cache: Cache, faults: list[Fault]) -> tuple[Node | None, T | None]:
    """Return the part of a tree without faults, and the form *kind* made from it; None if nothing is usable.

    Args:
        root: The tree.
        kind: The form to read it as.
        cache: What was read of other files of the same profile.
        faults: Gets all faults.
    """
    is_reported = False
    tree: Node | None = root
    while tree is not None:
        try:
            read: T = FORMS[kind].read(to_located(tree), cache)
        except ValidationError as error:
            if not is_reported:
                faults.extend(wording.faults_of(error, Places(tree), model=kind))
                is_reported = True
            tree = _without_faulty(tree, error)
        else:
            return tree, read
    return None, None


def _without_faulty(tree: Node, error: ValidationError) -> Node | None:
    """Return the tree without the parts that *error* names, so that the rest can still be checked."""
    places, removed, lacking = Places(tree), set[KeyPath](), dict[str, Entry]()
    for one in error.errors(include_url=False):
        path = places.existing_part(one["loc"])
        key = one.get("ctx", {}).get("key")
        if one["type"] == "missing" and not path:
            lacking[str(one["loc"][-1])] = Entry(tree.place, Node("unnamed", tree.place))
        elif not path and not key:
            return None
        else:
            removed.add((*path, key) if key else path)
    kept = remove_paths(tree, removed)
    return Node({**entries(kept), **lacking}, kept.place) if lacking else kept


def decode_utf8(content: bytes, file: str, faults: list[Fault]) -> str | None:
    """Decode a file; None, and a fault, if it is not UTF-8."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        above = error.object[: error.start].decode()
        line, column = line_and_column(above, len(above))
        what = f"the byte 0x{error.object[error.start]:02X} is not UTF-8."
        faults.append(Fault(str(Place(file, line, column)), "", what, "Save the file as UTF-8."))
        return None
