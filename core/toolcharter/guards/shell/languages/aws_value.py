"""Values on the command line of aws, az and gcloud: text, or the name of a file or an address that holds it.

Source: AWS CLI 2.27, "Loading a parameter from a file", and for `KEY@=file://...` "Using shorthand syntax"; az 2.45, "az --help" of `@FILE`.
"""


def objection(text: str) -> str | None:
    """Why *text* has to be named; None if it stands for itself."""
    text = text.removeprefix("=").lstrip()
    if text.startswith(("file://", "fileb://", "http://", "https://", "@")) or "@=" in text:
        return "takes its value from elsewhere"
    return None
