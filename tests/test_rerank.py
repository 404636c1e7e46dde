"""rerank, expand, fuse_variants, format_context: by hand, bad input, laws, adapters."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ragkit as rk

DOCS = {"a": "red fox", "b": "the fox and the red hen", "c": "hen", "d": ""}
RUN = {"q": ["a", "b", "c", "d"]}


def by_length(query, texts):
    return [len(text) for text in texts]


# --- worked examples -------------------------------------------------------------------------------------


def test_rerank_orders_by_the_scorer_and_keeps_what_was_before():
    out = rk.rerank(RUN, DOCS, by_length, queries={"q": "hen"})
    assert out["doc_id"].tolist() == ["b", "a", "c", "d"] and out["score"].tolist() == [23, 7, 3, 0]
    assert out["previous_rank"].tolist() == [2, 1, 3, 4] and out["previous_score"].tolist() == [
        0.5,
        1,
        1 / 3,
        0.25,
    ]


def test_rerank_to_a_depth_leaves_the_rest_beneath_in_its_order():
    asked = []

    def scorer(query, texts):
        asked.extend(texts)
        return by_length(query, texts)

    out = rk.rerank(RUN, DOCS, scorer, queries={"q": "hen"}, depth=2)
    assert asked == ["red fox", "the fox and the red hen"]
    assert out["doc_id"].tolist() == ["b", "a", "c", "d"] and out["rank"].tolist() == [1, 2, 3, 4]
    assert out["score"].tolist() == [23, 7, 1 / 3, 0.25]
    assert len(rk.rerank(RUN, DOCS, scorer, queries={"q": "hen"}, depth=2, top_k=1)) == 1


def test_rerank_keeps_the_ledger_of_the_fusion_before_it():
    fused = rk.fuse({"x": RUN, "y": {"q": ["c"]}})
    out = rk.rerank(fused, DOCS, by_length, queries={"q": "hen"})
    assert {"x_contribution", "source", "previous_rank"} <= set(out.columns)


def test_expand_and_fuse_variants_bring_phrasings_together():
    queries = rk.expand({"q1": "fox", "q2": "hen"}, {"fox": ["red", "fox"], "hen": "bird"}.get)
    assert queries[["query_id", "text", "original_id"]].values.tolist() == [
        ["q1~0", "fox", "q1"], ["q1~1", "red", "q1"], ["q2~0", "hen", "q2"], ["q2~1", "bird", "q2"],
    ]  # fmt: skip
    found = {"q1~0": ["a"], "q1~1": ["b", "a"], "q2~0": ["c"]}
    fused = rk.fuse_variants(found, queries, weights=[1, 0.5])
    # a: 1/61 + .5/62, b: .5/61
    assert fused["doc_id"].tolist() == ["a", "b", "c"]
    assert fused["score"].tolist() == pytest.approx([1 / 61 + 0.5 / 62, 0.5 / 61, 1 / 61])
    assert fused["variant_1_rank"].tolist()[:2] == [2, 1]
    assert rk.expand("fox", lambda text: "den", keep=False)["text"].tolist() == ["den"]


def test_a_context_is_packed_by_rank_and_says_what_was_left_out():
    # "[a] red fox" 11, + 2 + "[b] ..." 27 = 40 > 25, + 2 + "[c] hen" 7 = 20, + 2 + "[d] " 4 = 26 > 25
    context = rk.format_context(RUN, DOCS, budget=25)
    assert context.text == "[a] red fox\n\n[c] hen"
    assert context.used["doc_id"].tolist() == ["a", "c"] and context.used["start"].tolist() == [0, 13]
    assert context.left_out[["doc_id", "reason"]].values.tolist() == [
        ["b", "longer than the budget"], ["d", "does not fit"],
    ]  # fmt: skip


def test_a_context_counts_by_any_length_and_writes_by_any_template():
    docs = pd.DataFrame({"doc_id": ["a", "c"], "text": ["red fox", "hen"], "title": ["Fox", "Hen"]})
    words, template = (lambda text: len(text.split())), "{rank}. {title}: {text}"
    run = {"q": ["a", "c"]}
    context = rk.format_context(run, docs, budget=5, length=words, template=template, separator="\n")
    assert context.text == "1. Fox: red fox"  # four words, and the next three would make seven


# --- bad input -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scores", [[1.0], [1, 2, 3, np.nan], [[1, 2], [3, 4]], "none"])
def test_scorers_that_give_something_else_are_named(scores):
    with pytest.raises(ValueError, match=r"scorer must return 4|could not convert"):
        rk.rerank(RUN, DOCS, lambda query, texts: scores, queries={"q": "hen"})


def test_missing_texts_and_queries_are_named():
    with pytest.raises(ValueError, match="docs lacks 3 units"):
        rk.rerank(RUN, {"a": "x"}, by_length, queries={"q": "hen"})
    with pytest.raises(ValueError, match="queries lacks"):
        rk.rerank(RUN, DOCS, by_length, queries={"p": "hen"})
    with pytest.raises(TypeError, match="scorer"):
        rk.rerank(RUN, DOCS, "bm25", queries={"q": "hen"})
    with pytest.raises(TypeError, match="fn must return"):
        rk.expand("fox", lambda text: [3])
    with pytest.raises(ValueError, match="no variants"):
        rk.fuse_variants({"other": ["a"]}, rk.expand("fox", lambda text: "den"))
    with pytest.raises(ValueError, match="one query"):
        rk.format_context({"p": ["a"], "q": ["a"]}, DOCS, budget=10)
    assert rk.format_context({"p": ["a"], "q": ["c"]}, DOCS, budget=10, query_id="q").text == "[c] hen"
    with pytest.raises(ValueError, match="template names 'author'"):
        rk.format_context(RUN, DOCS, budget=10, template="{author}")


def test_braces_in_a_text_are_text():
    assert rk.format_context({"q": ["a"]}, {"a": "{x} {0}"}, budget=99).text == "[a] {x} {0}"


def test_empty_runs_give_the_usual_columns():
    full = rk.rerank(RUN, DOCS, by_length, queries={"q": "hen"})
    empty = rk.rerank({}, {}, by_length, queries={"q": "hen"})
    assert len(empty) == 0 and empty.dtypes.equals(full.dtypes)
    context = rk.format_context({}, DOCS, budget=10)
    assert context.text == "" and len(context.used) == len(context.left_out) == 0
    assert list(rk.expand({}, str.upper).columns) == ["query_id", "text", "original_id"]


# --- laws ------------------------------------------------------------------------------------------------


@given(st.lists(st.sampled_from("abcdefgh"), min_size=1, unique=True), st.integers(0, 9))
def test_rerank_permutes_and_a_scorer_of_the_old_order_changes_nothing(units, depth):
    docs = dict.fromkeys("abcdefgh", "text")
    kept = rk.rerank({"q": units}, docs, lambda q, t: -np.arange(len(t)), queries={"q": "x"}, depth=depth)
    assert kept["doc_id"].tolist() == units
    mixed = rk.rerank({"q": units}, docs, lambda q, t: np.arange(len(t)), queries={"q": "x"}, depth=depth)
    assert sorted(mixed["doc_id"]) == sorted(units)
    assert mixed["rank"].tolist() == list(range(1, len(units) + 1))


@given(st.lists(st.text("ab ", max_size=12), max_size=6), st.integers(0, 60))
def test_a_context_never_exceeds_its_budget_and_slices_are_passages(texts, budget):
    docs = {str(n): text for n, text in enumerate(texts)}
    context = rk.format_context({"q": list(docs)} if docs else {}, docs, budget=budget)
    assert len(context.text) <= budget
    assert len(context.used) + len(context.left_out) == len(docs)
    for row in context.used.itertuples():
        assert context.text[row.start : row.start + row.length] == f"[{row.doc_id}] {docs[row.doc_id]}"


# --- adapters --------------------------------------------------------------------------------------------


def test_a_cross_encoder_with_one_label_is_a_scorer():
    class Model:
        def predict(self, pairs, batch_size, show_progress_bar):
            assert batch_size == 2 and not show_progress_bar
            return np.array([[len(text)] for _, text in pairs], dtype=np.float32)

    out = rk.rerank(RUN, DOCS, rk.cross_encoder_scorer(Model(), batch_size=2), queries={"q": "hen"})
    assert out["doc_id"].tolist() == ["b", "a", "c", "d"]


def test_a_missing_library_is_named_with_its_install():
    import importlib.util

    if importlib.util.find_spec("sentence_transformers"):
        pytest.skip("sentence-transformers is installed")
    with pytest.raises(ImportError, match="pip install sentence-transformers"):
        rk.cross_encoder_scorer("any")


def test_a_ranker_that_leaves_a_text_out_is_noticed():
    class Ranker:
        def rank(self, query, docs, doc_ids):
            return []

    with pytest.raises(ValueError, match="scorer must return"):
        rk.rerank(RUN, DOCS, rk.rerankers_scorer(Ranker()), queries={"q": "hen"})
