"""BM25 and its relatives: each a product of an idf and a saturation, a few lines with its paper.

The letters are those of the papers: ``tf`` how often the term stands in the document, ``df`` in how many of
the ``N`` documents it stands, ``dl`` the document's length in words, ``avgdl`` the average length.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np


def length_norm(dl: Any, avgdl: float, b: float) -> Any:
    """Compare a length with the average: ``1 - b + b dl / avgdl``; the ratio is 0 where no word is at all.

    Parameters
    ----------
    dl : int or ndarray
        Length in words.
    avgdl : float
        The average length.
    b : float, from 0 to 1
        How much the length counts.

    Returns
    -------
    ndarray of float64
        1 for a document of average length.
    """
    dl = np.asarray(dl, dtype=np.float64)
    return 1 - b + b * (dl / avgdl if avgdl > 0 else np.zeros_like(dl))


def idf_lucene(df: Any, N: int) -> Any:
    """Lucene's idf, never negative: ``ln(1 + (N - df + 0.5) / (df + 0.5))``.

    Parameters
    ----------
    df : int or ndarray, from 1 to N
        In how many documents the term stands.
    N : int
        How many documents there are.

    Returns
    -------
    float or ndarray
        Above 0.
    """
    return np.log1p((N - df + 0.5) / (df + 0.5))


def idf_robertson(df: Any, N: int) -> Any:
    """Robertson's idf, negative ones raised to 0: ``ln(max(1, (N - df + 0.5) / (df + 0.5)))``.

    Parameters
    ----------
    df : int or ndarray, from 1 to N
        In how many documents the term stands.
    N : int
        How many documents there are.

    Returns
    -------
    float or ndarray
        0 for a term of half the documents or more.
    """
    return np.log(np.maximum(1.0, (N - df + 0.5) / (df + 0.5)))


def idf_atire(df: Any, N: int) -> Any:
    """ATIRE's idf: ``ln(N / df)``.

    Parameters
    ----------
    df : int or ndarray, from 1 to N
        In how many documents the term stands.
    N : int
        How many documents there are.

    Returns
    -------
    float or ndarray
        0 for a term of all documents.
    """
    return np.log(N / df)


def idf_bm25l(df: Any, N: int) -> Any:
    """BM25L's idf: ``ln((N + 1) / (df + 0.5))``.

    Parameters
    ----------
    df : int or ndarray, from 1 to N
        In how many documents the term stands.
    N : int
        How many documents there are.

    Returns
    -------
    float or ndarray
        Above 0.
    """
    return np.log((N + 1) / (df + 0.5))


def idf_bm25plus(df: Any, N: int) -> Any:
    """BM25+'s idf: ``ln((N + 1) / df)``.

    Parameters
    ----------
    df : int or ndarray, from 1 to N
        In how many documents the term stands.
    N : int
        How many documents there are.

    Returns
    -------
    float or ndarray
        Above 0.
    """
    return np.log((N + 1) / df)


def idf_classic(df: Any, N: int) -> Any:
    """The smoothed idf of TF-IDF: ``ln((N + 1) / (df + 1)) + 1``.

    Parameters
    ----------
    df : int or ndarray, from 1 to N
        In how many documents the term stands.
    N : int
        How many documents there are.

    Returns
    -------
    float or ndarray
        At least 1.
    """
    return np.log((N + 1) / (df + 1)) + 1


def root_length(dl: Any, avgdl: float, b: float) -> Any:
    """Take the square root of the length, by which the classic similarity divides.

    Parameters
    ----------
    dl : int or ndarray
        Length in words.
    avgdl : float
        Not read.
    b : float, from 0 to 1
        Not read.

    Returns
    -------
    ndarray of float64
        The square root of `dl`.
    """
    return np.sqrt(np.asarray(dl, dtype=np.float64))


# A saturation says how much tf occurrences are worth; norm is length_norm(dl, avgdl, b), or root_length.


def saturation_bm25(tf: Any, norm: Any, k1: float, delta: float) -> Any:
    """``tf (k1 + 1) / (tf + k1 norm)``: grows from 0 towards k1 + 1.

    Parameters
    ----------
    tf : int or ndarray
        How often the term stands in the document, at least once.
    norm : float or ndarray
        The document's :func:`length_norm`.
    k1 : float, at least 0
        How slowly repetition stops counting.
    delta : float, at least 0
        Not read.

    Returns
    -------
    float or ndarray
        What that is worth, to be multiplied by the idf.
    """
    return tf * (k1 + 1) / (tf + k1 * norm)


def saturation_lucene(tf: Any, norm: Any, k1: float, delta: float) -> Any:
    """``tf / (tf + k1 norm)``: grows from 0 towards 1.

    Parameters
    ----------
    tf : int or ndarray
        How often the term stands in the document, at least once.
    norm : float or ndarray
        The document's :func:`length_norm`.
    k1 : float, at least 0
        How slowly repetition stops counting.
    delta : float, at least 0
        Not read.

    Returns
    -------
    float or ndarray
        What that is worth, to be multiplied by the idf.
    """
    return tf / (tf + k1 * norm)


def saturation_bm25l(tf: Any, norm: Any, k1: float, delta: float) -> Any:
    """``(k1 + 1) (c + delta) / (k1 + c + delta)`` with ``c = tf / norm``.

    Parameters
    ----------
    tf : int or ndarray
        How often the term stands in the document, at least once.
    norm : float or ndarray
        The document's :func:`length_norm`.
    k1 : float, at least 0
        How slowly repetition stops counting.
    delta : float, at least 0
        What is added to `c`.

    Returns
    -------
    float or ndarray
        What that is worth, to be multiplied by the idf.
    """
    c = tf / norm
    return (k1 + 1) * (c + delta) / (k1 + c + delta)


def saturation_bm25plus(tf: Any, norm: Any, k1: float, delta: float) -> Any:
    """``delta + tf (k1 + 1) / (tf + k1 norm)``: every occurrence earns at least delta.

    Parameters
    ----------
    tf : int or ndarray
        How often the term stands in the document, at least once.
    norm : float or ndarray
        The document's :func:`length_norm`.
    k1 : float, at least 0
        How slowly repetition stops counting.
    delta : float, at least 0
        What any occurrence is worth at least.

    Returns
    -------
    float or ndarray
        What that is worth, to be multiplied by the idf.
    """
    return delta + saturation_bm25(tf, norm, k1, delta)


def saturation_classic(tf: Any, norm: Any, k1: float, delta: float) -> Any:
    """``sqrt(tf) / sqrt(dl)``, as in Lucene's classic similarity.

    Parameters
    ----------
    tf : int or ndarray
        How often the term stands in the document, at least once.
    norm : float or ndarray
        The document's :func:`root_length`.
    k1 : float, at least 0
        Not read.
    delta : float, at least 0
        Not read.

    Returns
    -------
    float or ndarray
        What that is worth, to be multiplied by the idf.
    """
    return np.sqrt(np.asarray(tf, dtype=np.float64)) / norm


class Variant(NamedTuple):
    """How a variant weighs a term: ``idf(df, N) * saturation(tf, norm(dl, avgdl, b), k1, delta)``."""

    idf: Callable[..., Any]
    saturation: Callable[..., Any]
    delta: float
    source: str
    norm: Callable[..., Any] = length_norm
    # Whether the weight depends on tf and norm through tf / norm alone, so that BM25F holds.
    by_field: bool = True


#: The variants by the name that ``variant=`` takes.
VARIANTS: dict[str, Variant] = {
    "bm25": Variant(
        idf_lucene,
        saturation_bm25,
        0.0,
        "Robertson and Zaragoza. The probabilistic relevance framework: BM25 and beyond. 2009.",
    ),
    "lucene": Variant(
        idf_lucene,
        saturation_lucene,
        0.0,
        "Kamphuis et al. Which BM25 do you mean? ECIR 2020.",
    ),
    "robertson": Variant(
        idf_robertson,
        saturation_lucene,
        0.0,
        "Robertson et al. Okapi at TREC-3. 1994.",
    ),
    "atire": Variant(
        idf_atire,
        saturation_bm25,
        0.0,
        "Trotman, Jia, Crane. Towards an efficient and effective search engine. OSIR 2012.",
    ),
    "bm25l": Variant(
        idf_bm25l,
        saturation_bm25l,
        0.5,
        "Lv and Zhai. When documents are very long, BM25 fails! SIGIR 2011.",
    ),
    "bm25+": Variant(
        idf_bm25plus,
        saturation_bm25plus,
        1.0,
        "Lv and Zhai. Lower-bounding term frequency normalization. CIKM 2011.",
    ),
    "tfidf": Variant(
        idf_classic,
        saturation_classic,
        0.0,
        "Salton and Buckley. Term-weighting approaches in automatic text retrieval. 1988.",
        norm=root_length,
        by_field=False,
    ),
}


def term_weight(
    tf: Any,
    df: Any,
    N: int,
    dl: Any,
    avgdl: float,
    *,
    variant: str = "bm25",
    k1: float = 1.2,
    b: float = 0.75,
    delta: float | None = None,
) -> Any:
    """Weigh one term in one document: what a query that holds the term once scores.

    Parameters
    ----------
    tf : int or ndarray of int
        How often the term stands in the document, at least 1.
    df : int or ndarray of int
        In how many documents it stands.
    N : int
        Number of documents.
    dl : int or ndarray of int
        The document's length in words.
    avgdl : float
        The average length.
    variant : {"bm25", "lucene", "robertson", "atire", "bm25l", "bm25+", "tfidf"}, default="bm25"
        The formula; :data:`VARIANTS` holds its parts and its paper.
    k1 : float, default=1.2
        How slowly repetition of a word stops counting; 0 counts presence alone.
    b : float, default=0.75
        How much long documents pay: 0 not at all, 1 in full.
    delta : float, optional
        Lower bound of BM25L and BM25+; None for the variant's own (0.5 and 1).

    Returns
    -------
    float or ndarray of float64
        The weight.

    Examples
    --------
    >>> float(round(term_weight(2, 2, 3, 3, 8 / 3), 6))  # ln(1 + 1.5/2.5) * 2 * 2.2 / (2 + 1.2 * 1.09375)
    0.624307
    """
    formula = VARIANTS[variant]
    delta = formula.delta if delta is None else delta
    return formula.idf(df, N) * formula.saturation(tf, formula.norm(dl, avgdl, b), k1, delta)


def dirichlet_weight(tf: Any, dl: Any, share: float, *, mu: float = 2000.0) -> Any:
    """Weigh one term by query likelihood under a Dirichlet prior.

    ``ln((tf + mu share) / (dl + mu)) - ln(share)``: the logarithm of the chance that the document's
    smoothed language model writes the word, less a constant that no document changes.

    Parameters
    ----------
    tf : int or ndarray of int
        How often the term stands in the document; 0 is a value.
    dl : int or ndarray of int
        The document's length in words.
    share : float
        The term's share of all words of the collection.
    mu : float, default=2000
        How many words of the whole collection each document is mixed with.

    Returns
    -------
    float or ndarray of float64
        ``ln(1 + tf / (mu share)) + ln(mu / (dl + mu))``: a part for the term, and one for the length.

    References
    ----------
    .. [1] Zhai and Lafferty. A study of smoothing methods for language models applied to ad hoc
       information retrieval. SIGIR 2001.

    Examples
    --------
    >>> float(round(dirichlet_weight(1, 2, 0.5, mu=2), 6))  # (1 + 1) / (2 + 2) = 0.5, as in the collection
    0.0
    """
    return np.log1p(tf / (mu * share)) + np.log(mu / (np.asarray(dl) + mu))


#: All names that ``variant=`` takes.
VARIANT_NAMES = (*VARIANTS, "dirichlet")
