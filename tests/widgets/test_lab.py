"""The lab: what the sliders say is what hybrid.search gives, on the screen, in params and in code."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from ragkit.bm25 import KeywordIndex
from ragkit.frames import best_per_doc
from ragkit.hybrid import HybridSearch, best_weight, weight_path
from ragkit.metrics import evaluate
from ragkit.text import Tokenizer
from ragkit.vectors import VectorStore
from ragkit.widgets import explore
from ragkit.widgets.curve import best_stretch, mean_curve
from ragkit.widgets.results import marked, snippet
from ragkit.widgets.ruler import ruler
from ragkit.widgets.stops import inside

TEXTS = {
    "crane": "The crane dances in the marsh before it flies south in a grey flock.",
    "tower": "A tower crane lifts steel; the wind speed limit of the crane is posted below.",
    "mint": "Mint coins and mint leaves share a word and nothing else.",
    "coin": "A coin is struck at the royal mint from a blank of nickel.",
    "tea": "Tea with mint leaves is sweet and served in glasses.",
    "wind": "Wind speed is measured in knots by ships and in metres by builders.",
    "marsh": "A marsh is flooded ground where grey birds nest and frogs call.",
    "script": "A <script>alert('crane')</script> tag must never run in a notebook.",
}
DOCS = pd.DataFrame(
    {
        "doc_id": list(TEXTS),
        "title": [name.title() for name in TEXTS],
        "text": list(TEXTS.values()),
        "topic": ["bird", "building", "word", "word", "food", "building", "bird", "food"],
    }
)
SETUP = f"""
import pandas as pd
from ragkit.bm25 import KeywordIndex
from ragkit.hybrid import HybridSearch
from ragkit.vectors import VectorStore
docs = pd.DataFrame({DOCS.to_dict("list")!r})
def embed(texts):
    words = ["crane", "wind", "mint", "grey"]
    return [[text.casefold().count(word) + 0.1 * n for n, word in enumerate(words)] for text in texts]
hybrid = HybridSearch(KeywordIndex(docs), VectorStore(docs, embed=embed))
"""
QUERIES = pd.DataFrame({"query_id": ["q1", "q2", "q3"], "text": ["crane wind", "mint", "grey birds"]})
QRELS = pd.DataFrame(
    {
        "query_id": ["q1", "q1", "q2", "q3", "q3"],
        "doc_id": ["tower", "crane", "coin", "marsh", "mint"],
        "relevance": [3, 1, 2, 2, 0],
    }
)


def make_hybrid(docs=DOCS):
    names = {}
    exec(SETUP, names)
    if docs is DOCS:
        return names["hybrid"]
    return HybridSearch(KeywordIndex(docs), VectorStore(docs, embed=names["embed"]))


@pytest.fixture
def hybrid():
    return make_hybrid()


@pytest.fixture
def lab(hybrid):
    panel = explore(hybrid, QUERIES, QRELS, plots=[])  # tests that look at plots switch them on
    yield panel
    panel.close()


MOVES = {
    "top_k": 3, "pool": 4, "threshold": 0.5, "k1": 0.4, "b": 0.1, "variant": "bm25+", "min_score": 0.3,
    "fusion": "linear", "weight": 0.2, "k": 5, "where_topic": "bird",
}  # fmt: skip


# --- what the sliders say ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MOVES)
def test_a_moved_control_gives_what_search_gives(lab, hybrid, name):
    lab.controls[name].value = MOVES[name]
    assert lab.error is None
    pd.testing.assert_frame_equal(lab.value, hybrid.search({"q1": "crane wind"}, **lab.params))
    assert lab.controls[name].value == MOVES[name]


def test_a_slip_in_set_is_answered_with_what_there_is(lab):
    before = lab.params
    with pytest.raises(ValueError, match=r"Did you mean 'weight'\?$"):
        lab.set(weights={"keyword": 0.5, "vector": 0.5})
    with pytest.raises(
        ValueError, match=r"^fusion cannot be 'linaer'; .*'linear'.* Did you mean 'linear'\?$"
    ):
        lab.set(fusion="linaer")
    with pytest.raises(ValueError, match=r"^lambda_ must be in \[0, 1\] "):
        lab.set(diversify=True, lambda_=70)
    assert lab.params == before and not lab.controls["diversify"].value


def test_lambda_is_none_until_mmr_is_on(lab, hybrid):
    lab.set(top_k=3, lambda_=0.2)
    assert lab.params["lambda_"] is None and "mmr_relevance" not in lab.value
    lab.controls["diversify"].value = True
    assert lab.params["lambda_"] == 0.2 and "mmr_relevance" in lab.value
    pd.testing.assert_frame_equal(lab.value, hybrid.search({"q1": "crane wind"}, **lab.params))


def test_the_weight_slider_shares_out_one(lab):
    lab.controls["weight"].value = 0.45
    assert lab.params["weights"] == {"keyword": 0.45, "vector": 0.55}
    lab.controls["weight"].value = 1.0
    assert lab.params["weights"] == {"keyword": 1.0, "vector": 0.0} and lab.error is None


def test_weights_that_do_not_add_up_to_one_get_a_slider_each(hybrid):
    panel = explore(hybrid, QUERIES, weights={"keyword": 1.0, "vector": 2.0})
    assert panel.params["weights"] == {"keyword": 1.0, "vector": 2.0}
    panel.controls["weight_keyword"].value = 0.5
    assert panel.params["weights"] == {"keyword": 0.5, "vector": 2.0}
    panel.close()


def test_the_weight_on_the_slider_is_that_of_best_weight(lab, hybrid):
    # One convention: w is the first run's, here, in weight_path and in best_weight.
    lab._toggles["weights"].value = True
    pool = {name: source.search(QUERIES) for name, source in hybrid.sources.items()}
    best = best_weight(weight_path(pool, QRELS, metrics="ndcg@10"), tolerance=0.01).iloc[0]
    shown = best_stretch(lab._result.means)
    assert shown["weight"] == pytest.approx(best["weight"])
    assert shown["plateau_from"] == pytest.approx(best["plateau_from"])
    assert lab.controls["weight"].description == "weights['keyword']"


def test_the_default_of_a_list_says_what_it_is_with_the_chosen_method(lab):
    def first(name):
        return lab.controls[name].options[0][0]

    assert (first("normalize"), first("missing")) == ("default", "default")
    lab.set(fusion="linear", missing="list_min")
    assert (first("normalize"), first("missing")) == ("default (minmax)", "default (zero)")
    assert lab.params["missing"] == "list_min" and lab.params["normalize"] is None
    lab.controls["fusion"].value = "dbsf"
    assert first("normalize") == "default (dbsf)" and lab.controls["missing"].value == "list_min"


def test_rank_methods_get_no_normaliser_and_keep_the_choice(lab):
    lab.set(fusion="linear", normalize="minmax")
    assert lab.params["normalize"] == "minmax"
    lab.controls["fusion"].value = "rrf"
    assert lab.params["normalize"] is None and lab.error is None
    assert lab.controls["normalize"].disabled and lab.controls["normalize"].value == "minmax"


def test_the_start_is_the_start_of_search_itself(lab, hybrid):
    pd.testing.assert_frame_equal(lab.value, hybrid.search({"q1": "crane wind"}))


def test_every_control_says_what_it_does_and_which_way_it_goes(lab):
    for name, control in lab.controls.items():
        assert control.tooltip and len(control.tooltip) > 20, name
        if hasattr(control, "handle"):
            assert any(word in control.tooltip for word in ("Right", "1:", "1 ")), name


def test_the_controls_are_called_what_the_parameters_are_called(lab):
    shown = {control.description for control in lab.controls.values()}
    assert {"top_k", "pool", "k1", "b", "k", "lambda_", "fetch_k", "fusion", "weights['keyword']"} <= shown


@pytest.mark.parametrize("queries", [None, {"q1": "crane wind"}, QUERIES], ids=["none", "one", "three"])
def test_a_closed_lab_leaves_no_widget_behind(hybrid, queries):
    from ipywidgets.widgets import widget

    before = set(widget._instances)
    explore(hybrid, queries, QRELS, query="q1").close()
    assert set(widget._instances) == before


# --- state ---------------------------------------------------------------------------------------------


def test_params_bring_the_setting_back_and_are_arguments_of_search(lab, hybrid):
    lab.set(top_k=4, k1=0.7, weight=0.6, diversify=True, lambda_=0.3)
    again = explore(hybrid, QUERIES, QRELS, **lab.params)
    assert again.params == lab.params
    pd.testing.assert_frame_equal(again.value, lab.value)
    assert set(hybrid.search(QUERIES, **lab.params)["query_id"]) == {"q1", "q2", "q3"}
    again.close()


def test_state_brings_the_whole_screen_back(lab, hybrid):
    lab.set(query="q3", top_k=2)
    lab._toggles["trade-off"].value = True
    again = explore(hybrid, QUERIES, QRELS, **lab.state)
    assert again.query == "q3" and set(again.pictures) == set(lab.pictures)
    pd.testing.assert_frame_equal(again.value, lab.value)
    again.close()


def test_free_text_is_searched_and_free_text_that_is_a_query_is_that_query(lab):
    lab.controls["text"].value = "frogs"
    assert lab.query == "frogs" and lab.value["doc_id"].iloc[0] == "marsh"
    assert "ndcg" not in lab._message.value
    lab.controls["text"].value = "mint"
    assert set(lab.value["query_id"]) == {"q2"} and "ndcg" in lab._message.value
    lab.controls["text"].value = ""
    assert lab.query == "q1"


def test_free_text_gets_no_grades_of_a_query_that_is_called_by_a_number(hybrid):
    panel = explore(hybrid, ["crane wind", "mint"], {"0": {"marsh": 3}})
    assert panel.query == "0" and panel._result.scores is not None
    panel.controls["text"].value = "frogs"
    assert panel.value["doc_id"].iloc[0] == "marsh" and set(panel.value["query_id"]) == {"2"}
    assert panel._result.scores is None and "✓ 3" not in panel._views["results"]
    panel.close()


def test_previous_and_next_go_round(lab):
    seen = []
    for _ in range(3):
        lab._step(+1)
        seen.append(lab.query)
    assert seen == ["q2", "q3", "q1"]
    lab._step(-1)
    assert lab.query == "q3"


def test_without_queries_there_is_free_text(hybrid):
    panel = explore(hybrid, query="mint tea")
    assert panel.query == "mint tea" and panel.value["doc_id"].iloc[0] == "tea"
    panel.close()
    panel = explore(hybrid)
    assert len(panel.value) == 0 and "no results" in panel._views["results"]
    panel.close()


# --- errors and warnings ----------------------------------------------------------------------------------


def test_an_error_keeps_the_last_good_result(lab):
    lab.controls["diversify"].value = True
    good, params = lab.value, lab.params
    lab.controls["fetch_k"].value = 3
    assert "fetch_k" in lab.error and 'role="alert"' in lab._message.value
    assert lab.value is good and lab.params == params
    lab.controls["top_k"].value = 3
    assert lab.error is None and lab.params["fetch_k"] == 3


def test_a_query_without_a_known_word_says_so(hybrid):
    panel = explore(HybridSearch(KeywordIndex(DOCS)), query="xylophone")
    assert panel.warnings and len(panel.value) == 0
    panel.close()


def test_a_bad_start_raises_like_search(hybrid):
    with pytest.raises(ValueError, match="unknown variant 'bm26'"):
        explore(hybrid, QUERIES, variant="bm26")
    with pytest.raises(ValueError, match="weights must name every source"):
        explore(hybrid, QUERIES, weights={"keyword": 1.0})


def test_what_is_no_hybrid_search_is_told_how_to_become_one(hybrid):
    with pytest.raises(TypeError, match=r"got a KeywordIndex; write rk\.explore\(rk\.HybridSearch\(index\)"):
        explore(hybrid.index, QUERIES)
    with pytest.raises(TypeError, match=r"got a VectorStore; write rk\.explore\(rk\.HybridSearch\(store\)"):
        explore(hybrid.store, QUERIES)
    with pytest.raises(TypeError, match=r"got DataFrame; for documents write .*KeywordIndex\(docs\)"):
        explore(DOCS, QUERIES)


# --- the screen -------------------------------------------------------------------------------------------


def test_document_text_is_escaped_everywhere(lab):
    lab._toggles["ranks"].value = True
    lab.controls["text"].value = "script <b>tag</b>"
    shown = "".join([*lab._views.values(), lab._message.value, *lab.pictures.values(), lab.snapshot()])
    assert "script" in lab.value["doc_id"].tolist()
    assert "<script>" not in shown and "<b>tag" not in shown


def test_matched_words_are_marked(lab):
    assert "<mark>crane</mark>" in lab._views["results"] and "<mark>wind</mark>" in lab._views["results"]


def test_the_bars_are_the_contributions_of_the_ledger(lab):
    first = lab.value.iloc[0]
    label = f"keyword {first['keyword_contribution']:.4f}, vector {first['vector_contribution']:.4f}"
    assert label in lab._views["results"]


def test_grades_and_movement_are_shown(lab):
    assert "✓ 3" in lab._views["results"] and 'title="not judged"' in lab._views["results"]
    lab.controls["weight"].value = 1.0
    assert "▲" in lab._views["results"] or "▼" in lab._views["results"]


def test_metrics_are_those_of_evaluate(lab):
    lab.controls["weight"].value = 0.1
    qrels = QRELS[QRELS["query_id"] == "q1"]
    expected = evaluate(lab.value, qrels, metrics=lab.stages.metrics)["value"].tolist()
    assert lab._result.scores["now"].tolist() == expected


def test_the_systems_of_the_bump_chart_are_the_stages_own_rankings(lab, hybrid):
    lab.set(diversify=True, lambda_=0.3)
    systems = lab._result.systems
    assert list(systems) == ["keyword", "vector", "fused", "mmr"]
    alone = hybrid.index.search({"q1": "crane wind"}, top_k=100)
    found = systems["keyword"].sort_values("rank")["doc_id"].tolist()
    assert found == alone["doc_id"].tolist()


def test_plots_come_and_go_with_their_switches(lab):
    assert set(lab.pictures) == set()
    lab._toggles["ranks"].value = True
    lab._toggles["contributions"].value = True
    lab._toggles["trade-off"].value = True
    assert set(lab.pictures) == {"ranks", "contributions", "trade-off"}
    lab._toggles["ranks"].value = False
    assert set(lab.pictures) == {"contributions", "trade-off"} and lab._boxes["ranks"].value == ""


def test_a_step_that_changes_no_rank_draws_nothing_anew(lab):
    lab._toggles["ranks"].value = True
    draws, svg = lab._charts.pictures["ranks"].draws, lab.pictures["ranks"]
    lab.controls["threshold"].value = 0.01
    assert lab._charts.pictures["ranks"].draws == draws and lab.pictures["ranks"] == svg
    lab.controls["weight"].value = 1.0
    assert lab._charts.pictures["ranks"].draws == draws + 1 and lab.pictures["ranks"] != svg
    lab.controls["query"].value = "q2"
    assert lab._charts.pictures["ranks"].draws == draws + 2


def test_moving_lambda_searches_no_store_again(lab, hybrid, monkeypatch):
    lab.set(diversify=True)
    calls = []
    for store in (hybrid.index, hybrid.store):
        monkeypatch.setattr(type(store), "search", lambda *a, **k: calls.append(1))
    lab.controls["lambda_"].value = 0.9
    lab.controls["weight"].value = 0.35
    assert calls == [] and lab.error is None
    assert lab.params["lambda_"] == 0.9


# --- other shapes -----------------------------------------------------------------------------------------


def test_chunks_are_collapsed_for_the_metrics_alone():
    chunks = DOCS.assign(chunk_id=DOCS["doc_id"] + "#0", start=0, end=DOCS["text"].str.len())
    panel = explore(make_hybrid(chunks), QUERIES, QRELS)
    assert "chunk_id" in panel.value
    qrels = QRELS[QRELS["query_id"] == "q1"]
    expected = evaluate(best_per_doc(panel.value), qrels, metrics=panel.stages.metrics)["value"].tolist()
    assert panel._result.scores["now"].tolist() == expected
    panel.close()


@pytest.mark.parametrize("side", ["keyword", "vector"])
def test_one_store_is_enough(hybrid, side):
    one = HybridSearch(hybrid.index) if side == "keyword" else HybridSearch(None, hybrid.store)
    panel = explore(one, QUERIES, QRELS)
    assert ("k1" in panel.controls) == (side == "keyword") and "weight" not in panel.controls
    assert ("lambda_" in panel.controls) == (side == "vector")
    panel.controls["top_k"].value = 2
    assert len(panel.value) == 2 and panel.error is None
    panel.close()


def test_three_sources_have_three_weights(hybrid):
    titles = KeywordIndex(DOCS.assign(text=DOCS["title"]))
    three = HybridSearch({"keyword": hybrid.index, "title": titles, "vector": hybrid.store})
    panel = explore(three, QUERIES, QRELS)
    assert {"weight_keyword", "weight_title", "weight_vector"} <= set(panel.controls)
    panel.controls["weight_title"].value = 0.4
    assert panel.params["weights"]["title"] == 0.4 and panel.error is None
    panel.close()


def test_an_empty_store_gives_an_empty_lab():
    panel = explore(HybridSearch(KeywordIndex()), {"q": "crane"})
    assert len(panel.value) == 0
    panel.close()


def test_documents_given_beside_the_store_give_the_titles(hybrid):
    panel = explore(hybrid, QUERIES, docs=DOCS.assign(title="T-" + DOCS["doc_id"]))
    assert "T-tower" in panel._views["results"]
    panel.close()


# --- code -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "moves",
    [
        {},
        {"query": "q2", "top_k": 4, "k1": 0.35, "b": 0.2, "variant": "bm25+", "weight": 0.25},
        {
            "fusion": "linear",
            "normalize": "zscore",
            "missing": "list_min",
            "diversify": True,
            "lambda_": 0.15,
        },
        {"text": 'it\'s "mint" \\ tea', "where_topic": "food", "threshold": 0.1, "min_score": 0.05},
    ],
)
def test_the_code_run_in_a_fresh_process_gives_the_value(lab, moves, tmp_path):
    lab.set(**moves)
    assert lab.error is None
    out = tmp_path / "value.pkl"
    program = lab.code(setup=SETUP) + f"value.to_pickle({str(out)!r})\n"
    subprocess.run([sys.executable, "-c", program], check=True)
    pd.testing.assert_frame_equal(pd.read_pickle(out), lab.value)


def test_the_code_says_which_name_it_needs(lab):
    assert lab.code().startswith("# Needs `hybrid`")
    compile(lab.code(), "code", "exec")


def test_the_langchain_program_answers_from_what_the_panel_shows(lab, tmp_path):
    pytest.importorskip("langchain_core", reason="langchain-core is not installed")
    lab.set(top_k=3, weight=0.25, diversify=True, lambda_=0.6, where_topic="building")
    asks = """
from langchain_core.language_models.fake_chat_models import FakeListChatModel
print(make_chain(FakeListChatModel(responses=["a crane [1]"])).invoke("crane wind"))
print(*[doc.id for doc in retriever.invoke("crane wind")])
"""
    program = lab.code(SETUP, target="langchain") + asks
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["a crane [1]", " ".join(lab.value["doc_id"])]


def test_an_unknown_target_lists_the_valid_ones(lab):
    with pytest.raises(ValueError, match=r"choose one of .'ragkit', 'langchain'."):
        lab.code(target="langchian")
    assert lab.code() == lab.code(target="ragkit")


# --- snippets ---------------------------------------------------------------------------------------------


def test_the_snippet_is_where_most_words_match():
    text = "filler words here. " * 40 + "the crane meets the wind. " + "more filler. " * 40
    html = marked(text, {"crane", "wind"}, Tokenizer(), 120)
    assert "<mark>crane</mark>" in html and "<mark>wind</mark>" in html
    assert html.startswith("… ") and html.endswith(" …")


def test_a_short_text_is_shown_whole():
    assert marked("A crane.", {"crane"}, Tokenizer()) == "A <mark>crane</mark>."
    assert snippet("short", []) == (0, 5)


def test_a_tokenizer_without_spans_marks_words_too():
    assert marked("A Crane flies", {"crane"}, lambda t: t.lower().split()) == "A <mark>Crane</mark> flies"


def test_snippets_never_lose_a_character_between_their_ends():
    rng = np.random.default_rng(0)
    for _ in range(50):
        text = " ".join(rng.choice(["crane", "wind", "aa", "b<b", "ç"], 120))
        html = marked(text, {"crane"}, Tokenizer(), 90)
        plain = html.replace("<mark>", "").replace("</mark>", "").replace("&lt;", "<").strip("… ")
        assert plain in text


# --- pins ---------------------------------------------------------------------------------------------------


def test_pinned_settings_are_columns_to_compare_with(lab):
    lab.controls["weight"].value = 0.1
    assert lab.pin() == "A"
    lab.controls["weight"].value = 0.9
    assert lab.pin() == "B"
    lab.set(weight=0.5, against="A")
    assert list(lab._result.scores.columns) == ["metric", "start", "A", "B", "now"]
    assert "rank in B" in lab._views["results"] and "from A" in lab._views["results"]
    assert list(lab.pins) == ["start", "A", "B"] and lab.pins["A"]["weights"]["keyword"] == 0.1


def test_the_comparison_is_that_of_compare_over_all_judged_queries(lab, hybrid):
    from ragkit.experiment import compare

    lab.controls["k1"].value = 0.2
    lab.pin()
    lab.set(fusion="linear", weight=0.2)
    runs = {
        name: hybrid.search(QUERIES, **params) for name, params in (lab.pins | {"now": lab.params}).items()
    }
    expected = compare(runs, QRELS, metrics=lab.stages.metrics, baseline="start")
    found = lab.comparison()
    pd.testing.assert_frame_equal(found[expected.columns.tolist()], expected)
    assert found.loc[found["system"] == "now", "fusion"].unique().tolist() == ["linear"]
    mean = expected[(expected["system"] == "now") & (expected["metric"] == "ndcg@10")]["mean"].iloc[0]
    assert f"{mean:.3f}" in lab._views["means"]


def test_the_code_of_the_pins_gives_the_comparison(lab, hybrid):
    lab.controls["k1"].value = 0.2
    lab.pin()
    lab.controls["weight"].value = 0.3
    names = {"hybrid": hybrid, "queries": QUERIES, "qrels": QRELS}
    exec(lab.code(), names)
    table = lab.comparison()
    pd.testing.assert_frame_equal(names["table"], table[names["table"].columns.tolist()])
    pd.testing.assert_frame_equal(names["value"], lab.value)


def test_clearing_the_pins_compares_with_the_start_again(lab):
    lab.controls["weight"].value = 0.1
    lab.pin()
    lab.set(weight=0.2, against="A")
    lab.clear_pins()
    assert lab.controls["against"].value == "start" and list(lab.pins) == ["start"]
    assert lab.error is None and "from start" in lab._views["results"]


def test_pins_come_back_with_the_state(lab, hybrid):
    lab.controls["weight"].value = 0.1
    lab.pin()
    again = explore(hybrid, QUERIES, QRELS, **lab.state)
    assert again.pins["A"] == lab.pins["A"]
    again.close()
    with pytest.raises(ValueError, match="pins cannot be called"):
        explore(hybrid, QUERIES, pins={"now": lab.params})


def test_what_dropped_out_is_named(lab):
    lab.set(top_k=2)
    lab.set(weight=1.0, min_score=-1.0)
    gone = [d for d in lab._result.others["start"]["doc_id"] if d not in set(lab.value["doc_id"])]
    assert gone and "gone since start: " in lab._views["results"]
    line = lab._views["results"].split("gone since start: ")[1]
    assert all(f'title="{doc}">{doc.title()}</span> (was ' in line for doc in gone)


# --- metrics that read vectors ------------------------------------------------------------------------------

MIXED = ["ild@5", "ndcg@10", "crowding@3", "vendi@4"]


def as_chunks():
    """Two chunks of each document."""
    halves = [DOCS.assign(chunk_id=DOCS["doc_id"] + f"#{n}", text=DOCS["text"].str[50 * n :]) for n in (0, 1)]
    return pd.concat(halves, ignore_index=True).assign(start=0, end=1)


def test_metrics_of_vectors_are_those_of_the_vector_side(hybrid):
    panel = explore(hybrid, QUERIES, QRELS, metrics=MIXED, plots=["weights"])
    panel.controls["weight"].value = 0.1
    qrels = QRELS[QRELS["query_id"] == "q1"]
    expected = evaluate(panel.value, qrels, metrics=MIXED, vectors=hybrid.store)
    shown = panel._result.scores
    assert dict(zip(shown["metric"], shown["now"])) == dict(zip(expected["metric"], expected["value"]))
    assert shown["metric"].tolist() == MIXED and panel.error is None
    # The axis of the weight has the first metric that reads judgements.
    assert "ndcg@10" in panel._result.means and "weights" in panel.pictures
    panel.controls["order"].value = "worst first"
    assert panel.error is None
    panel.close()


@pytest.mark.parametrize("metrics", [MIXED, ["vendi"], ["ndcg@10", "rr"]])
@pytest.mark.parametrize("chunks", [False, True])
def test_means_and_their_code_hold_metrics_of_vectors_and_of_judgements(metrics, chunks):
    hybrid = make_hybrid(as_chunks()) if chunks else make_hybrid()
    panel = explore(hybrid, QUERIES, QRELS, metrics=metrics)
    panel.controls["weight"].value = 0.3
    panel.pin()
    runs = {"start": hybrid.search(QUERIES), "now": hybrid.search(QUERIES, **panel.params)}
    table = panel.comparison()
    for name, run in runs.items():
        for metric in metrics:
            by_vectors = metric not in ("ndcg@10", "rr")
            one = best_per_doc(run) if chunks and not by_vectors else run
            value = evaluate(one, QRELS, metrics=metric, vectors=hybrid.store)["value"].mean()
            row = table[(table["system"] == name) & (table["metric"] == metric)]
            assert row["mean"].item() == pytest.approx(value), (name, metric)
    names = {"hybrid": hybrid, "queries": QUERIES, "qrels": QRELS}
    exec(panel.code(), names)
    pd.testing.assert_frame_equal(names["table"], table[names["table"].columns.tolist()])
    panel.close()


def test_metrics_of_vectors_need_no_judgements(hybrid):
    panel = explore(hybrid, QUERIES, metrics=["ndcg@10", "ild@5"])
    assert panel._result.scores["metric"].tolist() == ["ild@5"]
    for text in ("frogs", "mint tea"):  # of one id, and not of one score
        panel.controls["text"].value = text
        expected = evaluate(panel.value, metrics="ild@5", vectors=hybrid.store)["value"].tolist()
        assert panel._result.scores["now"].tolist() == expected
    assert "ild@5" in panel._message.value and panel.error is None
    panel.close()


def test_metrics_of_vectors_without_a_vector_side_are_refused_at_the_door(hybrid):
    with pytest.raises(ValueError, match=r"metric 'ild@5' reads vectors, and this search has no VectorStore"):
        explore(HybridSearch(hybrid.index), QUERIES, metrics=["ild@5"])


def test_a_lab_may_measure_nothing(hybrid):
    panel = explore(hybrid, QUERIES, QRELS, metrics=[], plots=["weights"])
    panel.controls["order"].value = "worst first"
    assert panel.error is None and panel._result.scores is None and panel._result.means is None
    panel.close()


# --- order of queries ---------------------------------------------------------------------------------------


def test_worst_first_sorts_by_the_first_metric_in_this_setting(lab, hybrid):
    lab.set(weight=1.0)
    lab.controls["order"].value = "worst first"
    scores = evaluate(hybrid.search(QUERIES, **lab.params), QRELS, metrics="ndcg@10")
    worst = scores.sort_values("value", kind="stable")["query_id"].tolist()
    assert [value for _, value in lab.controls["query"].options] == worst
    assert lab.query == worst[0]
    lab.controls["order"].value = "as given"
    assert [value for _, value in lab.controls["query"].options] == ["q1", "q2", "q3"]


# --- ruler --------------------------------------------------------------------------------------------------


def test_the_ruler_steps_to_every_selection_that_mmr_can_make(lab, hybrid):
    lab.set(top_k=3, diversify=True, lambda_=0.0)
    path = lab._result.path
    seen = [tuple(lab.value["doc_id"])]
    for _ in range(len(path) - 1):
        lab._rulers["lambda_"].step(+1)
        seen.append(tuple(lab.value["doc_id"]))
    assert seen == [tuple(ids) for ids in path["unit_ids"]] and len(set(seen)) == len(seen) > 2
    lab._rulers["lambda_"].step(+1)
    assert tuple(lab.value["doc_id"]) == seen[-1]


def test_a_ruler_marks_the_edges_and_shades_the_stretch_where_nothing_changes():
    html = ruler([0.0, 0.25, 0.5], 0.3)
    assert html.count("border-left:1px solid") == 2
    assert "the result is the same from 0.25 to 0.5" in html and "left:25.000%;width:25.000%" in html


@pytest.mark.parametrize(
    ("left", "right", "number"),
    [(0.0, 1.0, 0.5), (0.31, 0.34, 0.33), (0.501, 0.5023, 0.502), (0.2, 0.9, 0.6)],
)
def test_a_ruler_goes_to_a_number_that_a_person_would_type(left, right, number):
    assert inside(left, right) == number


@pytest.mark.parametrize("settings", [{}, {"fusion": "linear"}, {"fusion": "linear", "normalize": "minmax"}])
def test_the_weight_ruler_steps_to_every_list_that_fusion_can_make(lab, settings):
    lab.set(top_k=3, weight=0.001, **settings)
    path = lab._result.weights
    seen = [tuple(lab.value["doc_id"])]
    for _ in range(len(path) - 1):
        lab._rulers["weight"].step(+1)
        seen.append(tuple(lab.value["doc_id"]))
    assert seen == [tuple(ids) for ids in path["unit_ids"]] and len(seen) > 1


def test_the_weight_curve_is_the_mean_over_all_queries(lab, hybrid):
    lab._toggles["weights"].value = True
    assert "weights" in lab.pictures
    curve = mean_curve(lab._result.means, "ndcg@10")
    for weight in (0.03, 0.4, 0.61, 0.98):
        run = hybrid.search(QUERIES, weights={"keyword": weight, "vector": 1 - weight})
        expected = evaluate(run, QRELS, metrics="ndcg@10")["value"].mean()
        held = curve[curve["weight"] <= weight].iloc[-1]["mean ndcg@10"]
        assert held == pytest.approx(expected)


@pytest.mark.parametrize("fusion", ["linear", "sum", "mnz", "anz", "dbsf", "tm2c2", "rrf", "borda", "isr"])
def test_a_stretch_of_the_weight_ruler_holds_the_list_that_the_search_gives_there(lab, hybrid, fusion):
    for missing in [None] if fusion in ("rrf", "borda", "isr") else [None, "ignore", "list_min", "score"]:
        lab.set(fusion=fusion, missing=missing or "None", top_k=5, pool=3)
        assert lab.error is None, missing
        for row in lab._result.weights.itertuples():
            w = (row.weight_from + row.weight_to) / 2
            setting = lab.params | {"weights": {"keyword": w, "vector": 1 - w}}
            assert row.unit_ids == tuple(hybrid.search({"q1": "crane wind"}, **setting)["doc_id"]), missing


def test_the_weight_curve_knows_the_exact_scores_of_what_a_side_did_not_retrieve(lab, hybrid):
    lab.set(fusion="linear", missing="score", pool=2)
    lab._toggles["weights"].value = True
    assert lab.error is None
    curve = mean_curve(lab._result.means, "ndcg@10")
    for weight in (0.05, 0.35, 0.77):
        setting = lab.params | {"weights": {"keyword": weight, "vector": 1 - weight}}
        expected = evaluate(hybrid.search(QUERIES, **setting), QRELS, metrics="ndcg@10")["value"].mean()
        assert curve[curve["weight"] <= weight].iloc[-1]["mean ndcg@10"] == pytest.approx(expected)


def test_methods_that_are_not_linear_have_no_weight_ruler(lab):
    lab.controls["fusion"].value = "max"
    assert lab.error is None and lab._rulers["weight"].widget.layout.visibility == "hidden"


@pytest.mark.parametrize(
    "given", [{"pool": None}, {"k": 0.5}, {"top_k": 80}, {"fetch_k": None, "lambda_": 0.5, "top_k": 3}]
)
def test_any_setting_of_search_can_be_the_start(hybrid, given):
    panel = explore(hybrid, QUERIES, plots=[], **given)
    expected = hybrid.search({"q1": "crane wind"}, **({"lambda_": None} | given))
    assert panel.value["doc_id"].tolist() == expected["doc_id"].tolist()
    panel.close()


def test_an_index_over_fields_keeps_its_b_for_each():
    index = KeywordIndex(DOCS, fields={"title": 2.0, "text": 1.0})
    panel = explore(HybridSearch(index), QUERIES, plots=[])
    assert panel.error is None and len(panel.value)
    panel.close()
