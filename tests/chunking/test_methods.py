"""The methods beyond sentences and windows: what each cuts at, their laws, and their options."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragkit.chunking import breakpoints, chunk
from ragkit.chunking.methods import METHODS
from ragkit.text.boundaries import sentence_spans
from tests.chunking.laws import SIZES, TEXTS, check_laws, uncovered
from tests.conftest import golden


def texts(*args, **kwargs):
    return chunk(*args, **kwargs)["text"].tolist()


# Recursive.


def test_recursive_cuts_at_the_coarsest_separator_in_the_room():
    text = "One two.\n\nThree four. Five six.\nSeven"
    assert texts(text, method="recursive", size=25, overlap=0) == [
        "One two.",
        "Three four. Five six.",
        "Seven",
    ]


def test_recursive_keeps_separators_with_the_piece_before_them():
    text = "Stop here. Wait there。去吧。Done"
    got = texts(text, method="recursive", separators=["。", ". "], size=12)
    assert got == ["Stop here.", "Wait there。", "去吧。Done"]
    assert "".join(texts("a,,b,", method="recursive", separators=[","], size=2, overlap=0)) == "a,,b,"


def test_recursive_can_keep_separators_with_the_piece_after_them():
    text = "aa## bb## cc"
    got = texts(text, method="recursive", separators=["##"], keep_separator="start", size=5, overlap=0)
    assert got == ["aa", "## bb", "## cc"]


def test_recursive_without_a_separator_that_fits_cuts_with_overlap():
    frame = chunk("mnopqrstuv", method="recursive", separators=["\n\n"], size=5, overlap=2)
    assert list(zip(frame["start"], frame["end"])) == [(0, 5), (3, 8), (6, 10)]


def test_recursive_without_separators_cuts_characters_and_trims_white_space():
    assert texts("ab cd ef", method="recursive", separators=[], size=3, overlap=0) == ["ab", "cd", "ef"]


def test_recursive_cuts_a_long_word_as_a_last_resort():
    got = texts(
        "h" * 37 + " tail", method="recursive", separators=["\n\n", "\n", " ", ""], size=10, overlap=0
    )
    assert got == ["h" * 10] * 3 + ["h" * 7, "tail"]
    kept = texts("h" * 37 + " tail", method="recursive", separators=[" "], size=10, overlap=0, on_long="keep")
    assert kept == ["h" * 37, "tail"]


# Sizes.


def test_a_range_of_sizes_takes_the_coarsest_unit_that_is_long_enough():
    text = "Head\n\nOne two three four. Five six seven."
    # The blank line would leave 4 characters, fewer than 10; the first sentence makes 26.
    assert texts(text, method="recursive", size=(10, 30), overlap=0)[0] == "Head\n\nOne two three four."
    assert texts(text, method="recursive", size=30, overlap=0)[0] == "Head"


def test_a_range_of_sizes_may_be_a_list():
    text = "Head\n\nOne two three four. Five six seven."
    assert chunk(text, size=[10, 30]).equals(chunk(text, size=(10, 30)))


def test_a_tiny_last_piece_takes_from_its_neighbour():
    text = "aaaa bbbb cccc dddd eeee f"
    assert texts(text, size=24, overlap=0) == ["aaaa bbbb cccc dddd eeee", "f"]
    assert texts(text, size=24, overlap=0, min_size=8) == ["aaaa bbbb cccc", "dddd eeee f"]


def test_a_tiny_last_piece_is_joined_where_both_fit():
    text = "Head\n\nOne two three four five six.\n\nEnd"
    assert texts(text, method="recursive", size=35, overlap=0) == [
        "Head\n\nOne two three four five six.",
        "End",
    ]
    assert texts("Head\n\nOne.", method="recursive", size=(0, 9), min_size=5, overlap=0) == ["Head", "One."]
    assert len(texts("aa bb. cc", size=7, overlap=0, min_size=3)) == 2


def test_long_pieces_are_kept_whole_on_request():
    text = "A b. This sentence is long. C d."
    assert texts(text, size=10, overlap=0, on_long="keep") == ["A b.", "This sentence is long.", "C d."]
    sentences = [text[a:b] for a, b in sentence_spans(text)]
    assert texts(text, size=1, overlap=0, on_long="keep") == sentences


# Fixed, in tokens.


def test_fixed_windows_of_tokens():
    assert texts("one two three four", method="fixed", size=2, overlap=1, tokenizer=str.split) == [
        "one two",
        "two three",
        "three four",
    ]


def test_fixed_windows_of_tokens_that_are_parts_of_words():
    def pairs(text):
        return [text[n : n + 2] for n in range(0, len(text), 2)]

    assert texts("abcdefgh", method="fixed", size=2, overlap=0, tokenizer=pairs) == ["abcd", "efgh"]


def test_a_tokenizer_whose_tokens_are_no_slices_still_counts():
    got = texts(
        "One TWO three four", method="fixed", size=2, overlap=0, tokenizer=lambda t: t.lower().split()
    )
    assert got == ["One TWO", "three four"]


# Markdown.


def test_markdown_keeps_sections_apart_and_knows_fences():
    text = (
        "Intro\n# Setup\nrun:\n~~~sh\n# not a heading\nmake\n~~~\nafter\n## Use\n```py\n# nor this\n```\nend"
    )
    frame = chunk(text, method="markdown", size=200)
    assert frame["section"].tolist() == ["", "Setup", "Setup > Use"]
    joined = "\n".join(frame["text"])
    assert all(
        joined.count(p) == 1 for p in ("Intro", "run:", "# not a heading", "after", "# nor this", "end")
    )


@pytest.mark.parametrize(
    ("text", "sections"),
    [
        ("# A\nx\n### B\ny\n## C\nz", ["A", "A > B", "A > C"]),
        ("# A #\nx\n#B\ny", ["A"]),  # no blank after the mark: no heading
        ("Title\n=====\n\nx\n\nSub\n---\ny", ["Title", "Title > Sub"]),
        ("    # code\n\ntext", [""]),  # four blanks: indented code
        ("````\n```\n# in\n````\n# out\nx", ["", "out"]),  # a fence closes with as many marks
        ("```\n# in\n~~~\n# still in", [""]),  # ... of the same kind, or never
        ("``` x`y\n# A\nz", ["", "A"]),  # a backtick in the info string: no fence
        ("---\ntitle: x\n---\n# A\nx", ["", "A"]),
        ("- item\n---\n# A\nx", ["", "A"]),  # a rule below a list is no heading
        ("# A\r\n\r\nx\r\n\r\n# B\r\ny", ["A", "B"]),
    ],
)
def test_markdown_headings_as_commonmark_reads_them(text, sections):
    frame = chunk(text, method="markdown", size=1000)
    assert list(dict.fromkeys(frame["section"])) == sections


def test_markdown_leaves_fences_and_tables_whole_where_they_fit():
    table = "| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |"
    fence = "```\nx = 1\n\n\ny = 2\n```"
    got = texts(
        f"Some words here.\n\n{table}\n\nMore words.\n\n{fence}\n", method="markdown", size=45, overlap=10
    )
    assert table in got and any(fence in piece for piece in got)
    cut = texts(fence, method="markdown", size=10, overlap=0)
    assert cut == ["```\nx = 1", "y = 2\n```"]


# Code.

PYTHON = '''import os
import sys


# A note on f.
@dec
def f(x):
    """Doc."""
    if x:
        return 1
    return 2


class A:
    a = 1

    def m(self):
        return self.a
'''


def test_python_is_cut_between_definitions_with_their_comments_and_decorators():
    got = texts(PYTHON, method="code", size=90, overlap=0)
    assert got[0] == "import os\nimport sys"
    assert got[1].startswith("# A note on f.\n@dec\ndef f(x):") and got[1].endswith("return 2")
    assert got[2].startswith("class A:")


def test_python_that_is_too_long_is_cut_between_statements_and_keeps_its_indent():
    got = texts(PYTHON, method="code", size=45, overlap=0)
    assert got[1:3] == [
        '# A note on f.\n@dec\ndef f(x):\n    """Doc."""',
        "    if x:\n        return 1\n    return 2",
    ]
    assert got[-1] == "    def m(self):\n        return self.a"


def test_other_code_is_cut_by_blank_lines_and_indentation():
    text = "function a() {\n  return 1;\n}\n\nfunction b() {\n  if (x) {\n    y();\n\n    z();\n  }\n}\n"
    got = texts(text, method="code", size=70, overlap=0)
    assert got == [
        "function a() {\n  return 1;\n}",
        "function b() {\n  if (x) {\n    y();\n\n    z();\n  }\n}",
    ]
    assert texts(text, method="code", size=70, overlap=0, language="other") == got


# Semantic.

STORY = "The cat sat. The cat slept. The cat ate. Bonds fell. Bonds rose. Bonds held."


def subject(groups):
    """An embedder by hand: one axis for cats, one for bonds."""
    return np.array([[g.count("cat"), g.count("Bonds")] for g in groups], dtype=float)


def test_semantic_cuts_where_the_subject_changes():
    got = texts(STORY, method="semantic", embed=subject, window=0, overlap=0)
    assert got == ["The cat sat. The cat slept. The cat ate.", "Bonds fell. Bonds rose. Bonds held."]
    assert texts(STORY, method="semantic", window=0, overlap=0) == got  # words counted, no embedder given


def test_breakpoints_give_the_series():
    table = breakpoints(STORY, embed=subject, window=0)
    # Vectors (1, 0) three times, then (0, 1): one distance of 1 among zeros; their 95th percentile is 0.8.
    assert table["distance"].tolist()[:5] == [0, 0, 1, 0, 0] and np.isnan(table["distance"].iloc[5])
    assert table["threshold"].iloc[0] == pytest.approx(0.8)
    assert table["is_break"].tolist() == [False, False, True, False, False, False]
    assert [STORY[a:b] for a, b in zip(table["start"], table["end"])][2] == "The cat ate."


@pytest.mark.parametrize(
    ("threshold", "amount", "limit"),
    [
        ("percentile", 50, lambda d: np.percentile(d, 50)),
        ("standard_deviation", 1, lambda d: np.mean(d) + np.std(d)),
        ("interquartile", None, lambda d: np.mean(d) + 1.5 * (np.percentile(d, 75) - np.percentile(d, 25))),
        ("gradient", 80, lambda d: np.percentile(np.gradient(d), 80)),
    ],
)
def test_thresholds_follow_their_formulas(threshold, amount, limit):
    table = breakpoints(STORY, window=1, threshold=threshold, amount=amount)
    distances = table["distance"].to_numpy()[:-1]
    assert table["threshold"].iloc[0] == pytest.approx(limit(distances))
    series = np.gradient(distances) if threshold == "gradient" else distances
    assert table["is_break"].tolist() == [*(series > limit(distances)), False]


def test_an_embedder_that_is_not_fitted_is_copied_and_fitted():
    class Fits:
        fitted = False

        def fit(self, groups):
            self.fitted, self.seen = True, list(groups)

        def __call__(self, groups):
            assert self.fitted and set(groups) <= set(self.seen)
            return subject(groups)

    given_one = Fits()
    assert len(texts([STORY, "One."], method="semantic", embed=given_one, window=0, overlap=0)) == 3
    assert not given_one.fitted


def test_breakpoints_of_no_documents_have_the_columns():
    empty, full = breakpoints([]), breakpoints(STORY)
    assert len(empty) == 0
    assert empty.dtypes.astype(str).tolist() == full.dtypes.astype(str).tolist()


def test_an_embedder_that_returns_too_few_vectors_is_refused():
    with pytest.raises(ValueError, match="one vector per text"):
        chunk(STORY, method="semantic", embed=lambda groups: np.ones((1, 2)))


# Sentence windows and parents.


def test_sentence_windows_carry_the_sentences_around_them():
    frame = chunk("Aa. Bb. Cc. Dd.", method="sentence_window", window=1)
    assert frame["text"].tolist() == ["Aa.", "Bb.", "Cc.", "Dd."]
    assert list(zip(frame["parent_start"], frame["parent_end"])) == [(0, 7), (0, 11), (4, 15), (8, 15)]


def test_children_lie_in_their_parents():
    frame = chunk(STORY, method="parent_child", size=14, parent_size=40, overlap=0)
    assert ((frame["parent_start"] <= frame["start"]) & (frame["end"] <= frame["parent_end"])).all()
    assert sorted(set(zip(frame["parent_start"], frame["parent_end"]))) == [(0, 40), (41, 76)]


# Laws of these methods.

OTHERS = ["markdown", "code", "semantic", "sentence_window", "parent_child"]


@settings(max_examples=250)
@given(TEXTS, SIZES, st.sampled_from(OTHERS))
def test_laws_hold_for_the_other_methods(text, size_overlap, method):
    size, overlap = size_overlap
    frame = chunk(text, method=method, size=size, overlap=0 if method == "sentence_window" else overlap)
    check_laws(text, frame, size, indented=method == "code")


@settings(max_examples=120)
@given(
    TEXTS,
    SIZES,
    st.sampled_from(["sentence", "paragraph", "recursive", "markdown", "code", "semantic"]),
    st.data(),
)
def test_laws_hold_with_a_range_and_a_smallest_size(text, size_overlap, method, data):
    size, overlap = size_overlap
    least, tiny = data.draw(st.integers(0, size)), data.draw(st.integers(0, size))
    frame = chunk(text, method=method, size=(least, size), overlap=overlap, min_size=tiny)
    check_laws(text, frame, size, indented=method == "code")


@given(TEXTS, SIZES)
def test_the_seed_gives_slices_in_order(text, size_overlap):
    size, overlap = size_overlap
    frame = chunk(text, method="seed", size=size, overlap=overlap)
    assert frame["text"].tolist() == [text[a:b] for a, b in zip(frame["start"], frame["end"])]
    assert frame["start"].is_monotonic_increasing
    # What it loses begins with a mark at the start of a text or line.
    lost = uncovered(text, frame["start"], frame["end"])
    assert set(lost) <= set(".!?\u200b\ufeff") or not text.strip()


# Parity with the recorded chunker.

LOSSES = {"terminator_after_newline_dropped", "terminator_lines_only"}
GOLDEN = golden("chunk_text")


def asked(case):
    options = case["input"].get("options") or {}
    knobs = {"size": options.get("chunkSize"), "overlap": options.get("overlap")}
    return {name: value for name, value in knobs.items() if value is not None}


@pytest.mark.parametrize("case", [c for c in GOLDEN if "output" in c], ids=lambda c: c["name"])
def test_seed_equals_the_recorded_chunks(case):
    got = texts(case["input"]["text"], method="seed", **asked(case))
    if case["name"] in LOSSES:
        # It drops marks that begin a line; the slices hold those that stand inside a chunk.
        assert case["output"] == [] or [t.replace("\n.", "\n") for t in got] == case["output"]
    elif case.get("astral") and any("\ud800" <= c <= "\udfff" for t in case["output"] for c in t):
        assert not any("\ud800" <= c <= "\udfff" for t in got for c in t)  # it cuts UTF-16 units in two
    else:
        assert got == case["output"]


@pytest.mark.parametrize("case", [c for c in GOLDEN if "error" in c], ids=lambda c: c["name"])
def test_what_the_recorded_chunker_refuses_is_refused(case):
    knobs = {k: float("inf") if v == "Infinity" else v for k, v in asked(case).items()}
    with pytest.raises((ValueError, TypeError)):
        chunk({"d": case["input"]["text"]}, method="seed", **knobs)


# Options.


@pytest.mark.parametrize(
    ("method", "option"),
    [
        ("sentence", {"separators": ["\n"]}),
        ("fixed", {"window": 1}),
        ("recursive", {"embed": subject}),
        ("seed", {"amount": 1}),
    ],
)
def test_an_option_of_another_method_is_refused(method, option):
    name = next(iter(option))
    with pytest.raises(ValueError, match=rf"does not take {name} \(for '"):
        chunk("a", method=method, **option)


@pytest.mark.parametrize(
    ("knobs", "message"),
    [
        ({"size": (10, 5)}, "pair"),
        ({"size": (1.5, 5)}, "pair"),
        ({"min_size": 2000}, "min_size"),
        ({"min_size": 0.5}, "min_size"),
        ({"on_long": "drop"}, "unknown on_long"),
        ({"method": "fixed", "size": (5, 10)}, "no smallest size"),
        ({"method": "seed", "length": lambda t: len(t)}, "counts characters"),
        ({"method": "sentence_window", "overlap": 5}, "no overlap"),
        ({"method": "parent_child", "size": 100, "parent_size": 50}, "parent_size"),
        ({"method": "semantic", "threshold": "percentil"}, "Did you mean 'percentile'"),
        ({"method": "semantic", "amount": 101}, "amount"),
        ({"method": "code", "language": "cobol"}, "unknown language"),
        ({"method": "recursive", "keep_separator": "both"}, "unknown keep_separator"),
        ({"length": lambda t: 1, "tokenizer": str.split}, "not both"),
    ],
)
def test_knobs_that_cannot_be_say_why(knobs, message):
    with pytest.raises(ValueError, match=message):
        chunk("a b c", **knobs)


def test_knobs_of_a_wrong_type_say_so():
    for knobs in (
        {"tokenizer": "words"},
        {"method": "semantic", "embed": "bert"},
        {"method": "recursive", "separators": [1]},
        {"method": "recursive", "separators": 1},
    ):
        with pytest.raises(TypeError, match="must be"):
            chunk("a b c", **knobs)


@pytest.mark.parametrize("method", sorted(METHODS))
def test_every_method_gives_its_columns_for_no_documents(method):
    empty, full = chunk([], method=method), chunk("Some text. More.", method=method)
    assert len(empty) == 0 and len(full) > 0
    assert empty.dtypes.astype(str).to_dict() == full.dtypes.astype(str).to_dict()


@pytest.mark.parametrize("method", sorted(METHODS))
def test_inputs_are_not_modified(method):
    docs = pd.DataFrame({"doc_id": ["a"], "text": ["One. Two."], "tags": [["x"]]})
    before = docs.copy(deep=True)
    chunk(docs, method=method)["tags"][0].append("y")
    pd.testing.assert_frame_equal(docs, before)


def test_what_only_looks_like_markdown_opens_no_section():
    # CommonMark 4.6: comments and <pre> are taken as typed; 5.2: an item's content may be a fence.
    html = "<!--\n# no\n-->\n<pre>\n# no\n</pre>\n"
    items = "- ```\n  # no\n  ```\n1. x\n\n    ~~~\n    # no\n    ~~~\n"
    chunks = chunk(f"{html}{items}# yes\nend", method="markdown", size=1000, overlap=0)
    assert chunks["section"].tolist() == ["", "yes"]
    unclosed = chunk("# a\n<!-- open\n# b", method="markdown", size=1000, overlap=0)
    assert unclosed["section"].tolist() == ["a"]
