"""Several searches for one query, brought together."""

from __future__ import annotations

from typing import Any

import pandas as pd

from ragkit.frames import as_run, check_frame, check_top_k, some
from ragkit.fusion.fuse import fuse


def fuse_variants(
    run: Any,
    queries: pd.DataFrame,
    *,
    method: Any = "rrf",
    weights: Any = None,
    k: float = 60,
    normalize: Any = None,
    missing: Any = None,
    minimum: Any = None,
    top_k: int | None = None,
) -> pd.DataFrame:
    """Fuse the results of a query's variants into one list per original query.

    Parameters
    ----------
    run : run
        What was found for the variants.
    queries : DataFrame
        The variants, from :func:`ragkit.expand`: ``query_id`` and ``original_id``.
    method, k, normalize, missing, minimum
        As in :func:`ragkit.fuse`.
    weights : dict or sequence of float, optional
        One for each variant, ``"variant_0"`` being the first; None is 1 each.
    top_k : int or None, default=None
        How many each query keeps.

    Returns
    -------
    DataFrame
        A run over the original queries, with one ledger per variant: ``variant_0_rank``, ...

    Raises
    ------
    ValueError
        If the run has a query that is no variant.

    See Also
    --------
    expand : Makes the variants.

    Examples
    --------
    >>> queries = pd.DataFrame({"query_id": ["q~0", "q~1"], "text": ["fox", "red fox"], "original_id": "q"})
    >>> run = {"q~0": ["a", "b"], "q~1": ["b", "c"]}
    >>> fuse_variants(run, queries)[["query_id", "doc_id"]].values.tolist()
    [['q', 'b'], ['q', 'a'], ['q', 'c']]
    """
    check_frame(queries, ["query_id", "original_id"], "queries")
    frame = as_run(run)
    originals = dict(zip(queries["query_id"], queries["original_id"]))
    number = dict(zip(queries["query_id"], queries.groupby("original_id", sort=False).cumcount()))
    strange = [query for query in dict.fromkeys(frame["query_id"]) if query not in originals]
    if strange:
        raise ValueError(
            f"fuse_variants found queries that are no variants: {some(strange)}; search those of expand()."
        )
    variant = frame["query_id"].map(number)
    renamed = frame.assign(query_id=frame["query_id"].map(originals))
    count = max(number.values(), default=0) + 1
    runs = {f"variant_{n}": renamed[(variant == n).to_numpy(dtype=bool)] for n in range(count)}
    return fuse(
        runs,
        method=method,
        weights=weights,
        k=k,
        normalize=normalize,
        missing=missing,
        minimum=minimum,
        top_k=check_top_k(top_k),
    )
