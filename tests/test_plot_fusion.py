"""Plots of the weight axis and of overlaps: they draw what the frames hold."""

import matplotlib
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

import ragkit as rk
from ragkit import plot

matplotlib.use("Agg")

RUNS = {"keyword": {"q": ["a", "b"]}, "vector": {"q": ["b", "c"]}}
PATH = rk.weight_path(RUNS, {"q": {"a": 1}}, metrics=["rr", "ndcg@1"])


@pytest.fixture
def ax():
    return Figure(figsize=(7, 4), layout="constrained").subplots()


def test_the_steps_are_those_of_the_path(ax):
    plot.weight_path(PATH, weight=0.3, ax=ax)
    steps = next(p for p in ax.patches if isinstance(p, matplotlib.patches.StepPatch))
    assert steps.get_data().edges.tolist() == pytest.approx([0, 61 / 123, 62 / 63, 1])
    assert steps.get_data().values.tolist() == pytest.approx([1 / 3, 1 / 2, 1])
    assert ax.get_xlabel() == "weight of keyword (the rest has 1 - w)" and ax.get_ylabel() == "mean rr"
    assert "best 1.000 for w in [0.984, 1.000]" in [t.get_text() for t in ax.get_legend().get_texts()]


def test_the_plateau_widens_with_the_tolerance(ax):
    plot.weight_path(PATH, tolerance=0.5, ax=ax)
    spans = [p.get_x() for p in ax.patches if isinstance(p, matplotlib.patches.Rectangle)]
    assert spans == [pytest.approx(61 / 123)]


def test_a_metric_can_be_named_and_a_wrong_one_is_refused(ax):
    assert plot.weight_path(PATH, metric="ndcg@1", ax=ax).get_ylabel() == "mean ndcg@1"
    with pytest.raises(ValueError, match="metric of the path"):
        plot.weight_path(PATH, metric="ap", ax=ax)
    with pytest.raises(ValueError, match="qrels"):
        plot.weight_path(rk.weight_path(RUNS), ax=ax)


def test_queries_without_judgements_and_empty_frames_are_said(ax):
    with pytest.warns(rk.RetrievalWarning, match="no query_id of the runs"):
        path = rk.weight_path(RUNS, {"other": {"a": 1}}, metrics="rr", over="retrieved")
    assert "no judged queries" in [t.get_text() for t in plot.weight_path(path, ax=ax).texts]
    ax.clear()
    assert "no results" in [t.get_text() for t in plot.overlap({"a": {}, "b": {}}, ax=ax).texts]


def test_overlap_has_one_bar_per_combination_and_names_the_runs(ax):
    runs = RUNS | {"title": {"q": ["b"], "p": ["z"]}}
    plot.overlap(runs, ax=ax)
    table = rk.run_overlap(runs)
    assert [bar.get_height() for bar in ax.patches] == table["units"].tolist()
    assert {"keyword", "vector", "title"} <= {t.get_text() for t in ax.texts}
    with pytest.raises(ValueError, match="most"):
        plot.overlap(runs, most=-1, ax=ax)


def test_the_triangle_marks_its_best_point(ax):
    corners = pd.DataFrame(np.eye(3), columns=["x", "y", "z"])
    plot.weight_simplex(corners.assign(rr=[0.2, 0.9, 0.3]), ax=ax)
    ring = next(line for line in ax.lines if line.get_marker() == "o")
    assert ring.get_xydata().tolist() == [[1.0, 0.0]]  # y is the right-hand corner
    with pytest.raises(ValueError, match="three weight columns"):
        plot.weight_simplex(corners.drop(columns="x").assign(rr=0.1), ax=ax)
