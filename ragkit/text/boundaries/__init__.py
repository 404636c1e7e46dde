"""Where a text may be cut: sentences, blank lines, lines, words and separators, as offsets into the text.

Each class looks at one kind of boundary in one text and answers two questions: the last cut within a
stretch, and the next one. Both search near the place asked about, so that nobody lists the boundaries of a
long text to use a few of them.

A *cut* is the offset after the last character that belongs to the piece before it; white space after a cut
belongs to neither side.
"""

from ragkit.text.boundaries.base import Boundaries, LineBreaks, Listed
from ragkit.text.boundaries.finest import Characters, Separator, Words
from ragkit.text.boundaries.marks import Lines, Paragraphs, Sentences
from ragkit.text.boundaries.spans import sentence_spans, spans_between

__all__ = [
    "Boundaries",
    "Characters",
    "LineBreaks",
    "Lines",
    "Listed",
    "Paragraphs",
    "Sentences",
    "Separator",
    "Words",
    "sentence_spans",
    "spans_between",
]
