"""The methods: which boundaries each looks at, coarse to fine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ragkit.chunking.code import code_levels, with_indent
from ragkit.chunking.markdown import Outside, outline
from ragkit.chunking.packing import CharacterRuler, MeasuringRuler, Ruler, Span, pack, windows
from ragkit.chunking.seed import seed_spans
from ragkit.chunking.semantic import semantic_cuts
from ragkit.text.boundaries import (
    Boundaries,
    Characters,
    LineBreaks,
    Lines,
    Listed,
    Paragraphs,
    Sentences,
    Separator,
    Words,
    sentence_spans,
    spans_between,
)
from ragkit.text.graphemes import is_boundary


class Cut(NamedTuple):
    """One text, cut: its spans, and columns with one value for each of them."""

    spans: list[Span]
    columns: dict[str, list[Any]] = {}  # noqa: RUF012  # a tuple's default, never written to


@dataclass(frozen=True)
class Plan:
    """What was asked for, checked: the arguments of :func:`ragkit.chunk` that the methods share."""

    size: int
    overlap: int
    length: Callable[[str], int] = len
    least: int = 0
    min_size: int = 0
    on_long: str = "cut"
    tokenizer: Callable[[str], list[str]] | None = None
    options: dict[str, Any] = field(default_factory=dict)

    def ruler(self, text: str, *, size: int | None = None, overlap: int | None = None) -> Ruler:
        """Make the ruler for one text; `size` and `overlap` replace those asked for."""
        size, overlap = self.size if size is None else size, self.overlap if overlap is None else overlap
        if self.length is len:
            return CharacterRuler(text, size, overlap)
        return MeasuringRuler(text, size, overlap, self.length)


def fixed(text: str, plan: Plan) -> Cut:
    """Cut after so many characters or tokens; with another length, at the last word that fits."""
    if plan.length is len:
        return Cut(windows(text, plan.size, plan.overlap))
    finest = Words(text) if plan.tokenizer is None else _tokens(text, plan.tokenizer)
    return Cut(_packed(text, [finest, Characters(text)], plan, soft=1, natural=1))


def sentence(text: str, plan: Plan) -> Cut:
    """Fill each chunk with whole sentences."""
    return Cut(_packed(text, [Sentences(text), Words(text), Characters(text)], plan, soft=2, natural=1))


def paragraph(text: str, plan: Plan) -> Cut:
    """Fill each chunk with whole paragraphs; longer ones by sentences."""
    breaks = LineBreaks(text)
    levels = [Paragraphs(text, breaks), Sentences(text, breaks), Words(text), Characters(text)]
    return Cut(_packed(text, levels, plan, soft=2, natural=1))


def recursive(text: str, plan: Plan) -> Cut:
    """Cut at the coarsest separator that the room holds."""
    separators, keep = plan.options["separators"], plan.options["keep_separator"]
    if separators is None:
        breaks = LineBreaks(text)
        by_lines: list[Boundaries] = [Paragraphs(text, breaks), Lines(text, breaks)]
        levels = [*by_lines, Sentences(text, breaks), Words(text)]
    else:
        levels = [_separator(text, s, keep) for s in separators if s]
    natural = len(levels)
    return Cut(_packed(text, [*levels, Characters(text)], plan, soft=natural, natural=natural))


def markdown(text: str, plan: Plan) -> Cut:
    """Cut at headings first, then between blocks; fences and tables by lines, and only where they must."""
    found = outline(text)
    outside = Outside(Sentences(text), found.whole)
    levels = [Listed(text, found.blocks), outside, Lines(text), Words(text), Characters(text)]
    edges = [start for start, _ in found.sections] + [len(text)]
    spans: list[Span] = []
    paths: list[str] = []
    for n, (_, path) in enumerate(found.sections):
        inside = _packed(text, levels, plan, soft=2, natural=1, low=edges[n], high=edges[n + 1])
        spans += inside
        paths += [" > ".join(path)] * len(inside)
    return Cut(spans, {"section": paths})


def code(text: str, plan: Plan) -> Cut:
    """Cut between definitions, then statements, then lines; a chunk keeps the indent of its first line."""
    levels = code_levels(text, plan.options["language"])
    natural = len(levels)
    levels += [Lines(text), Words(text), Characters(text)]
    spans = _packed(text, levels, plan, soft=natural + 1, natural=natural)
    return Cut(with_indent(text, spans, plan.ruler(text)))


def semantic(text: str, plan: Plan) -> Cut:
    """Cut where the subject changes; a longer stretch by sentences."""
    o = plan.options
    cuts = semantic_cuts(text, o["embed"], o["window"], (o["threshold"], o["amount"]))
    levels = [Sentences(text), Words(text), Characters(text)]
    stretches = spans_between(text, cuts)
    return Cut(
        [
            span
            for low, high in stretches
            for span in _packed(text, levels, plan, soft=2, natural=1, low=low, high=high)
        ]
    )


def sentence_window(text: str, plan: Plan) -> Cut:
    """Make every sentence a chunk that knows the sentences around it."""
    sentences, width = sentence_spans(text), plan.options["window"]
    levels, ruler = [Sentences(text), Words(text), Characters(text)], plan.ruler(text, overlap=0)
    natural = 1 if plan.on_long == "keep" else None
    spans: list[Span] = []
    parents: list[Span] = []
    for n, (low, high) in enumerate(sentences):
        inside = pack(text, levels, ruler, low=low, high=high, natural=natural)
        first, last = sentences[max(n - width, 0)], sentences[min(n + width, len(sentences) - 1)]
        spans += inside
        parents += [(first[0], last[1])] * len(inside)
    return Cut(spans, _parent_columns(parents))


def parent_child(text: str, plan: Plan) -> Cut:
    """Cut into parents by sentences, and each parent into the chunks to search."""
    levels = [Sentences(text), Words(text), Characters(text)]
    whole = plan.ruler(text, size=plan.options["parent_size"], overlap=0)
    spans: list[Span] = []
    parents: list[Span] = []
    for low, high in pack(text, levels, whole, soft=2):
        inside = _packed(text, levels, plan, soft=2, natural=1, low=low, high=high)
        spans += inside
        parents += [(low, high)] * len(inside)
    return Cut(spans, _parent_columns(parents))


def seed(text: str, plan: Plan) -> Cut:
    """Cut as expo-ai-kit's chunkText does."""
    return Cut(seed_spans(text, plan.size, plan.overlap))


def _parent_columns(parents: list[Span]) -> dict[str, list[Any]]:
    return {"parent_start": [a for a, _ in parents], "parent_end": [b for _, b in parents]}


#: Separators that stand for a kind of boundary, so that other line ends and blanks count as well.
_KINDS: dict[str, type[Boundaries]] = {"\n\n": Paragraphs, "\n": Lines, " ": Words}


def _separator(text: str, separator: str, keep: str) -> Boundaries:
    kind = _KINDS.get(separator)
    return kind(text) if kind else Separator(text, separator, keep)


def _tokens(text: str, tokenizer: Callable[[str], list[str]]) -> Boundaries:
    """Find a tokenizer's tokens in the text; words where they are not slices of it."""
    cuts, at = [], 0
    for token in tokenizer(text):
        piece = token.strip()
        found = text.find(piece, at) if piece else -1
        if found < 0 and piece:
            return Words(text)
        if piece:
            at = found + len(piece)
            if is_boundary(text, at):
                cuts.append(at)
    return Listed(text, cuts)


def _packed(
    text: str,
    levels: Sequence[Boundaries],
    plan: Plan,
    *,
    soft: int,
    natural: int,
    low: int = 0,
    high: int | None = None,
) -> list[Span]:
    return pack(
        text,
        levels,
        plan.ruler(text),
        low=low,
        high=high,
        least=plan.least,
        min_size=plan.min_size,
        soft=soft,
        natural=max(natural, 1) if plan.on_long == "keep" else None,
    )


#: The methods by name.
METHODS: dict[str, Callable[[str, Plan], Cut]] = {
    "sentence": sentence,
    "fixed": fixed,
    "paragraph": paragraph,
    "recursive": recursive,
    "markdown": markdown,
    "code": code,
    "semantic": semantic,
    "sentence_window": sentence_window,
    "parent_child": parent_child,
    "seed": seed,
}
