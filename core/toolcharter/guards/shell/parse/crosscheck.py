"""Parses a line a second time with tree-sitter-bash, which has to find the same words and programs.

Two independent parsers seldom make the same mistake, so a line on which they differ is refused. tree-sitter-bash 0.25.1 is
known to differ from bash in: a quote after two backslashes in `$'...'`, `$` before a separator, `<>`, digits before `<&` and
`>&`, a `0` before `<` and `>`, an escaped `$(` in a here-document, a second here-document, and anything except a pipe behind
a here-document (its issues 116, 213, 278, 305, 346).
"""

import re
import threading
from typing import TYPE_CHECKING, Any

from toolcharter._lazy import lazy
from toolcharter.guards.shell.nodes import NotUnderstood

if TYPE_CHECKING:
    import tree_sitter
    import tree_sitter_bash

    from toolcharter.guards.shell.parse.scanner import Scanner, Span
else:
    tree_sitter = lazy("tree_sitter")
    tree_sitter_bash = lazy("tree_sitter_bash")

_local = threading.local()

_KINDS = frozenset(
    """program word variable_name special_variable_name heredoc_start heredoc_body heredoc_content heredoc_end
    file_descriptor test_operator number raw_string ansi_c_string string string_content comment redirected_statement
    for_statement variable_assignment variable_assignments unary_expression binary_expression parenthesized_expression
    while_statement do_group if_statement elif_clause else_clause case_statement case_item function_definition
    compound_statement subshell pipeline list negated_command test_command declaration_command unset_command command
    command_name file_redirect heredoc_redirect herestring_redirect arithmetic_expansion concatenation simple_expansion
    c_style_for_statement postfix_expression ternary_expression
    expansion command_substitution process_substitution extglob_pattern regex array brace_expression subscript""".split()
)
"""The kinds of nodes that the parser knows; a line with another kind of node is unsupported."""
_MAX_BRACKETS = 500
"""The most brackets in a line: for each one, tree-sitter-bash scans the rest of the line, which takes quadratic time."""
_ZERO = re.compile(rb"0[<>]")
"""A zero before a redirection, which bash takes for a descriptor, like any other digit."""
_NOT_WORDS = frozenset({"variable_assignment", "file_redirect", "herestring_redirect", "heredoc_redirect"})


def check(scanner: "Scanner") -> None:
    """Compare what *scanner* found with the tree of its source.

    Raises:
        NotUnderstood: The source does not parse, or the tree shows other words.
    """
    source = _mask_source(scanner).encode()
    if source.count(b"[") > _MAX_BRACKETS:
        raise NotUnderstood(f"The command line holds more than {_MAX_BRACKETS} brackets.")
    root = _parser().parse(source).root_node
    if root.has_error and scanner.here_strings:
        source = _mask_source(scanner, here_strings=True).encode()
        root = _parser().parse(source).root_node
    if root.has_error:
        raise NotUnderstood("The command line does not parse.")
    seen = _TreeSpans()
    seen.walk(root)
    offsets = None if len(source) == len(scanner.source) else _offsets(scanner.source)
    if (
        seen.programs != _to_byte_spans(scanner.program_spans, offsets)
        or seen.tests != _to_byte_spans(scanner.test_spans, offsets)
        or not _spans_agree(seen.words, _to_byte_spans(scanner.word_spans, offsets), source)
    ):
        raise NotUnderstood("Two readers of the command line see different words in it.")
    if seen.unsupported is not None:
        scanner.mark_unsupported(f"A {seen.unsupported!r} stands in it.")


def _mask_source(scanner: "Scanner", *, here_strings: bool = False) -> str:
    """The source without escapes in here-documents, which tree-sitter-bash takes for expansions.

    With *here_strings*, `<<<` becomes `<` with the same word, as tree-sitter-bash fails on `<<<` in some places.
    """
    if not (scanner.escape_positions or scanner.hidden_spans or here_strings):
        return scanner.source
    characters = list(scanner.source)
    for at in scanner.escape_positions:
        characters[at : at + 2] = "__"
    for start, end in scanner.hidden_spans:
        characters[start:end] = " " * (end - start)
    for at in scanner.here_strings if here_strings else ():
        characters[at : at + 3] = "  <"
    return "".join(characters)


def _spans_agree(tree: set["Span"], read: set["Span"], source: bytes) -> bool:
    """Whether both parsers found the same words.

    tree-sitter-bash leaves out a lone `-` before a here-document, and takes the digit in `0<x` for a word of its own.
    """
    if tree == read:
        return True
    is_left_out = all(source[start:end] == b"-" for start, end in read - tree)
    return is_left_out and all(_ZERO.match(source, start) and end == start + 1 for start, end in tree - read)


def _parser() -> Any:
    """The tree-sitter parser of the current thread."""
    try:
        return _local.parser
    except AttributeError:
        _local.parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))
        return _local.parser


def _offsets(source: str) -> list[int]:
    """The positions, in bytes of UTF-8, of the *n* characters of *source* and of its end: *n* + 1 numbers."""
    offsets = [0]
    for character in source:
        offsets.append(offsets[-1] + len(character.encode()))
    return offsets


def _to_byte_spans(spans: set["Span"], offsets: list[int] | None) -> set["Span"]:
    return spans if offsets is None else {(offsets[start], offsets[end]) for start, end in spans}


class _TreeSpans:
    """The spans of words, programs and conditions in the tree."""

    def __init__(self) -> None:
        self.words: set[Span] = set()
        self.programs: set[Span] = set()
        self.tests: set[Span] = set()
        self.unsupported: str | None = None

    def walk(self, root: Any) -> None:
        """Walk the whole tree without recursion. It skips text between backticks, which is parsed as a source of its own."""
        stack = [root]
        while stack:
            node = stack.pop()
            kind, children = node.type, node.children
            if kind not in _KINDS and node.is_named:
                self.unsupported = self.unsupported or kind
            if kind == "command_substitution" and children[0].type == "`":
                continue
            if kind in _VISITORS:
                _VISITORS[kind](self, node, children)
            stack += [child for child in children if child.child_count and not _is_counter(kind, child)]


def _is_counter(kind: str, child: Any) -> bool:
    """Whether *child* is the `i=0` of a loop over numbers: it is no word, and the parser accepts only names and numbers there."""
    return kind == "c_style_for_statement" and child.type == "variable_assignment"


def _span(node: Any) -> "Span":
    return (node.start_byte, node.end_byte)


def _visit_command(seen: _TreeSpans, _: Any, children: list[Any]) -> None:
    for child in children:
        kind = child.type
        if kind not in _NOT_WORDS:
            seen.words.add(_span(child))
            if kind == "command_name":
                seen.programs.add(_span(child))


def _visit_declaration(seen: _TreeSpans, _: Any, children: list[Any]) -> None:
    seen.programs.add(_span(children[0]))
    seen.words.update(map(_span, children))


def _visit_redirect(seen: _TreeSpans, _: Any, children: list[Any]) -> None:
    seen.words.update(_span(child) for child in children if child.is_named and child.type != "file_descriptor")


def _visit_assignment(seen: _TreeSpans, node: Any, children: list[Any]) -> None:
    seen.words.add(_span(node))
    for child in children:
        if child.type == "array":
            seen.words.update(_span(one) for one in child.children if one.is_named)


def _visit_values(seen: _TreeSpans, node: Any, _: list[Any]) -> None:
    seen.words.update(map(_span, filter(_is_named, node.children_by_field_name("value"))))


def _visit_arguments(seen: _TreeSpans, node: Any, _: list[Any]) -> None:
    seen.words.update(map(_span, node.children_by_field_name("argument")))


def _is_named(node: Any) -> bool:
    return bool(node.is_named)


def _visit_test(seen: _TreeSpans, node: Any, _: list[Any]) -> None:
    seen.tests.add(_span(node))


_VISITORS = {
    "command": _visit_command,
    "declaration_command": _visit_declaration,
    "unset_command": _visit_declaration,
    "file_redirect": _visit_redirect,
    "herestring_redirect": _visit_redirect,
    "heredoc_redirect": _visit_arguments,
    "variable_assignment": _visit_assignment,
    "for_statement": _visit_values,
    "case_statement": _visit_values,
    "case_item": _visit_values,
    "test_command": _visit_test,
}
