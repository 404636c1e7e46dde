"""What both stores inherit: documented methods, and one way to keep documents."""

from __future__ import annotations

import copy
import inspect

import numpy as np
import pandas as pd
import pytest
from numpydoc.docscrape import NumpyDocString

import ragkit as rk

STORES = (rk.KeywordIndex, rk.VectorStore)
METHODS = [
    (f"{cls.__name__}.{name}", method)
    for cls in STORES
    for name, method in inspect.getmembers(cls, inspect.isroutine)
    if not name.startswith("_")
]


@pytest.mark.parametrize(("name", "method"), METHODS, ids=lambda v: v if isinstance(v, str) else "")
def test_methods_are_documented_whole_wherever_they_are_written(name, method):
    sections = NumpyDocString(inspect.getdoc(method))
    documented = {p for entry in sections["Parameters"] for p in entry.name.replace("*", "").split(", ")}
    signature = inspect.signature(method)
    assert documented == set(signature.parameters) - {"self", "cls"}
    assert bool(sections["Returns"]) == (signature.return_annotation not in (None, "None"))


@pytest.mark.filterwarnings("ignore:where. no document has")  # there may be no red one to remove
def test_the_same_updates_leave_the_same_documents_in_both_stores():
    rng = np.random.default_rng(0)
    index, store = rk.KeywordIndex(), rk.VectorStore(embed=lambda texts: np.ones((len(texts), 2)))
    for _ in range(30):
        picked = {str(n): rng.choice(["red", "blue"]) for n in rng.choice(9, 3, replace=False)}
        gone = [str(n) for n in rng.choice(12, 2)]
        colour = str(rng.choice(["red", "blue"]))
        for update in (
            lambda s, picked=picked: s.add(picked),
            lambda s, gone=gone: s.remove(gone),
            lambda s, colour=colour: s.remove(where={"text": colour}) if colour == "red" else s.remove("0"),
        ):
            assert update(index) == update(store)
            assert index.ids == store.ids == list(index) == index.docs["doc_id"].tolist()
            assert (
                index.docs.equals(store.docs) and len(index) == len(store) and index.version == store.version
            )
            assert all(index.get(unit) == store.get(unit) and unit in index for unit in index)
    index.clear()
    store.clear()
    assert index.ids == store.ids == [] and index.version == store.version


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
@pytest.mark.parametrize("settled", [True, False])
@pytest.mark.parametrize("kind", ["index", "fields", "vectors", "lsa"])
@pytest.mark.filterwarnings("ignore::ragkit.RetrievalWarning")  # LSA of so few documents knows few words
def test_no_update_of_a_copy_reaches_its_original(kind, settled, copied):
    docs = pd.DataFrame({"doc_id": list("abc"), "title": ["x", "y", "z"], "text": ["fox", "hen", "owl"]})
    docs["text"] += " and " + docs["title"]

    def make():
        if kind in ("index", "fields"):
            store = rk.KeywordIndex(docs, fields={"title": 2, "text": 1} if kind == "fields" else None)
        elif kind == "lsa":
            store = rk.VectorStore(docs, embed=rk.LSAEmbedder(2))
        else:
            store = rk.VectorStore(docs, embed=lambda texts: [[len(t), 1.0] for t in texts])
        store.add([{"doc_id": "d", "title": "w", "text": "whale"}])
        return store

    def state(store):
        return store.docs.to_json(), store.search(["fox", "owl whale"]).to_json(), store.version

    original, untouched = make(), state(make())
    if settled:
        assert state(original) == untouched
    twin = copied(original)
    for one, other in ((twin, original), (original, twin)):
        before = state(other)
        assert before == untouched
        changed = copied(one)
        changed.add(docs[1:].assign(doc_id=["a", "n"], text=["owl", "red fox"]))
        changed.remove("b")
        changed.search("red fox")
        assert changed.ids == ["a", "c", "d", "n"] and state(other) == before and state(one) == before
        changed.clear()
        assert state(one) == state(other) == before
