"""Writes case results as JUnit XML, which every CI system reads.

Source: the schema that Jenkins publishes: `testsuites`, `testsuite`, `testcase`, `failure`.
"""

import re
from collections.abc import Iterable
from pathlib import Path
from xml.etree.ElementTree import Element, ElementTree, SubElement

from toolcharter.cli.profile_cases import CaseVerdict, ProfileResult

# The characters that XML 1.0 cannot carry, escaped or not. Source: XML 1.0, production "Char".
_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write_junit(file: Path, tested: Iterable[ProfileResult]) -> None:
    """Write one suite per profile to *file*.

    Raises:
        OSError: The file cannot be written.
    """
    root = Element("testsuites", name="toolcharter")
    for suite in tested:
        element = SubElement(root, "testsuite", name=_escape_illegal(suite.profile))
        element.set("tests", str(len(suite.verdicts)))
        element.set("failures", str(len(suite.failed)))
        element.set("errors", "0")
        for verdict in suite.verdicts:
            _add_case(element, suite, verdict)
    ElementTree(root).write(file, encoding="utf-8", xml_declaration=True)


def _add_case(element: Element, suite: ProfileResult, verdict: CaseVerdict) -> None:
    case = SubElement(element, "testcase", classname=_escape_illegal(suite.profile), name=_escape_illegal(verdict.name))
    case.set("file", _escape_illegal(verdict.place))
    if not verdict.passed:
        failure = SubElement(case, "failure", message=_escape_illegal(verdict.text.partition("\n")[0]))
        failure.text = _escape_illegal(verdict.text)


def _escape_illegal(text: str) -> str:
    return _ILLEGAL.sub(lambda match: ascii(match[0])[1:-1], text)
