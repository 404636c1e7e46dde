"""The methods: which boundaries each looks at, coarse to fine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ragkit.chunking.packing import CharacterRuler, MeasuringRuler, Ruler, Span, pack, windows
from ragkit.text.boundaries import Boundaries, Characters, Lines, Paragraphs, Sentences, Separator, Words


@dataclass(frozen=True)
class Plan:
    """What was asked for, checked: the arguments of :func:`ragkit.chunk` that the methods share."""

    size: int
    overlap: int
    length: Callable[[str], int] = len
    least: int = 0
    min_size: int = 0
    on_long: str = "cut"
    separators: tuple[str, ...] | None = None
    keep_separator: str = "end"

    def ruler(self, text: str) -> Ruler:
        """Make the ruler for one text."""
        if self.length is len:
            return CharacterRuler(text, self.size, self.overlap)
        return MeasuringRuler(text, self.size, self.overlap, self.length)


def fixed(text: str, plan: Plan) -> list[Span]:
    """Cut after so many characters; with another length, at the last word that fits."""
    if plan.length is len:
        return windows(text, plan.size, plan.overlap)
    return _packed(text, [Words(text), Characters(text)], plan, soft=1, natural=1)


def sentence(text: str, plan: Plan) -> list[Span]:
    """Fill each chunk with whole sentences."""
    return _packed(text, [Sentences(text), Words(text), Characters(text)], plan, soft=2, natural=1)


def paragraph(text: str, plan: Plan) -> list[Span]:
    """Fill each chunk with whole paragraphs; longer ones by sentences."""
    levels = [Paragraphs(text), Sentences(text), Words(text), Characters(text)]
    return _packed(text, levels, plan, soft=2, natural=1)


def recursive(text: str, plan: Plan) -> list[Span]:
    """Cut at the coarsest separator that the room holds."""
    if plan.separators is None:
        levels = [Paragraphs(text), Lines(text), Sentences(text), Words(text)]
    else:
        levels = [_separator(text, s, plan.keep_separator) for s in plan.separators if s]
    natural = len(levels)
    return _packed(text, [*levels, Characters(text)], plan, soft=natural, natural=natural)


#: Separators that stand for a kind of boundary, so that other line ends and blanks count as well.
_KINDS: dict[str, type[Boundaries]] = {"\n\n": Paragraphs, "\n": Lines, " ": Words}


def _separator(text: str, separator: str, keep: str) -> Boundaries:
    kind = _KINDS.get(separator)
    return kind(text) if kind else Separator(text, separator, keep)


def _packed(text: str, levels: Sequence[Boundaries], plan: Plan, *, soft: int, natural: int) -> list[Span]:
    return pack(
        text,
        levels,
        plan.ruler(text),
        least=plan.least,
        soft=soft,
        natural=max(natural, 1) if plan.on_long == "keep" else None,
    )


#: The methods by name.
METHODS: dict[str, Callable[[str, Plan], list[Span]]] = {
    "fixed": fixed,
    "sentence": sentence,
    "paragraph": paragraph,
    "recursive": recursive,
}
