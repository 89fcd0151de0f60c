"""One file becomes a tree that fits a shape, or faults."""

from toolcharter.errors import Fault
from toolcharter.profile.nodes import Node, Place
from toolcharter.profile.parse import parse, position
from toolcharter.profile.shapes import Shape


def document(
    content: bytes, file: str, shape: Shape, faults: list[Fault], *, least: str = "profile: NAME"
) -> Node | None:
    """The good part of *content*, or None if there is none.

    Args:
        content: The whole file.
        file: Its name in places.
        shape: What may stand in it.
        faults: Gets what is wrong, each fault at its place.
        least: What to write into an empty file.
    """
    text = _decoded(content, file, faults)
    root = None if text is None else parse(text, file, faults, least=least)
    if root is None:
        return None
    # Where the parser put something else for what it refused, the shape has nothing to say.
    refused, found = {fault.place for fault in faults}, list[Fault]()
    clean = shape.clean(root, (), found)
    faults.extend(fault for fault in found if fault.place not in refused)
    return clean


def _decoded(content: bytes, file: str, faults: list[Fault]) -> str | None:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        above = error.object[: error.start].decode()
        line, column = position(above, len(above))
        what = f"the byte 0x{error.object[error.start]:02X} is not UTF-8."
        faults.append(Fault(str(Place(file, line, column)), "", what, "Save the file as UTF-8."))
        return None
