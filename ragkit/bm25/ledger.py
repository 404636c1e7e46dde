"""Taking a score apart, and looking at what the index holds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from ragkit.bm25.postings import Postings
from ragkit.bm25.scoring import Scorer

PART_COLUMNS = ["query_tf", "tf", "df", "idf", "length_norm", "saturation", "contribution"]


def explain_score(words: list[str], slot: int, vocab: dict[str, int], scorer: Scorer) -> pd.DataFrame:
    """Give one row per query word; the contributions add up to the score."""
    counts = dict.fromkeys(words, 0)
    for word in words:
        counts[word] = 1 if scorer.setting.once else counts[word] + 1
    rows = []
    for word, count in counts.items():
        term = vocab.get(word)
        parts = _no_part(scorer, slot) if term is None else _part(term, slot, scorer)
        rows.append({"part": word, "query_tf": count, **parts, "contribution": count * parts["weight"]})
    frame = pd.DataFrame(rows, columns=["part", *PART_COLUMNS])
    if scorer.likelihood and (frame["tf"] > 0).any():
        known = int(frame.loc[frame["df"] > 0, "query_tf"].sum())
        prior = {"part": "(length)", "query_tf": known, "contribution": known * scorer.prior()[slot]}
        frame = pd.concat([frame, pd.DataFrame([prior])], ignore_index=True)
    dtypes: dict[str, Any] = {"part": "str", "query_tf": np.int64}
    frame = frame.astype(dtypes | dict.fromkeys(PART_COLUMNS[1:], np.dtype(np.float64)))
    frame.insert(1, "value", frame["contribution"])
    return frame


def _part(term: int, slot: int, scorer: Scorer) -> dict[str, float]:
    """Take one term's weight in one document apart."""
    docs, tf = scorer.postings(term)
    at = np.searchsorted(docs, slot)
    here = at < len(docs) and docs[at] == slot
    part = _no_part(scorer, slot) | {"df": len(docs)}
    if not scorer.likelihood and len(docs):
        part["idf"] = float(scorer.formula.idf(len(docs), scorer.n))
    if here:
        part["tf"] = float(tf[at])
        part["weight"] = float(scorer.weigh(term, docs[at : at + 1], tf[at : at + 1], df=len(docs))[0])
        if not scorer.likelihood:
            part["saturation"] = float(scorer.formula.saturation(tf[at], part["length_norm"], *scorer.knobs))
    return part


def _no_part(scorer: Scorer, slot: int) -> dict[str, float]:
    """Say what is true of a word that the document does not hold."""
    if scorer.likelihood:
        norm = idf = saturation = np.nan
    else:
        norm = 1.0 if len(scorer.fields) > 1 else float(scorer.norm[slot])
        idf, saturation = np.nan, 0.0
    return {"tf": 0, "df": 0, "idf": idf, "length_norm": norm, "saturation": saturation, "weight": 0.0}


def term_table(fields: list[Postings], scorer: Scorer) -> pd.DataFrame:
    """Give one row per term that some document holds, in the order in which they were first met."""
    vocab = fields[0].vocab
    df: Any
    cf: Any
    held: Any
    if not vocab:
        df = cf = np.empty(0, dtype=np.int64)
    elif len(fields) == 1:
        df = fields[0].df
    else:
        held = sum(
            sp.csr_array((np.ones(len(p.docs)), p.docs, p.indptr), shape=(len(vocab), scorer.n))
            for p in fields
        )
        df = np.diff(held.indptr)
    if vocab:
        cf = sum(np.diff(np.concatenate([[0], np.cumsum(p.tf, dtype=np.int64)])[p.indptr]) for p in fields)
    idf: Any = np.full(len(vocab), np.nan)
    keep = df > 0
    if not scorer.likelihood:
        idf[keep] = scorer.formula.idf(df[keep], scorer.n)
    frame = pd.DataFrame({"term": pd.Series(list(vocab), dtype="str"), "df": df, "cf": cf, "idf": idf})
    return frame[keep].reset_index(drop=True).astype({"df": np.int64, "cf": np.int64})
