"""The file in which a panel keeps judgements: read as any other, written in the form that its name says."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pandas as pd

from ragkit.datasets import read_qrels, write_qrels
from ragkit.datasets.files import suffix, write_atomic
from ragkit.frames import as_qrels, some

_COLUMNS = ["query_id", "doc_id", "relevance"]


def read_grades(path: Path) -> pd.DataFrame:
    """Read the judgements to go on with.

    Parameters
    ----------
    path : Path
        A file in any form that :func:`ragkit.read_qrels` reads; it need not be there yet.

    Returns
    -------
    DataFrame
        Judgements.

    Raises
    ------
    ValueError
        If the file holds more than one grade for each query and document, which saving would lose.
    """
    if not path.exists():
        return as_qrels({})
    found = read_qrels(path)
    more = [name for name in found.columns if name not in _COLUMNS]
    if more:
        raise ValueError(
            f"{path.name} holds {some(more)} beside the grades, which judge would not keep when it saves; "
            "give the file as qrels=rk.read_qrels(...), and another path."
        )
    return found


def write_grades(qrels: pd.DataFrame, path: Path) -> None:
    """Write judgements under a temporary name, then rename: no crash leaves half a file.

    Parameters
    ----------
    qrels : DataFrame
        The judgements.
    path : Path
        Where to. ``.csv`` and ``.jsonl`` are such tables, ``.tsv`` is BEIR's, any other name has TREC's four
        columns; ``.gz`` packs.
    """
    if suffix(path) == ".csv":
        write_atomic(path, [qrels.to_csv(index=False, lineterminator="\n")])
    elif suffix(path) in (".jsonl", ".ndjson", ".json"):
        rows = qrels.to_dict("records")
        write_atomic(path, (json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    else:
        write_qrels(qrels, path)


def check_place(path: Path, qrels: pd.DataFrame) -> None:
    """Refuse, before anything is judged, a place or a form that cannot keep judgements.

    Parameters
    ----------
    path : Path
        Where they will be saved.
    qrels : DataFrame
        All pairs that may be judged, with any grade.

    Raises
    ------
    OSError
        If the folder is not there, or not to be written in.
    ValueError
        If the form cannot hold an id, or what is written under this name could not be read again.
    """
    if not path.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {str(path.parent)!r} to save judgements in; make it.")
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=".judging-") as trial:
        there = Path(trial) / path.name
        write_grades(qrels, there)
        if read_qrels(there)[_COLUMNS].values.tolist() != qrels[_COLUMNS].values.tolist():
            raise ValueError(
                f"judgements of these ids do not come back from a file called {path.name!r}; "
                "end its name with '.jsonl'."
            )
