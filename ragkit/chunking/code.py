"""Source code: where its definitions, statements and blocks begin."""

from __future__ import annotations

import ast
import re
import warnings

from ragkit.chunking.packing import Ruler, Span
from ragkit.text.blanks import end_of_word
from ragkit.text.boundaries import Boundaries, Listed

_LINE_START = re.compile(r"(?:\A|(?<=\n)|(?<=\r)(?!\n))")
_INDENT = re.compile(r"[ \t]*")
_CLOSING = re.compile(r"[)\]}]|(?:end|else|elif|except|finally|catch|case|default)\b")


def code_levels(text: str, language: str | None) -> list[Boundaries]:
    """List the kinds of boundaries of a source text, coarse to fine.

    Parameters
    ----------
    text : str
        Source code.
    language : {"python", "other", None}
        None tries Python, and falls back on blank lines and indentation where it does not parse.

    Returns
    -------
    list of Boundaries
        For Python: around definitions, between statements and methods, inside functions; for others:
        blank lines before text that is not indented, blank lines, lines that are not indented.
    """
    starts = [m.start() for m in _LINE_START.finditer(text)]
    tree = None if language == "other" else _parse(text)
    lines = _layout(text, starts) if tree is None else _syntax(text, tree, starts)
    return [Listed(text, _cuts(text, kind, starts)) for kind in lines]


def _parse(text: str) -> ast.Module | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the text's own, such as invalid escapes
            return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _cuts(text: str, lines: set[int], starts: list[int]) -> list[int]:
    """Turn lines (from 0) that begin something into cuts after the text before them."""
    places = (end_of_word(text, 0, starts[line]) for line in sorted(lines) if 0 < line < len(starts))
    return sorted({cut for cut in places if cut})


def _syntax(text: str, tree: ast.Module, starts: list[int]) -> list[set[int]]:
    """Find the lines where definitions, top statements and methods, and any statements begin."""
    edges, tops, inner = set(), set(), set()
    for node in ast.walk(tree):
        body = [item for name in ("body", "orelse", "finalbody") for item in _statements(node, name)]
        for item in body:
            first, after = _first_line(text, item, starts), item.end_lineno or item.lineno
            inner.add(first)
            if node is tree or isinstance(node, ast.ClassDef):
                tops.add(first)
            if node is tree and isinstance(item, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                edges |= {first, after}
    return [edges, tops | edges, inner | tops | edges]


def _statements(node: ast.AST, name: str) -> list[ast.stmt]:
    items = getattr(node, name, [])
    return [item for item in items if isinstance(item, ast.stmt)] if isinstance(items, list) else []


def _first_line(text: str, item: ast.stmt, starts: list[int]) -> int:
    """Find the line (from 0) where a statement begins, with its decorators and the comments right above."""
    decorators = getattr(item, "decorator_list", [])
    line = min([item.lineno, *(d.lineno for d in decorators)]) - 1
    while line > 0 and text[starts[line - 1] : starts[line]].lstrip().startswith("#"):
        line -= 1
    return line


def _layout(text: str, starts: list[int]) -> list[set[int]]:
    """Find the lines that begin a part by blank lines and indentation alone."""
    after_blank, outer = set(), set()
    blank_before = False
    for n, start in enumerate(starts):
        end = starts[n + 1] if n + 1 < len(starts) else len(text)
        if not text[start:end].strip():
            blank_before = True
            continue
        indent = _INDENT.match(text, start).end() - start  # type: ignore[union-attr]  # it matches nothing as well
        if blank_before:
            after_blank.add(n)
        if indent == 0 and not _CLOSING.match(text, start):
            outer.add(n)
        blank_before = False
    return [after_blank & outer, after_blank, after_blank | outer]


def with_indent(text: str, spans: list[Span], ruler: Ruler) -> list[Span]:
    """Give chunks that begin with a line's first word the indent before it, where it fits.

    Parameters
    ----------
    text : str
        The text.
    spans : list of (start, end)
        Its chunks.
    ruler : Ruler
        The size and the overlap.

    Returns
    -------
    list of (start, end)
        The chunks.
    """
    out: list[Span] = []
    for start, end in spans:
        begin = start
        while begin > 0 and text[begin - 1] in " \t":
            begin -= 1
        at_line = begin == 0 or text[begin - 1] in "\r\n"
        free = not out or (begin > out[-1][0] and ruler.leaves_room(begin, out[-1][1], 0))
        out.append((begin if at_line and free and ruler.fits(begin, end) else start, end))
    return out
