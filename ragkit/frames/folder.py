"""Saving to a folder: arrays as npz, the rest as JSON, no pickle; one file that names the others comes last.

A folder holds ``manifest.json`` and the files it names, each with its SHA-256. A save writes new files
beside the old ones and then replaces the manifest in one step, so a reader sees the old state or the new.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

FORMAT = 1
_MANIFEST = "manifest.json"
_NAME = re.compile(r"[a-z]+-[0-9a-f]{16}\.(json|npz)")


def save_folder(
    folder: Any, kind: str, meta: dict[str, Any], docs: pd.DataFrame, arrays: Mapping[str, Any]
) -> None:
    """Write a store to a folder.

    Parameters
    ----------
    folder : path
        A folder that is new, empty, or holds an earlier save.
    kind : str
        What is saved: ``"KeywordIndex"``.
    meta : dict
        Settings; must be JSON.
    docs : DataFrame
        The documents; cells must be numbers, strings, dates or JSON.
    arrays : mapping of name to ndarray
        Numbers and booleans.

    Raises
    ------
    ValueError
        If the folder holds other files or a store of another kind, or a column cannot be written.
    """
    path = Path(folder)
    _check_free(path, kind)
    columns, of_docs = pack_docs(docs)
    contents = {
        "docs": (
            json.dumps(columns, ensure_ascii=False, allow_nan=False).encode("utf-8", "surrogatepass"),
            "json",
        ),
        "arrays": (_npz(dict(arrays) | of_docs), "npz"),
    }
    path.mkdir(parents=True, exist_ok=True)
    files = {}
    for name, (content, ending) in contents.items():
        digest = hashlib.sha256(content).hexdigest()
        files[name] = {"file": f"{name}-{digest[:16]}.{ending}", "sha256": digest}
        _write(path / files[name]["file"], content)
    manifest = {"format": FORMAT, "kind": kind, "files": files, "meta": meta}
    _write(path / _MANIFEST, json.dumps(manifest, allow_nan=False, indent=1).encode())
    used = {entry["file"] for entry in files.values()}
    for old in path.iterdir():
        if _NAME.fullmatch(old.name) and old.name not in used:
            old.unlink()


def _check_free(path: Path, kind: str) -> None:
    """Refuse to write over what is no earlier save of the same kind."""
    if path.exists() and not path.is_dir():
        raise ValueError(f"folder must be a folder; {str(path)!r} is a file.")
    if not path.is_dir() or not any(path.iterdir()):
        return
    if not (path / _MANIFEST).is_file():
        raise ValueError(f"{str(path)!r} holds files that are no saved store; choose an empty folder.")
    held = _read_manifest(path)["kind"]
    if held != kind:
        raise ValueError(f"{str(path)!r} holds a saved {held}; save the {kind} in a folder of its own.")


def _read_manifest(path: Path) -> dict[str, Any]:
    manifest = parse_json((path / _MANIFEST).read_bytes(), f"{_MANIFEST} in {str(path)!r}")
    if not isinstance(manifest, dict) or not {"format", "kind", "files", "meta"} <= set(manifest):
        raise ValueError(f"{_MANIFEST} in {str(path)!r} is not one of ragkit's.")
    return manifest


def load_folder(folder: Any, kind: str) -> tuple[dict[str, Any], pd.DataFrame, dict[str, np.ndarray]]:
    """Read what :func:`save_folder` wrote.

    Parameters
    ----------
    folder : path
        The folder.
    kind : str
        What it must hold.

    Returns
    -------
    meta : dict
        The settings.
    docs : DataFrame
        The documents.
    arrays : dict of name to ndarray
        The arrays.

    Raises
    ------
    FileNotFoundError
        If there is no saved store.
    ValueError
        If it is damaged, of another kind or version, or names files outside the folder.
    """
    path = Path(folder)
    if not (path / _MANIFEST).is_file():
        raise FileNotFoundError(f"{str(path)!r} holds no saved {kind}: there is no {_MANIFEST} in it.")
    manifest = _read_manifest(path)
    if manifest["kind"] != kind:
        raise ValueError(f"{str(path)!r} holds a {manifest['kind']}, not a {kind}; load it with that class.")
    if manifest["format"] != FORMAT:
        raise ValueError(
            f"{str(path)!r} was saved in format {manifest['format']!r}; this version reads {FORMAT}. "
            "Save it anew."
        )
    docs = _read(path, manifest["files"], "docs")
    arrays = _unzip(_read(path, manifest["files"], "arrays"), path)
    frame = unpack_docs(parse_json(docs, f"the documents in {str(path)!r}"), arrays, repr(str(path)))
    return manifest["meta"], frame, {k: v for k, v in arrays.items() if not k.startswith("docs:")}


@contextmanager
def refuse_damaged(what: str) -> Iterator[None]:
    """Refuse what cannot be put together again, whatever is missing or of another kind.

    Parameters
    ----------
    what : str
        What is put together, for the message.

    Raises
    ------
    ValueError
        In the place of what went wrong, and with it.

    Examples
    --------
    >>> with refuse_damaged("the saved store"):
    ...     {"k1": 1.2}["b"]
    Traceback (most recent call last):
    ValueError: the saved store is damaged: KeyError('b').
    """
    try:
        yield
    except (KeyError, TypeError, AttributeError, IndexError, OverflowError, NotImplementedError) as error:
        raise ValueError(f"{what} is damaged: {error!r}.") from error


def parse_json(content: bytes | str, what: str) -> Any:
    """Parse JSON; what is damaged is refused with its name.

    Parameters
    ----------
    content : bytes or str
        The text.
    what : str
        Its name in the message.

    Returns
    -------
    object
        The value.
    """
    try:
        text = content if isinstance(content, str) else content.decode("utf-8", "surrogatepass")
        return json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{what} is damaged: {error}.") from None


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _write(path: Path, content: bytes) -> None:
    """Write a file under a temporary name, then rename it."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    temporary.write_bytes(content)
    os.replace(temporary, path)


def _read(path: Path, files: Any, name: str) -> bytes:
    """Read a file that the manifest names, and check it."""
    entry: Any = files.get(name) if isinstance(files, dict) else None
    file = entry.get("file") if isinstance(entry, dict) else None
    if not isinstance(file, str) or not _NAME.fullmatch(file):
        raise ValueError(f"{_MANIFEST} in {str(path)!r} names no proper file for {name}; got {file!r}.")
    full = path / file
    if full.is_symlink() or not full.is_file():
        raise ValueError(f"{str(path)!r} is incomplete: {file} is missing or is a link.")
    content = full.read_bytes()
    if hashlib.sha256(content).hexdigest() != entry.get("sha256"):
        raise ValueError(f"{file} in {str(path)!r} is damaged: its checksum differs. Save the store anew.")
    return content


def _npz(arrays: dict[str, np.ndarray]) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, **{name: np.asarray(array) for name, array in arrays.items()})  # type: ignore[arg-type]
    return buffer.getvalue()


def _unzip(content: bytes, path: Path) -> dict[str, np.ndarray]:
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as npz:
            return {name: npz[name] for name in npz.files}
    except Exception as error:  # zipfile, numpy and the header parser each raise their own
        raise ValueError(f"the arrays in {str(path)!r} cannot be read: {error}.") from None


def pack_docs(docs: pd.DataFrame) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Split documents into JSON and arrays, column by column.

    Parameters
    ----------
    docs : DataFrame
        The documents.

    Returns
    -------
    columns : dict
        JSON: the columns, and the cells of those that are no numbers.
    arrays : dict of name to ndarray
        The others, under ``"docs:<number of the column>"``.
    """
    columns, arrays = [], {}
    for number, name in enumerate(docs.columns):
        column = docs[name]
        entry: dict[str, Any] = {"name": str(name)}
        if isinstance(column.dtype, pd.CategoricalDtype):
            entry |= {
                "type": "category",
                "categories": _cells(column.cat.categories, name),
                "ordered": bool(column.cat.ordered),
            }
            arrays[f"docs:{number}"] = column.cat.codes.to_numpy()
        elif isinstance(column.dtype, np.dtype) and column.dtype.kind in "biuf":
            entry["type"] = "number"
            arrays[f"docs:{number}"] = column.to_numpy()
        elif isinstance(column.dtype, np.dtype) and column.dtype.kind in "mM":
            entry |= {"type": "time", "dtype": str(column.dtype)}
            arrays[f"docs:{number}"] = column.to_numpy().view(np.int64)
        else:
            entry |= {"type": "cells", "dtype": str(column.dtype), "values": _cells(column, name)}
        columns.append(entry)
    return {"rows": len(docs), "columns": columns}, arrays


def _cells(column: Any, name: Any) -> list[Any]:
    """Make JSON of a column's cells; missing ones become null."""
    cells = [None if _missing(value) else value for value in column.tolist()]
    try:
        if json.loads(json.dumps(cells, allow_nan=False)) != cells:
            raise ValueError("a cell changes on the way, such as a tuple or a dict with numbers as keys")
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"column {name!r} of the documents cannot be saved as JSON: {error}. "
            "Convert it to strings or drop it."
        ) from None
    return cells


def _missing(value: Any) -> bool:
    return value is None or value is pd.NA or value is pd.NaT or (isinstance(value, float) and value != value)


def unpack_docs(packed: Any, arrays: Mapping[str, np.ndarray], what: str) -> pd.DataFrame:
    """Put documents together again.

    Parameters
    ----------
    packed : dict
        The JSON of :func:`pack_docs`.
    arrays : mapping of name to ndarray
        Its arrays.
    what : str
        Where they are from, for the message.

    Returns
    -------
    DataFrame
        The documents.
    """
    try:
        columns: dict[str, Any] = {}
        for number, entry in enumerate(packed["columns"]):
            kind, key = entry["type"], f"docs:{number}"
            if kind == "category":
                dtype = pd.CategoricalDtype(entry["categories"], ordered=entry["ordered"])
                columns[entry["name"]] = pd.Series(pd.Categorical.from_codes(arrays[key], dtype=dtype))
            elif kind == "number":
                columns[entry["name"]] = pd.Series(arrays[key])
            elif kind == "time":
                columns[entry["name"]] = pd.Series(arrays[key].view(entry["dtype"]))
            else:
                columns[entry["name"]] = _series(entry["values"], entry["dtype"])
        frame = pd.DataFrame(columns)
        if any(len(column) != packed["rows"] for column in columns.values()):
            raise ValueError("columns differ in length")
    except (KeyError, TypeError, AttributeError, IndexError, OverflowError, ValueError) as error:
        raise ValueError(f"the documents in {what} are damaged: {error!r}.") from None
    return frame


def _series(values: list[Any], dtype: str) -> pd.Series:
    """Make a column of the dtype it had; text comes back as this pandas holds text."""
    if dtype in ("str", "string"):
        return pd.Series(values, dtype="str" if dtype == "str" else dtype)
    column = pd.Series(values, dtype=object)
    return column if dtype == "object" else column.astype(dtype)  # type: ignore[call-overload]


def to_snapshot(kind: str, meta: dict[str, Any], docs: pd.DataFrame, arrays: Mapping[str, np.ndarray]) -> str:
    """Write a small store as one JSON text; numbers come back to the last bit.

    Parameters
    ----------
    kind : str
        What it is.
    meta : dict
        Settings.
    docs : DataFrame
        The documents.
    arrays : mapping of name to ndarray
        Arrays of numbers.

    Returns
    -------
    str
        JSON.
    """
    columns, of_docs = pack_docs(docs)
    lists = {
        name: {"dtype": str(array.dtype), "shape": array.shape, "values": _numbers(array)}
        for name, array in (dict(arrays) | of_docs).items()
    }
    whole = {"format": FORMAT, "kind": kind, "meta": meta, "docs": columns, "arrays": lists}
    return json.dumps(whole, ensure_ascii=False, allow_nan=False)


def _numbers(array: np.ndarray) -> list[Any]:
    flat = array.ravel().tolist()
    return [None if value != value else value for value in flat] if array.dtype.kind == "f" else flat


def from_snapshot(text: Any, kind: str) -> tuple[dict[str, Any], pd.DataFrame, dict[str, np.ndarray]]:
    """Read what :func:`to_snapshot` wrote.

    Parameters
    ----------
    text : str
        JSON.
    kind : str
        What it must be.

    Returns
    -------
    meta : dict
        Settings.
    docs : DataFrame
        The documents.
    arrays : dict of name to ndarray
        The arrays.
    """
    whole = parse_json(text, "the snapshot")
    if not isinstance(whole, dict) or whole.get("kind") != kind or whole.get("format") != FORMAT:
        found = (
            {key: whole.get(key) for key in ("kind", "format")}
            if isinstance(whole, dict)
            else type(whole).__name__
        )
        raise ValueError(f"the snapshot must be of a {kind} in format {FORMAT}; got {found}.")
    with refuse_damaged("the snapshot"):
        arrays = {}
        for name, packed in whole["arrays"].items():
            values = [np.nan if value is None else value for value in packed["values"]]
            arrays[name] = np.array(values, dtype=_plain_dtype(packed["dtype"])).reshape(packed["shape"])
        docs = unpack_docs(whole["docs"], arrays, "the snapshot")
        return whole["meta"], docs, {k: v for k, v in arrays.items() if not k.startswith("docs:")}


def _plain_dtype(name: str) -> np.dtype:
    dtype = np.dtype(name)
    if dtype.kind not in "biuf":
        raise TypeError(f"arrays hold numbers, not {name}")
    return dtype
