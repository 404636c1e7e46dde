"""The cache never answers for what has changed."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import ragkit as rk

DOCS = pd.DataFrame(
    {
        "doc_id": list("abcd"),
        "text": ["red fox", "red", "blue", "fox"],
        "year": [2023, 2021, 2022, 2020],
    }
)
VECTORS = [[1.0, 1.0, 1.0, 1.0]]


def hybrid() -> rk.HybridSearch:
    return rk.HybridSearch(rk.KeywordIndex(DOCS), rk.VectorStore(DOCS, vectors=np.eye(4)))


def found(run: pd.DataFrame) -> set[str]:
    return set(run["doc_id"])


def test_a_filter_that_reads_a_changed_variable_is_asked_anew():
    search, year = hybrid(), [2020]

    def recent(docs):
        return docs["year"] >= year[0]

    assert found(search.search("red fox", vectors=VECTORS, where=recent)) == set("abcd")
    year[0] = 2023
    assert found(search.search("red fox", vectors=VECTORS, where=recent)) == {"a"}


def test_a_fusion_that_reads_a_changed_variable_is_asked_anew():
    search, factor = hybrid(), [1.0]

    def scaled(scores, ranks, weights):
        return np.nansum(scores, axis=1) * factor[0]

    first = search.search("red fox", vectors=VECTORS, fusion=scaled)
    factor[0] = 2.0
    second = search.search("red fox", vectors=VECTORS, fusion=scaled)
    np.testing.assert_allclose(second["score"], 2 * first["score"])


@pytest.mark.parametrize("threshold", [1.5, -0.5])
def test_a_threshold_is_a_share(threshold):
    with pytest.raises(ValueError, match=r"threshold must be in \[0, 1\]"):
        hybrid().search("red", vectors=VECTORS, threshold=threshold)
