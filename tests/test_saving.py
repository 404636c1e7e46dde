"""Saving: what comes back equals what was saved, and nothing foreign gets in."""

from __future__ import annotations

import hashlib
import io
import json
import os
import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ragkit as rk

DOCS = pd.DataFrame(
    {
        "doc_id": ["001", "NA", "c"],
        "text": ["red fox", "", "naïve 本屋 whale \U0001f98a"],
        "year": [2020, 2021, 2022],
        "weight": [0.1, np.nan, 1e300],
        "seen": pd.to_datetime(["2020-01-01", None, "2022-03-04"]),
        "tags": [["a"], [], ["b", "c"]],
        "lang": pd.Categorical(["en", "de", "en"]),
        "ok": [True, False, True],
        "note": ["x", None, "z"],
    }
)
VECTORS = np.array([[0.1, 0.2], [-1e-300, 1e300], [0.0, 0.3333333333333333]])


def touched(kind):
    """A store whose order and slots are no longer those of the first add."""
    if kind == "index":
        store = rk.KeywordIndex(
            DOCS, k1=0.9, b=0.4, variant="bm25+", tokenizer=rk.Tokenizer(extra_stop_words=["red"])
        )
        store.add({"z": "fox and whale", "001": "white fox"})
    else:
        store = rk.VectorStore(DOCS, vectors=VECTORS)
        store.add({"z": "fox and whale", "001": "white fox"}, vectors=[[1.5, 2.5], [3.5, 4.5]])
    store.remove("NA")
    return store


def one_missing(frame):
    """Write missing cells of lists as None: NaN and None mean the same there."""
    cells = [name for name in frame if frame[name].dtype == object]
    return frame.assign(**{name: [None if v is None or v != v else v for v in frame[name]] for name in cells})


def assert_same(a, b):
    assert a.ids == b.ids and len(a) == len(b)
    pd.testing.assert_frame_equal(one_missing(a.docs), one_missing(b.docs))
    if isinstance(a, rk.KeywordIndex):
        assert repr(a) == repr(b) and a.stats() == b.stats()
        pd.testing.assert_frame_equal(a.score_all("fox whale"), b.score_all("fox whale"), check_exact=True)
    else:
        assert a.metric == b.metric and a.vectors().tolist() == b.vectors().tolist()
        assert a.vectors().dtype == b.vectors().dtype


@pytest.mark.parametrize("kind", ["index", "store"])
def test_a_store_comes_back_as_it_was(kind, tmp_path):
    store = touched(kind)
    store.save(tmp_path / "s")
    again = type(store).load(tmp_path / "s")
    assert_same(store, again)
    again.add({"new": "late fox"}, **({} if kind == "index" else {"vectors": [[1.0, 1.0]]}))
    store.add({"new": "late fox"}, **({} if kind == "index" else {"vectors": [[1.0, 1.0]]}))
    assert_same(store, again)
    assert_same(touched(kind), type(store).from_json(touched(kind).to_json()))
    json.loads(store.to_json(), parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))


@pytest.mark.parametrize("kind", ["index", "store"])
def test_an_empty_store_comes_back(kind, tmp_path):
    store = rk.KeywordIndex() if kind == "index" else rk.VectorStore(metric="dot")
    store.save(tmp_path)
    assert len(type(store).load(tmp_path)) == 0
    assert len(type(store).from_json(store.to_json())) == 0


def test_chunks_and_fields_come_back(tmp_path):
    chunks = pd.DataFrame({"chunk_id": ["a#0"], "doc_id": ["a"], "title": ["red"], "text": ["fox"]})
    index = rk.KeywordIndex(chunks, fields={"title": 2, "text": 1}, b={"title": 0.1, "text": 0.7})
    index.save(tmp_path)
    assert_same(index, rk.KeywordIndex.load(tmp_path))
    assert rk.KeywordIndex.load(tmp_path).search("red")["chunk_id"].tolist() == ["a#0"]


@given(
    st.lists(
        st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=2, max_size=2),
        min_size=1,
        max_size=5,
    )
)
def test_a_snapshot_keeps_every_bit(rows):
    store = rk.VectorStore([""] * len(rows), vectors=rows)
    assert rk.VectorStore.from_json(store.to_json()).vectors().tobytes() == store.vectors().tobytes()
    small = rk.VectorStore([""] * len(rows), vectors=np.array(np.clip(rows, -1e30, 1e30), dtype=np.float32))
    again = rk.VectorStore.from_json(small.to_json()).vectors()
    assert again.dtype == np.float32 and again.tobytes() == small.vectors().tobytes()


def test_a_stores_own_embedder_comes_back_fitted_and_still_refits(tmp_path):
    texts = {"a": "red fox in snow", "b": "blue whale in the sea", "c": "fox and whale"}
    store = rk.VectorStore(texts)
    store.save(tmp_path)
    again = rk.VectorStore.load(tmp_path)
    assert again.search("snow").equals(store.search("snow")) and again.embed.fitted
    for s in (store, again):
        s.add({"d": "grey wolf"})
    assert again.search("wolf").equals(store.search("wolf"))
    fixed = rk.VectorStore(texts, embed=rk.LSAEmbedder(2).fit(list(texts.values())))
    fixed.save(tmp_path)
    loaded = rk.VectorStore.load(tmp_path)
    loaded.add({"d": "submarine"})
    assert not loaded.vectors(["d"]).any()


def test_a_callable_must_be_given_again_and_must_fit(tmp_path):
    def letters(texts):
        return [[text.count(c) + 0.5 for c in "abc"] for text in texts]

    store = rk.VectorStore({"a": "abba", "c": "cab"}, embed=letters)
    store.save(tmp_path)
    bare = rk.VectorStore.load(tmp_path)
    assert bare.vectors().tolist() == store.vectors().tolist()
    with pytest.raises(ValueError, match=r"give it to load\(folder, embed="):
        bare.search("abba")
    assert rk.VectorStore.load(tmp_path, embed=letters).search("abba").equals(store.search("abba"))
    with pytest.raises(ValueError, match="2 numbers, the saved ones have 3"):
        rk.VectorStore.load(tmp_path, embed=lambda texts: [[1, 2]] * len(texts))
    with pytest.raises(ValueError, match="another vector"):
        rk.VectorStore.load(tmp_path, embed=lambda texts: [[1, 2, 3]] * len(texts))


def test_a_tokenizer_is_checked_by_what_it_does(tmp_path):
    rk.KeywordIndex(DOCS).save(tmp_path)
    assert rk.KeywordIndex.load(tmp_path, tokenizer=rk.Tokenizer()).ids == ["001", "NA", "c"]
    with pytest.raises(ValueError, match="otherwise"):
        rk.KeywordIndex.load(tmp_path, tokenizer=rk.Tokenizer.ascii())
    with pytest.raises(ValueError, match="otherwise"):
        rk.KeywordIndex.load(tmp_path, tokenizer=rk.Tokenizer(extra_stop_words=["unseen"]))
    stem = rk.Tokenizer(stem=lambda word: word[:4])
    rk.KeywordIndex(DOCS, tokenizer=stem).save(tmp_path)
    with pytest.raises(ValueError, match="give it again"):
        rk.KeywordIndex.load(tmp_path)
    assert len(rk.KeywordIndex.load(tmp_path, tokenizer=rk.Tokenizer(stem=lambda word: word[:4]))) == 3


def test_what_json_cannot_hold_is_named(tmp_path):
    index = rk.KeywordIndex([{"doc_id": "a", "text": "x", "what": object()}])
    with pytest.raises(ValueError, match="column 'what'"):
        index.save(tmp_path / "s")
    assert not (tmp_path / "s").exists()


def test_foreign_folders_and_files_are_left_alone(tmp_path):
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(ValueError, match="no saved store"):
        rk.KeywordIndex(DOCS).save(tmp_path)
    with pytest.raises(ValueError, match="is a file"):
        rk.KeywordIndex(DOCS).save(tmp_path / "thesis.txt")
    with pytest.raises(FileNotFoundError, match="no saved KeywordIndex"):
        rk.KeywordIndex.load(tmp_path)
    assert (tmp_path / "thesis.txt").read_text() == "mine"


@pytest.mark.parametrize("content", ['{"name": "an app"}', "not json"])
def test_a_foreign_manifest_is_never_overwritten(tmp_path, content):
    (tmp_path / "manifest.json").write_text(content)
    with pytest.raises(ValueError, match=r"manifest\.json"):
        rk.KeywordIndex(DOCS).save(tmp_path)
    assert [(f.name, f.read_text()) for f in tmp_path.iterdir()] == [("manifest.json", content)]


def test_a_store_of_another_kind_is_never_overwritten(tmp_path):
    store = rk.VectorStore(DOCS, vectors=VECTORS)
    store.save(tmp_path)
    with pytest.raises(
        ValueError, match="holds a saved VectorStore; save the KeywordIndex in a folder of its"
    ):
        rk.KeywordIndex(DOCS).save(tmp_path)
    assert rk.VectorStore.load(tmp_path).ids == store.ids


def test_saving_again_replaces_and_leaves_nothing_behind(tmp_path):
    index = rk.KeywordIndex(DOCS)
    index.save(tmp_path)
    index.add({"d": "more"})
    index.save(tmp_path)
    assert len(list(tmp_path.iterdir())) == 3
    assert_same(index, rk.KeywordIndex.load(tmp_path))


def test_a_save_that_fails_leaves_the_old_one(tmp_path, monkeypatch):
    index = rk.KeywordIndex(DOCS)
    index.save(tmp_path)
    other = rk.KeywordIndex({"z": "zebra"})
    replace = os.replace

    def full_disk(source, target):
        if str(target).endswith("manifest.json"):
            raise OSError("disk full")
        replace(source, target)

    monkeypatch.setattr(os, "replace", full_disk)
    with pytest.raises(OSError, match="disk full"):
        other.save(tmp_path)
    assert_same(index, rk.KeywordIndex.load(tmp_path))


# ---------------------------------------------------------------- damaged and hostile files


class Marker:
    """Unpickling it would leave a file behind."""

    def __init__(self, path):
        self.path = str(path)

    def __reduce__(self):
        return (open, (self.path, "w"))


def saved(tmp_path, kind):
    folder = tmp_path / kind
    (rk.KeywordIndex(DOCS) if kind == "index" else rk.VectorStore(DOCS, vectors=VECTORS)).save(folder)
    return folder, rk.KeywordIndex if kind == "index" else rk.VectorStore


def swap(folder, name, content):
    """Replace a file and its checksum, as an attacker would."""
    manifest = json.loads((folder / "manifest.json").read_text())
    entry = manifest["files"][name]
    (folder / entry["file"]).write_bytes(content)
    entry["sha256"] = hashlib.sha256(content).hexdigest()
    (folder / "manifest.json").write_text(json.dumps(manifest))


@pytest.mark.parametrize("kind", ["index", "store"])
def test_a_pickle_is_never_opened(kind, tmp_path):
    payload = pickle.dumps(Marker(tmp_path / "pwned"))
    buffer = io.BytesIO()
    np.savez(
        buffer,
        slots=np.array([Marker(tmp_path / "pwned")], dtype=object),
        vectors=np.array([None], dtype=object),
    )
    for name, content in [("arrays", payload), ("arrays", buffer.getvalue()), ("docs", payload)]:
        folder, cls = saved(tmp_path, kind)
        swap(folder, name, content)
        with pytest.raises(ValueError, match=r"cannot be read|damaged"):
            cls.load(folder)
    folder, cls = saved(tmp_path, kind)
    (folder / "manifest.json").write_bytes(payload)
    with pytest.raises(ValueError, match="damaged"):
        cls.load(folder)
    for text in (payload.decode("latin-1"), "[]", "null", "{", '{"a": NaN}', "[" * 100_000):
        with pytest.raises(ValueError, match="snapshot"):
            cls.from_json(text)
    assert not (tmp_path / "pwned").exists()


@pytest.mark.parametrize("kind", ["index", "store"])
def test_damage_is_noticed_in_every_file(kind, tmp_path):
    folder, cls = saved(tmp_path, kind)
    for file in folder.iterdir():
        whole = file.read_bytes()
        file.write_bytes(whole[: len(whole) // 2])
        with pytest.raises(ValueError, match="damaged"):
            cls.load(folder)
        if file.name != "manifest.json":
            file.unlink()
            with pytest.raises(ValueError, match="incomplete"):
                cls.load(folder)
        file.write_bytes(whole)
    cls.load(folder)


@pytest.mark.parametrize(
    "name", ["../evil.npz", "/etc/passwd", "arrays-0123456789abcdef.npz/../../x", "", 3, None]
)
def test_a_path_that_leaves_the_folder_is_refused(name, tmp_path):
    folder, cls = saved(tmp_path, "index")
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["files"]["arrays"]["file"] = name
    (folder / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(ValueError, match="no proper file"):
        cls.load(folder)


def test_a_link_is_refused(tmp_path):
    folder, cls = saved(tmp_path, "index")
    file = next(folder.glob("arrays-*"))
    file.rename(tmp_path / "outside.npz")
    file.symlink_to(tmp_path / "outside.npz")
    with pytest.raises(ValueError, match="is a link"):
        cls.load(folder)


def test_another_kind_or_version_is_refused(tmp_path):
    folder, _ = saved(tmp_path, "index")
    with pytest.raises(ValueError, match="holds a KeywordIndex, not a VectorStore"):
        rk.VectorStore.load(folder)
    manifest = json.loads((folder / "manifest.json").read_text()) | {"format": 99}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(ValueError, match="format 99"):
        rk.KeywordIndex.load(folder)
    with pytest.raises(ValueError, match="must be of a VectorStore"):
        rk.VectorStore.from_json(rk.KeywordIndex(DOCS).to_json())


def test_arrays_that_do_not_belong_together_are_refused(tmp_path):
    folder, cls = saved(tmp_path, "index")
    file = next(folder.glob("arrays-*"))
    arrays = dict(np.load(file))
    for name, wrong in {
        "field0_docs": np.array([99], np.int32),
        "field0_indptr": np.array([0, 5]),
        "slots": np.array([0, 0, 1]),
        "field0_lengths": np.array([1], np.int32),
    }.items():
        buffer = io.BytesIO()
        np.savez(buffer, **(arrays | {name: wrong}))
        swap(folder, "arrays", buffer.getvalue())
        with pytest.raises(ValueError, match=r"damaged|slots"):
            cls.load(folder)
