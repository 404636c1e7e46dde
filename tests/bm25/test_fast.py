"""The fast road of the search, which screens in whole numbers, against the plain one."""

import copy
import gc
import pickle
import weakref
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise, permutations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ragkit as rk
from ragkit.bm25 import together
from ragkit.bm25.fast import FastSearch, cuts_of
from ragkit.bm25.kept import Kept

VARIANTS = ["bm25", "lucene", "robertson", "atire", "bm25l", "bm25+", "tfidf"]
WORDS = [f"w{n}" for n in range(120)]


def collection(seed, n, skew):
    """Make documents over words whose frequencies fall: the first ones stand in most documents."""
    rng = np.random.default_rng(seed)
    chance = 1 / np.arange(1, len(WORDS) + 1) ** skew
    drawn = rng.choice(len(WORDS), (n, 12), p=chance / chance.sum())
    sizes = rng.integers(0, 13, n)
    texts = [" ".join(WORDS[w] for w in row[:size]) for row, size in zip(drawn, sizes)]
    ids = [f"d{i}" for i in rng.permutation(n)]
    return pd.DataFrame({"doc_id": ids, "text": texts, "title": texts[::-1], "kind": rng.integers(0, 3, n)})


def head_of(run, k):
    return run[run["rank"] <= k].reset_index(drop=True)


# ---------------------------------------------------------------- worked examples


def test_scores_that_steps_cannot_tell_apart_are_ranked_by_exact_ones():
    # Lengths 10,000 and 10,001: the scores differ by less than 1e-4 of 2^-24, the shorter one is first.
    texts = {f"s{n}": "fox " + "x " * (10_000 + n) for n in range(6)} | {f"o{n}": "y z" for n in range(60)}
    index = rk.KeywordIndex(texts, b=1e-4)
    ids, scores = index.hits("fox", top_k=4)
    assert ids == ["s0", "s1", "s2", "s3"]
    assert (np.diff(scores) < 0).all() and len(np.unique(scores.astype(np.float32))) < 4


def test_an_order_that_rounding_turns_round_is_put_right():
    # Words of equal df in 24 mixes of counts score nearly alike: rounded to 24 bits, sums change places.
    mixes = list(permutations([1, 2, 3, 5]))
    texts = {
        f"m{i}-{extra}": " ".join([" ".join([w] * c) for w, c in zip("abcd", mix)] + ["x"] * extra)
        for i, mix in enumerate(mixes)
        for extra in range(12)
    } | {f"o{n}": "y z" for n in range(4000)}
    index = rk.KeywordIndex(texts, tokenizer=str.split, b=1e-7)
    whole = index.search("a b c d", top_k=None)
    for k in range(1, 280, 7):
        pd.testing.assert_frame_equal(index.search("a b c d", top_k=k), head_of(whole, k), check_exact=True)


@pytest.mark.parametrize("setting", [{"k1": 1e60, "variant": "lucene"}, {"delta": 1e60, "variant": "bm25+"}])
def test_scores_that_do_not_fit_into_steps_are_found(setting):
    docs = collection(1, 400, 1.0)
    index = rk.KeywordIndex(docs, tokenizer=str.split)
    for query in ("w1 w30", "w1", "w60 w61"):
        whole = index.search(query, top_k=None, **setting)
        assert len(whole) > 5
        pd.testing.assert_frame_equal(
            index.search(query, top_k=5, **setting), head_of(whole, 5), check_exact=True
        )


def test_words_that_are_worth_nothing_are_passed_over():
    # Under Robertson's idf a word of one document in two weighs 0, and so does every step.
    index = rk.KeywordIndex(["x y", "x"], tokenizer=str.split, variant="robertson")
    assert index.hits("x y", top_k=1)[0] == [] and index.search(["x", "y"], top_k=1).empty


def test_a_filter_that_nothing_passes_empties_a_batch_after_ids_were_ranked():
    index = rk.KeywordIndex({f"d{n}": f"w{n % 9}" for n in range(60)}, tokenizer=str.split)
    index.search([f"w{n}" for n in range(9)], top_k=None)  # ties: ids are ranked
    assert index.search(["w1", "w2"], top_k=3, where=lambda docs: docs["text"] == "no").empty


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda index: pickle.loads(pickle.dumps(index))])
def test_a_copy_finds_the_same_and_takes_no_weights_along(again):
    index = rk.KeywordIndex(collection(7, 900, 1.0), tokenizer=str.split)
    queries = ["w0 w40", "w1 w2", "w90", "w50 w60"]
    index.hits("w0")
    size = len(pickle.dumps(index))
    found = [index.hits(query, top_k=20) for query in queries]
    assert index.stats()["memory"] > again(index).stats()["memory"] and len(pickle.dumps(index)) == size
    for query, (ids, scores) in zip(queries, found):
        mine, numbers = again(index).hits(query, top_k=20)
        assert mine == ids and numbers.tolist() == scores.tolist()


def test_a_term_that_can_be_no_row_is_tried_once(monkeypatch):
    # Over fields its postings are joined for the trial, which costs more than the rest of a search.
    tried = []
    monkeypatch.setattr(Kept, "_make_row", lambda self, term: tried.append(term))
    index = rk.KeywordIndex(collection(9, 900, 0.3), fields={"text": 1.0, "title": 0.3}, tokenizer=str.split)
    assert index.hits("w0 w1", top_k=5)[0] == index.hits("w0 w1", top_k=5)[0]
    assert len(tried) == 1


def test_what_one_setting_kept_is_freed_as_soon_as_another_is_searched():
    index = rk.KeywordIndex(collection(8, 900, 1.0), tokenizer=str.split)
    index.search("w0 w40", k1=0.5, top_k=5)
    past = weakref.ref(index._last)
    gc.disable()  # what only the collector of garbage frees piles up under a slider
    try:
        index.search("w0 w40", k1=0.7, top_k=5)
        assert past() is None
    finally:
        gc.enable()


# ---------------------------------------------------------------- properties


@settings(max_examples=60)
@given(
    st.integers(0, 10**6),
    st.sampled_from([30, 300, 1500]),
    st.sampled_from([0.3, 1.0, 1.8]),
    st.sampled_from(VARIANTS),
    st.lists(st.sampled_from(WORDS[:4] + WORDS[10:100:3]), min_size=1, max_size=8),
    st.sampled_from([None, {"text": 2.0}, {"text": 1.0, "title": 0.3}]),
    st.sampled_from([None, {"kind": 1}]),
)
def test_the_head_equals_that_of_the_whole_ranking_bit_by_bit(seed, n, skew, variant, words, fields, where):
    if fields and variant in ("tfidf", "bm25l"):
        variant = "robertson"
    docs = collection(seed, n, skew).drop(columns=[] if fields and "title" in fields else ["title"])
    index = rk.KeywordIndex(docs, tokenizer=str.split, variant=variant, fields=fields)
    known = [word for word in words if index.document_frequency(word)]
    if not known:
        return
    query = " ".join(known)
    whole = index.search(query, top_k=None, where=where)
    for k in (1, 3, 20, 200):
        pd.testing.assert_frame_equal(
            index.search(query, top_k=k, where=where), head_of(whole, k), check_exact=True
        )
        ids, scores = index.hits(query, top_k=k, where=where)
        assert ids == whole["doc_id"][:k].tolist() and scores.tolist() == whole["score"][:k].tolist()


@settings(max_examples=60)
@given(
    st.integers(0, 10**6),
    st.sampled_from([60, 400, 1500]),
    st.sampled_from(VARIANTS),
    st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=5), min_size=1, max_size=25),
    st.sampled_from([None, {"text": 2.0}, {"text": 1.0, "title": 0.3}]),
    st.sampled_from([None, {"kind": 1}]),
    st.sampled_from([1, 100, 1 << 16]),
    st.sampled_from([1, 3, 40]),
)
def test_queries_searched_together_find_what_each_finds_alone(
    seed, n, variant, asked, fields, where, at_a_time, k
):
    if fields and variant in ("tfidf", "bm25l"):
        variant = "robertson"
    docs = collection(seed, n, 0.8).drop(columns=[] if fields and "title" in fields else ["title"])
    index = rk.KeywordIndex(docs, tokenizer=str.split, variant=variant, fields=fields)
    queries = {f"q{i}": " ".join(words) for i, words in enumerate(asked)}
    queries = {q: text for q, text in queries.items() if any(map(index.document_frequency, text.split()))}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(together, "_AT_A_TIME", at_a_time)
        run = index.search(queries, top_k=k, where=where)
    alone = [index.hits(text, top_k=k, where=where) for text in queries.values()]
    assert run["doc_id"].tolist() == [doc_id for ids, _ in alone for doc_id in ids]
    assert run["score"].tolist() == [score for _, scores in alone for score in scores.tolist()]
    assert run["query_id"].tolist() == [q for q, (ids, _) in zip(queries, alone) for _ in ids]


@pytest.mark.parametrize("top_k", [10, 100, 600, 700])
def test_documents_whose_weights_vanish_are_no_hits(top_k):
    docs = {f"d{i}": ("red " * (1 + i % 3) if i < 800 else "blue ") + "x " * (i % 7) for i in range(9_000)}
    index = rk.KeywordIndex(docs, fields={"text": 1e-300}, variant="lucene", k1=1e100)  # 1e-400 is 0
    assert index.hits("red", top_k=top_k)[0] == []
    assert len(index.search(["red", "blue"], top_k=top_k)) == 0
    assert len(index.search_settings(["red"], [{}], top_k=top_k)) == 0


@settings(max_examples=60)
@given(
    st.integers(0, 10**6),
    st.lists(st.sampled_from([0, 1, 90, 130, 400, 3_000]), min_size=1, max_size=6),
    st.sampled_from([1, 10, 100, 500]),
)
def test_no_cut_leaves_out_one_of_the_best(seed, sizes, top_k):
    rng = np.random.default_rng(seed)
    ends = np.cumsum([0, *sizes]).tolist()
    scores = rng.integers(0, 50, ends[-1]) / 7
    spans = list(pairwise(ends))
    for (start, end), cut in zip(spans, cuts_of(scores, spans, top_k), strict=True):
        mine = scores[start:end]
        held = mine[mine > 0]
        assert 0 < cut <= (np.sort(held)[-top_k] if len(held) >= top_k else 5e-324)
        if len(mine) >= max(2_000, 4 * top_k):
            assert (mine >= cut).sum() < len(held)  # and it does cut


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.sampled_from([0, 3_000, 12_000, 10**8]), st.sampled_from([1, 10, 150]))
def test_no_bound_on_what_is_kept_changes_what_is_found(seed, room, k):
    index = rk.KeywordIndex(collection(seed, 900, 1.0).drop(columns="title"), tokenizer=str.split)
    index.hits("w0")
    scorer = index._last
    fast = FastSearch(scorer, room)
    rng = np.random.default_rng(seed)
    for _ in range(12):
        terms = {int(t): int(rng.integers(1, 3)) for t in rng.integers(0, 40, rng.integers(1, 6))}
        found = fast.best(terms, k, None)
        rows, scores = scorer.best_plainly(terms, k, None)
        assert fast.kept.nbytes <= max(room, 0)
        if found is not None:
            held = found[1] > 0  # a 0 may stand beside a document's score, but comes after the best
            assert held.all() or held.sum() >= k
            mine = dict(zip(found[0][held].tolist(), found[1][held].tolist()))
            assert len(mine) == held.sum()
            best = np.sort(scores)[::-1][:k]
            wanted = {row: score for row, score in zip(rows.tolist(), scores.tolist()) if score >= best[-1]}
            assert wanted.items() <= mine.items()


def test_what_stands_on_scratch_paper_changes_nothing():
    index = rk.KeywordIndex(collection(3, 1500, 1.0), tokenizer=str.split)
    queries = ("w40 w50", "w0 w1 w50", "w0 w0", "w90", "w0 w60 w61 w62")
    wholes = {query: index.hits(query, top_k=None) for query in queries}
    for filled in (np.nan, np.inf, 7.0):
        for query, (ids, scores) in wholes.items():
            for k in (1, 30, 700):
                for paper in index._last.fast._spare:
                    paper.view(np.float32).fill(filled)
                found = index.hits(query, top_k=k)
                assert found[0] == ids[:k] and found[1].tolist() == scores[:k].tolist()


@pytest.mark.parametrize("room", [0, 6_000, 40_000])
def test_threads_that_share_an_index_find_what_one_finds(room):
    # Little room, so that weights are forgotten and made again while other threads read them.
    index = rk.KeywordIndex(collection(5, 1500, 1.0), tokenizer=str.split)
    rng = np.random.default_rng(0)
    queries = [" ".join(rng.choice(WORDS[:60], rng.integers(1, 6))) for _ in range(150)]
    wanted = [index.hits(query, top_k=20) for query in queries]
    index._last.fast = fast = FastSearch(index._last, room)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda query: index.hits(query, top_k=20), queries * 6))
    for (ids, scores), (mine, numbers) in zip(wanted * 6, found):
        assert mine == ids and numbers.tolist() == scores.tolist()
    kept = sum(term.nbytes for term in fast.kept.terms.values())
    kept += sum(row.steps.nbytes + row.tf.nbytes for row in fast.kept.rows.values())
    assert fast.kept.nbytes == kept <= room
    assert len(fast._spare) <= 8


def test_threads_under_different_settings_find_what_one_finds():
    index = rk.KeywordIndex(collection(6, 900, 1.0), tokenizer=str.split)
    asked = [(f"w{n % 50} w{n % 7}", 0.5 + n % 3, n % 4 / 4) for n in range(60)]
    wanted = [index.search(query, k1=k1, b=b, top_k=15) for query, k1, b in asked]
    fresh = rk.KeywordIndex(collection(6, 900, 1.0), tokenizer=str.split)
    with ThreadPoolExecutor(6) as pool:
        found = pool.map(lambda a: fresh.search(a[0], k1=a[1], b=a[2], top_k=15), asked)
        for mine, single in zip(found, wanted, strict=True):
            pd.testing.assert_frame_equal(mine, single, check_exact=True)


# ---------------------------------------------------------------- ties


@given(st.lists(st.sampled_from("ab"), min_size=1, max_size=60), st.integers(1, 60), st.booleans())
def test_equal_scores_are_ranked_by_id_in_short_and_long_lists(letters, k, sorted_ids):
    # Documents of one word score alike: their ids, falling, decide, whether or not ids were ranked before.
    index = rk.KeywordIndex({f"i{n:02d}": letter for n, letter in enumerate(letters)}, tokenizer=str.split)
    if sorted_ids:
        for _ in range(3):
            index.search(sorted(set(letters)), top_k=None)
    wanted = sorted((f"i{n:02d}" for n, letter in enumerate(letters) if letter == letters[0]), reverse=True)
    assert index.hits(letters[0], top_k=k)[0] == wanted[:k]
