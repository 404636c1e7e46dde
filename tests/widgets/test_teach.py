"""Teaching panels: each keeps the contract, and each shows its one idea rightly."""

import gzip
import re
from functools import partial

import numpy as np
import pandas as pd
import pytest

import ragkit as rk
from ragkit.similarity import cosine_similarity
from ragkit.widgets import (
    html,
    judge,
    similarity_lab,
    tune_bm25,
    tune_chunks,
    tune_fusion,
    tune_mmr,
    tune_tokens,
)
from ragkit.widgets.curve import best_stretch, mean_curve
from ragkit.widgets.lifetime import parts
from ragkit.widgets.tips import Tip

DOCS = pd.DataFrame(
    {
        "doc_id": ["crane", "tower", "mint", "coin", "tea", "wind", "marsh", "evil"],
        "title": ["Crane", "Tower", "Mint", "Coin", "Tea", "Wind", "Marsh", "<i>Evil</i>"],
        "text": [
            "The crane dances in the marsh before the crane flies south.",
            "A tower crane lifts steel; the wind speed limit of the crane is posted below. Read it twice.",
            "Mint coins and mint leaves share a word.",
            "A coin is struck at the royal mint from a blank of nickel.",
            "Tea with mint leaves is sweet.",
            "Wind speed is measured in knots by ships.",
            "A marsh is flooded ground. Grey birds nest there. Frogs call at night.",
            "A <script>alert('crane')</script> tag & crane wind must never run.",
        ],
    }
)
QUERIES = pd.DataFrame({"query_id": ["q1", "q2"], "text": ["crane wind", "mint leaves"]})
QRELS = pd.DataFrame(
    {"query_id": ["q1", "q1", "q2"], "doc_id": ["tower", "wind", "tea"], "relevance": [3, 1, 2]}
)
WORDS = ["crane", "wind", "mint", "marsh", "coin"]
SPANS = pd.DataFrame({"query_id": "q", "doc_id": "marsh", "start": [0, 20], "end": [26, 60]})


def embed(texts):
    return np.array([[t.casefold().count(w) + 0.1 * n for n, w in enumerate(WORDS)] for t in texts])


INDEX = rk.KeywordIndex(DOCS)
STORE = rk.VectorStore(DOCS, embed=embed)
RUNS = {"keyword": INDEX.search(QUERIES), "vector": STORE.search(QUERIES)}

# How each panel is opened, what to move, and the names that its code needs.
PANELS = {
    "tune_bm25": (
        lambda **k: tune_bm25(INDEX, QUERIES, **k),
        {"k1": 0.3, "b": 0.9, "variant": "bm25l", "query": "q2", "top_k": 2},
        {"index": INDEX},
    ),
    "tune_fusion": (
        lambda **k: tune_fusion(RUNS, DOCS, QRELS, queries=QUERIES, **k),
        {"weight": 0.2, "method": "linear", "normalize": "zscore", "missing": "list_min", "top_k": 4},
        {"runs": RUNS},
    ),
    "tune_mmr": (
        lambda **k: tune_mmr(RUNS["vector"], STORE, DOCS, QRELS, queries=QUERIES, **({"top_k": 4} | k)),
        {"lambda_": 0.15, "top_k": 3, "fetch_k": 6, "query": "q2"},
        {"run": RUNS["vector"], "vectors": STORE},
    ),
    "tune_chunks": (
        lambda **k: tune_chunks(DOCS, SPANS, **({"doc_id": "marsh", "size": 60} | k)),
        {"method": "fixed", "size": 40, "overlap": 10, "doc_id": "tower"},
        {"docs": DOCS, "spans": SPANS},
    ),
    "tune_tokens": (
        lambda **k: tune_tokens(DOCS, QUERIES, **k),
        {
            "text": "The <b>Crane</b> & a wind",
            "stop_words": "None",
            "min_length": 2,
            "extra_stop_words": "wind",
        },
        {},
    ),
    "similarity_lab": (
        lambda **k: similarity_lab(embed=embed, **k),
        {"sentences": "crane wind\nmint coin\n<b>crane</b>"},
        {"embed": embed},
    ),
    "judge": (lambda **k: judge(RUNS, DOCS, queries=QUERIES, **k), {"query": "q2"}, {}),
}


@pytest.fixture(params=PANELS)
def opened(request):
    make, moves, names = PANELS[request.param]
    panel = make()
    yield panel, moves, names
    panel.close()


def live_widgets():
    from ipywidgets.widgets import widget

    return set(widget._instances)


# --- the contract -----------------------------------------------------------------------------------------


def test_every_move_succeeds_and_changes_the_screen(opened):
    panel, moves, _ = opened
    for name, value in moves.items():
        before = dict(panel._views)
        panel.controls[name].value = value
        assert panel.error is None, name
        assert panel._views != before, name


def test_the_code_gives_the_value(opened):
    panel, moves, names = opened
    panel.set(**moves)
    scope = dict(names)
    exec(panel.code(setup=""), scope)
    pd.testing.assert_frame_equal(pd.DataFrame(scope["value"]), panel.value)
    assert panel.code().startswith("import ragkit as rk\n\n# Needs ")


@pytest.mark.parametrize(
    ("make", "names"),
    [
        (
            partial(tune_mmr, top_k=1),
            {"run": {"q": {"a": 1.0, "b": 0.5}}, "vectors": {"a": [1, 0], "b": [0, 1]}},
        ),
        (partial(tune_mmr, top_k=1), {"run": {1: {7: 1.0, 8: 0.5}}, "vectors": {7: [1, 0], 8: [0, 1]}}),
        (tune_fusion, {"runs": {"x": {"q": {"a": 2.0, "b": 1.0}}, "y": {"q": ["b", "a"]}}}),
        (tune_chunks, {"docs": {1: "A marsh is flooded ground. Grey birds nest there."}}),
    ],
)
def test_the_code_runs_on_what_the_panel_was_opened_on_whatever_its_form(make, names):
    panel = make(*names.values())
    scope = dict(names)
    exec(panel.code(), scope)
    pd.testing.assert_frame_equal(scope["value"], panel.value)
    panel.close()


def test_the_state_comes_back_from_params(opened):
    panel, moves, _ = opened
    panel.set(**moves)
    again = PANELS[panel.name][0](**panel.params)
    pd.testing.assert_frame_equal(again.value, panel.value)
    again.close()


def test_a_closed_panel_leaves_no_widget_alive():
    for make, _, _ in PANELS.values():
        before = live_widgets()
        panel = make()
        panel._repr_mimebundle_()
        panel.close()
        assert live_widgets() == before, panel.name


def test_text_is_escaped_and_the_snapshot_is_complete(opened):
    panel, moves, _ = opened
    panel.set(**moves)
    page = panel.snapshot()
    assert "<script>" not in page and "<b>" not in page and "<i>Evil" not in page
    assert page.count("<svg") == len(panel.pictures)
    assert 'role="status"' in page


def test_every_picture_says_what_it_shows(opened):
    panel, _, _ = opened
    for svg in panel.pictures.values():
        assert len(re.search(r'aria-label="([^"]+)"', svg.split("<svg")[-1]).group(1)) > 15


def test_every_control_has_a_tooltip(opened):
    panel, _, _ = opened
    assert all(control.tooltip for control in panel.controls.values())
    inside = {id(child) for tip in parts(panel.widget) if isinstance(tip, Tip) for child in tip.children}
    for control in panel.controls.values():
        # Of the two parts of a number, the handle is a slider, whose tooltip the page shows by itself.
        assert id(getattr(control, "box", control)) in inside


def test_an_error_keeps_the_last_good_result():
    panel = PANELS["tune_mmr"][0]()
    good = panel.value
    panel.controls["fetch_k"].value = 1
    assert "fetch_k" in panel.error and panel.value is good
    panel.controls["fetch_k"].value = 8
    assert panel.error is None
    panel.close()


# --- each idea --------------------------------------------------------------------------------------------


def test_a_tokenizer_that_fails_on_a_query_is_an_error_on_the_screen():
    def tokenizer(text):
        if "gibberish" in text:
            raise ValueError("gibberish cannot be read")
        return text.lower().split()

    panel = tune_bm25(rk.KeywordIndex(DOCS, tokenizer=tokenizer), {"q1": "crane wind", "q2": "gibberish"})
    value, words = panel.value, panel.controls["word"].options
    panel.controls["query"].value = "q2"
    assert panel.error == "ValueError: gibberish cannot be read"
    assert panel.value is value and panel.params["query"] == "q1"
    panel.controls["query"].value = "q1"
    assert panel.error is None and panel.controls["word"].options == words
    panel.close()


def test_bm25_words_add_up_to_the_score():
    panel = tune_bm25(INDEX, QUERIES, k1=0.7, b=0.4)
    words = panel._result.more["words"].groupby("unit")["contribution"].sum()
    scores = panel.value.set_index("doc_id")["score"]
    np.testing.assert_allclose(words.loc[scores.index], scores)
    panel.close()


def test_bm25_points_lie_where_the_explanation_puts_them():
    panel = tune_bm25(INDEX, QUERIES)
    points = panel._points(panel._state, panel._result, "count in the document").set_index("label")
    assert points.loc["Tower", "count in the document"] == 2
    explained = INDEX.explain("crane wind", "tower").set_index("part")
    assert points.loc["Tower", "weight"] == explained.loc["crane", "contribution"]
    panel.close()


def test_bm25_labels_have_ids_all_or_none_and_the_axes_say_what_the_curve_is():
    texts = {"s1": "the dog chases the red fox", "s2": "the dog chases the red fox again", "s3": "hound dog"}
    panel = tune_bm25(rk.KeywordIndex(texts), {"q": "dog"})
    labels = panel._points(panel._state, panel._result, "count in the document")["label"]
    assert sorted(label[:2] for label in labels) == ["s1", "s2", "s3"]
    assert "curve: document of average length" in panel.pictures["saturation"]
    assert "curve: word that stands once" in panel.pictures["length"]
    panel.close()


def test_bm25_overlays_all_variants_on_request():
    panel = tune_bm25(INDEX, QUERIES)
    assert panel._result.more["curves"]["tf"]["variant"].unique().tolist() == ["bm25"]
    panel.controls["others"].value = True
    assert panel._result.more["curves"]["tf"]["variant"].unique().size > 5
    panel.close()


def test_the_fusion_ruler_steps_through_every_list_there_is():
    panel = tune_fusion(RUNS, DOCS, weight=0.001, top_k=3, queries=QUERIES)
    path = panel._result.more["path"]
    seen = [tuple(panel.value["doc_id"])]
    for _ in range(len(path) - 1):
        panel.ruler.step(+1)
        seen.append(tuple(panel.value["doc_id"]))
    assert seen == [tuple(ids) for ids in path["unit_ids"]]
    panel.close()


def test_the_weight_curve_is_the_mean_metric_at_every_weight():
    # q9 is judged and in neither run: it counts 0 in every mean, here as in evaluate.
    qrels = pd.concat([QRELS, pd.DataFrame({"query_id": ["q9"], "doc_id": ["tea"], "relevance": [1]})])
    panel = tune_fusion(RUNS, DOCS, qrels, queries=QUERIES)
    curve = mean_curve(panel._result.more["means"], "ndcg@10")
    # At 0.5 itself mirrored ranks tie, and the ids decide: the curve jumps there.
    for weight in (0.05, 0.33, 0.49, 0.51, 0.77, 0.97):
        fused = rk.fuse(RUNS, weights={"keyword": weight, "vector": 1 - weight})
        expected = rk.evaluate(fused, qrels, metrics="ndcg@10")["value"].mean()
        held = curve[curve["weight"] <= weight].iloc[-1]["mean ndcg@10"]
        assert held == pytest.approx(expected)
    best = best_stretch(panel._result.more["means"])
    assert best["value"] == pytest.approx(curve["mean ndcg@10"].max())
    panel.close()


def test_the_fusion_table_calls_documents_documents_and_sets_numbers_right():
    panel = tune_fusion(RUNS, DOCS, queries=QUERIES)
    head = panel._views["table"].split("<tbody>")[0]
    assert '<th scope="col">document</th>' in head and "doc id" not in head
    assert '<th scope="col" class=num>keyword rank</th>' in head
    assert "different order" in panel._message.value and "forms" not in panel._message.value
    panel.close()


def test_fusion_needs_two_runs():
    with pytest.raises(ValueError, match="exactly two runs"):
        tune_fusion({"keyword": RUNS["keyword"]})


def test_the_mmr_board_picks_its_first_line_and_adds_up():
    panel = tune_mmr(RUNS["vector"], STORE, DOCS, queries=QUERIES, lambda_=0.4, top_k=4)
    for step in range(1, 5):
        panel.controls["step"].value = step
        board = panel._result.more["board"]
        picked = panel.value[panel.value["rank"] == step].iloc[0]
        assert board["unit"].iloc[0] == picked["doc_id"]
        assert board["score"].iloc[0] == pytest.approx(picked["score"])
        assert board["penalty"].iloc[0] == pytest.approx(0.6 * picked["max_similarity"])
        np.testing.assert_allclose(board["score"], board["relevance"] - board["penalty"])
        assert board["score"].iloc[0] == pytest.approx(board["score"].max())
        if step > 1:
            assert board["because"].iloc[0] == picked["nearest_selected"]
    panel.close()


def test_picks_are_measured_at_their_number():
    panel = tune_mmr(RUNS["vector"], STORE, DOCS, QRELS, queries=QUERIES, top_k=4)
    assert "ndcg@4 " in panel._message.value
    panel.controls["top_k"].value = 2
    mine = rk.evaluate(panel.value, QRELS[QRELS["query_id"] == "q1"], metrics="ndcg@2")["value"].iloc[0]
    assert f"ndcg@2 {mine:.3f}" in panel._message.value
    panel.close()


def test_the_mmr_steps_stop_at_both_ends():
    panel = tune_mmr(RUNS["vector"], STORE, DOCS, top_k=3)
    panel.step(-1)
    assert panel.controls["step"].value == 1
    panel.step(+9)
    assert panel.controls["step"].value == 3
    panel.close()


def test_chunks_are_those_of_chunk_and_whole_answers_are_counted():
    panel = tune_chunks(DOCS, SPANS, doc_id="marsh", size=45, overlap=0, beside="fixed")
    one = DOCS[DOCS["doc_id"] == "marsh"].reset_index(drop=True)
    pd.testing.assert_frame_equal(panel.value, rk.chunk(one, method="sentence", size=45, overlap=0))
    whole = sum(
        any((panel.value["start"] <= s) & (panel.value["end"] >= e))
        for s, e in zip(SPANS["start"], SPANS["end"])
    )
    assert f"{whole} of 2" in panel._views["report"] and "fixed" in panel._views["report"]
    panel.close()


MARSH = pd.DataFrame({"doc_id": ["marsh"], "text": ["One two. Three four. Five."]})
GOLD = pd.DataFrame({"query_id": ["q"], "doc_id": ["marsh"], "start": [4], "end": [14]})  # "two. Three"


def means_of(panel, system):
    rows = panel.scores[panel.scores["system"] == system]
    return rows.groupby("metric", sort=False)["value"].mean().round(6).to_dict()


def test_chunks_are_scored_as_if_all_that_touch_gold_were_found():
    panel = tune_chunks(MARSH, GOLD, method="sentence", size=12, overlap=0, beside=["fixed"])
    assert panel.value["text"].tolist() == ["One two.", "Three four.", "Five."]
    # Of the 10 characters of gold "One two." has 4 and "Three four." 5; the blank is in neither. 8 + 11 = 19.
    assert means_of(panel, "sentence") == {
        "span_recall": 0.9, "span_precision": round(9 / 19, 6), "span_iou": 0.45, "precision_omega": 0.45,
    }  # fmt: skip
    # "One two. Thr" and "ee four. Fiv" hold all 10, in 24.
    omega = round(10 / 24, 6)
    expected = {"span_recall": 1.0, "span_precision": omega, "span_iou": omega, "precision_omega": omega}
    assert means_of(panel, "fixed") == expected
    assert "if every chunk that touches gold were found" in panel._views["scores"]
    assert '<td class="num">0.900</td>' in panel._views["scores"]
    panel.close()


def test_chunks_that_are_searched_are_scored_live_for_every_method_on_show():
    queries = {"q": "birds nest"}
    panel = tune_chunks(DOCS, SPANS, queries=queries, size=30, beside=["fixed", "seed"], top_k=2)
    for size, top_k in ((30, 2), (60, 2), (60, 1)):
        panel.set(size=size, top_k=top_k)
        for method in ("sentence", "fixed", "seed"):
            chunks = rk.chunk(DOCS, method=method, size=size)
            run = rk.KeywordIndex(chunks).search(queries, top_k=top_k)
            mine = panel.scores[panel.scores["system"] == method].drop(columns="system")
            pd.testing.assert_frame_equal(
                mine.reset_index(drop=True), rk.score_chunks(run, SPANS, chunks=chunks)
            )
            for mean in mine["value"]:
                assert f"{mean:.3f}" in panel._views["scores"]
        names = {"docs": DOCS, "spans": SPANS, "queries": queries}
        exec(panel.code(setup=""), names)
        assert {m: t["value"].tolist() for m, t in names["scores"].items()} == {
            m: panel.scores.loc[panel.scores["system"] == m, "value"].tolist() for m in names["scores"]
        }
    panel.close()


def test_chunks_are_searched_by_the_retriever_that_is_given():
    made = []

    def retriever(chunks):
        made.append(len(chunks))
        return rk.VectorStore(chunks, embed=embed)

    panel = tune_chunks(DOCS, SPANS, queries={"q": "marsh"}, retriever=retriever, size=30, top_k=1)
    chunks = rk.chunk(DOCS, size=30)
    run = rk.VectorStore(chunks, embed=embed).search({"q": "marsh"}, top_k=1)
    assert panel.scores["value"].tolist() == rk.score_chunks(run, SPANS, chunks=chunks)["value"].tolist()
    panel.controls["doc_id"].value = "tower"  # another document to look at is no other way of chunking
    assert made == [len(chunks)]
    assert "retriever(chunks).search(queries, top_k=1)" in panel.code() and "`retriever`" in panel.code()
    panel.close()


def test_without_gold_nothing_is_scored():
    panel = tune_chunks(DOCS, beside="fixed")
    assert panel.scores.columns.tolist() == ["system", "query_id", "metric", "value"]
    assert len(panel.scores) == 0 and "scores" not in panel._views and "score" not in panel.code()
    panel.close()


def test_tokens_say_why_a_word_was_dropped_and_the_ranking_follows():
    panel = tune_tokens(DOCS, text="The Crane of wind", extra_stop_words="wind")
    assert "stop word" in panel._views["words"] and "line-through" in panel._views["words"]
    tokenizer = rk.Tokenizer(extra_stop_words=["wind"])
    pd.testing.assert_frame_equal(panel.value, tokenizer.explain("The Crane of wind"))
    expected = rk.KeywordIndex(DOCS, tokenizer=tokenizer).search("The Crane of wind", top_k=8)
    assert panel._result.more["runs"]["this"]["doc_id"].tolist() == expected["doc_id"].tolist()
    assert panel.tokenizer("wind crane") == ["crane"]
    panel.close()


def test_columns_of_yes_and_no_stand_left_with_their_heads():
    table = html.table(pd.DataFrame({"word": ["a"], "kept": [True], "length": [1]}))
    assert '<th scope="col">kept</th>' in table and "<td>yes</td>" in table
    assert '<th scope="col" class=num>length</th>' in table


def test_a_table_leaves_out_what_the_row_above_has_said():
    frame = pd.DataFrame({"rank": [1, 1, 2], "document": ["a", "a", "a"], "word": ["x", "x", "x"]})
    rows = html.table(frame, once=["rank", "document"]).split("<tbody>")[1].split("</tr>")
    assert "<td></td><td></td><td>x</td>" in rows[1]
    assert '<td class="num">2</td><td>a</td><td>x</td>' in rows[2]


def test_a_stemmer_that_is_given_can_be_turned_off():
    panel = tune_tokens(DOCS, text="cranes", stem=lambda w: w.removesuffix("s"))
    assert panel.value["token"].tolist() == ["crane"] and "cranes → crane" in panel._views["words"]
    panel.controls["stem"].value = False
    assert panel.value["token"].tolist() == ["cranes"]
    panel.close()


def test_the_similarity_lab_shows_cosines_and_names_the_nearest_pair():
    panel = similarity_lab(["crane", "crane crane", "mint"], embed)
    vectors = embed(["crane", "crane crane", "mint"])
    np.testing.assert_allclose(panel.value.to_numpy(), cosine_similarity(vectors, vectors))
    assert "nearest are 1 and 2" in panel._message.value
    assert "vectors by embed" in panel._message.value
    panel.controls["sentences"].value = "crane"
    assert "1 sentence; type one more" in panel._message.value
    assert "vector of 5 numbers" in panel._views["vectors"] and "below 0" in panel._views["vectors"]
    panel.controls["sentences"].value = ""
    assert panel.error is None and len(panel.value) == 0
    assert "crane" not in panel.pictures["cosines"] and panel._views["vectors"] == ""
    panel.close()


def test_the_similarity_lab_works_without_an_embedder():
    panel = similarity_lab()
    assert panel.value.shape == (4, 4) and panel.value.iloc[0, 1] > panel.value.iloc[0, 2]
    scope = {}
    exec(panel.code(), scope)
    pd.testing.assert_frame_equal(scope["value"], panel.value)
    panel.close()


def test_the_similarity_lab_says_what_its_space_was_learnt_from():
    panel = similarity_lab("red fox\nblue hen\nwhite owl")
    fitted = "vectors by LSA fitted on these 3 sentences, no two of which share a word"
    assert fitted in panel._message.value
    panel.controls["sentences"].value = "red fox\nred hen"
    assert "share a word" not in panel._message.value
    panel.controls["sentences"].value = "fox"
    assert "vector of 1 number<" in panel._views["vectors"]
    panel.close()


def test_judging_pools_blindly_grades_and_moves_on():
    panel = judge(RUNS, DOCS, queries=QUERIES, depth=3)
    pool = set(panel._pool["q1"])
    best = {d for run in RUNS.values() for d in run[(run["query_id"] == "q1") & (run["rank"] <= 3)]["doc_id"]}
    assert pool == best
    assert not any(name in panel._views["card"] for name in ("keyword", "vector"))
    for n in range(len(pool)):
        panel.grade(n % 4)
    assert set(panel.value["doc_id"]) == pool and f"{len(pool)} of {len(pool)} judged" in panel._message.value
    panel.close()


def test_judging_by_key_and_saving_as_one_goes(tmp_path):
    path = tmp_path / "qrels.tsv"
    panel = judge(RUNS, DOCS, queries=QUERIES, path=path)
    first = panel._pool["q1"][0]
    panel._key.value = "3"
    assert panel._key.value == "" and panel.value.values.tolist() == [["q1", first, 3]]
    saved = rk.read_qrels(path)
    pd.testing.assert_frame_equal(saved, panel.value)
    panel._key.value = "n"
    panel._key.value = "x"
    assert len(panel.value) == 1
    panel.close()
    again = judge(RUNS, DOCS, queries=QUERIES, path=path)
    pd.testing.assert_frame_equal(again.value, saved)
    assert again.controls["place"].value == 2
    again.close()
    assert list(tmp_path.iterdir()) == [path]


def test_a_grade_that_cannot_be_saved_is_not_kept_and_the_screen_says_so(tmp_path):
    folder = tmp_path / "judged"
    folder.mkdir()
    panel = judge(RUNS, DOCS, queries=QUERIES, path=folder / "qrels.tsv")
    folder.rmdir()
    place = panel.controls["place"].value
    with pytest.raises(OSError):
        panel.grade(3)
    panel._key.value = "3"  # who presses a key would see nothing of what is raised
    assert "not saved" in panel.error and 'role="alert"' in panel._message.value
    assert len(panel.value) == 0 and panel.controls["place"].value == place
    folder.mkdir()
    panel._key.value = "3"
    assert panel.error is None and len(panel.value) == 1 and (folder / "qrels.tsv").exists()
    panel.close()


ODD = {"one": {"q 1": {'a "b"': 2.0, "é,;": 1.0}}}  # ids with blanks, commas, quotation marks

ENDINGS = {
    "j.tsv": "query-id\tcorpus-id\tscore\nq1\ttower\t2\n",
    "j.qrels": "q1 0 tower 2\n",
    "j.txt.gz": "q1 0 tower 2\n",
    "j": "q1 0 tower 2\n",
    "j.csv": "query_id,doc_id,relevance\nq1,tower,2\n",
    "j.jsonl": '{"query_id": "q1", "doc_id": "tower", "relevance": 2}\n',
    "j.json": '{"query_id": "q1", "doc_id": "tower", "relevance": 2}\n',
}


@pytest.mark.parametrize("name", ENDINGS)
def test_judgements_are_written_as_the_name_of_the_file_says(name, tmp_path):
    path = tmp_path / name
    panel = judge({"one": {"q1": {"tower": 1.0}}}, DOCS, path=path)
    assert not list(tmp_path.iterdir())  # nothing before the first grade
    panel.grade(2)
    raw = path.read_bytes()
    assert (gzip.decompress(raw) if name.endswith(".gz") else raw).decode() == ENDINGS[name]
    assert list(tmp_path.iterdir()) == [path]
    panel.close()
    again = judge({"one": {"q1": {"tower": 1.0}}}, DOCS, path=path)
    pd.testing.assert_frame_equal(again.value, rk.read_qrels(path))
    assert again.value.values.tolist() == [["q1", "tower", 2]]
    again.close()


@pytest.mark.parametrize("name", ["j.tsv", "j.csv", "j.jsonl"])
def test_ids_of_any_kind_come_back(name, tmp_path):
    panel = judge(ODD, {'a "b"': "x", "é,;": "y"}, path=tmp_path / name)
    panel.grade(3)
    panel.grade(1)
    assert rk.read_qrels(tmp_path / name).values.tolist() == panel.value.values.tolist()
    assert len(panel.value) == 2
    panel.close()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("beir.tsv", "query-id\tcorpus-id\tscore\nq1\ttower\t2\n"),
        ("bare.tsv", "q1\ttower\t2\n"),
        ("tabs.tsv", "query_id\tdoc_id\trelevance\nq1\ttower\t2\n"),
        ("beir.csv", "query-id,corpus-id,score\nq1,tower,2\n"),
        ("trec.txt", "q1 0 tower 2\r\n"),
        ("beir.jsonl", '{"query-id": "q1", "corpus-id": "tower", "score": 2}\n'),
        ("list.json", '[{"query_id": "q1", "doc_id": "tower", "relevance": 2}]'),
        ("none.tsv", ""),
    ],
)
def test_judging_goes_on_with_any_file_that_read_qrels_reads(name, text, tmp_path):
    path = tmp_path / name
    path.write_text(text, newline="")
    before = rk.read_qrels(path)
    panel = judge(RUNS, DOCS, queries=QUERIES, path=path)
    assert panel.value.values.tolist() == before.values.tolist() and path.read_bytes() == text.encode()
    panel.grade(1)
    assert len(panel.value) == len(before) + 1
    assert rk.read_qrels(path).values.tolist() == panel.value.values.tolist()
    panel.close()


def test_what_cannot_be_saved_is_said_when_the_panel_is_opened(tmp_path):
    with pytest.raises(
        FileNotFoundError, match=r"there is no folder '.*none' to save judgements in; make it"
    ):
        judge(RUNS, DOCS, path=tmp_path / "none" / "j.tsv")
    with pytest.raises(ValueError, match="'q 1' holds blanks, which TREC's format cannot hold"):
        judge(ODD, {}, path=tmp_path / "j.qrels")
    with pytest.raises(ValueError, match=r"writes no \.parquet"):
        judge(RUNS, DOCS, path=tmp_path / "j.parquet")
    assert not list(tmp_path.iterdir())


def test_a_file_with_more_than_grades_is_not_written_over(tmp_path):
    for name, text in {
        "who.csv": "query_id,doc_id,relevance,judge\nq1,tower,2,Ann\n",
        "topics.txt": "q1 1 tower 2\nq1 2 tower 0\n",
    }.items():
        path = tmp_path / name
        path.write_text(text)
        with pytest.raises(ValueError, match=rf"{name} holds '(judge|subtopic)' beside the grades"):
            judge(RUNS, DOCS, path=path)
        assert path.read_text() == text
    panel = judge(RUNS, DOCS, rk.read_qrels(path), queries=QUERIES)
    assert panel.value.values.tolist() == [["q1", "tower", 2]]  # the highest grade of its subtopics
    panel.close()


def test_judging_with_given_judgements_asks_only_for_the_rest():
    panel = judge(RUNS, DOCS, QRELS, queries=QUERIES)
    asked = panel._pool["q1"][panel.controls["place"].value - 1]
    assert asked not in set(QRELS[QRELS["query_id"] == "q1"]["doc_id"])
    assert len(panel.value) == len(QRELS)
    panel.close()


def test_a_query_that_is_not_there_is_named():
    with pytest.raises(ValueError, match="unknown query 'q9'"):
        tune_bm25(INDEX, QUERIES, query="q9")
    with pytest.raises(ValueError, match="unknown document 'nope'"):
        tune_chunks(DOCS, doc_id="nope")
