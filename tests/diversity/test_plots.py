"""plot.similarity, plot.map and plot.lambda_ruler: what is drawn is what the vectors and the path hold."""

import matplotlib
import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.figure import Figure

import ragkit as rk
from ragkit import plot

matplotlib.use("Agg")

RUN = pd.DataFrame({"query_id": "q", "doc_id": ["a", "copy", "other"], "score": [1.0, 0.9, 0.5]})
VECTORS = {"a": [1, 0], "copy": [2, 0], "other": [0, 1]}
PICKED = rk.mmr(RUN, VECTORS, top_k=2)
PATH = rk.mmr_path(RUN, VECTORS, top_k=2)
RNG = np.random.default_rng(0)
MANY = pd.DataFrame({"query_id": "q", "doc_id": [f"d{n:02}" for n in range(60)], "score": RNG.random(60)})
WIDE = {d: RNG.normal(size=8) for d in MANY["doc_id"]}
TITLES = {d: f"An unusually long title of number {d} that goes on and on" for d in MANY["doc_id"]}


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    from matplotlib import pyplot

    pyplot.close("all")


def new_axes():
    return Figure(figsize=(7, 4), layout="constrained").subplots()


DRAWN = {
    "similarity": lambda ax: plot.similarity(MANY, WIDE, picked=rk.mmr(MANY, WIDE), docs=TITLES, ax=ax),
    "map": lambda ax: plot.map(
        MANY, WIDE, picked=rk.mmr(MANY, WIDE), queries={"q": WIDE["d03"]}, docs=TITLES, ax=ax
    ),
    "lambda_ruler": lambda ax: plot.lambda_ruler(PATH, lambda_=0.7, ax=ax),
}
EMPTY = {
    "similarity": lambda ax: plot.similarity(RUN.iloc[:0], {}, ax=ax),
    "map": lambda ax: plot.map(RUN.iloc[:0], {}, ax=ax),
    "lambda_ruler": lambda ax: plot.lambda_ruler(PATH.iloc[:0], ax=ax),
}


# --- worked examples -------------------------------------------------------------------------------------


def test_the_heat_map_stands_in_the_order_of_picking_with_a_line_behind_the_picks():
    ax = plot.similarity(RUN, VECTORS, picked=PICKED, ax=new_axes())
    assert [t.get_text() for t in ax.get_yticklabels()] == ["a", "other", "copy"]
    assert ax.images[0].get_array().tolist() == [[1, 0, 1], [0, 1, 0], [1, 0, 1]]
    assert ax.lines[0].get_ydata()[0] == 1.5


def test_the_heat_map_holds_no_more_units_than_asked_for():
    assert plot.similarity(MANY, WIDE, top_k=12, ax=new_axes()).images[0].get_array().shape == (12, 12)


def test_links_of_the_map_join_true_neighbours_not_those_of_the_picture():
    # In the plane x, y the first two stand apart and the last two together; in three dimensions the last
    # two are far apart in z. The projection shows the plane, the links follow all three.
    run = pd.DataFrame({"query_id": "q", "doc_id": list("abcd"), "rank": range(1, 5), "score": 1.0})
    vectors = {"a": [1, 0, 0.1], "b": [0.9, 0.3, 0.1], "c": [0.2, 1, 3], "d": [0.3, 1, -3]}
    ax = plot.map(run, vectors, neighbours=1, project=lambda X: X[:, :2], ax=new_axes())
    links = next(c for c in ax.collections if isinstance(c, LineCollection))
    X = np.array([np.array(v) / np.linalg.norm(v) for v in vectors.values()])
    cosines = X @ X.T - 2 * np.eye(4)
    nearest = {tuple(sorted((i, int(cosines[i].argmax())))) for i in range(4)}
    drawn = {
        tuple(sorted(int(np.abs(X[:, :2] - end).sum(axis=1).argmin()) for end in segment))
        for segment in links.get_segments()
    }
    assert drawn == nearest


def test_the_axes_of_the_map_tell_how_much_they_show():
    # Cosines of unit vectors (1, 0), (1, 0), (0, 1): all variance lies on one line.
    ax = plot.map(RUN, VECTORS, picked=PICKED, ax=new_axes())
    assert ax.get_xlabel() == "PCA 1 (100 % of the variance)"
    assert ax.get_ylabel() == "PCA 2 (0 % of the variance)"
    assert [t.get_text() for t in ax.texts] == ["1", "2"]


def test_the_query_is_a_star_at_its_own_vector():
    ax = plot.map(RUN, VECTORS, queries={"q": [5, 0]}, project=lambda X: X, ax=new_axes())
    assert ax.collections[-1].get_offsets().tolist() == [[1.0, 0.0]]


def test_cells_of_the_ruler_end_where_another_selection_begins():
    ax = plot.lambda_ruler(PATH, lambda_=0.7, ax=new_axes())
    cells = next(c for c in ax.collections if isinstance(c, PolyCollection))
    ends = [(path.vertices[0, 0], path.vertices[1, 0]) for path in cells.get_paths()]
    assert ends == [pytest.approx((0, 5 / 9)), pytest.approx((5 / 9, 1))]
    assert cells.get_array().tolist() == PATH["diversity"].tolist()
    assert ax.lines[0].get_xdata() == [0.7, 0.7]


def test_selections_that_another_beats_on_both_axes_are_small():
    path = PATH.iloc[[0, 0, 0]].assign(relevance=[0.2, 0.8, 0.7], diversity=[0.9, 0.5, 0.4])
    sizes = plot.tradeoff(path, ax=new_axes()).collections[0].get_sizes()
    assert sizes[0] == sizes[1] > sizes[2]


def test_the_ruler_has_a_stripe_for_each_query_up_to_the_most_allowed():
    path = pd.concat([PATH.assign(query_id=f"q{n}") for n in range(5)])
    ax = plot.lambda_ruler(path, max_queries=3, ax=new_axes())
    assert [t.get_text() for t in ax.get_yticklabels()] == ["q0", "q1", "q2"]
    ax = plot.lambda_ruler(path, query_id="q4", ax=new_axes())
    assert [t.get_text() for t in ax.get_yticklabels()] == ["q4"]


# --- laws ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", DRAWN)
def test_every_plot_draws_on_the_axes_it_is_given_and_opens_no_figure(name):
    from matplotlib import pyplot

    ax = new_axes()
    assert DRAWN[name](ax) is ax
    assert pyplot.get_fignums() == []


@pytest.mark.parametrize("name", DRAWN)
def test_drawing_twice_on_cleared_axes_leaves_one_picture(name):
    ax = new_axes()
    DRAWN[name](ax)
    count = len(ax.get_children())
    ax.clear()
    DRAWN[name](ax)
    assert len(ax.get_children()) == count
    assert ax.figure.axes == [ax]


@pytest.mark.parametrize("name", EMPTY)
def test_an_empty_frame_has_no_results(name):
    assert "no results" in [text.get_text() for text in EMPTY[name](new_axes()).texts]


@pytest.mark.parametrize("name", DRAWN)
def test_nothing_drawn_leaves_the_figure(name):
    ax = DRAWN[name](None)
    ax.figure.canvas.draw()
    box, (width, height) = ax.figure.get_tightbbox(), ax.figure.get_size_inches()
    assert box.x0 > -0.01
    assert box.y0 > -0.01
    assert box.x1 < width + 0.01
    assert box.y1 < height + 0.01


@pytest.mark.parametrize("n", [1, 2])
def test_one_or_two_units_can_be_drawn(n):
    for draw in (plot.map, plot.similarity):
        draw(RUN.iloc[:n], VECTORS, ax=new_axes())
    assert len(plot.map(RUN.iloc[:n], {"a": [0, 0], "copy": [0, 0]}, ax=new_axes()).collections) > 0


def test_an_array_of_vectors_is_aligned_with_the_rows_as_given():
    shuffled = RUN.iloc[[2, 0, 1]]
    array = np.array([VECTORS[d] for d in shuffled["doc_id"]], dtype=float)
    ax = plot.similarity(shuffled, array, ax=new_axes())
    assert ax.images[0].get_array().tolist() == [[1, 1, 0], [1, 1, 0], [0, 0, 1]]


# --- bad input -------------------------------------------------------------------------------------------


def test_picks_that_are_not_in_the_pool_are_named():
    with pytest.raises(ValueError, match="picked holds 'other', which the run has not"):
        plot.similarity(RUN.iloc[:2], VECTORS, picked=PICKED)


def test_an_unknown_query_and_a_wrong_projection_are_refused():
    with pytest.raises(ValueError, match="no run has query 'nope'"):
        plot.map(RUN, VECTORS, query_id="nope")
    with pytest.raises(ValueError, match=r"shape \(3, 2\); it gave \(3, 1\)"):
        plot.map(RUN, VECTORS, project=lambda X: X[:, :1])
    with pytest.raises(ValueError, match=r"lambda_ must be in \[0, 1\]"):
        plot.lambda_ruler(PATH, lambda_=2)
    with pytest.raises(ValueError, match="missing \\['ndcg@10'\\]"):
        plot.lambda_ruler(PATH, colour="ndcg@10")
