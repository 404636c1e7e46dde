"""HybridSearch: the seed's recorded pairs, what is remembered, and what each knob means."""

import json
from collections import defaultdict
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import ragkit as rk
from ragkit.hybrid import search as hybrid_search

GOLDEN = Path(__file__).parents[1] / "golden" / "hybrid_search.json"

DOCS = {
    "a": "machine learning basics",
    "b": "deep learning with neural networks",
    "c": "cooking pasta at home",
    "d": "machine shop tools and machine parts",
    "e": "statistics and probability",
}
VECTORS = [[1, 0, 0], [0.75, 0.5, 0], [0, 1, 0], [0, 0, 1], [0.5, 0.25, 0.25]]


@pytest.fixture
def hybrid():
    return rk.HybridSearch(rk.KeywordIndex(DOCS), rk.VectorStore(DOCS, vectors=VECTORS))


def order(run):
    return run["doc_id"].tolist()


# --- what is remembered ----------------------------------------------------------------------------------


@pytest.fixture
def calls(hybrid, monkeypatch):
    """Count the calls of every stage."""
    count = defaultdict(int)

    def counted(name, function):
        def wrapper(*args, **options):
            count[name] += 1
            return function(*args, **options)

        return wrapper

    for name in ("align", "fuse_pool", "mmr"):
        monkeypatch.setattr(hybrid_search, name, counted(name, getattr(hybrid_search, name)))
    monkeypatch.setattr(hybrid.index, "search", counted("keyword", hybrid.index.search))
    monkeypatch.setattr(hybrid.store, "search", counted("vector", hybrid.store.search))
    return count


def ask(hybrid, **options):
    given = {"vectors": [1, 0.25, 0], "lambda_": 0.5, "top_k": 3} | options
    return hybrid.search("machine learning", **given)


def test_moving_lambda_runs_mmr_alone(hybrid, calls):
    ask(hybrid)
    assert calls == {"keyword": 1, "vector": 1, "align": 1, "fuse_pool": 1, "mmr": 1}
    for lambda_ in (0.1, 0.9, 0.5):
        ask(hybrid, lambda_=lambda_)
    assert calls == {"keyword": 1, "vector": 1, "align": 1, "fuse_pool": 1, "mmr": 4}


def test_moving_a_weight_runs_fusion_and_mmr_alone(hybrid, calls):
    ask(hybrid)
    for weight in (0.1, 0.2, 0.9):
        ask(hybrid, weights={"keyword": weight, "vector": 1 - weight})
    assert calls == {"keyword": 1, "vector": 1, "align": 1, "fuse_pool": 4, "mmr": 4}


def test_moving_k1_searches_words_anew_and_nothing_else(hybrid, calls):
    ask(hybrid)
    ask(hybrid, k1=2.0)
    assert calls["keyword"] == 2 and calls["vector"] == 1


def test_an_update_of_either_store_is_seen_at_once(hybrid):
    assert "new" not in order(ask(hybrid, lambda_=None, top_k=None))
    hybrid.index.add({"new": "machine learning machine learning"})
    assert order(ask(hybrid, lambda_=None, weights={"keyword": 1, "vector": 0}))[0] == "new"
    hybrid.store.remove("a")
    assert "a" not in order(hybrid.search(vectors=[1, 0, 0]))


def test_remembering_never_changes_a_result(hybrid):
    rng = np.random.default_rng(0)
    for _ in range(40):
        options = {
            "weights": {"keyword": rng.choice([0.2, 0.8]), "vector": rng.choice([0.5, 0.6])},
            "fusion": rng.choice(["rrf", "linear", "max"]),
            "k1": rng.choice([0.5, 1.2]),
            "top_k": int(rng.choice([2, 3])),
            "where": [None, {"doc_id": ["a", "b", "c", "d"]}][rng.integers(2)],
            "lambda_": [None, 0.3, 0.7][rng.integers(3)],
        }
        warm = ask(hybrid, **options)
        cold = ask(rk.HybridSearch(hybrid.index, hybrid.store), **options)
        pd.testing.assert_frame_equal(warm, cold)


def test_what_a_user_does_to_a_result_does_not_reach_what_is_remembered(hybrid):
    first = ask(hybrid, lambda_=None, top_k=None)
    kept = first.copy()
    first.loc[:, "score"] = -1.0
    pd.testing.assert_frame_equal(ask(hybrid, lambda_=None, top_k=None), kept)


def test_what_is_remembered_is_bounded(hybrid):
    for number in range(40):
        ask(hybrid, k1=number / 10)
    assert len(hybrid._runs) <= 16 and len(hybrid._pools) <= 8 and len(hybrid._fused) <= 8


# --- what each knob means --------------------------------------------------------------------------------


def test_the_pool_does_not_depend_on_top_k(hybrid):
    whole = ask(hybrid, lambda_=None, top_k=None)
    for top_k in range(6):
        pd.testing.assert_frame_equal(ask(hybrid, lambda_=None, top_k=top_k), whole.head(top_k))


def test_a_side_without_a_usable_query_is_absent_not_empty(hybrid):
    # blank text and stop words leave the vector side alone: its best unit reaches the whole bound
    both = ["machine learning", "", "   ", "of the and"]
    run = hybrid.search(both, vectors=np.tile([1, 0.25, 0], (4, 1)), top_k=1)
    assert run["relative_score"].tolist() == [1.0] * 4
    assert run["score"].tolist() == pytest.approx([1 / 61, 0.7 / 61, 0.7 / 61, 0.7 / 61])
    # a word that no document holds can be asked, and is found nowhere: the keyword side counts, empty
    with pytest.warns(rk.RetrievalWarning, match="no document holds"):
        run = hybrid.search("zebra", vectors=[1, 0.25, 0], top_k=1)
    assert run["relative_score"].tolist() == [pytest.approx(0.7)]


def test_text_alone_and_vectors_alone_will_do(hybrid):
    with pytest.warns(rk.RetrievalWarning, match="the vector side takes no part in 'pasta'"):
        words = hybrid.search("pasta")
    meaning = hybrid.search(vectors={"q7": [0, 1, 0]}, top_k=2)
    assert order(words) == ["c"] and words["relative_score"].tolist() == [1.0]
    assert meaning["query_id"].tolist() == ["q7", "q7"] and order(meaning) == ["c", "b"]
    assert set(meaning["source"]) == {"vector"}
    with pytest.raises(ValueError, match="queries, vectors, or both"):
        hybrid.search()


@pytest.mark.parametrize(
    ("store", "reason"),
    [
        (rk.VectorStore(DOCS, vectors=VECTORS), "was given its vectors and cannot embed a text; .* vectors="),
        (
            rk.VectorStore(DOCS, embed=rk.TableEmbedder([*DOCS.values(), "machine"], [*VECTORS, [1, 0, 0]])),
            "only knows the vectors of 6 stored texts; for free text .* fallback=",
        ),
        (rk.VectorStore(DOCS), "no word of theirs is known to its embedder; check spelling and language"),
    ],
    ids=["vectors", "table", "lsa"],
)
def test_a_text_that_the_store_cannot_embed_is_said_at_every_call(store, reason):
    hybrid = rk.HybridSearch(rk.KeywordIndex(DOCS | {"x": "quokka"}), store)
    for weights in ({"keyword": 0.3, "vector": 0.7},) * 2 + ({"keyword": 0.5, "vector": 0.5},):
        with pytest.warns(
            rk.RetrievalWarning, match=f"the vector side takes no part in 'quokka': .*{reason}"
        ):
            run = hybrid.search("quokka", weights=weights)
        assert order(run) == ["x"] and run["relative_score"].tolist() == [1.0]
    # Left out on purpose, asked with a vector, or not asked at all: nothing to say.
    silent = [{"weights": {"keyword": 1, "vector": 0}}, {"vectors": np.ones(store.vectors().shape[1])}]
    for options in silent:
        assert "x" in order(hybrid.search("quokka", **options))
    assert len(hybrid.search(" ")) == 0


def test_of_several_queries_those_that_lack_a_side_are_named():
    table = rk.TableEmbedder([*DOCS.values(), "machine"], [*VECTORS, [1, 0, 0]])
    hybrid = rk.HybridSearch(rk.KeywordIndex(DOCS), rk.VectorStore(DOCS, embed=table))
    with pytest.warns(rk.RetrievalWarning, match="takes no part in 'pasta': ") as said:
        run = hybrid.search({"m": "machine", "p": "pasta", "b": ""})
    assert len(said) == 1
    assert run.groupby("query_id")["source"].apply(set).to_dict() == {
        "m": {"keyword+vector", "vector"},
        "p": {"keyword"},
    }


def test_a_zero_vector_is_no_query(hybrid):
    assert len(hybrid.search(vectors=[0, 0, 0])) == 0
    run = hybrid.search("pasta", vectors=[0, 0, 0])
    assert order(run) == ["c"] and run["relative_score"].tolist() == [1.0]


def test_one_store_alone_will_do():
    keyword = rk.HybridSearch(rk.KeywordIndex(DOCS)).search("machine learning")
    vector = rk.HybridSearch(store=rk.VectorStore(DOCS, vectors=VECTORS)).search(vectors=[1, 0, 0])
    assert keyword["score"].iloc[0] == 0.3 / 61 and vector["score"].iloc[0] == 0.7 / 61
    assert "vector_rank" not in keyword and "keyword_rank" not in vector
    with pytest.raises(ValueError, match="lambda_ needs a VectorStore"):
        rk.HybridSearch(rk.KeywordIndex(DOCS)).search("machine", lambda_=0.5)


def test_weight_zero_leaves_the_side_out(hybrid):
    run = ask(hybrid, lambda_=None, weights={"keyword": 0, "vector": 1}, top_k=None)
    assert order(run) == order(hybrid.search(vectors=[1, 0.25, 0], top_k=None))
    with pytest.raises(ValueError, match="must not all be 0"):
        ask(hybrid, weights={"keyword": 0, "vector": 0})
    with pytest.raises(ValueError, match="no source for weight 'dense'"):
        ask(hybrid, weights={"keyword": 1, "vector": 1, "dense": 1})


def test_threshold_cuts_on_the_relative_score(hybrid):
    whole = ask(hybrid, lambda_=None, top_k=None)
    for threshold in (0.0, 0.5, 0.68, 0.97, 1.0):
        cut = ask(hybrid, lambda_=None, top_k=None, threshold=threshold)
        assert order(cut) == order(whole[whole["relative_score"] >= threshold])
    assert 0 < len(ask(hybrid, lambda_=None, top_k=None, threshold=0.68)) < len(whole)


def test_min_score_cuts_on_the_similarity(hybrid):
    run = hybrid.search(vectors=[1, 0, 0], min_score=0.8, top_k=None)
    assert order(run) == ["a", "b", "e"] and run["vector_score"].min() >= 0.8


def test_where_filters_both_sides_before_ranking(hybrid):
    run = ask(hybrid, lambda_=None, top_k=None, where={"doc_id": ["c", "d"]})
    assert sorted(order(run)) == ["c", "d"]
    assert run.set_index("doc_id").loc["d", ["keyword_rank", "vector_rank"]].tolist() == [1, 2]
    assert order(ask(hybrid, lambda_=None, where=lambda docs: docs["doc_id"] == "b")) == ["b"]
    flags = pd.Series({"a": False, "b": True, "c": False, "d": False, "e": False})
    assert order(ask(hybrid, lambda_=None, where=flags)) == ["b"]
    flags["b"], flags["c"] = False, True  # a Series that changes is noticed
    assert order(ask(hybrid, lambda_=None, where=flags)) == ["c"]


def test_missing_score_asks_the_stores_for_what_they_did_not_retrieve(hybrid):
    run = ask(hybrid, lambda_=None, top_k=None, fusion="linear", missing="score", pool=1).set_index("doc_id")
    exact = hybrid.store.search(vectors=[1, 0.25, 0]).set_index("doc_id")["score"]
    words = hybrid.index.search("machine learning").set_index("doc_id")["score"]
    for unit in run.index:
        assert run.loc[unit, "vector_score"] == pytest.approx(exact[unit])
        assert run.loc[unit, "keyword_score"] == pytest.approx(words.get(unit, 0.0))
    # with exact scores a pool of one orders its units as the whole collection would
    deep = ask(hybrid, lambda_=None, top_k=None, fusion="linear", missing="score").set_index("doc_id")
    assert run["score"].to_dict() == pytest.approx(deep["score"][run.index].to_dict())


def test_tm2c2_knows_the_floor_of_each_side(hybrid):
    run = ask(hybrid, lambda_=None, top_k=None, fusion="tm2c2").set_index("doc_id")
    best = run["vector_score"].max()
    assert run["vector_normalized"].to_dict() == pytest.approx(
        ((run["vector_score"] + 1) / (best + 1)).to_dict()
    )


def test_any_mapping_of_names_to_retrievers_will_do():
    def newest(queries):
        return pd.DataFrame({"query_id": queries["query_id"], "doc_id": "e", "rank": 1, "score": 1.0})

    titles = rk.KeywordIndex({"a": "learning", "c": "pasta"})
    three = rk.HybridSearch({"title": titles, "body": rk.KeywordIndex(DOCS), "newest": newest})
    run = three.search({"q1": "learning", "q2": "pasta"}, top_k=None)
    assert run.loc[run["query_id"] == "q2", "source"].tolist() == ["title+body", "newest"]
    assert run["score"].iloc[0] == pytest.approx(2 / 61)  # other names weigh 1
    light = three.search("pasta", weights={"title": 1, "body": 1, "newest": 0.1})
    assert light["newest_contribution"].max() == pytest.approx(0.1 / 61)
    assert three.index is titles and three.store is None


def test_a_retriever_that_answers_what_was_not_asked_is_not_listened_to():
    hybrid = rk.HybridSearch(
        {"words": rk.KeywordIndex(DOCS), "other": lambda queries: {"x": ["a"], "q": ["b"]}}
    )
    assert set(hybrid.search({"q": "pasta"})["query_id"]) == {"q"}


def test_queries_come_back_in_the_order_given(hybrid):
    run = hybrid.search({"z": "pasta", "a": "machine", "m": "learning"}, vectors=np.eye(3))
    assert list(dict.fromkeys(run["query_id"])) == ["z", "a", "m"]


def test_chunks_work_as_units():
    chunks = pd.DataFrame(
        {"chunk_id": ["a#0", "a#1", "b#0"], "doc_id": ["a", "a", "b"], "start": 0, "end": 1,
         "text": ["red fox", "blue whale", "red wine"]}
    )  # fmt: skip
    store = rk.VectorStore(chunks, vectors=np.eye(3))
    run = rk.HybridSearch(rk.KeywordIndex(chunks), store).search(
        "red", vectors=[0, 1, 0.5], lambda_=0.9, top_k=2
    )
    assert run.columns[:4].tolist() == ["query_id", "chunk_id", "doc_id", "rank"] and len(run) == 2


def test_mmr_adds_its_ledger_and_keeps_fusions(hybrid):
    run = ask(hybrid)
    expected = rk.mmr(ask(hybrid, lambda_=None, top_k=None), hybrid.store, lambda_=0.5, top_k=3, fetch_k=50)
    pd.testing.assert_frame_equal(run, expected)
    assert {"mmr_relevance", "max_similarity", "keyword_contribution"} <= set(run.columns)


@pytest.mark.parametrize(
    ("options", "message"),
    [({"fusion": "rff"}, "rrf"), ({"lambda_": 1.5}, "lambda_"), ({"pool": -1}, "pool"),
     ({"top_k": 1.5}, "top_k"), ({"lambda_": 0.5, "top_k": 60}, "fetch_k"), ({"k": -5}, "k must"),
     ({"threshold": float("nan")}, "threshold"),
     ({"normalize": "minmax"}, "ranks alone"), ({"k1": -1}, "k1"), ({"variant": "bm26"}, "bm25")],
)  # fmt: skip
def test_options_out_of_range_say_what_is_valid(hybrid, options, message):
    with pytest.raises(ValueError, match=message):
        hybrid.search("machine learning", vectors=[1, 0.25, 0], **options)


def test_stores_that_are_exchanged_are_noticed():
    index, store = rk.KeywordIndex(DOCS), rk.VectorStore(DOCS, vectors=VECTORS)
    with pytest.raises(TypeError, match=r"write HybridSearch\(index, store\)"):
        rk.HybridSearch(store, index)
    with pytest.raises(ValueError, match="needs a KeywordIndex"):
        rk.HybridSearch()
    with pytest.raises(TypeError, match="callable"):
        rk.HybridSearch({"x": 3})


def test_empty_stores_and_empty_batches_give_the_usual_columns(hybrid):
    empty = rk.HybridSearch(rk.KeywordIndex(), rk.VectorStore())
    full = ask(hybrid, lambda_=None)
    for run in (empty.search("machine"), hybrid.search([]), ask(hybrid, top_k=0, lambda_=None)):
        assert len(run) == 0 and run.dtypes.equals(full.dtypes)


# --- updates ---------------------------------------------------------------------------------------------


def test_add_reaches_both_stores_and_bare_strings_get_one_number():
    hybrid = rk.HybridSearch(rk.KeywordIndex(["one"]), rk.VectorStore())
    assert hybrid.add(["two", "three"]) == ["1", "2"]
    assert hybrid.index.ids == ["0", "1", "2"] and hybrid.store.ids == ["1", "2"]
    assert hybrid.remove("1") == ["1"] and "1" not in hybrid
    assert hybrid.add(["four"]) == ["3"]  # "2" is taken
    assert len(hybrid) == 3 and list(hybrid) == ["0", "2", "3"]
    hybrid.clear()
    assert len(hybrid) == 0 and len(hybrid.search("one")) == 0


@pytest.mark.parametrize("bad", [[[1, 0, 0]], [[1, 0], [0, 1]], [[1, 0, np.nan], [0, 0, 1]]])
def test_add_changes_nothing_when_one_store_refuses(hybrid, bad):
    before = ask(hybrid, lambda_=None, top_k=None), hybrid.docs, hybrid.store.vectors()
    with pytest.raises(ValueError):
        hybrid.add({"a": "new words", "z": "more"}, vectors=bad)
    assert hybrid.ids == list(DOCS)
    pd.testing.assert_frame_equal(hybrid.docs, before[1])
    pd.testing.assert_frame_equal(ask(hybrid, lambda_=None, top_k=None), before[0])


def test_add_puts_the_vectors_back_when_the_index_refuses(hybrid, monkeypatch):
    add = hybrid.index.add

    def refuse(docs):
        if "z" in set(docs["doc_id"]):
            raise ValueError("no")
        return add(docs)

    before = ask(hybrid, lambda_=None, top_k=None)
    monkeypatch.setattr(hybrid.index, "add", refuse)
    with pytest.raises(ValueError, match="no"):
        hybrid.add({"a": "new words", "z": "more"}, vectors=[[0, 0, 1], [0, 1, 0]], replace_docs=True)
    assert sorted(hybrid.store.ids) == sorted(DOCS)
    assert hybrid.store.vectors(["a"]).tolist() == [[1, 0, 0]]
    pd.testing.assert_frame_equal(ask(hybrid, lambda_=None, top_k=None), before)


def test_replace_docs_drops_all_chunks_of_the_documents_at_hand():
    chunks = pd.DataFrame(
        {"chunk_id": ["a#0", "a#1", "b#0"], "doc_id": ["a", "a", "b"], "text": ["x", "y", "z"]}
    )
    hybrid = rk.HybridSearch(rk.KeywordIndex(chunks), rk.VectorStore(chunks, vectors=np.eye(3)))
    hybrid.add(chunks.head(1), vectors=[[1, 1, 1]], replace_docs=True)
    assert sorted(hybrid.index.ids) == sorted(hybrid.store.ids) == ["a#0", "b#0"]


def test_a_condition_that_fails_in_one_store_removes_nothing():
    docs = pd.DataFrame({"doc_id": ["a", "b"], "text": ["x", "y"], "year": [1, 2]})
    hybrid = rk.HybridSearch(
        rk.KeywordIndex(docs), rk.VectorStore(docs.drop(columns="year"), vectors=np.eye(2))
    )
    with pytest.raises(KeyError, match="year"):
        hybrid.remove(where={"year": 1})
    assert len(hybrid.index) == len(hybrid.store) == 2
    assert hybrid.remove(doc_ids=["a"]) == ["a"]
    with pytest.raises(ValueError, match="exactly one"):
        hybrid.remove()


def test_stats_count_what_each_source_holds(hybrid):
    assert hybrid.stats()[["source", "units"]].values.tolist() == [["keyword", 5], ["vector", 5]]


# --- parity with the seed --------------------------------------------------------------------------------


def cases():
    wanted = json.loads(GOLDEN.read_text(encoding="utf-8"))["cases"]
    skip = (
        # Meant to differ: no checks, 0/0 and NaN weights, the pool that depends on the limit, the zero vector
        # as a query, and RRF scores divided by the best one (the cases in which that is not first in both).
        "not_checked", "nan", "both_zero", "limit_1", "limit_3", "limit_missing", "limit_negative",
        "limit_fraction", "limit_0", "pool_depends_on_limit_rrf_1", "pool_depends_on_limit_linear_1",
        "zero_vector", "minus_1", "negative_5", "neither",
    )  # fmt: skip
    return [
        case for case in wanted
        if "output" in case and not any(case["name"].endswith(s) or s in case["name"] for s in skip)
    ]  # fmt: skip


@pytest.mark.parametrize("case", cases(), ids=lambda case: case["name"])
def test_fusion_agrees_with_the_seeds_recorded_pairs(case):
    options, out = case["input"]["options"], case["output"]
    weights = {"keyword": options.get("keywordWeight", 0.3), "vector": options.get("vectorWeight", 0.7)}
    method = options.get("fusionMethod", "rrf")
    total = sum(weights.values())
    runs = {
        "keyword": recorded(out["keyword_results"], "score"),
        "vector": recorded(out["vector_results"], "similarity"),
    }
    single = [name for name in runs if runs[name] is None]
    expected = {r["id"]: r["score"] for r in out["results"]}
    if single:  # one source alone: the seed gives its own score, by the best for keywords
        name = next(n for n in runs if n not in single)
        given = {name: runs[name]}
        normalize = {"keyword": "max", "vector": "none"}[name]
        fused = rk.fuse(given, method="linear", normalize=normalize) if len(out["results"]) else None
        got = {} if fused is None else dict(zip(fused["doc_id"], fused["score"]))
    else:
        kept = {n: w / total for n, w in weights.items()} if method != "max" else {"keyword": 1, "vector": 1}
        if len(rk.as_run(runs["keyword"])) + len(rk.as_run(runs["vector"])) == 0:
            assert expected == {}
            return
        scaled = {} if method == "rrf" else {"normalize": {"keyword": "max", "vector": "none"}}
        fused = rk.fuse(runs, method=method, weights=kept, k=options.get("rrfK", 60), **scaled)
        got = dict(zip(fused["doc_id"], fused["score"]))
        if method == "rrf" and got:
            got = {u: s / max(got.values()) for u, s in got.items()}
    threshold = options.get("threshold")
    if threshold is not None:
        got = {u: s for u, s in got.items() if s >= threshold}
    zero = {u for u, s in expected.items() if s == 0}  # a weight of 0 removes the run with us
    assert {u: s for u, s in got.items() if u in expected} == pytest.approx(
        {u: s for u, s in expected.items() if u in got}, abs=1e-12
    )
    assert set(expected) - zero <= set(got)
    floor = min(expected.values(), default=0.0)
    if len(expected) == options["limit"]:  # what lies beyond the limit is no better than what is in it
        assert all(s <= floor + 1e-12 for u, s in got.items() if u not in expected)
    else:
        assert set(got) - zero <= set(expected)


def recorded(results, score):
    if results is None:
        return None
    return pd.DataFrame(
        {
            "query_id": pd.Series(["q"] * len(results), dtype="str"),
            "doc_id": pd.Series([r["id"] for r in results], dtype="str"),
            "rank": np.arange(1, len(results) + 1),
            "score": np.array([r[score] for r in results], dtype=float),
        }
    )


@pytest.mark.parametrize(
    "name",
    ["rrf_default_weights", "linear_default_weights", "linear_weights_50_50", "linear_threshold_zero",
     "linear_threshold_half", "rrf_filter", "keyword_only_query", "linear_all_negative_similarities"],
)  # fmt: skip
def test_the_whole_search_agrees_with_the_seed(name):
    case = next(c for c in json.loads(GOLDEN.read_text(encoding="utf-8"))["cases"] if c["name"] == name)
    given, options = case["input"], case["input"]["options"]
    docs = pd.DataFrame(
        [{"doc_id": d["id"], "text": d["text"], **d.get("metadata", {})} for d in given["docs"]]
    )
    vectors = [d["vector"] for d in given["docs"]]
    index = rk.KeywordIndex(docs, tokenizer=rk.Tokenizer.ascii())
    hybrid = rk.HybridSearch(index, rk.VectorStore(docs, vectors=vectors))
    text, vector = given["query"].get("text"), given["query"].get("vector")
    weights = {"keyword": options.get("keywordWeight", 0.3), "vector": options.get("vectorWeight", 0.7)}
    one_sided = pytest.warns(rk.RetrievalWarning, match="vector side") if vector is None else nullcontext()
    with one_sided:
        run = hybrid.search(
            text,
            vectors=vector,
            fusion=options.get("fusionMethod", "rrf"),
            weights=weights,
            threshold=options.get("threshold"),
            where=options.get("filter"),
            top_k=options["limit"],
        )
    expected = [r["id"] for r in case["output"]["results"]]
    groups = defaultdict(list)
    for place, score in enumerate(run["score"]):
        groups[round(score, 12)].append(place)
    assert len(run) == len(expected)
    for places in groups.values():  # recorded pairs that end in a tie are compared as sets
        assert {order(run)[p] for p in places} == {expected[p] for p in places}


@pytest.mark.parametrize("queries", ["", [], "  "])
def test_no_query_over_chunks_gives_no_rows_of_chunks(queries):
    chunks = rk.chunk({"a": "red fox. blue whale."}, size=10)
    hybrid = rk.HybridSearch(rk.KeywordIndex(chunks), rk.VectorStore(chunks))
    run = hybrid.search(queries)
    assert len(run) == 0 and run.columns[:3].tolist() == ["query_id", "chunk_id", "doc_id"]
    assert run.columns.tolist() == hybrid.search("fox").columns.tolist()


def given(queries):
    """A retriever that knows no filter and one document that no store holds."""
    return {name: {"d3": 5.0, "d1": 4.0, "other": 3.0, "d2": 2.0} for name in queries["query_id"]}


def test_a_filter_holds_for_what_a_callable_gives():
    docs = pd.DataFrame({"doc_id": ["d1", "d2", "d3"], "text": "fox", "year": [2021, 2022, 2020]})
    hybrid = rk.HybridSearch({"keyword": rk.KeywordIndex(docs), "mine": given})
    for where in ({"year": [2021, 2022]}, lambda docs: docs["year"] > 2020):
        run = hybrid.search("fox", where=where).set_index("doc_id")
        assert sorted(run.index) == ["d1", "d2"]
        assert run["mine_rank"].to_dict() == {"d1": 1.0, "d2": 2.0}
    assert sorted(hybrid.search("fox", where={})["doc_id"]) == ["d1", "d2", "d3", "other"]
    hybrid.add({"other": "fox"})
    flags = pd.Series(True, index=["d1", "d2", "d3", "other"])
    assert "other" in set(hybrid.search("fox", where=flags)["doc_id"])


def test_a_filter_without_documents_is_refused():
    with pytest.raises(ValueError, match="filter inside 'mine'"):
        rk.HybridSearch({"mine": given}).search("fox", where={"year": 2020})


def test_a_misspelt_scale_is_refused_where_it_plays_no_part_too():
    with pytest.raises(ValueError, match="unknown scale 'bogus'"):
        rk.HybridSearch(rk.KeywordIndex({"a": "x"})).search("x", scale="bogus")
