"""Kinds that `kubectl get` and `kubectl describe` show: everything but secrets."""


def objection(text: str) -> str | None:
    """Why *text* has to be named; None if it names no secrets."""
    kinds = (part.partition("/")[0].partition(".")[0].lower() for part in text.split(","))
    return "prints what is secret" if any(kind in {"secret", "secrets"} for kind in kinds) else None
