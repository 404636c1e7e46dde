"""Variants, fields and explanations: by hand, as laws, against bm25s."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ragkit as rk
from ragkit.bm25 import VARIANTS, dirichlet_weight, term_weight

NAMES = [*VARIANTS, "dirichlet"]
TEXTS = {
    "a": "iron rust iron ship",
    "b": "gold rust",
    "c": "iron gold tin and tin",
    "d": "",
    "e": "ship of the iron duke, a ship of gold and rust and tin",
}
QUERY = "iron tin ship zinc iron"


# ---------------------------------------------------------------- worked examples

# tf = 2, df = 3, N = 10, dl = 30, avgdl = 20, k1 = 1.2, b = 0.75: norm = 0.25 + 0.75 * 1.5 = 1.375
BY_HAND = {
    "bm25": math.log(1 + 7.5 / 3.5) * 2 * 2.2 / (2 + 1.2 * 1.375),
    "lucene": math.log(1 + 7.5 / 3.5) * 2 / (2 + 1.2 * 1.375),
    "robertson": math.log(7.5 / 3.5) * 2 / (2 + 1.2 * 1.375),
    "atire": math.log(10 / 3) * 2 * 2.2 / (2 + 1.2 * 1.375),
    "bm25l": math.log(11 / 3.5) * 2.2 * (2 / 1.375 + 0.5) / (1.2 + 2 / 1.375 + 0.5),
    "bm25+": math.log(11 / 3) * (2 * 2.2 / (2 + 1.2 * 1.375) + 1),
    "tfidf": (math.log(11 / 4) + 1) * math.sqrt(2) / math.sqrt(30),
}


@pytest.mark.parametrize("variant", VARIANTS)
def test_each_variant_by_hand(variant):
    assert term_weight(2, 3, 10, 30, 20, variant=variant) == pytest.approx(BY_HAND[variant], rel=1e-14)


def test_dirichlet_by_hand():
    # 9 words in all, 3 of them iron; document a has 2 iron among 4 words, mu = 8
    index = rk.KeywordIndex({"a": "iron rust iron ship", "b": "gold rust", "c": "iron gold tin"})
    score = index.score_all("iron", variant="dirichlet", mu=8)["score"]
    assert score[0] == pytest.approx(math.log((2 + 8 / 3) / (4 + 8)) - math.log(1 / 3), rel=1e-14)
    assert score[0] == pytest.approx(dirichlet_weight(2, 4, 1 / 3, mu=8), rel=1e-14)
    assert score[1] == 0  # holds no word of the query


def test_dirichlet_scores_may_be_negative_and_still_match():
    index = rk.KeywordIndex(["iron " + "word " * 50, "iron", "gold"], variant="dirichlet", mu=10)
    run = index.search("iron")
    assert run["doc_id"].tolist() == ["1", "0"] and run["score"].iloc[1] < 0
    assert len(index.search("iron", top_k=1)) == 1


def test_delta_and_its_default():
    index = rk.KeywordIndex(TEXTS, variant="bm25+")
    half = index.score_all("gold", delta=0.5)["score"]
    one = index.score_all("gold")["score"]
    idf = math.log(6 / 3)
    assert (one - half)[[1, 2, 4]].tolist() == pytest.approx([0.5 * idf] * 3)
    assert index.score_all("gold", variant="bm25l").equals(
        index.score_all("gold", variant="bm25l", delta=0.5)
    )
    own = rk.KeywordIndex(TEXTS, variant="bm25+", delta=0)
    assert own.score_all("gold")["score"].tolist() == pytest.approx(
        own.score_all("gold", variant="atire")["score"].tolist() * np.array(idf / math.log(5 / 3))
    )


def test_repeated_query_words_count_each_time_or_once():
    index = rk.KeywordIndex(["iron rust iron", "gold rust", "iron gold tin"])
    counted, once = (
        index.score_all("iron iron gold", query_terms=how)["score"] for how in ("counted", "once")
    )
    assert counted.tolist() == pytest.approx([1.248613, 0.523548, 1.341416], abs=1e-6)
    assert once.tolist() == pytest.approx([0.624307, 0.523548, 0.894277], abs=1e-6)


FIELDED = pd.DataFrame(
    {
        "doc_id": ["a", "b", "c"],
        "title": ["iron age", None, "gold"],
        "text": ["bronze and iron and iron", "iron ship", "rust of iron"],
    }
)


def test_bm25f_by_hand():
    # iron stands in all three documents. Lengths: title 2, 0, 1 (average 1), text 3, 2, 2 (average 7/3).
    index = rk.KeywordIndex(FIELDED, fields={"title": 3.0, "text": 1.0}, b={"title": 0.5, "text": 0.75})
    tf = 3 * 1 / (0.5 + 0.5 * 2) + 2 / (0.25 + 0.75 * 3 / (7 / 3))
    expected = math.log(1 + 0.5 / 3.5) * tf * 2.2 / (tf + 1.2)
    assert index.score_all("iron")["score"][0] == pytest.approx(expected, rel=1e-14)
    ledger = index.explain("iron", "a")
    assert ledger["tf"].tolist() == pytest.approx([tf]) and ledger["df"].tolist() == [3]


def test_one_field_of_weight_1_is_plain_bm25_and_weights_are_arguments_of_the_search():
    plain = rk.KeywordIndex(FIELDED)
    for fielded in (
        rk.KeywordIndex(FIELDED, fields={"title": 3, "text": 1}),
        rk.KeywordIndex(FIELDED, fields={"text": 1, "title": 0}),
    ):
        pd.testing.assert_frame_equal(
            fielded.score_all("iron gold", fields={"text": 1}), plain.score_all("iron gold")
        )
    index = rk.KeywordIndex(FIELDED, fields={"title": 3, "text": 1})
    assert index.search("gold", fields={"title": 1})["doc_id"].tolist() == ["c"]
    assert index.terms().set_index("term").loc["iron", ["df", "cf"]].tolist() == [3, 5]


def test_fields_are_checked():
    with pytest.raises(ValueError, match="title"):
        rk.KeywordIndex({"a": "x"}, fields={"title": 1.0})
    with pytest.raises(ValueError, match="does not hold"):
        rk.KeywordIndex(FIELDED, fields={"title": 1}).search("x", fields={"body": 1})
    with pytest.raises(ValueError, match="several fields"):
        rk.KeywordIndex(FIELDED, fields={"title": 1, "text": 1}, variant="tfidf")
    with pytest.raises(ValueError, match="one number for each"):
        rk.KeywordIndex(FIELDED, fields={"title": 1, "text": 1}, b={"title": 0.5})
    with pytest.raises(ValueError, match="above 0"):
        rk.KeywordIndex(FIELDED, fields={"title": 0})
    with pytest.raises(TypeError, match="title must be a string"):
        rk.KeywordIndex([{"doc_id": "a", "title": 3}], fields={"title": 1})
    assert rk.KeywordIndex([{"doc_id": "a", "title": "red"}], fields={"title": 1}).search("red").shape[0] == 1


def test_explain_by_hand():
    index = rk.KeywordIndex(["iron rust iron", "gold rust", "iron gold tin"])
    ledger = index.explain("iron iron zinc", "0")
    assert ledger["part"].tolist() == ["iron", "zinc"]
    norm = 0.25 + 0.75 * 9 / 8
    row = ledger.iloc[0]
    assert [row["query_tf"], row["tf"], row["df"], row["length_norm"]] == [2, 2, 2, norm]
    assert row["idf"] == pytest.approx(math.log(1.6))
    assert row["saturation"] == pytest.approx(4.4 / (2 + 1.2 * norm))
    assert row["contribution"] == row["value"] == pytest.approx(2 * 0.624307, abs=1e-5)
    assert ledger.iloc[1][["tf", "df", "contribution"]].tolist() == [0, 0, 0]
    with pytest.raises(ValueError, match="'9'"):
        index.explain("iron", "9")
    assert len(index.explain("", "0")) == 0


def test_stats_terms_and_document_frequency():
    index = rk.KeywordIndex(TEXTS)
    stats = index.stats()
    assert (stats["documents"], stats["terms"], stats["average_length"]) == (5, 6, 17 / 5)
    table = index.terms().set_index("term")
    assert table.loc["iron", ["df", "cf"]].tolist() == [3, 4]
    assert table.loc["iron", "idf"] == pytest.approx(math.log(1 + 2.5 / 3.5))
    assert index.document_frequency("IRON") == 3 and index.document_frequency("zinc") == 0
    index.remove("e")
    assert "duke" not in index.terms()["term"].tolist() and index.stats()["terms"] == 5
    index.clear()
    assert index.stats()["average_length"] == 0 and len(index.terms()) == 0
    with pytest.raises(ValueError, match="one word"):
        index.document_frequency("two words")


def test_retokenize_equals_a_fresh_index():
    keep = rk.Tokenizer(stop_words=None)
    index = rk.KeywordIndex(TEXTS)
    index.add({"a": "of iron"})
    version = index.version
    index.retokenize(keep)
    assert index.version > version and index.tokenizer is keep
    fresh = rk.KeywordIndex(TEXTS | {"a": "of iron"}, tokenizer=keep)
    pd.testing.assert_frame_equal(index.score_all("of the iron"), fresh.score_all("of the iron"))
    with pytest.raises(ZeroDivisionError):
        index.retokenize(lambda text: [1 / 0])
    pd.testing.assert_frame_equal(index.score_all("of the iron"), fresh.score_all("of the iron"))


def test_replace_docs_drops_the_chunks_of_the_old_version():
    def chunks(doc, *texts):
        return [{"chunk_id": f"{doc}#{n}", "doc_id": doc, "text": text} for n, text in enumerate(texts)]

    index = rk.KeywordIndex(chunks("a", "one", "two", "three") + chunks("b", "four"))
    index.add(chunks("a", "five"), replace_docs=True)
    assert index.ids == ["b#0", "a#0"]
    assert index.search("five")["chunk_id"].tolist() == ["a#0"]


def test_hits_are_the_search_without_a_frame():
    index = rk.KeywordIndex(TEXTS)
    run = index.search("iron gold", top_k=3)
    ids, scores = index.hits("iron gold", top_k=3)
    assert ids == run["doc_id"].tolist() and scores.tolist() == run["score"].tolist()
    assert index.hits("") == ([], pytest.approx([]))
    with pytest.raises(TypeError, match="query must be a string"):
        index.hits(["iron"])


# ---------------------------------------------------------------- properties


@pytest.mark.parametrize("variant", NAMES)
@pytest.mark.parametrize("fields", [None, {"text": 2.0, "title": 0.5}])
def test_contributions_sum_to_the_score(variant, fields):
    if fields and variant in ("tfidf", "dirichlet", "bm25l"):
        variant = "bm25"
    docs = pd.DataFrame(
        {"doc_id": list(TEXTS), "text": list(TEXTS.values()), "title": ["tin", "", "x", "iron", ""]}
    )
    index = rk.KeywordIndex(docs, fields=fields)
    for options in ({}, {"k1": 0.3, "b": 0.1, "delta": 0.7, "mu": 3, "query_terms": "once"}):
        scores = index.score_all(QUERY, variant=variant, **options)
        for unit, score in zip(scores["doc_id"], scores["score"]):
            ledger = index.explain(QUERY, unit, variant=variant, **options)
            assert ledger["contribution"].sum() == pytest.approx(score, rel=1e-12, abs=1e-15)
            if variant != "dirichlet":
                product = ledger["query_tf"] * ledger["idf"].fillna(0) * ledger["saturation"]
                assert product.tolist() == pytest.approx(ledger["contribution"].tolist(), rel=1e-12)


@given(
    st.lists(st.lists(st.sampled_from("abcde"), max_size=6).map(" ".join), min_size=1, max_size=8), st.data()
)
def test_every_road_gives_the_same_scores(texts, data):
    # Few documents and many, one field and two, whole ranking and top: all equal score_all.
    tokenizer = str.split
    fields = data.draw(st.sampled_from([None, {"text": 1.0, "title": 2.0}]))
    variant = data.draw(
        st.sampled_from(NAMES if fields is None else ["bm25", "lucene", "atire", "robertson", "bm25+"])
    )
    docs = pd.DataFrame({"doc_id": [str(n) for n in range(len(texts))], "text": texts, "title": texts[::-1]})
    copies = data.draw(st.sampled_from([1, 40]))  # with many others around, a query touches few
    filler = pd.DataFrame({"doc_id": [f"x{n}" for n in range(copies)], "text": "zz", "title": "zz"})
    index = rk.KeywordIndex(pd.concat([docs, filler]), tokenizer=tokenizer, variant=variant, fields=fields)
    query = " ".join(data.draw(st.lists(st.sampled_from("abcde"), min_size=1, max_size=4)))
    every = index.score_all(query)
    known = index.stats()["terms"] and any(index.document_frequency(word) for word in query.split())
    if not known:
        return
    if variant != "dirichlet":
        matches = every[every["score"] > 0]
    else:
        words = set(query.split())
        held = [bool(words & set(f"{text}".split())) for text in pd.concat([docs, filler])["text"]]
        matches = every[held]
    ranked = rk.rank_by_score(matches)
    for top_k in (None, 1, 3):
        run = index.search(query, top_k=top_k)
        expected = ranked if top_k is None else ranked[ranked["rank"] <= top_k]
        assert run["doc_id"].tolist() == expected["doc_id"].tolist()
        assert run["score"].tolist() == pytest.approx(expected["score"].tolist(), rel=1e-13)


def test_adding_a_matching_word_never_lowers_a_score():
    for variant in ("bm25", "lucene", "robertson", "atire", "bm25l", "bm25+", "tfidf"):
        index = rk.KeywordIndex(TEXTS, variant=variant)
        less, more = (index.score_all(q)["score"] for q in ("iron", "iron gold"))
        assert (more >= less).all()


# ---------------------------------------------------------------- parity


@pytest.mark.parametrize("variant", ["lucene", "robertson", "atire", "bm25l", "bm25+"])
def test_scores_equal_bm25s(variant):
    bm25s = pytest.importorskip("bm25s", reason="bm25s is not installed: pip install bm25s")
    rng = np.random.default_rng(0)
    words = np.array([f"w{n}" for n in range(200)])
    rows = [
        words[np.minimum(rng.geometric(0.03, size), 200) - 1].tolist() for size in rng.integers(1, 60, 500)
    ]
    queries = [words[rng.integers(0, 60, 5)].tolist() for _ in range(10)]
    method = {"bm25+": "bm25+"}.get(variant, variant)
    theirs = bm25s.BM25(method=method, k1=1.3, b=0.6, delta=0.4, dtype="float64")
    theirs.index(rows, show_progress=False)
    index = rk.KeywordIndex([" ".join(row) for row in rows], tokenizer=str.split, variant=variant)
    for query in queries:
        wanted = theirs.get_scores(list(dict.fromkeys(query)))
        if variant in ("bm25l", "bm25+"):  # bm25s pays the bound for words that are absent, too
            absent = {
                word: term_weight(
                    0, index.document_frequency(word), 500, 1, 1, variant=variant, k1=1.3, b=0, delta=0.4
                )
                for word in set(query)
            }
            wanted = wanted - [sum(w for word, w in absent.items() if word not in row) for row in rows]
        ours = index.score_all(" ".join(dict.fromkeys(query)), k1=1.3, b=0.6, delta=0.4)["score"]
        assert ours.tolist() == pytest.approx(wanted.tolist(), rel=1e-6, abs=1e-6)


def test_pruning_frequent_terms_changes_nothing():
    # One frequent word and rarer ones: the best by rare words alone may, or may not, decide the head.
    rng = np.random.default_rng(4)
    rare = [f"r{n}" for n in range(40)]
    texts = [
        " ".join(["often"] * rng.integers(0, 4) + ["common"] * rng.integers(0, 2) + list(rng.choice(rare, 2)))
        for _ in range(3000)
    ]
    index = rk.KeywordIndex(texts)
    queries = [" ".join(rng.choice([*rare, "often", "common"], 4)) for _ in range(40)]
    queries += ["often common r1", "often", "often r1 r1"]
    whole = index.search(queries, top_k=None)
    for k in (1, 5, 60, 700):
        pd.testing.assert_frame_equal(
            index.search(queries, top_k=k), whole[whole["rank"] <= k].reset_index(drop=True), check_exact=True
        )
    every = index.score_all(queries)
    assert (
        index.score_pairs(every, {str(n): q for n, q in enumerate(queries)}).tolist()
        == every["score"].tolist()
    )
    merged = whole.merge(every, on=["query_id", "doc_id"])
    assert (merged["score_x"] == merged["score_y"]).all()
