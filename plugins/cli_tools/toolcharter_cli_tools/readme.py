"""READMEs: the source of a tool's description, and the answer to a call with `help: true`."""

from toolcharter_cli_tools.bundles import Bundle

_MAX_SUMMARY_CHARS = 300
HELP = "Call it with `help: true` to read more."


def read_readme(bundle: Bundle, most_chars: int) -> str:
    """Return the text of a tool's README; empty if there is none."""
    names = sorted((name for name in bundle.files if name.lower() == "readme.md"), key=lambda name: name != "README.md")
    return "" if not names else clean_text(bundle.files[names[0]].data, most_chars)


def clean_text(data: bytes, most_chars: int) -> str:
    """Decode *data* and remove characters that do not print; cut the text to *most_chars*, with a notice."""
    text = data.decode(errors="replace").replace("\r\n", "\n").removeprefix("\ufeff")
    text = "".join(letter for letter in text if letter.isprintable() or letter in "\n\t").strip()
    return text if len(text) <= most_chars else f"{text[:most_chars].rstrip()}\n[README truncated]"


def summarize(readme: str) -> str:
    """Return the heading and the first paragraph of a README in one line of at most 300 characters."""
    title, paragraph = "", list[str]()
    for line in readme.splitlines():
        stripped = line.strip()
        if stripped.startswith("#") and not paragraph:
            title = title or stripped.lstrip("#").strip()
        elif stripped and not stripped.startswith("#"):
            paragraph.append(stripped)
        elif paragraph:
            break
    text = ": ".join(filter(None, (title.rstrip(":."), " ".join(paragraph))))
    return text if len(text) <= _MAX_SUMMARY_CHARS else f"{text[: _MAX_SUMMARY_CHARS - 3].rstrip()}..."
