"""What the environment has this process load besides Python modules: libraries, settings of OpenSSL, certificates.

The dynamic loader and OpenSSL read these variables in every start, and search their folders each time that a module in C is
imported. Who can write there decides what the gate runs, or which servers it believes.
"""

import os
import re
from collections.abc import Iterator, Mapping

from toolcharter.errors import ConfigurationError, Fault

# Folders of libraries and modules in C. Source: ld.so(8); openssl-env(7); iconv(3); locale(7).
_FOLDERS = ("LD_LIBRARY_PATH", "OPENSSL_MODULES", "OPENSSL_ENGINES", "GCONV_PATH", "LOCPATH", "SSL_CERT_DIR")
_FILES = ("LD_PRELOAD", "LD_AUDIT", "OPENSSL_CONF", "SSL_CERT_FILE")
_HERE = frozenset({"LD_LIBRARY_PATH"})
"""Where an empty entry means the current folder."""
_SEPARATORS = {"LD_LIBRARY_PATH": "[:;]", "LD_PRELOAD": "[: ]"}


def libraries_of(workspace: str, environ: Mapping[str, str]) -> Iterator[str]:
    """Files and folders that the variables of *environ* name, as they are written there.

    Raises:
        ConfigurationError: A folder of libraries is the workspace itself, so that tools could write there.
    """
    for variable in (*_FOLDERS, *_FILES):
        value = environ.get(variable)
        if not value:
            continue
        for entry in re.split(_SEPARATORS.get(variable, ":"), value):
            path = entry or ("." if variable in _HERE else "")
            if not path:
                continue
            if variable in _FOLDERS and os.path.realpath(path) == workspace:
                named = repr(entry) if entry else "an empty entry, which is the current folder"
                what = f"{variable} names {named}, and so the workspace: tools could write libraries that toolcharter loads."
                raise ConfigurationError([Fault("workspace", "", what, f"Take that entry out of {variable}.")])
            yield path
