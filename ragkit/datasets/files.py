"""Lines of text files: UTF-8 with or without a byte-order mark, gzip or not, any line ends, no blank lines.

An error names the file and the line.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import json
import os
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any

import pandas as pd

from ragkit.datasets.archives import Readable, TarPath, enter, open_bytes
from ragkit.frames.messages import count


def as_path(path: Any) -> Readable:
    """Make a path of a string or a path; an archive is entered, and nothing of it is unpacked to disk."""
    if isinstance(path, (zipfile.Path, TarPath)):
        return path
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"path must be a str or a path; got {type(path).__name__}.")
    return enter(Path(path).expanduser())


def need_file(path: Any) -> Readable:
    """Make a path of what must be a file that is there."""
    found = as_path(path)
    if isinstance(found, (zipfile.Path, TarPath)) and found.is_dir():
        raise ValueError(f"{str(path)!r} is an archive; load_dataset reads the data set inside.")
    if not found.is_file():
        why = "; that is a folder, which load_dataset reads" if found.is_dir() else ""
        raise FileNotFoundError(f"there is no file {str(path)!r}{why}.")
    return found


def suffix(path: Readable) -> str:
    """Say the kind of file by its ending, without ``.gz``: ``".jsonl"``."""
    name = path.name.lower().removesuffix(".gz")
    return os.path.splitext(name)[1]


def is_table(path: Readable) -> bool:
    """Say whether a file has named columns, whatever is in it."""
    return suffix(path) in (".jsonl", ".json", ".ndjson", ".csv", ".parquet")


def lines(path: Readable, encoding: str = "utf-8") -> Iterator[tuple[int, str]]:
    """Give the number and the text of each line that is not blank."""
    with open_bytes(path) as file:
        for number, text in enumerate(_decoded_lines(file, path.name, encoding), 1):
            line = text.removeprefix("\ufeff") if number == 1 else text
            line = line.rstrip("\r\n")
            if line.strip():
                yield number, line


def _decoded_lines(file: IO[bytes], name: str, encoding: str) -> Iterator[str]:
    """Cut at line ends, which are one byte in all encodings but the wide ones."""
    if _line_end(encoding) != b"\n":
        yield from _decode(file.read(), name, encoding).split("\n")
        return
    for number, raw in enumerate(file, 1):
        yield _decode(raw, name, encoding, number)


def _line_end(encoding: str) -> bytes:
    try:
        return "\n".encode(encoding)
    except LookupError:
        raise ValueError(
            f"unknown encoding {encoding!r}; write 'utf-8', 'latin-1' or 'utf-16', say."
        ) from None


def _decode(raw: bytes, name: str, encoding: str, line: int = 1) -> str:
    """Decode what starts on this line; an error names the line it is on."""
    try:
        return raw.decode(encoding)
    except UnicodeDecodeError as error:
        before = raw[: error.start]
        other = "utf-16" if raw[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) else "latin-1"
        raise ValueError(
            f"{name}, line {line + before.count(10)} is not {encoding}: {error.reason} at byte "
            f"{error.start - before.rfind(10) - 1}; give encoding=, for example encoding={other!r}."
        ) from None


def json_lines(path: Readable, encoding: str = "utf-8") -> Iterator[tuple[int, dict[str, Any]]]:
    """Give the number and the object of each line of a JSONL file."""
    for number, text in lines(path, encoding):
        try:
            item = json.loads(text)
        except json.JSONDecodeError as error:
            raise ValueError(f"{path.name}, line {number} is not JSON: {error}.") from None
        if not isinstance(item, dict):
            raise ValueError(f"{path.name}, line {number} must be a JSON object; got {type(item).__name__}.")
        yield number, item


def table(path: Readable, encoding: str = "utf-8") -> pd.DataFrame:
    """Read a JSONL, CSV, TSV or parquet file as a frame of strings (JSON and parquet keep their types)."""
    kind = suffix(path)
    if kind == ".json" and next((text for _, text in lines(path, encoding)), "").lstrip().startswith("["):
        return _json_array(path, encoding)
    if kind in (".jsonl", ".json", ".ndjson"):
        return pd.DataFrame([item for _, item in json_lines(path, encoding)])
    if kind == ".parquet":
        return _parquet(path)
    if kind == ".csv":
        return _csv(path, encoding)
    rows = [text.split("\t") for _, text in lines(path, encoding)]
    if not rows:
        return pd.DataFrame()
    return pd.DataFrame([dict(zip(rows[0], row)) for row in rows[1:]], columns=rows[0])


def _json_array(path: Readable, encoding: str) -> pd.DataFrame:
    """Read one JSON list of objects."""
    try:
        items = json.loads("\n".join(text for _, text in lines(path, encoding)))
    except json.JSONDecodeError as error:
        raise ValueError(f"{path.name} is not JSON: {error}.") from None
    if not all(isinstance(item, dict) for item in items):
        raise ValueError(f"{path.name} must hold JSON objects, one per line or in one list.")
    return pd.DataFrame(items)


def _csv(path: Readable, encoding: str) -> pd.DataFrame:
    _line_end(encoding)
    with open_bytes(path) as file:
        text = _decode(file.read(), path.name, encoding).removeprefix("\ufeff")
    # Through the standard library: pandas would turn the ids "NA" and "001" into NaN and 1.
    limit = csv.field_size_limit(max(len(text), 1))
    try:
        rows = [row for row in csv.reader(io.StringIO(text, newline="")) if any(row)]
    except csv.Error as error:
        raise ValueError(f"{path.name} cannot be read as CSV: {error}.") from None
    finally:
        csv.field_size_limit(limit)
    if not rows:
        return pd.DataFrame()
    for number, row in enumerate(rows[1:], 2):
        if len(row) != len(rows[0]):
            raise ValueError(
                f"{path.name}, row {number} has {count(len(row), 'field')}; the header has {len(rows[0])}."
            )
    return pd.DataFrame(rows[1:], columns=rows[0])


def _parquet(path: Readable) -> pd.DataFrame:
    with open_bytes(path) as file:
        data = io.BytesIO(file.read())
    try:
        return pd.read_parquet(data)
    except ImportError:
        raise ImportError(f"{path.name} needs pyarrow to be read: pip install pyarrow.") from None
    except Exception as error:  # each engine has errors of its own
        raise ValueError(f"{path.name} cannot be read as parquet: {error}.") from None


def write_atomic(path: Any, chunks: Iterable[str]) -> None:
    """Write text under a temporary name, then rename: a reader never sees half a file."""
    target = Path(path).expanduser()
    if not target.parent.is_dir():
        raise FileNotFoundError(
            f"there is no folder {str(target.parent)!r} to write {target.name!r} in; make it."
        )
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as raw:
            packed = target.name.endswith(".gz")
            stream: Any = gzip.GzipFile(filename="", fileobj=raw, mode="wb", mtime=0) if packed else raw
            for chunk in chunks:
                stream.write(chunk.encode("utf-8"))
            if packed:
                stream.close()
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
