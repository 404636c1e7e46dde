"""Vectors that are known already."""

from __future__ import annotations

import numpy as np
import pytest

import ragkit as rk

DOCS = {"a": "red fox", "b": "blue whale"}


def test_known_queries_are_searched_by_their_text_and_unknown_ones_say_so():
    embed = rk.TableEmbedder(["fox?", "whale?"], np.eye(2, dtype=np.float32))
    store = rk.VectorStore(DOCS, vectors=np.eye(2, dtype=np.float32), query_embed=embed)
    assert store.search(["whale?"], top_k=1)["doc_id"].tolist() == ["b"]
    with pytest.warns(rk.RetrievalWarning, match="'cow"):
        assert store.search(["cow?"]).empty


def test_a_text_of_which_the_model_is_not_at_hand_is_searched_by_its_words_alone():
    embed = rk.TableEmbedder(["fox?"], [[1.0, 0.0]])
    hybrid = rk.HybridSearch(
        rk.KeywordIndex(DOCS), rk.VectorStore(DOCS, vectors=np.eye(2), query_embed=embed)
    )
    with pytest.warns(rk.RetrievalWarning):
        assert hybrid.search("blue")[["doc_id", "source"]].values.tolist() == [["b", "keyword"]]


def test_bad_tables_are_refused():
    with pytest.raises(ValueError, match="got 2 and 1"):
        rk.TableEmbedder(["a", "b"], [[1.0]])
    with pytest.raises(ValueError, match="two vectors for 'a'"):
        rk.TableEmbedder(["a", "a"], [[1.0], [2.0]])
    assert rk.TableEmbedder(["a", "a"], [[1.0], [1.0]])(["a"]).tolist() == [[1.0]]
    assert rk.TableEmbedder([], [])(["a"]).shape == (1, 0)
