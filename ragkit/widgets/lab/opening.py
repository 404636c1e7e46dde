"""``explore``: the way into the lab."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ragkit.bm25 import KeywordIndex
from ragkit.hybrid import WEIGHTS
from ragkit.vectors import VectorStore
from ragkit.widgets.lab.screen import Lab
from ragkit.widgets.stages import Stages


def explore(
    hybrid: Any,
    queries: Any = None,
    qrels: Any = None,
    docs: Any = None,
    *,
    query: str | None = None,
    metrics: Any = ("ndcg@10", "recall@10", "rr"),
    plots: Any = ("ranks",),
    pins: Mapping[str, Mapping[str, Any]] | None = None,
    controls: Mapping[str, Any] | None = None,
    top_k: int = 10,
    pool: int = 100,
    fusion: str = "rrf",
    weights: Mapping[str, float] | None = WEIGHTS,
    k: float = 60,
    normalize: Any = None,
    missing: Any = None,
    k1: float | None = None,
    b: float | None = None,
    variant: str | None = None,
    lambda_: float | None = None,
    fetch_k: int = 50,
    scale: str | None = "minmax",
    threshold: float | None = None,
    min_score: float | None = None,
    where: Any = None,
) -> Lab:
    """Open the lab: sliders for every knob of a hybrid search, and what they lead to.

    Parameters
    ----------
    hybrid : HybridSearch
        What is searched.
    queries : queries, optional
        Queries to choose from; without them there is the box for free text.
    qrels : judgements, optional
        With them the lab shows grades, and metrics of the setting against the one it started with.
    docs : documents, optional
        Where titles and texts come from, if not from the stores.
    query : str or None, default=None
        What to show first: the id of one of the queries, or free text.
    metrics : list of str, default=("ndcg@10", "recall@10", "rr")
        Metrics to show. Those that read vectors (``"ild@10"``, ``"vendi"``, ``"crowding"``) take the vector
        side's, and need no judgements.
    plots : list of str, default=("ranks",)
        Plots to show first, of ``"ranks"``, ``"contributions"``, ``"trade-off"``, ``"weights"``.
    pins : dict of name to dict, optional
        Settings to compare with from the start, as keyword arguments of :meth:`HybridSearch.search`.
    controls : dict of str to widget, optional
        Controls of another panel to share: ``controls={"lambda_": other.controls["lambda_"]}``.
    top_k, pool, fusion, weights, k, normalize, missing, k1, b, variant : optional
        Where the controls start; as in :meth:`HybridSearch.search`.
    lambda_, fetch_k, scale, threshold, min_score, where : optional
        As in :meth:`HybridSearch.search`; ``lambda_=None`` is without MMR.

    Returns
    -------
    Lab
        The panel; the last line of a cell shows it. ``panel.params`` are keyword arguments of
        :meth:`HybridSearch.search` and of this function, ``panel.value`` is the run on show.

    Raises
    ------
    TypeError
        If `hybrid` is a store or documents; the message says how to make a search of them.

    See Also
    --------
    HybridSearch.search : What the sliders call.

    Notes
    -----
    The handles of the weight and of lambda_ snap to the marks of their rulers; what is typed does not:
    see :mod:`ragkit.widgets`.

    Examples
    --------
    >>> import ragkit as rk
    >>> docs = {"fox": "red fox", "hen": "white hen", "wine": "red red wine"}
    >>> hybrid = rk.HybridSearch(rk.KeywordIndex(docs), rk.VectorStore(docs, embed=rk.LSAEmbedder()))
    >>> panel = explore(hybrid, {"q1": "red wine"})
    >>> panel.controls["top_k"].value = 1
    >>> panel.value["doc_id"].tolist()
    ['wine']
    >>> panel.close()
    """
    given = {
        "top_k": top_k, "pool": pool, "fusion": fusion, "weights": weights, "k": k, "normalize": normalize,
        "missing": missing, "k1": k1, "b": b, "variant": variant, "lambda_": lambda_, "fetch_k": fetch_k,
        "scale": scale, "threshold": threshold, "min_score": min_score, "where": where,
    }  # fmt: skip
    _check_hybrid(hybrid)
    stages = Stages(hybrid, queries, qrels, docs, metrics)
    return Lab(stages, given, query=query, plots=plots, pins=pins, shared=controls)


def _check_hybrid(hybrid: Any) -> None:
    """Refuse what is no hybrid search, and say how to make one of it."""
    if hasattr(hybrid, "sources") and hasattr(hybrid, "search"):
        return
    kind = type(hybrid).__name__
    if isinstance(hybrid, (KeywordIndex, VectorStore)):
        name = "index" if isinstance(hybrid, KeywordIndex) else "store"
        raise TypeError(
            f"explore needs a HybridSearch; got a {kind}; write rk.explore(rk.HybridSearch({name}), ...)."
        )
    raise TypeError(
        f"explore needs a HybridSearch; got {kind}; for documents write "
        "rk.explore(rk.HybridSearch(rk.KeywordIndex(docs), rk.VectorStore(docs)), ...)."
    )
