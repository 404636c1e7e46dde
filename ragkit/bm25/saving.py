"""The arrays of a saved index: counts, the vocabulary, and the order of documents."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from ragkit.bm25.postings import Postings
from ragkit.frames.folder import parse_json
from ragkit.frames.table import DocTable


def pack_postings(fields: dict[str, Postings], table: DocTable) -> dict[str, np.ndarray]:
    """Give the arrays of a saved index."""
    vocab = next(iter(fields.values())).vocab
    words = json.dumps(list(vocab), ensure_ascii=True).encode()
    arrays = {"slots": table.slots, "vocab": np.frombuffer(words, dtype=np.uint8)}
    for number, p in enumerate(fields.values()):
        parts: dict[str, np.ndarray] = {"indptr": p.indptr, "docs": p.docs, "tf": p.tf, "lengths": p.lengths}
        arrays |= {f"field{number}_{name}": array for name, array in parts.items()}
    return arrays


def unpack_postings(arrays: dict[str, np.ndarray], fields: Any, n: int, where: str) -> dict[str, Postings]:
    """Make counts of the arrays of a saved index; arrays that do not belong together are refused."""
    words = parse_json(arrays["vocab"].tobytes(), f"the vocabulary of {where}")
    vocab = {word: number for number, word in enumerate(words)}
    out = {}
    for number, field in enumerate(fields):
        p = out[field] = Postings(vocab)
        names = ("indptr", "docs", "tf", "lengths")
        p.indptr, p.docs, p.tf, p.lengths = (arrays[f"field{number}_{name}"] for name in names)
        if not (len(words) == len(vocab) and _sound(p, n)):
            raise ValueError(f"{where} is damaged: its arrays do not belong together.")
    return out


def _sound(p: Postings, n: int) -> bool:
    """Say whether arrays belong together and to `n` documents; scoring trusts them without looking."""
    arrays = (p.indptr, p.docs, p.tf, p.lengths)
    return bool(
        all(array.ndim == 1 and array.dtype.kind in "iu" for array in arrays)
        and len(p.indptr) == len(p.vocab) + 1
        and p.indptr[0] == 0
        and (np.diff(p.indptr) >= 0).all()
        and p.indptr[-1] == len(p.docs) == len(p.tf)
        and len(p.lengths) == n
        and (not len(p.docs) or (p.docs.min() >= 0 and p.docs.max() < n))
    )
