"""Values of pytest's `-p`: harmless if they keep a plugin out; any other is a module that is imported.

Source: pytest 9.2, `_pytest.config.PytestPluginManager.consider_pluginarg`.
"""


def objection(text: str) -> str | None:
    """Why *text* has to be named; None if it is `no:NAME`."""
    return None if text.strip().startswith("no:") else "is a module that is imported"
