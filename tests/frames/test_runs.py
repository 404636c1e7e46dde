"""The order of what a query found: quick sorts against the rule itself."""

from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ragkit.frames import round_significant
from ragkit.frames.runs import best_first, best_first_of_each
from ragkit.frames.table import DocTable


def table_of(n, seed, ranked):
    table = DocTable()
    names = np.random.default_rng(seed).permutation(n)
    table.commit(table.prepare({f"d{name}": "x" for name in names}))
    if ranked:
        table.order_key(np.arange(n))
    return table


def by_the_rule(slots, scores, table, top_k):
    keys = round_significant(scores).tolist()
    rows = sorted(range(len(slots)), key=lambda row: (keys[row], table.names[slots[row]]), reverse=True)
    return slots[rows[:top_k]], scores[rows[:top_k]]


@settings(max_examples=150)
@given(
    st.integers(0, 10**6),
    st.sampled_from([1, 5, 30, 400]),
    st.sampled_from([1, 3, 40, 10**6]),
    st.sampled_from([0.0, 1e-16, 3e-13, 2e-11, 1e-9]),
    st.sampled_from([0.0, 0.5, 1.0]),
    st.sampled_from([1.0, 1e-300, 1e250]),
    st.sampled_from([None, 0, 1, 7, 100, 1000]),
    st.booleans(),
)
def test_the_best_come_first_by_the_tie_rule(seed, n, values, noise, below, size, top_k, ranked):
    # Few distinct scores, shifted by less or more than what the rule calls equal, of either sign, 0 too.
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, values, n) / values
    scores = (scores + noise * rng.integers(-3, 4, n)) * np.where(rng.random(n) < below, -1.0, 1.0) * size
    table = table_of(n + 50, seed, ranked)
    slots = rng.permutation(n + 50)[:n]
    mine, wanted = best_first(slots, scores, table, top_k), by_the_rule(slots, scores, table, top_k)
    assert mine[0].tolist() == wanted[0].tolist() and mine[1].tolist() == wanted[1].tolist()


@settings(max_examples=150)
@given(
    st.integers(0, 10**6),
    st.lists(st.sampled_from([0, 1, 2, 5, 30, 700]), min_size=1, max_size=5),
    st.sampled_from([1, 3, 40, 10**6]),
    st.sampled_from([0.0, 1e-16, 3e-13, 2e-11, 1e-9]),
    st.sampled_from([1, 7, 100, 1000]),
    st.booleans(),
)
def test_many_queries_are_put_in_order_together_as_each_alone(seed, sizes, values, noise, top_k, ranked):
    rng = np.random.default_rng(seed)
    ends = np.cumsum([0, *sizes])
    scores = rng.integers(0, values, ends[-1]) / values + 1.0
    scores += noise * rng.integers(-3, 4, len(scores))
    table = table_of(800, seed, ranked)
    slots = np.concatenate([np.empty(0, dtype=np.int64), *(rng.permutation(800)[:size] for size in sizes)])
    found = best_first_of_each(slots, scores, ends, table, top_k)
    assert len(found) == len(sizes)
    for (start, end), mine in zip(pairwise(ends), found):
        wanted = by_the_rule(slots[start:end], scores[start:end], table, top_k)
        assert mine[0].tolist() == wanted[0].tolist() and mine[1].tolist() == wanted[1].tolist()
