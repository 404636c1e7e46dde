"""sweep and tune: every setting measured, nothing lost, nothing promised that new queries do not keep."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ragkit as rk
from tests.experiment.corpus import DOCS, QRELS, QUERIES


@pytest.fixture
def index():
    return rk.KeywordIndex(DOCS)


# Worked examples -------------------------------------------------------------------------------------


def test_a_grid_gives_every_combination_as_evaluate_would(index):
    table = rk.sweep(
        index, {"k1": [0.5, 2.0], "b": [0.0, 1.0]}, QRELS, queries=QUERIES, metrics=["rr", "ndcg@3"]
    )
    assert list(table.columns) == ["setting", "k1", "b", "query_id", "metric", "value", "seconds", "error"]
    assert len(table) == 4 * 4 * 2 and table["error"].isna().all() and (table["seconds"] > 0).all()
    for (k1, b), part in table.groupby(["k1", "b"]):
        expected = rk.evaluate(index.search(QUERIES, k1=k1, b=b), QRELS, metrics=["rr", "ndcg@3"])
        pd.testing.assert_frame_equal(part[["query_id", "metric", "value"]].reset_index(drop=True), expected)


def test_every_store_is_measured_as_evaluate_would(index):
    store = rk.VectorStore(DOCS, embed=rk.LSAEmbedder(3))
    metrics, qrels = ["rr", "ndcg@1", "judged@2", "bpref"], QRELS | {"lost": {"a": 1}}
    for retriever, grid in ((store, {"top_k": [1, 5]}), (rk.HybridSearch(index, store), {"k": [1, 60]})):
        for wanted in (metrics, metrics[1:3]):  # the second looks no deeper than two ranks
            table = rk.sweep(retriever, grid, qrels, queries=QUERIES, metrics=wanted)
            knob = table.columns[1]
            for value, rows in table.groupby(knob)[table.columns]:
                run = retriever.search(QUERIES, **{knob: int(value)})
                expected = rk.evaluate(run, qrels, metrics=wanted)
                got = rows[["query_id", "metric", "value"]].reset_index(drop=True)
                pd.testing.assert_frame_equal(got, expected)
    # a document that stands below what the metric looks at is no sign of ids that do not fit
    assert len(rk.sweep(index, {"b": [0.5]}, {"q3": {"d": 1}}, queries={"q3": "fox story"}, metrics="rr@1"))


def test_settings_can_be_listed_or_drawn(index):
    listed = rk.sweep(index, [{"k1": 1.0}, {"b": 0.3}], QRELS, queries=QUERIES, metrics="rr")
    assert listed.groupby("setting")[["k1", "b"]].first().fillna(-1).values.tolist() == [[1.0, -1], [-1, 0.3]]
    from scipy.stats import uniform

    space = {"b": uniform(0, 1), "k1": [0.9, 1.2]}
    drawn = rk.sweep(index, space, QRELS, queries=QUERIES, metrics="rr", n=6)
    assert (
        drawn["setting"].nunique() == 6 and drawn["b"].between(0, 1).all() and set(drawn["k1"]) <= {0.9, 1.2}
    )
    pd.testing.assert_series_equal(
        drawn["b"], rk.sweep(index, space, QRELS, queries=QUERIES, metrics="rr", n=6)["b"]
    )
    with pytest.raises(ValueError, match="needs n="):
        rk.sweep(index, space, QRELS, queries=QUERIES, metrics="rr")


def test_a_setting_that_fails_says_why_and_loses_no_other(index):
    table = rk.sweep(index, {"b": [0.5, 7.0]}, QRELS, queries=QUERIES, metrics="rr")
    bad = table[table["b"] == 7.0]
    assert len(bad) == 1 and "ValueError: b must be" in bad["error"].item() and np.isnan(bad["value"].item())
    assert bad[["query_id", "metric"]].isna().all(axis=None)  # missing, and not the word "None"
    good = table[table["b"] == 0.5]
    assert len(good) == 4 and good["error"].isna().all() and table["error"].dtype == object
    with pytest.raises(ValueError, match=r"every setting failed.*b must be"):
        rk.sweep(index, {"b": [7.0]}, QRELS, queries=QUERIES, metrics="rr")


def test_callables_take_the_grids_names_and_the_queries_if_they_want_them():
    by_name = rk.sweep(lambda word: {q: [word] for q in QRELS}, {"word": ["a", "e"]}, QRELS, metrics="rr")
    assert by_name.groupby("word")["value"].sum().to_dict() == {"a": 1.0, "e": 2.0}
    asked = rk.sweep(
        lambda queries, k: {q: [*"edcba"][:k] for q in queries["query_id"]}, {"k": [1, 5]}, QRELS,
        queries=QUERIES, metrics="recall",
    )  # fmt: skip
    assert asked.groupby("k")["value"].mean().to_dict() == {1: 1.5 / 4, 5: 1.0}


@pytest.mark.filterwarnings("ignore::ragkit.RetrievalWarning")  # chunks of 8 characters cut words
def test_a_callable_may_return_scores_of_its_own_and_chunk_runs_are_collapsed():
    def own(size):
        return pd.DataFrame({"query_id": ["q"], "metric": ["chars"], "value": [float(size)]})

    assert rk.sweep(own, {"size": [10, 20]})["value"].tolist() == [10.0, 20.0]

    def chunks(size):
        index = rk.KeywordIndex(rk.chunk(DOCS, method="fixed", size=size, overlap=0))
        return index.search(QUERIES)

    table = rk.sweep(chunks, {"size": [8, 1000]}, QRELS, metrics="recall@5")
    assert table["error"].isna().all() and table["value"].between(0, 1).all()


BARN = {"d": "The fox is red. The hen is brown. The whale is blue. The owl is grey."}
HEN = pd.DataFrame({"query_id": ["q"], "doc_id": ["d"], "start": [16], "end": [33]})  # the second sentence


def chunk_and_search(queries, size, method, overlap=0):
    chunks = rk.chunk(BARN, method=method, size=size, overlap=overlap)
    return rk.KeywordIndex(chunks).search(queries), chunks


def test_ways_of_chunking_are_measured_by_gold_passages():
    grid = {"method": ["fixed", "sentence"], "size": [20, 40], "overlap": [0, 5]}
    table = rk.sweep(
        chunk_and_search, grid, queries={"q": "brown hen"}, spans=HEN,
        metrics=["span_recall@1", "span_precision@1", "span_iou@1", "precision_omega"],
    )  # fmt: skip
    assert list(table.columns[:6]) == ["setting", "method", "size", "overlap", "query_id", "metric"]
    assert len(table) == 8 * 4 and table["error"].isna().all()
    found = table[table["overlap"] == 0].pivot_table(
        index=["method", "size"], columns="metric", values="value"
    )
    # fixed, 20: the chunk 20..40 has 13 of the 17; 4 are unfound. Chunks that touch: 0..19 and
    # 20..40 (no chunk ends with a blank), 16 of the 17; with the blank, which is gold, 40 characters.
    # fixed, 40: 0..40 has all 17. sentence, 20: 16..33. sentence, 40: the first two sentences, 0..33.
    expected = {
        ("fixed", 20): (13 / 17, 13 / 20, 13 / 24, 16 / 40),
        ("fixed", 40): (1, 17 / 40, 17 / 40, 17 / 40),
        ("sentence", 20): (1, 1, 1, 1),
        ("sentence", 40): (1, 17 / 33, 17 / 33, 17 / 33),
    }
    names = ["span_recall@1", "span_precision@1", "span_iou@1", "precision_omega"]
    for setting, values in expected.items():
        assert found.loc[setting, names].tolist() == pytest.approx(values)
    ax = rk.plot.sweep(table, x="size", by="method", metric="span_iou@1")
    assert [line.get_label() for line in ax.lines] == ["fixed", "sentence", "best: sentence, 20"]
    import matplotlib.pyplot as plt

    plt.close("all")


def test_passages_and_documents_are_measured_in_one_sweep():
    qrels, queries = {"q": {"d": 1}}, {"q": "brown hen", "r": "owl"}
    with pytest.warns(rk.RetrievalWarning, match="'r'") as caught:
        table = rk.sweep(
            chunk_and_search, {"size": [20], "method": "sentence"}, qrels, queries=queries, spans=HEN,
            metrics=["span_iou@1", "rr"],
        )  # fmt: skip
    assert len(caught) == 1
    assert table.groupby("metric")["value"].first().to_dict() == {"rr": 1.0, "span_iou@1": 1.0}
    # without a word: recall, precision and IoU of all that is found
    plain = rk.sweep(chunk_and_search, [{"size": 20, "method": "sentence"}], queries={"q": "hen"}, spans=HEN)
    assert plain["metric"].tolist() == ["span_recall", "span_precision", "span_iou"]


def test_a_store_of_chunks_needs_no_word_about_them_and_equals_score_chunks():
    index = rk.KeywordIndex(rk.chunk(BARN, method="fixed", size=12, overlap=4))
    names = ["precision_omega", "span_iou@2", "span_recall@gold", "span_recall"]
    table = rk.sweep(index, {"b": [0.0, 1.0]}, queries={"q": "brown hen"}, spans=HEN, metrics=names)
    assert table["metric"].tolist() == names * 2
    for b, rows in table.groupby("b"):
        run = index.search({"q": "brown hen"}, b=b)
        whole, two, gold = (
            rk.score_chunks(run, HEN, chunks=index.docs, top_k=k).set_index("metric")["value"]
            for k in (None, 2, "gold")
        )  # fmt: skip
        assert rows["value"].tolist() == [
            whole["precision_omega"], two["span_iou@2"], gold["span_recall"], whole["span_recall"],
        ]  # fmt: skip


def test_a_way_of_chunking_is_tuned_on_passages():
    queries = {"q": "brown hen", "p": "red fox", "o": "grey owl"}
    spans = pd.DataFrame({"query_id": [*"qpo"], "doc_id": "d", "start": [16, 0, 53], "end": [33, 15, 69]})
    space = {"size": [20, 40], "method": ["sentence"]}
    found = rk.tune(chunk_and_search, space, queries=queries, spans=spans, metric="span_iou@1", cv=3)
    assert found.params == {"size": 20, "method": "sentence"} and found.held_out == 1.0


def test_what_a_sweep_of_passages_needs_is_said(tmp_path):
    call = {"queries": {"q": "hen"}, "metrics": "span_iou"}
    with pytest.raises(ValueError, match="needs spans="):
        rk.sweep(chunk_and_search, {"size": [20], "method": "fixed"}, **call)
    with pytest.raises(ValueError, match="spans needs columns"):
        rk.sweep(chunk_and_search, {"size": [20], "method": "fixed"}, spans=HEN[["query_id"]], **call)
    with pytest.raises(ValueError, match=r"every setting failed.*run without chunks"):
        rk.sweep(lambda q, size: chunk_and_search(q, size, "fixed")[0], {"size": [20]}, spans=HEN, **call)
    with pytest.raises(ValueError, match=r"every setting failed.*over documents"):
        rk.sweep(lambda size: {"q": ["d"]}, {"size": [20]}, spans=HEN, metrics="span_iou")
    for metric, message in (
        ("span_iou@0", ">= 1"),
        ("precision_omega@5", "no cutoff"),
        ("span_io", "unknown"),
    ):
        with pytest.raises(ValueError, match=message):
            rk.sweep(chunk_and_search, {"size": [20]}, spans=HEN, queries={"q": "hen"}, metrics=metric)
    path, grid = tmp_path / "s.jsonl", {"size": [20], "method": "fixed"}
    rk.sweep(chunk_and_search, grid, spans=HEN, path=path, **call)
    with pytest.raises(ValueError, match="another sweep"):  # other passages
        rk.sweep(chunk_and_search, grid, spans=HEN.assign(end=30), path=path, **call)


def test_over_chooses_among_queries_with_passages():
    spans = pd.concat([HEN, HEN.assign(query_id="lost")])
    for over, ids in (("judged", ["q", "lost"]), ("retrieved", ["q"]), (["lost"], ["lost"])):
        table = rk.sweep(
            chunk_and_search, {"size": [20], "method": "sentence"}, queries={"q": "hen"}, spans=spans,
            metrics="span_recall", over=over,
        )  # fmt: skip
        assert table["query_id"].tolist() == ids


def test_dicts_become_columns_and_runs_are_fused(index):
    runs = {"x": index.search(QUERIES), "y": {q: ["c", "b"] for q in QUERIES}}
    grid = {"weights": [{"x": 1, "y": 0.5}, {"x": 0.2, "y": 1}], "method": "rrf"}
    table = rk.sweep(runs, grid, QRELS, metrics="rr")
    assert list(table.columns[:4]) == ["setting", "weights.x", "weights.y", "method"]
    expected = rk.evaluate(rk.fuse(runs, weights={"x": 0.2, "y": 1}), QRELS, metrics="rr")["value"]
    assert table[table["setting"] == 1]["value"].tolist() == expected.tolist()


def test_a_hybrid_runs_its_slow_stages_once(index, monkeypatch):
    calls = []
    real = rk.KeywordIndex.search
    monkeypatch.setattr(
        rk.KeywordIndex, "search", lambda self, *a, **k: calls.append(k["k1"]) or real(self, *a, **k)
    )
    hybrid = rk.HybridSearch(index)
    grid = {"top_k": [1, 2, 3], "k1": [0.5 + i / 10 for i in range(20)]}
    rk.sweep(hybrid, grid, QRELS, queries=QUERIES, metrics="rr")
    assert sorted(calls) == grid["k1"]


def test_an_unknown_parameter_is_refused_before_any_work(index):
    with pytest.raises(ValueError, match=r"no parameter 'variants'.*Did you mean 'variant'"):
        rk.sweep(index, {"variants": [1]}, QRELS, queries=QUERIES, metrics="rr")
    with pytest.raises(ValueError, match="needs queries="):
        rk.sweep(index, {"k1": [1]}, QRELS, metrics="rr")
    with pytest.raises(TypeError, match="grid must be"):
        rk.sweep(index, 3, QRELS, queries=QUERIES, metrics="rr")
    with pytest.raises(ValueError, match="empty dict"):
        rk.sweep(index, {}, QRELS, queries=QUERIES, metrics="rr")
    with pytest.raises(TypeError, match="retriever must have"):
        rk.sweep(3, {"k1": [1]}, QRELS, queries=QUERIES, metrics="rr")


def test_an_interrupted_sweep_goes_on_from_its_file(tmp_path):
    calls = []

    def run(k, stop_at=3):
        if k == stop_at and len(calls) == 3:
            raise KeyboardInterrupt
        calls.append(k)
        return {q: [*"edcba"][: k + 1] for q in QRELS}

    grid, path = {"k": [0, 1, 2, 3, 4]}, tmp_path / "sweep.jsonl"
    with pytest.raises(KeyboardInterrupt):
        rk.sweep(run, grid, QRELS, metrics=["rr", "recall"], path=path)
    with path.open("a") as file:
        file.write('{"setting": "{\\"k\\": 3}", "sec')  # killed while writing
    calls.append("resumed")
    table = rk.sweep(run, grid, QRELS, metrics=["rr", "recall"], path=path)
    assert calls == [0, 1, 2, "resumed", 3, 4]
    fresh = rk.sweep(lambda k: run(k), grid, QRELS, metrics=["rr", "recall"])
    pd.testing.assert_frame_equal(table.drop(columns="seconds"), fresh.drop(columns="seconds"))
    with pytest.raises(ValueError, match="another sweep"):
        rk.sweep(run, grid, QRELS, metrics="rr", path=path)
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(ValueError, match="another sweep"):
        rk.sweep(run, grid, QRELS, metrics="rr", path=tmp_path / "notes.txt")
    assert (tmp_path / "notes.txt").read_text() == "mine"


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        ("{}\n", r"sweep.jsonl, line 3 is damaged; delete the line, or give another path"),
        ('{"setting": "x", "seconds"\n', r"line 3 is damaged"),
        ('{"setting": "x", "error": "", "scores": 3}\n', r"line 3 is damaged"),
    ],
)
def test_a_damaged_line_of_the_file_is_named(index, tmp_path, damage, message):
    path = tmp_path / "sweep.jsonl"
    rk.sweep(index, {"b": [0.5]}, QRELS, queries=QUERIES, metrics="rr", path=path)
    with path.open("a") as file:
        file.write(damage)
    with pytest.raises(ValueError, match=message):
        rk.sweep(index, {"b": [0.5, 1.0]}, QRELS, queries=QUERIES, metrics="rr", path=path)


def test_a_path_that_cannot_be_written_is_refused_before_any_work(tmp_path):
    def never(b):
        raise AssertionError("called")

    with pytest.raises(FileNotFoundError, match=r"path must be a file to write to; .* is a folder"):
        rk.sweep(never, {"b": [1]}, QRELS, metrics="rr", path=tmp_path)
    with pytest.raises(FileNotFoundError, match="lies in a folder that is not there"):
        rk.sweep(never, {"b": [1]}, QRELS, metrics="rr", path=tmp_path / "no" / "sweep.jsonl")


def test_warnings_of_all_settings_come_once(index):
    with pytest.warns(rk.RetrievalWarning, match="'q9'") as caught:
        rk.sweep(index, {"b": [0, 1]}, QRELS, queries=QUERIES | {"q9": "hen"}, metrics="rr")
    assert len(caught) == 1


def test_warnings_of_what_was_done_before_an_interruption_are_said_again(index, tmp_path):
    ask = {"queries": QUERIES | {"q5": "zzzz"}, "metrics": "rr", "path": tmp_path / "sweep.jsonl"}
    for grid in ({"b": [0.0, 1.0]}, {"b": [0.0, 1.0]}, {"b": [0.0, 0.5, 1.0]}):
        with pytest.warns(rk.RetrievalWarning) as caught:
            rk.sweep(index, grid, QRELS | {"q5": {"a": 1}}, **ask)
        assert len(caught) == 1 and "no document holds a word of 1 query" in str(caught[0].message)


def test_warnings_that_differ_in_numbers_only_are_one(index):
    store = rk.VectorStore(DOCS, embed=rk.LSAEmbedder(3))
    with pytest.warns(rk.RetrievalWarning, match="so it only reorders") as caught:
        rk.sweep(
            rk.HybridSearch(index, store), {"lambda_": [0.5], "top_k": [6, 7, 8]},
            QRELS, queries=QUERIES, metrics="rr",
        )  # fmt: skip
    assert len(caught) == 1 and "top_k=6" in str(caught[0].message)


def test_an_empty_list_of_settings_gives_an_empty_table(index):
    table = rk.sweep(index, [], QRELS, queries=QUERIES, metrics="rr")
    assert len(table) == 0 and {"setting", "query_id", "metric", "value", "seconds", "error"} <= set(
        table.columns
    )


# tune ------------------------------------------------------------------------------------------------


def lookup(values):
    """A retriever whose setting s scores values[s][n] (0 or 1) on query n."""
    qrels = {f"q{n}": {"a": 1} for n in range(len(values[0]))}
    return (lambda s: {f"q{n}": ["a" if v else "x"] for n, v in enumerate(values[s])}), qrels


@pytest.mark.filterwarnings("ignore::ragkit.RetrievalWarning")
def test_held_out_scores_by_hand():
    # Setting 0 is right on q0 and q1, setting 1 on q2 and q3. Folds {q0, q2}, {q1, q3}: on each the other
    # fold has a draw, which the first setting wins: held out 1, 0, 1, 0 in the order of the queries.
    retriever, qrels = lookup([[1, 1, 0, 0], [0, 0, 1, 1]])
    found = rk.tune(retriever, {"s": [0, 1]}, qrels, metric="rr", cv={"q0": 0, "q1": 1, "q2": 0, "q3": 1})
    assert found.params == {"s": 0} and (found.tuned, found.held_out, found.gap) == (0.5, 0.5, 0.0)
    # Folds {q0, q1}, {q2, q3}: each chooses the setting that fails on the other.
    found = rk.tune(retriever, {"s": [0, 1]}, qrels, metric="rr", cv={"q0": 0, "q1": 0, "q2": 1, "q3": 1})
    assert (found.tuned, found.held_out, found.gap) == (0.5, 0.0, 0.5)
    assert found.folds[["s", "train", "held_out"]].values.tolist() == [[1, 1.0, 0.0], [0, 1.0, 0.0]]
    assert found.settings["chosen"].tolist() == [1, 1] and found.settings["tie"].tolist() == [True, True]


@pytest.mark.filterwarnings("ignore::ragkit.RetrievalWarning")
def test_the_gap_of_pure_noise_is_seen_for_what_it_is():
    rng = np.random.default_rng(0)
    retriever, qrels = lookup(rng.integers(0, 2, (60, 40)))
    found = rk.tune(retriever, {"s": range(60)}, qrels, metric="rr")
    assert found.tuned > 0.6 and found.gap > 0.1  # the best of 60 coins
    assert found.ci_low < 0.5 < found.ci_high or abs(found.held_out - 0.5) < 0.2
    assert len(found.ties) > 20
    assert "optimism gap" in repr(found) and "<table" in found._repr_html_()


def test_a_setting_that_is_truly_best_is_found_and_not_tied():
    retriever, qrels = lookup([[0] * 30 + [1] * 3, [1] * 33])
    found = rk.tune(retriever, {"s": [0, 1]}, qrels, metric="rr")
    assert (
        found.params == {"s": 1} and found.held_out == 1.0 and found.settings["tie"].tolist() == [False, True]
    )
    pd.testing.assert_frame_equal(found.ties, found.settings[1:].reset_index(drop=True))


def test_tuning_a_real_index_repeats(index):
    kwargs = {"queries": QUERIES, "metric": "ndcg@3", "cv": 2}
    one, two = (rk.tune(index, {"b": [0.0, 0.5, 1.0]}, QRELS, **kwargs) for _ in range(2))
    pd.testing.assert_frame_equal(one.settings, two.settings)
    assert one.params in [{"b": b} for b in (0.0, 0.5, 1.0)]
    assert set(one.scores["query_id"]) == set(QUERIES)


def test_nothing_to_choose_is_said():
    retriever, qrels = lookup([[1, 0, 1], [1, 0, 1]])
    with pytest.warns(rk.RetrievalWarning, match="nothing was chosen"):
        rk.tune(retriever, {"s": [0, 1]}, qrels, metric="rr", cv=2)


def test_settings_that_fail_are_left_out_with_a_warning(index):
    with pytest.warns(rk.RetrievalWarning, match="1 of 2 settings failed"):
        found = rk.tune(index, {"b": [0.5, 9]}, QRELS, queries=QUERIES, metric="rr", cv=2)
    assert found.params == {"b": 0.5}


@pytest.mark.parametrize("qrels", [{}, {"q1": {"a": 1}}])
def test_tuning_needs_queries_to_choose_on_and_others_to_test_on(index, qrels):
    with pytest.raises(ValueError, match=f"tune needs at least 2 scored queries, .* got {len(qrels)}"):
        rk.tune(index, {"b": [0.5, 1.0]}, qrels, queries={"q1": "fox"}, metric="rr")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"cv": 1}, "at least 2"),
        ({"cv": 5}, "at most the number of queries, 4"),
        ({"cv": {"q1": 0}}, "cv lacks 3 queries"),
        ({"cv": dict.fromkeys(QUERIES, 0)}, "at least two folds"),
        ({"metric": ["rr", "ap"]}, "one metric"),
        ({"over": "retrieved"}, "same queries"),
        ({"space": "weight"}, "'weights'"),
    ],
)
def test_bad_input_to_tune_says_what_to_do(index, change, message):
    call = {"space": {"b": [0, 1]}, "metric": "rr", "cv": 2, "queries": QUERIES} | change
    with pytest.raises(ValueError, match=message):
        rk.tune(index, call.pop("space"), QRELS, **call)


@pytest.mark.filterwarnings("ignore::ragkit.RetrievalWarning")
@settings(max_examples=20)
@given(st.lists(st.lists(st.integers(0, 1), min_size=6, max_size=6), min_size=1, max_size=4))
def test_tuned_is_never_below_held_out_of_one_setting_and_scores_add_up(values):
    retriever, qrels = lookup(values)
    found = rk.tune(retriever, {"s": list(range(len(values)))}, qrels, metric="rr", cv=3)
    assert found.tuned == max(np.mean(v) for v in values)
    assert found.held_out == pytest.approx((found.folds["held_out"] * found.folds["queries"]).sum() / 6)
    assert found.settings["chosen"].sum() == 3 and json.dumps(found.params)


def test_weights_are_tuned_along_the_exact_axis(index):
    runs = {
        "x": index.search(QUERIES),
        "y": {"q1": ["c", "e", "a"], "q2": ["a", "b"], "q3": ["d", "e"], "q4": ["c"]},
    }
    found = rk.tune(runs, "weights", QRELS, metric="rr", cv=2)
    brute = [
        rk.evaluate(rk.fuse(runs, weights={"x": w, "y": 1 - w}), QRELS, metrics="rr")["value"].mean()
        for w in np.linspace(0.005, 0.995, 67)
    ]
    assert found.tuned == pytest.approx(max(brute))
    again = rk.evaluate(rk.fuse(runs, **found.params), QRELS, metrics="rr")["value"].mean()
    assert again == pytest.approx(found.tuned)
    with pytest.raises(ValueError, match="two runs"):
        rk.tune(runs | {"z": runs["x"]}, {"weights": "exact"}, QRELS, metric="rr", cv=2)
