"""Bounds and rough orders against sorting."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragkit.frames.ranking import NEAR
from ragkit.frames.topk import MANY, lower_bound, nearly_rising, top_candidates


@st.composite
def scores_of_many_kinds(draw, least=1):
    n = draw(st.sampled_from([1, 7, 130, 300, MANY, MANY + 1, 2_000, 9_000]).filter(lambda n: n >= least))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    kind = draw(st.sampled_from(["even", "exponential", "few", "equal", "zeros", "below"]))
    scores = {
        "even": lambda: rng.random(n),
        "exponential": lambda: rng.exponential(size=n) ** 3,
        "few": lambda: rng.integers(0, 5, n) / 3,
        "equal": lambda: np.full(n, 0.7),
        "zeros": lambda: rng.random(n) * (rng.random(n) < 0.1),
        "below": lambda: rng.normal(size=n),
    }[kind]()
    noise = draw(st.sampled_from([0.0, 1e-15, 1e-11]))  # less and more than what is equal in 12 digits
    size = draw(st.sampled_from([1.0, 1e-300, 1e290]))
    return scores * (1 + noise * rng.integers(-2, 3, n)) * size


@settings(max_examples=150)
@given(scores_of_many_kinds(), st.sampled_from([1, 3, 10, 100, 640, 1_000]))
def test_as_many_as_wanted_reach_the_lower_bound(scores, top_k):
    top_k = min(top_k, len(scores))
    assert (scores >= lower_bound(scores, top_k)).sum() >= top_k


@settings(max_examples=150)
@given(scores_of_many_kinds(), st.sampled_from([None, 1, 10, 640, 1_000]))
def test_a_rough_order_holds_the_best_and_their_ties(scores, top_k):
    rows = nearly_rising(scores, top_k)
    if rows is None:
        return
    assert len(set(rows.tolist())) == len(rows)
    falling = np.sort(scores)[::-1]
    last = falling[min(top_k or len(scores), len(scores)) - 1]
    wanted = np.flatnonzero(scores >= last - NEAR * abs(last))
    assert set(wanted.tolist()) <= set(rows.tolist())
    step = (scores.max() - scores.min()) / 65535
    found = scores[rows]
    assert (found >= np.maximum.accumulate(found) - 1.01 * step).all()


@pytest.mark.parametrize("scores", [[2.0] * 700, [0.0] * 699 + [np.inf], [0.0] * 699 + [np.nan]])
def test_no_rough_order_where_steps_cannot_tell_scores_apart(scores):
    assert nearly_rising(np.array(scores), 10) is None


def test_a_rough_order_is_refused_where_ties_span_several_steps():
    scores = 1.0 + 1e-13 * np.arange(1000.0)  # all equal in 12 digits
    assert nearly_rising(scores, 10) is None


@settings(max_examples=100)
@given(scores_of_many_kinds(), st.sampled_from([0, 1, 10, 700, None]))
def test_candidates_hold_the_best_and_their_ties(scores, top_k):
    rows = top_candidates(scores, top_k)
    if top_k == 0:
        assert len(rows) == 0
        return
    last = np.sort(scores)[::-1][min(top_k or len(scores), len(scores)) - 1]
    assert set(np.flatnonzero(scores >= last - NEAR * abs(last)).tolist()) <= set(rows.tolist())
