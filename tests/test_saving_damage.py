"""Saved stores with one thing wrong: each is refused with its reason, or the thing did not matter."""

from __future__ import annotations

import copy
import hashlib
import io
import json

import numpy as np
import pandas as pd
import pytest

import ragkit as rk

DOCS = pd.DataFrame(
    {
        "doc_id": ["a", "b", "c", "d"],
        "title": ["fox", "hen", "", "owl"],
        "text": ["red fox", "brown hen and fox", "blue whale", "grey owl and hen"],
        "year": [1, 2, 3, 4],
        "seen": pd.to_datetime(["2020-01-01", None, "2022-03-04", "2021-01-01"]),
        "lang": pd.Categorical(["en", "de", "en", "en"]),
    }
)


def stores():
    fielded = rk.KeywordIndex(DOCS, fields={"title": 2.0, "text": 1.0}, b={"title": 0.3, "text": 0.75})
    lsa = rk.VectorStore(DOCS, embed=rk.LSAEmbedder(2, tokenizer=rk.Tokenizer(extra_stop_words=["x"])))
    own = rk.VectorStore(DOCS, vectors=np.eye(4))
    return {"index": rk.KeywordIndex(DOCS), "fields": fielded, "lsa": lsa, "vectors": own}


def parts(value, path=()):
    """Every place in nested lists and dicts; of a list its first element stands for all."""
    items = value.items() if isinstance(value, dict) else list(enumerate(value))[:1]
    for key, inner in items:
        yield (*path, key)
        if isinstance(inner, (dict, list)):
            yield from parts(inner, (*path, key))


def spoilt(value):
    """Copies of a JSON value with one part gone or of another kind, and where it was."""
    for path in parts(value):
        for new in ("gone", None, -1, "x", [], {}, [{}]):
            out = copy.deepcopy(value)
            holder = out
            for key in path[:-1]:
                holder = holder[key]
            if new == "gone":
                del holder[path[-1]]
            elif new == holder[path[-1]]:
                continue
            else:
                holder[path[-1]] = new
            yield path, new, out


def saved_files(folder, manifest):
    docs = json.loads((folder / manifest["files"]["docs"]["file"]).read_text())
    with np.load(folder / manifest["files"]["arrays"]["file"]) as npz:
        return docs, {name: npz[name] for name in npz.files}


def put(folder, manifest, part, content):
    """Write a file under the name and the checksum that it must have, and name it in the manifest."""
    digest, ending = hashlib.sha256(content).hexdigest(), manifest["files"][part]["file"].split(".")[-1]
    name = f"{part}-{digest[:16]}.{ending}"
    (folder / name).write_bytes(content)
    changed = copy.deepcopy(manifest)
    changed["files"][part] = {"file": name, "sha256": digest}
    (folder / "manifest.json").write_text(json.dumps(changed))
    return folder / name


def check_refused_or_loaded(cls, folder, what):
    try:
        loaded = cls.load(folder)
    except (ValueError, FileNotFoundError) as error:
        assert len(str(error).split()) > 3, (what, error)
    except Exception as error:
        pytest.fail(f"{what}: {error!r}")
    else:
        assert isinstance(loaded, cls)


@pytest.mark.parametrize("kind", ["index", "fields", "lsa", "vectors"])
@pytest.mark.filterwarnings("ignore::ragkit.RetrievalWarning")
def test_one_wrong_thing_in_the_json_is_refused_with_its_reason(kind, tmp_path):
    store = stores()[kind]
    store.save(tmp_path)
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    for path, new, changed in spoilt(manifest):
        (tmp_path / "manifest.json").write_text(json.dumps(changed))
        check_refused_or_loaded(type(store), tmp_path, (path, new))
    docs, _ = saved_files(tmp_path, manifest)
    for path, new, changed in spoilt(docs):
        made = put(tmp_path, manifest, "docs", json.dumps(changed).encode())
        check_refused_or_loaded(type(store), tmp_path, (path, new))
        made.unlink()


@pytest.mark.parametrize("kind", ["index", "fields", "lsa", "vectors"])
@pytest.mark.filterwarnings("ignore::ragkit.RetrievalWarning")
def test_an_array_that_is_gone_or_of_another_shape_is_refused_with_its_reason(kind, tmp_path):
    store = stores()[kind]
    store.save(tmp_path)
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    _, arrays = saved_files(tmp_path, manifest)
    for name, array in arrays.items():
        for new in (
            None,
            array[:0],
            np.array(7),
            np.array(["x"]),
            array[None],
            array.astype(np.float64) - 0.5,
        ):
            changed = {k: v for k, v in arrays.items() if k != name} | ({} if new is None else {name: new})
            buffer = io.BytesIO()
            np.savez(buffer, **changed)
            made = put(tmp_path, manifest, "arrays", buffer.getvalue())
            check_refused_or_loaded(type(store), tmp_path, (name, None if new is None else new.shape))
            made.unlink()


@pytest.mark.parametrize("kind", ["index", "fields", "lsa", "vectors"])
@pytest.mark.filterwarnings("ignore::ragkit.RetrievalWarning")
def test_one_wrong_thing_in_a_snapshot_is_refused_with_its_reason(kind):
    store = stores()[kind]
    for path, new, changed in spoilt(json.loads(store.to_json())):
        try:
            type(store).from_json(json.dumps(changed))
        except ValueError as error:
            assert len(str(error).split()) > 3, (path, new, error)
        except Exception as error:
            pytest.fail(f"{path}, {new!r}: {error!r}")


def test_a_store_saved_again_without_its_embedder_keeps_its_name(tmp_path):
    class Named:
        def __call__(self, texts):
            return np.ones((len(texts), 2))

        def __repr__(self):
            return "Named()"

    rk.VectorStore(DOCS, embed=Named()).save(tmp_path / "s")
    for _ in range(3):
        store = rk.VectorStore.load(tmp_path / "s")
        store.save(tmp_path / "s")
    with pytest.raises(ValueError, match=r"saved with embed=Named\(\); give it"):
        store.search("fox")
