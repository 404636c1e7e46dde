"""Plots: what is drawn is what the frame holds, every label is inside the figure, nothing is left open."""

import matplotlib
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure

from ragkit import plot
from ragkit.plot.labels import cells, shorten, unit_labels
from ragkit.plot.style import GREY, look

matplotlib.use("Agg")

A = pd.DataFrame({"query_id": "q", "doc_id": ["x", "y", "z"], "rank": [1, 2, 3], "score": [3.0, 2.0, 1.0]})
B = pd.DataFrame({"query_id": "q", "doc_id": ["y", "z", "w"], "rank": [1, 2, 3], "score": [3.0, 2.0, 1.0]})
FUSED = A.assign(keyword_contribution=[0.3, 0.5, 0.0], vector_contribution=[0.6, 0.0, 0.25])
PATH = pd.DataFrame(
    {
        "query_id": "q",
        "lambda_from": [0.0, 0.2, 0.6],
        "lambda_to": [0.2, 0.6, 1.0],
        "relevance": [0.3, 0.6, 0.9],
        "diversity": [0.8, 0.7, 0.2],
    }
)
TABLE = pd.DataFrame(
    {
        "system": ["bm25", "fused"] * 2,
        "metric": ["ndcg@10"] * 2 + ["rr"] * 2,
        "mean": [0.5, 0.6, 0.4, 0.7],
        "ci_low": [0.4, 0.5, 0.3, 0.6],
        "ci_high": [0.6, 0.7, 0.5, 0.8],
    }
)


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    from matplotlib import pyplot

    pyplot.close("all")


def new_axes():
    return Figure(figsize=(7, 4), layout="constrained").subplots()


def lines(ax, style):
    """The lines of a bump chart, solid or dotted, as lists of (system, rank)."""
    from matplotlib.collections import LineCollection

    found = [c for c in ax.collections if isinstance(c, LineCollection) and c.get_zorder() > 1]
    solid, dotted = ([[tuple(p) for p in segment] for segment in c.get_segments()] for c in found)
    return sorted(solid if style == "solid" else dotted)


# --- worked examples ------------------------------------------------------------------------------------


def test_bump_joins_a_unit_that_is_in_both_systems():
    # y goes from rank 2 to 1, z from 3 to 2; x leaves and w comes in, which is no line.
    ax = plot.bump({"keyword": A, "vector": B}, ax=new_axes())
    assert lines(ax, "solid") == [[(0, 2.0), (1, 1.0)], [(0, 3.0), (1, 2.0)]]
    assert [end[0] for end in lines(ax, "dotted")] == [(0, 1.0), (1, 3.0)]


def test_bump_names_the_units_on_both_sides_with_rank_one_on_top():
    ax = plot.bump(
        {"keyword": A, "vector": B}, docs={"x": "Red fox", "y": "Blue whale"}, top_k=3, ax=new_axes()
    )
    assert [t.get_text() for t in ax.get_yticklabels()] == ["Red fox  1", "Blue whale  2", "z  3"]
    assert [text.get_text() for text in ax.texts] == ["1  Blue whale", "2  z", "3  w"]
    low, high = ax.get_ylim()
    assert low > high


def test_bump_names_a_unit_that_only_an_inner_system_ranks_beside_its_marker():
    # w is third in the middle and nowhere else; y and z have their names at the sides.
    ax = plot.bump({"a": A, "b": B, "c": A}, docs={"w": "Grey wolf"}, top_k=3, ax=new_axes())
    (name,) = [text for text in ax.texts if text.get_text() == "Grey wolf"]
    assert name.xy == (1, 3.0)


def test_bump_is_grey_where_a_unit_is_in_one_system_only():
    ax = plot.bump({"keyword": A, "vector": B}, ax=new_axes())
    colours = {tuple(at): line.get_color() for line in ax.lines for at in line.get_xydata()}
    assert colours[0, 1.0] == colours[1, 3.0] == GREY  # x is in the first only, w in the second
    assert len({colours[0, 2.0], colours[0, 3.0], GREY}) == 3


def test_contributions_stack_to_the_sum_of_the_parts():
    ax = plot.contributions(FUSED, ax=new_axes())
    ends = {}
    for bar in ax.patches:
        rank = round(bar.get_y() + bar.get_height() / 2)
        ends[rank] = max(ends.get(rank, 0.0), bar.get_x() + bar.get_width())
    assert ends == pytest.approx({1: 0.9, 2: 0.5, 3: 0.25})


def test_negative_contributions_stack_to_the_left_of_zero():
    ax = plot.contributions(FUSED.assign(vector_contribution=[-0.2, -0.1, 0.25]), ax=new_axes())
    first = [bar for bar in ax.patches if round(bar.get_y() + bar.get_height() / 2) == 1]
    assert [(bar.get_x(), bar.get_width()) for bar in first] == [(0.0, 0.3), (0.0, -0.2)]


def test_tradeoff_rings_the_interval_that_holds_lambda():
    ax = plot.tradeoff(PATH, lambda_=0.3, ax=new_axes())
    ring = next(line for line in ax.lines if line.get_label() == "λ = 0.3")
    assert (ring.get_xdata()[0], ring.get_ydata()[0]) == (0.7, 0.6)


def test_tradeoff_draws_one_dot_per_selection():
    ax = plot.tradeoff(PATH, ax=new_axes())
    assert ax.collections[0].get_offsets().tolist() == [[0.8, 0.3], [0.7, 0.6], [0.2, 0.9]]


def test_compare_draws_means_and_intervals():
    ax = plot.compare(TABLE, metric="rr", ax=new_axes())
    assert ax.lines[0].get_xdata().tolist() == [0.4, 0.7]
    assert [segment[:, 0].tolist() for segment in ax.collections[0].get_segments()] == [
        [0.3, 0.5],
        [0.6, 0.8],
    ]
    assert ax.get_xlabel() == "rr"


def test_compare_without_a_metric_draws_all_with_a_legend():
    ax = plot.compare(TABLE, ax=new_axes())
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["ndcg@10", "rr"]


def test_compare_names_the_groups_of_a_breakdown():
    table = TABLE[TABLE["metric"] == "rr"].assign(kind=["broad", "needle"])
    ax = plot.compare(table, ax=new_axes())
    assert [t.get_text() for t in ax.get_yticklabels()] == ["bm25 · broad", "fused · needle"]


# --- laws -----------------------------------------------------------------------------------------------

DRAWN = {
    "bump": lambda ax: plot.bump({"a": A, "b": B}, ax=ax),
    "contributions": lambda ax: plot.contributions(FUSED, ax=ax),
    "tradeoff": lambda ax: plot.tradeoff(PATH, lambda_=0.5, ax=ax),
    "compare": lambda ax: plot.compare(TABLE, ax=ax),
}
EMPTY = {
    "bump": lambda ax: plot.bump({"a": A.iloc[:0]}, ax=ax),
    "contributions": lambda ax: plot.contributions(FUSED.iloc[:0], ax=ax),
    "tradeoff": lambda ax: plot.tradeoff(PATH.iloc[:0], lambda_=0.5, ax=ax),
    "compare": lambda ax: plot.compare(TABLE.iloc[:0], ax=ax),
}


@pytest.mark.parametrize("name", DRAWN)
def test_every_plot_draws_on_the_axes_it_is_given_and_opens_no_figure(name):
    from matplotlib import pyplot

    ax = new_axes()
    assert DRAWN[name](ax) is ax
    assert pyplot.get_fignums() == []


@pytest.mark.parametrize("name", DRAWN)
def test_every_plot_makes_one_figure_without_axes(name):
    from matplotlib import pyplot

    ax = DRAWN[name](None)
    assert [pyplot.figure(n) for n in pyplot.get_fignums()] == [ax.figure]


@pytest.mark.parametrize("name", EMPTY)
def test_every_plot_says_that_an_empty_frame_has_no_results(name):
    ax = EMPTY[name](new_axes())
    assert "no results" in [text.get_text() for text in ax.texts]
    ax.figure.draw_without_rendering()


@settings(max_examples=25, deadline=None)
@given(st.permutations(range(24)), st.permutations(range(24)), st.integers(1, 24))
def test_bump_draws_no_two_lines_alike_and_names_every_unit(first, second, top_k):
    runs = {
        name: pd.DataFrame(
            {
                "query_id": "q",
                "doc_id": [f"d{n}" for n in order],
                "rank": range(1, 25),
                "score": np.arange(24.0)[::-1],
            }
        )
        for name, order in {"a": first, "b": second, "c": first[::-1]}.items()
    }
    ax = plot.bump(runs, top_k=top_k, ax=new_axes())
    several = [line for line in ax.lines if line.get_color() != GREY]
    assert len({(line.get_color(), line.get_marker()) for line in several}) == len(several)
    top = {unit for run in runs.values() for unit in run["doc_id"].head(top_k)}
    texts = [*ax.get_yticklabels(), *ax.texts]
    assert {word for text in texts for word in text.get_text().split() if word.startswith("d")} == top


def test_a_look_does_not_come_again_when_the_colours_do():
    looks = [look(n) for n in range(64)]
    assert len({(one.colour, one.marker) for one in looks}) == 64
    assert len({(one.colour, one.hatch) for one in looks}) == 64
    assert len({(one.colour, one.dash) for one in looks[:32]}) == 32


def test_lines_and_dots_of_many_groups_are_told_apart():
    names = [f"s{n:02}" for n in range(12)]
    runs = pd.DataFrame({"system": np.repeat(names, 2), "recall": [0.0, 1.0] * 12, "precision": 0.5})
    grid = pd.DataFrame(
        {"query_id": "q", "metric": "rr", "value": 0.5, "b": [0.1, 0.2] * 12, "k": np.repeat(names, 2)}
    )
    for ax in (
        plot.precision_recall(runs, ax=new_axes()),
        plot.sweep(grid, x="b", by="k", ax=new_axes()),
        plot.curves(grid, x="b", y="value", by="k", ax=new_axes()),
        plot.curves(grid, x="b", y="value", by="k", highlight="s03", ax=new_axes()),
    ):
        lines = [line for line in ax.lines if line.get_label() in names]
        assert len(lines) == 12
        assert len({(x.get_color(), x.get_marker(), str(x._unscaled_dash_pattern)) for x in lines}) == 12


def test_plots_do_not_modify_their_frames():
    before = [frame.copy() for frame in (A, B, FUSED, PATH, TABLE)]
    for draw in DRAWN.values():
        draw(new_axes())
    for frame, copy in zip((A, B, FUSED, PATH, TABLE), before):
        pd.testing.assert_frame_equal(frame, copy)


LONG = {"x": "An unusually long title that " * 6, "y": "WARNING: " * 20, "z": "本" * 90, "w": "short"}


def inside_the_figure(ax):
    """Whether all that is drawn, labels included, lies inside the figure (in inches)."""
    ax.figure.canvas.draw()
    box, (width, height) = ax.figure.get_tightbbox(), ax.figure.get_size_inches()
    return box.x0 > -0.01 and box.y0 > -0.01 and box.x1 < width + 0.01 and box.y1 < height + 0.01


@pytest.mark.parametrize("name", DRAWN)
def test_no_label_leaves_the_figure(name):
    assert inside_the_figure(DRAWN[name](None))


@pytest.mark.filterwarnings("ignore:Glyph")  # the fonts of this machine, not the layout
def test_long_titles_stay_inside_the_figure():
    assert inside_the_figure(plot.bump({"a": A, "b": B}, docs=LONG))
    assert inside_the_figure(plot.contributions(FUSED, docs=LONG))


@settings(max_examples=60, deadline=None)
@given(st.text(), st.integers(1, 60))
def test_shorten_never_exceeds_the_width_and_keeps_what_fits(text, width):
    short = shorten(text, width)
    assert cells(short) <= max(width, 1) and "\n" not in short
    line = " ".join(text.split())
    assert short == line or (cells(line) > width and short.endswith("…"))


def test_two_documents_of_one_title_are_told_apart():
    docs = pd.DataFrame({"doc_id": ["a", "b", "c"], "title": ["Mercury", "Mercury", "Venus"], "text": "t"})
    assert unit_labels(["a", "b", "c"], docs) == {"a": "a Mercury", "b": "b Mercury", "c": "Venus"}


def test_chunks_carry_their_number_beside_the_title():
    chunks = pd.DataFrame({"chunk_id": ["a#0", "a#1"], "doc_id": "a", "title": "Mercury", "text": "t"})
    assert unit_labels(["a#0", "a#1"], chunks) == {"a#0": "#0 Mercury", "a#1": "#1 Mercury"}
    assert unit_labels(["a#0"], {"a": "Venus is hot"}) == {"a#0": "a#0"}


def test_the_first_of_several_queries_is_drawn_and_named():
    two = pd.concat([A, B.assign(query_id="r")])
    assert plot.bump({"a": two}, ax=new_axes()).get_title(loc="left") == "query q"
    assert plot.bump({"a": two}, query_id="r", ax=new_axes()).get_title(loc="left") == "query r"


# --- bad input ------------------------------------------------------------------------------------------


def test_an_unknown_query_lists_those_there_are():
    with pytest.raises(ValueError, match=r"no run has query 'nope'; the queries are 'q'"):
        plot.bump({"a": A}, query_id="nope")


def test_a_run_without_contributions_is_told_how_to_get_them():
    with pytest.raises(ValueError, match=r"<name>_contribution.*ragkit\.fuse"):
        plot.contributions(A)


def test_no_runs_at_all_is_refused():
    with pytest.raises(ValueError, match="at least one run"):
        plot.bump({})


def test_a_path_without_diversity_names_the_column():
    with pytest.raises(ValueError, match=r"path needs columns .*missing \['diversity'\]"):
        plot.tradeoff(PATH.drop(columns="diversity"))


@pytest.mark.parametrize("lambda_", [-0.1, 1.5, np.nan])
def test_lambda_outside_its_range_is_refused(lambda_):
    with pytest.raises(ValueError, match="lambda_ must be in"):
        plot.tradeoff(PATH, lambda_=lambda_)


def test_an_unknown_metric_lists_those_in_the_table():
    with pytest.raises(ValueError, match=r"unknown metric 'ndgc@10'.*Did you mean 'ndcg@10'"):
        plot.compare(TABLE, metric="ndgc@10")


# --- curves ---------------------------------------------------------------------------------------------

LINES = pd.DataFrame(
    {"x": [0.0, 1.0, 2.0] * 2, "y": [0.0, 1.0, 1.5, 0.0, 0.5, 0.7], "kind": ["a"] * 3 + ["b"] * 3}
)
POINTS = pd.DataFrame({"x": [1.0, 1.0, 2.0], "y": [1.0, 1.01, 0.7], "label": ["one", "two", "three"]})


def test_curves_draw_each_group_and_highlight_one():
    ax = plot.curves(LINES, x="x", y="y", by="kind", highlight="b", at=1.5, ax=new_axes())
    a, b, at = ax.lines
    assert (a.get_linewidth(), b.get_linewidth()) == (1.0, 2.2)
    assert b.get_ydata().tolist() == [0.0, 0.5, 0.7] and list(at.get_xdata()) == [1.5, 1.5]
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["a", "b"]


def test_points_at_one_place_keep_their_names_apart():
    ax = plot.curves(LINES, POINTS, x="x", y="y", by="kind", ax=new_axes())
    ax.figure.canvas.draw()
    boxes = [text.get_window_extent() for text in ax.texts]
    assert [text.get_text() for text in ax.texts] == ["three", "one", "two"]
    assert not any(a.overlaps(b) for n, a in enumerate(boxes) for b in boxes[n + 1 :])


def test_curves_of_an_empty_frame_say_so_and_a_missing_column_is_named():
    ax = plot.curves(LINES.iloc[:0], x="x", y="y", ax=new_axes())
    assert "nothing to draw" in [text.get_text() for text in ax.texts]
    with pytest.raises(ValueError, match=r"missing \['weight'\]"):
        plot.curves(LINES, x="x", y="weight")
