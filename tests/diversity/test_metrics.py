"""Metrics of subtopics where the ideal list holds ties, and the Vendi score against its definition."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ragkit as rk
from tests.conftest import golden


def qrels_of(rows):
    return pd.DataFrame(rows, columns=["doc_id", "subtopic", "relevance"]).assign(query_id="q")


@pytest.mark.parametrize("case", golden("subtopic_ties"), ids=lambda case: "-".join(case["run"]))
def test_ties_in_the_ideal_list_go_to_the_greater_id_as_in_ndeval(case):
    for metric, value in case["expected"].items():
        got = rk.evaluate({"q": case["run"]}, qrels_of(case["qrels"]), metrics=metric)["value"].item()
        assert got == pytest.approx(value, abs=1e-9)


@pytest.mark.parametrize("case", golden("subtopic_ties"), ids=lambda case: "-".join(case["run"]))
def test_the_ideal_list_does_not_depend_on_the_order_of_the_judgements(case):
    one, other = (
        rk.evaluate({"q": case["run"]}, qrels_of(rows), metrics="alpha_ndcg@5")["value"].item()
        for rows in (case["qrels"], case["qrels"][::-1])
    )
    assert one == pytest.approx(other, abs=1e-12)


@given(st.integers(1, 12), st.integers(1, 6), st.integers(0, 2**32 - 1))
@settings(max_examples=40)
def test_vendi_is_the_entropy_of_the_spectrum_and_counts_copies_once(n, d, seed):
    V = np.random.default_rng(seed).normal(size=(n, d))
    vectors = {f"d{i}": v for i, v in enumerate(V)} | {f"copy{i}": 3 * v for i, v in enumerate(V)}
    once = rk.evaluate({"q": [f"d{i}" for i in range(n)]}, metrics="vendi", vectors=vectors)["value"].item()
    twice = rk.evaluate({"q": list(vectors)}, metrics="vendi", vectors=vectors)["value"].item()
    assert 1 - 1e-9 <= once <= n + 1e-9
    assert twice == pytest.approx(once, rel=1e-6)
    share = np.linalg.svd(V / np.linalg.norm(V, axis=1, keepdims=True), compute_uv=False) ** 2 / n
    assert once == pytest.approx(np.exp(-sum(s * np.log(s) for s in share if s > 1e-12)), rel=1e-6)
