"""Plots of evaluation: what is drawn is what the frame says."""

import matplotlib

matplotlib.use("Agg")

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt

import ragkit as rk
from ragkit import plot


@pytest.fixture(autouse=True)
def close():
    yield
    plt.close("all")


def test_per_query_bars_are_the_changes_from_gain_to_loss():
    table = pd.DataFrame(
        {"query_id": ["p", "q", "r"], "text": ["one", "", "three"], "a": 0.5, "b": [0.1, 0.9, 0.5]}
    )
    table["delta_b"] = table["b"] - table["a"]
    ax = plot.per_query(table)
    by_place = sorted(ax.patches, key=lambda bar: bar.get_y())
    assert [round(bar.get_width(), 3) for bar in by_place] == [0.4, 0.0, -0.4]
    assert [t.get_text() for t in ax.get_yticklabels()] == ["q", "three", "one"]
    many = pd.DataFrame({"query_id": [f"q{n}" for n in range(9)], "delta_b": np.linspace(-1, 1, 9)})
    ax = plot.per_query(many, most=4)
    assert len(ax.patches) == 4 and "5 queries in the middle" in ax.get_xlabel()
    with pytest.raises(ValueError, match="at least two systems"):
        plot.per_query(pd.DataFrame({"query_id": ["q"], "a": [1.0]}))


def sweep_table(**parameters):
    rows = pd.DataFrame(parameters)
    return rows.assign(setting=range(len(rows)), query_id="q", metric="rr", seconds=0.0, error=None)


def test_sweep_over_one_parameter_is_a_line_with_its_best():
    ax = plot.sweep(sweep_table(b=[0.0, 0.5, 1.0], value=[0.2, 0.6, 0.4]))
    assert ax.lines[0].get_xydata().tolist() == [[0.0, 0.2], [0.5, 0.6], [1.0, 0.4]]
    assert ax.get_xlabel() == "b" and ax.get_ylabel() == "rr"
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["best: 0.5"]
    words = plot.sweep(sweep_table(variant=["atire", "bm25"], value=[0.2, 0.6]))
    assert [t.get_text() for t in words.get_xticklabels()] == ["atire", "bm25"]


def test_sweep_over_two_parameters_is_a_heat_map():
    ax = plot.sweep(sweep_table(k1=[1, 1, 2, 2], b=[0.0, 1.0, 0.0, 1.0], value=[0.1, 0.2, 0.3, 0.4]))
    assert ax.images[0].get_array().tolist() == [[0.1, 0.3], [0.2, 0.4]]
    assert ax.lines[0].get_xydata().tolist() == [[1, 1]]  # the best: k1 = 2, b = 1


def test_sweep_by_a_parameter_draws_a_line_for_each_of_its_values():
    table = sweep_table(
        method=["fixed", "fixed", "sentence", "sentence"],
        size=[400, 200, 200, 400],
        value=[0.1, 0.2, 0.4, 0.3],
    )
    ax = plot.sweep(table, by="method")
    assert not ax.images and ax.get_xlabel() == "size" and ax.get_legend().get_title().get_text() == "method"
    assert [line.get_xydata().tolist() for line in ax.lines] == [
        [[200, 0.2], [400, 0.1]],
        [[200, 0.4], [400, 0.3]],
        [[200, 0.4]],  # the best
    ]
    assert ax.lines[2].get_label() == "best: sentence, 200"
    words = plot.sweep(table, x="method", by="size")
    assert [t.get_text() for t in words.get_xticklabels()] == ["fixed", "sentence"]
    with pytest.raises(ValueError, match="unknown by"):
        plot.sweep(table, by="methods")
    with pytest.raises(ValueError, match="one of them"):
        plot.sweep(table, y="size", by="method")


def test_two_weights_that_add_up_are_one_parameter():
    table = sweep_table(**{"weights.x": [0.1, 0.9], "weights.y": [0.9, 0.1], "value": [0.5, 0.7]})
    assert not plot.sweep(table).images


def test_sweep_of_a_tuning_marks_the_tie_zone():
    same = dict.fromkeys(["delta", "delta_low", "delta_high", "p", "chosen"], 0.0)
    settings = pd.DataFrame({"setting": [0, 1, 2], "b": [0.0, 0.5, 1.0], "mean": [0.1, 0.5, 0.6]})
    settings = settings.assign(tie=[False, True, True], **same)
    ax = plot.sweep(settings)
    assert ax.lines[1].get_xdata().tolist() == [0.5, 1.0]


def test_bad_choices_say_what_there_is():
    table = sweep_table(b=[0.0, 1.0], value=[0.1, 0.2])
    with pytest.raises(ValueError, match="unknown x 'k1'"):
        plot.sweep(table, x="k1")
    with pytest.raises(ValueError, match="unknown metric"):
        plot.sweep(table, metric="ap")
    with pytest.raises(ValueError, match="at least one parameter"):
        plot.sweep(sweep_table(value=[0.1, 0.2]))


def test_precision_recall_draws_a_line_per_system():
    runs = {"one": {"q": ["a", "x", "b"]}, "two": {"q": ["x", "a", "b"]}}
    table = rk.precision_recall(runs, {"q": {"a": 1, "b": 1}}, levels=3)
    ax = plot.precision_recall(table)
    assert [line.get_label() for line in ax.lines] == ["one", "two"]
    assert ax.lines[0].get_ydata().tolist() == pytest.approx([1.0, 1.0, 2 / 3])


def test_funnel_bars_add_up():
    stages = pd.DataFrame({"stage": ["pool", "mmr", "top_k"], "lost": [2, 0, 1], "left": [2, 2, 1],
                           "recall": [0.5, 0.5, 0.25], "recall_lost": [0.5, 0.0, 0.25]})  # fmt: skip
    ax = plot.funnel(stages)
    left, lost = ax.containers
    assert [bar.get_width() for bar in left] == [1.0, 0.5, 0.25, 0.25]
    assert [bar.get_width() for bar in lost] == [0.0, 0.5, 0.25, 0.0]
    assert [t.get_text() for t in ax.get_yticklabels()] == ["relevant", "pool", "top_k", "found"]


def test_optimism_ends_at_the_held_out_estimate():
    folds = pd.DataFrame({"train": [0.8, 0.6], "held_out": [0.5, 0.3], "queries": [3, 1]})
    assert plot.optimism(folds).lines[-1].get_ydata().tolist() == pytest.approx([0.7, 0.45])


def test_empty_frames_are_drawn_and_say_so():
    empty = [
        (plot.per_query, pd.DataFrame({"query_id": [], "delta_b": []})),
        (plot.sweep, sweep_table(b=[], value=[])),
        (plot.precision_recall, pd.DataFrame(columns=["system", "recall", "precision"])),
        (plot.funnel, rk.funnel_stages(pd.DataFrame({"query_id": [], "lost_at": []})).iloc[:0]),
        (plot.optimism, pd.DataFrame(columns=["train", "held_out"])),
    ]
    for draw, frame in empty:
        assert draw(frame).texts[-1].get_text().startswith("no ")


def test_plots_draw_on_the_axes_they_are_given_and_leave_the_frame_alone():
    _, ax = plt.subplots()
    table = sweep_table(b=[0.0, 1.0], value=[0.1, 0.2])
    before = table.copy()
    assert plot.sweep(table, ax=ax) is ax
    pd.testing.assert_frame_equal(table, before)
