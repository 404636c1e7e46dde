"""What holds for the chunks of every method, and texts made to break it."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from ragkit.text.graphemes import is_boundary

_PIECES = "word a . .. ... ? ! , 3.14 e.g. Dr. J. v1.2.3 山高水长 。 ！？ 」 नमस्ते। कैसे ไทย 한국어 _*> ( ) - * # ``` ~~~ |"  # noqa: E501
PIECES = [
    *_PIECES.split(),
    *(f"{word} " for word in ("one", "two.", "Three!", "e.g.", "Dr.", "“Why?”", '"Go!"', "The")),
    *(
        " ",
        "  ",
        "\t",
        "\n",
        "\n\n",
        "\r\n",
        "\r\n\r\n",
        "\r",
        "\f",
        "\u2028",
        "\u2029",
        "\u00a0",
        "\u200b",
        "\ufeff",
    ),
    *(
        "e\u0301",
        "👩\u200d👩\u200d👧\u200d👦",
        "👍🏽",
        "🇫🇷🇩🇪",
        "☂\ufe0f",
        "\u0301",
        "x" * 30,
        "https://a.b/c?d=1 ",
    ),
    *(
        "\n# Head\n",
        "\n## Sub\n",
        "\n```py\n",
        "\n```\n",
        "\n~~~\n",
        "| a | b |\n|---|---|\n",
        "\n- item",
        "\n1. item",
        "\n---\n",
    ),
    *(
        "def f(x):\n",
        "    return x\n",
        "class A:\n",
        "\n\n@dec\n",
        "# note\n",
        "if x:\n    y = 1\n",
        "'''doc\n\nstring'''\n",
        "}\n",
    ),
]
TEXTS = st.one_of(st.lists(st.sampled_from(PIECES), max_size=40).map("".join), st.text(max_size=120))
SIZES = st.integers(1, 60).flatmap(lambda size: st.tuples(st.just(size), st.integers(0, size - 1)))
LENGTHS = [
    len,
    lambda text: len(text.split()),
    lambda text: len(text.encode("utf-8", "surrogatepass")),
    lambda text: len(set(text)),
]
BLANK = " \t\n\r\f\v\x1c\x1d\x1e\x1f\x85\u00a0\u2028\u2029\u200b\u200c\u200d\u2060\ufeff"


def check_laws(text, frame, size, length=len, *, indented=False):
    """Check slices, order, coverage, sizes, graphemes and the overlap column of one document's chunks."""
    starts, ends = frame["start"].to_numpy(), frame["end"].to_numpy()
    assert frame["text"].tolist() == [text[a:b] for a, b in zip(starts, ends)]
    assert (np.diff(starts) > 0).all() and (np.diff(ends) > 0).all()
    assert all(t.strip() for t in frame["text"])
    # A combining mark after white space belongs to that white space.
    assert indented or all(t.strip() == t or not is_boundary(t, 1) for t in frame["text"])
    assert uncovered(text, starts, ends) == "" or not text.strip(BLANK)
    shared = np.maximum(ends[:-1] - starts[1:], 0).tolist()
    assert frame["overlap"].tolist() == [0, *shared][: len(frame)]
    assert frame["chunk_id"].tolist() == [f"0#{n}" for n in range(len(frame))]
    for a, b in zip(starts, ends):
        alone = not any(is_boundary(text, n) for n in range(a + 1, b))
        assert length(text[a:b]) <= size or alone
        assert is_boundary(text, a) and is_boundary(text, b)


def uncovered(text, starts, ends):
    """Give the characters that are not white space and in no chunk."""
    seen = np.zeros(len(text) + 1, dtype=bool)
    for a, b in zip(starts, ends):
        seen[a:b] = True
    return "".join(c for c, s in zip(text, seen) if not s and not c.isspace())
