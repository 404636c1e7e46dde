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
import re
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from ragkit.datasets.archives import Readable, TarPath, enter, open_bytes
from ragkit.frames.messages import count

_LONGEST_CELL = 2**31 - 1  # of a CSV; the csv module takes 131,072 characters unasked


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


def refuse_table(path: Any, who: str, instead: str) -> None:
    """Refuse a name under which the readers would expect a table with named columns."""
    if is_table(Path(path)):
        kind = suffix(Path(path))
        raise ValueError(
            f"{who} writes no {kind}, as the name {Path(path).name!r} says; end it with {instead}."
        )


def lines(path: Readable, encoding: str = "utf-8") -> Iterator[tuple[int, str]]:
    """Give the number and the text of each line that is not blank."""
    for number, text in enumerate(_decoded(path, encoding), 1):
        line = text.rstrip("\r\n")
        if line.strip():
            yield number, line


def _decoded(path: Readable, encoding: str, newline: str | None = None) -> Iterator[str]:
    """Give the lines with their ends, without a byte-order mark."""
    with open_bytes(path) as file:
        head = file.peek(1)  # type: ignore[attr-defined]
        # Lone carriage returns end lines where nothing else does; elsewhere a text may hold one.
        end = None if b"\r" in head and b"\n" not in head else "\n"
        try:
            codecs.lookup(encoding)  # a stream would take None and "locale" for what this computer is set to
            stream = io.TextIOWrapper(file, encoding, newline=end if newline is None else newline)
            for number, text in enumerate(stream):
                yield text if number else text.removeprefix("\ufeff")
        except LookupError:
            raise ValueError(
                f"unknown encoding {encoding!r}; write 'utf-8', 'latin-1' or 'utf-16', say."
            ) from None
        except UnicodeDecodeError as error:
            raise _undecodable(path, encoding) or error from None


def _undecodable(path: Readable, encoding: str) -> ValueError | None:
    """Find the line that cannot be decoded: a stream decodes ahead of the line it gives."""
    with open_bytes(path) as file:
        raw = file.read()
    try:
        raw.decode(encoding)
    except UnicodeDecodeError as error:
        before = raw[: error.start]
        line = 1 + len(re.findall("\r\n?|\n", before.decode(encoding, "ignore")))
        other = "utf-16" if raw[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) else "latin-1"
        return ValueError(
            f"{path.name}, line {line} is not {encoding}: {error.reason} at byte "
            f"{error.start - before.rfind(10) - 1}; give encoding=, for example encoding={other!r}."
        )
    return None


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
    """Read a JSONL, CSV or parquet file as a frame (of CSV, all cells are strings)."""
    kind = suffix(path)
    if kind == ".json" and next((text for _, text in lines(path, encoding)), "").lstrip().startswith("["):
        return _json_array(path, encoding)
    if kind in (".jsonl", ".json", ".ndjson"):
        return pd.DataFrame([item for _, item in json_lines(path, encoding)])
    if kind == ".parquet":
        return _parquet(path)
    if kind == ".csv":
        return _csv(path, encoding)
    raise ValueError(f"{path.name} is no JSONL, CSV or parquet file; its name must say what it is.")


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
    # Through the standard library: pandas would turn the ids "NA" and "001" into NaN and 1.
    reader = csv.reader(_decoded(path, encoding, newline=""), strict=True)
    limit = csv.field_size_limit(_LONGEST_CELL)
    try:
        rows = [row for row in reader if any(row)]
    except csv.Error as error:
        raise ValueError(
            f"{path.name}, line {reader.line_num} cannot be read as CSV: {error}; a quotation mark inside a "
            "quoted cell is written twice."
        ) from None
    finally:
        csv.field_size_limit(limit)
    for number, row in enumerate(rows[1:], 2):
        if len(row) != len(rows[0]):
            raise ValueError(
                f"{path.name}, row {number} has {count(len(row), 'field')}; the header has {len(rows[0])}."
            )
    return with_header(rows[0], rows[1:], path.name) if rows else pd.DataFrame()


def with_header(header: list[str], rows: list[list[str]], what: str) -> pd.DataFrame:
    """Make a table of rows under a header, which names each column once."""
    # Spreadsheets leave columns without name and content at the end.
    used = [n for n, name in enumerate(header) if name.strip() or any(row[n] for row in rows)]
    names = [header[n] for n in used]
    twice = [name for name in dict.fromkeys(names) if names.count(name) > 1]
    if twice:
        raise ValueError(f"{what} names the column {twice[0]!r} twice; give each column a name of its own.")
    return pd.DataFrame(rows, columns=header).iloc[:, used]


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
