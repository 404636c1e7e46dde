"""funnel: every relevant document is found or lost once, at the stage that lost it, for the reason given."""

import numpy as np
import pandas as pd
import pytest

import ragkit as rk

DOCS = {
    "fox": "red fox",
    "vixen": "vixen with cubs",
    "long": "fox " + "filler " * 30,
    "other": "blue whale",
    "copy": "red fox fox",
}
VECTORS = {"fox": [1, 0], "vixen": [0.9, 0.1], "long": [0.6, 0.8], "other": [0, 1], "copy": [1, 0.01]}


@pytest.fixture
def hybrid():
    docs = pd.DataFrame(
        {"doc_id": list(DOCS), "text": list(DOCS.values()), "lang": ["en", "en", "en", "fr", "en"]}
    )
    embed = lambda texts: np.array([[1.0, 0.0] for _ in texts])  # noqa: E731
    store = rk.VectorStore(embed=embed)
    store.add(docs, vectors=[VECTORS[d] for d in docs["doc_id"]])
    return rk.HybridSearch(rk.KeywordIndex(docs), store)


def lost(hybrid, relevant, **params):
    table = rk.funnel(hybrid, {"q": "red fox"}, {"q": dict.fromkeys(relevant, 1)}, params=params)
    return table.set_index("doc_id")


# Worked examples: one document lost at each stage ----------------------------------------------------


def test_a_found_document_is_not_lost(hybrid):
    row = lost(hybrid, ["fox"]).loc["fox"]
    assert pd.isna(row["lost_at"]) and row["rank"] == 1 and row["why"] == "found, 1st."
    assert row["keyword_rank"] == 2 and row["vector_rank"] == 1 and row["fused_rank"] == 1


def test_a_document_that_no_store_holds(hybrid):
    assert lost(hybrid, ["ghost"]).loc["ghost", ["lost_at", "why"]].tolist() == [
        "index",
        "no store holds it.",
    ]


def test_a_document_that_the_filter_leaves_out(hybrid):
    assert lost(hybrid, ["other"], where={"lang": "en"}).loc["other", "lost_at"] == "filter"


def test_a_document_without_a_shared_word(hybrid):
    row = lost(hybrid.index, ["vixen"]).loc["vixen"]
    assert row["lost_at"] == "retrieval" and "shares no word" in row["why"] and row["keyword_rank"] is pd.NA


def test_a_document_that_min_score_cuts(hybrid):
    row = lost(hybrid, ["other"], min_score=0.5).loc["other"]
    assert row["lost_at"] == "retrieval" and "less similar than min_score" in row["why"]


def test_a_document_beyond_every_pool(hybrid):
    row = lost(hybrid, ["long"], pool=2).loc["long"]
    assert row["lost_at"] == "pool"
    assert row["why"] == "keyword ranks it 3rd; vector ranks it 4th; each puts only its first 2 in the pool."
    assert row["fused_rank"] is pd.NA and row["keyword_rank"] == 3


def test_a_document_below_the_threshold(hybrid):
    row = lost(hybrid, ["other"], threshold=0.9).loc["other"]
    assert row["lost_at"] == "threshold" and "0.9" in row["why"]


def test_a_document_that_fusion_outweighs(hybrid):
    row = lost(hybrid, ["vixen"], top_k=3).loc["vixen"]
    assert row["lost_at"] == "fusion" and row["why"].startswith("outweighed: vector ranks it 3rd")


def test_a_document_that_the_result_is_too_short_for(hybrid):
    row = lost(hybrid, ["other"], top_k=2).loc["other"]
    assert row["lost_at"] == "top_k" and row["why"].endswith("the result keeps 2.")


def test_a_document_that_mmr_passes_over_names_its_double(hybrid):
    row = lost(hybrid, ["copy"], top_k=2, lambda_=0.1).loc["copy"]
    assert row["lost_at"] == "mmr" and row["blocked_by"] == "fox" and "(1.00)" in row["why"]


def test_a_document_beyond_fetch_k(hybrid):
    row = lost(hybrid, ["other"], top_k=2, fetch_k=3, lambda_=0.99).loc["other"]
    assert row["lost_at"] == "fusion" and "MMR chooses from the first 3" in row["why"]


def test_an_answer_that_chunking_cut():
    docs = {"d": "The answer is forty two. " * 3}
    chunks = rk.chunk(docs, method="fixed", size=20, overlap=0)
    spans = pd.DataFrame({"query_id": ["q", "p"], "doc_id": "d", "start": [0, 4], "end": [24, 10]})
    qrels = {"q": {"d": 1}, "p": {"d": 1}}
    table = rk.funnel(rk.KeywordIndex(chunks), {"q": "answer", "p": "answer"}, qrels, spans=spans)
    assert table.set_index("query_id")["lost_at"].fillna("").to_dict() == {"q": "chunking", "p": ""}


# Laws ------------------------------------------------------------------------------------------------


def test_what_is_left_at_the_end_is_the_recall(hybrid):
    data = rk.load_dataset("toy")
    search = rk.HybridSearch(rk.KeywordIndex(data.docs), rk.VectorStore(data.docs))
    for params in ({"top_k": 3}, {"top_k": 4, "pool": 3}, {"top_k": 2, "lambda_": 0.3, "fetch_k": 5}):
        table = rk.funnel(search, data.queries, data.qrels, params=params)
        run = search.search(data.queries, **params)
        scores = rk.evaluate(run, data.qrels, metrics="recall", over="relevant")
        stages = rk.funnel_stages(table)
        assert stages["recall"].iloc[-1] == pytest.approx(scores["value"].mean())
        assert stages["lost"].sum() + table["lost_at"].isna().sum() == len(table)
        assert table["lost_at"].isna().equals(table["rank"].notna()) and (table["why"].str.len() > 5).all()


def test_only_judged_queries_and_relevant_documents_are_followed(hybrid):
    table = rk.funnel(hybrid, {"q": "fox", "r": "whale"}, {"q": {"fox": 2, "other": 1, "copy": 0}}, rel=2)
    assert table[["query_id", "doc_id"]].values.tolist() == [["q", "fox"]]


def test_empty_input_gives_empty_frames(hybrid):
    table = rk.funnel(hybrid, {"q": "fox"}, rk.as_qrels({}))
    assert len(table) == 0 and {"lost_at", "why", "keyword_rank", "fused_rank"} <= set(table.columns)
    assert rk.funnel_stages(table)["lost"].sum() == 0


def test_other_retrievers_are_wrapped_or_refused(hybrid):
    with pytest.raises(TypeError, match="Wrap other retrievers"):
        rk.funnel(lambda queries: {}, {"q": "fox"}, {"q": {"fox": 1}})
    wrapped = rk.HybridSearch({"mine": lambda queries: {"q": ["copy", "fox"]}})
    row = rk.funnel(wrapped, {"q": "fox"}, {"q": {"fox": 1}}, params={"top_k": 1}).iloc[0]
    assert row["mine_rank"] == 2 and row["lost_at"] == "top_k"


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"params": {"topk": 3}}, ValueError, r"unknown parameter of search 'topk'; .*Did you mean 'top_k'"),
        ({"params": "top_k"}, TypeError, r"params must be a dict of arguments of search, .* got 'top_k'"),
        (
            {"rel": 0},
            ValueError,
            "rel must be at least 1, because a document without a judgement has grade 0",
        ),
        ({"rel": 1.5}, ValueError, "rel must be a whole number"),
    ],
)
def test_what_search_does_not_take_is_named(hybrid, change, error, message):
    with pytest.raises(error, match=message):
        rk.funnel(hybrid, {"q": "fox"}, {"q": {"fox": 1}}, **change)
    if "params" in change:
        with pytest.raises(error, match=message):
            rk.check(hybrid, {"q": {"fox": 1}}, queries={"q": "fox"}, **change)


def test_stages_need_the_frame_of_funnel():
    with pytest.raises(ValueError, match=r"lost, the frame of funnel, needs columns .*missing \['lost_at'\]"):
        rk.funnel_stages(rk.as_run({"q": ["a"]}))
