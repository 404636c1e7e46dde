"""`tune`: choose a setting on some queries, and say how well it does on others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
import pandas as pd

from ragkit.experiment.comparison import mean_difference_intervals
from ragkit.experiment.measure import Measure, make_measure
from ragkit.experiment.retrieve import make_call
from ragkit.experiment.running import run_settings
from ragkit.experiment.settings import list_settings, settings_frame
from ragkit.experiment.statistics import mean_intervals, p_values
from ragkit.frames import as_ids, as_queries, check_number, check_top_k, warn
from ragkit.metrics.judged import code_judgements


@dataclass(frozen=True)
class Tuned:
    """What tuning found, and what to believe of it.

    Parameters
    ----------
    params : dict
        The setting with the best mean over all queries: ``retriever.search(queries, **params)``.
    metric : str
        What was tuned.
    tuned : float
        Its mean on the queries that chose it: too good, by the gap.
    held_out : float
        Mean on queries that had no part in the choice: each fold is scored with the setting that the
        other folds chose. This is the number to report.
    ci_low, ci_high : float
        Interval of `held_out`.
    gap : float
        Optimism: ``tuned - held_out``.
    settings : DataFrame
        One row per setting: its parameters, ``mean``, ``delta`` to the best with its interval and ``p``,
        ``tie`` (cannot be told from the best), and in how many folds it was ``chosen``.
    folds : DataFrame
        One row per fold: what the others chose, its mean there (``train``) and here (``held_out``).
    scores : DataFrame
        ``setting, query_id, value, fold`` of everything that was measured.
    """

    params: dict[str, Any]
    metric: str
    tuned: float
    held_out: float
    ci_low: float
    ci_high: float
    gap: float
    settings: pd.DataFrame
    folds: pd.DataFrame
    scores: pd.DataFrame

    @property
    def ties(self) -> pd.DataFrame:
        """The tie zone: every setting that cannot be told from the best, the best included."""
        return self.settings[self.settings["tie"]].reset_index(drop=True)

    def __repr__(self) -> str:
        ties = int(self.settings["tie"].sum())
        return (
            f"Tuned {self.metric}: {self.params}\n"
            f"held out {self.held_out:.4f} [{self.ci_low:.4f}, {self.ci_high:.4f}], "
            f"tuned {self.tuned:.4f}, optimism gap {self.gap:+.4f}\n"
            f"{ties} of {len(self.settings)} settings cannot be told from the best"
        )

    def _repr_html_(self) -> str:
        head = "<br>".join(escape(line) for line in repr(self).splitlines())
        return (
            f"<p>{head}</p>{self.settings.sort_values('mean', ascending=False).head(10).to_html(index=False)}"
        )


def tune(
    retriever: Any,
    space: Any,
    qrels: Any = None,
    *,
    metric: Any,
    queries: Any = None,
    spans: pd.DataFrame | None = None,
    cv: Any = 5,
    n: int | None = None,
    ci: float = 0.95,
    vectors: Any = None,
    over: Any = "judged",
    path: Any = None,
    progress: bool | None = None,
    resamples: int = 10_000,
    random_state: int = 0,
) -> Tuned:
    """Choose the best setting, and report it on queries that did not choose.

    Each query is in one fold. For each fold the best setting of the other folds is taken, and scored on
    the fold; the mean of these scores is what the choice is worth on new queries.

    Parameters
    ----------
    retriever : KeywordIndex, VectorStore, HybridSearch, dict of runs, or callable
        As in :func:`sweep`.
    space : dict of name to values, list of dicts, or "weights"
        As in :func:`sweep`. For a dict of two runs, ``"weights"`` (or ``{"weights": "exact", ...}`` with
        single values for other options of :func:`ragkit.fuse`) tries every weight at which any metric can
        change, by :func:`ragkit.weight_path`, and no grid.
    qrels : judgements, optional
        Whatever :func:`ragkit.as_qrels` takes; not needed with `spans`.
    metric : str or callable
        What is to be as large as possible; with `spans` also ``"span_iou@5"`` and its like.
    queries : queries, optional
        What the retriever is asked.
    spans : DataFrame, optional
        Gold passages, as in :func:`sweep`: to choose a way of chunking.
    cv : int, or dict of query id to fold, default=5
        Number of folds, drawn at random; or which query is in which.
    n : int, optional
        How many settings to draw from `space`: a random search.
    ci : float, default=0.95
        Confidence of the intervals; a setting ties with the best when p is at least ``1 - ci``.
    vectors : VectorStore or mapping of unit id to vector, optional
        For metrics that read vectors.
    over : {"judged", "relevant", "retrieved"}, or query ids, default="judged"
        Which queries are scored. ``"retrieved"`` is refused: settings must share their queries.
    path, progress
        As in :func:`sweep`.
    resamples : int, default=10_000
        Draws of the bootstrap and of the randomisation test.
    random_state : int, default=0
        Seed of folds and draws.

    Returns
    -------
    Tuned
        ``params``, ``held_out`` with ``ci_low, ci_high``, ``tuned``, ``gap``, and the frames ``settings``,
        ``ties``, ``folds`` and ``scores``.

    Raises
    ------
    ValueError
        If there are fewer queries than folds, or every setting fails.

    Warns
    -----
    RetrievalWarning
        If some settings failed; or if all settings score the same, so that nothing was chosen.

    See Also
    --------
    sweep : All the numbers, without a choice.
    plot.optimism : Tuned against held-out score.

    References
    ----------
    .. [1] Cawley, Talbot. On over-fitting in model selection and subsequent selection bias in performance
       evaluation. JMLR 2010.

    Examples
    --------
    >>> import ragkit as rk
    >>> index = rk.KeywordIndex({"a": "red fox", "b": "red red wine and more wine"})
    >>> qrels = {"q1": {"b": 1}, "q2": {"b": 1}}
    >>> queries = {"q1": "red", "q2": "red"}
    >>> best = tune(index, {"b": [0.0, 1.0]}, qrels, queries=queries, metric="rr", cv=2)
    >>> best.params, best.held_out, best.gap
    ({'b': 0.0}, 1.0, 0.0)
    """
    if isinstance(over, str) and over == "retrieved":
        raise ValueError(
            "over must not be 'retrieved' when tuning: settings must be scored on the same queries."
        )
    ci = check_number("ci", ci, low=0.5, high=0.9999)
    draws = check_top_k(resamples, "resamples", none=False) or 1
    measure = make_measure(retriever, qrels, metric, spans, vectors, over)
    if len(measure.labels) != 1:
        raise ValueError(f"metric must be one metric; got {metric!r}.")
    exact = _exact_options(space)
    if exact is not None:
        settings, ids, values = _along_weights(retriever, exact, measure)
    else:
        settings = list_settings(space, n, random_state)
        names = list(dict.fromkeys(name for setting in settings for name in setting))
        call = make_call(retriever, None if queries is None else as_queries(queries), names)
        settings, ids, values = _measured(call, settings, measure, path, progress)
    fold = _folds(ids, cv, random_state)
    return _choose(settings, ids, values, fold, measure.labels[0], ci, draws, random_state)


def _measured(call: Any, settings: list[dict], measure: Measure, path: Any, progress: bool | None) -> tuple:
    """Run all settings; give those that worked, the query ids, and values (setting, query)."""
    outcomes = run_settings(call, settings, measure, path=path, progress=progress)
    good = [o for o in outcomes if o.scores is not None]
    bad = [o for o in outcomes if o.scores is None]
    if not good:
        what = bad[0].error if bad else "there is none"
        raise ValueError(f"no setting could be measured: {what}")
    if bad:
        warn(f"{len(bad)} of {len(outcomes)} settings failed and are left out, the first with {bad[0].error}")
    ids = pd.Index(good[0].scores["query_id"].astype(object))  # type: ignore[index]
    values = np.stack(
        [o.scores.set_index("query_id")["value"].reindex(ids).to_numpy(float) for o in good]  # type: ignore[union-attr]
    )
    return [settings[o.setting] for o in good], ids, values


def _exact_options(space: Any) -> dict[str, Any] | None:
    """Give the other options of the fusion when the weight axis is asked for whole; None for a grid."""
    if isinstance(space, str):
        if space != "weights":
            raise ValueError(f"space must be a dict, a list of dicts, or 'weights'; got {space!r}.")
        return {}
    if isinstance(space, Mapping) and isinstance(space.get("weights"), str) and space["weights"] == "exact":
        return {name: value for name, value in space.items() if name != "weights"}
    return None


def _along_weights(runs: Any, options: dict[str, Any], measure: Measure) -> tuple:
    """Give one setting per interval of the weight in which no query's metric changes."""
    from ragkit.hybrid import weight_path

    if not isinstance(runs, Mapping) or len(runs) != 2:
        raise ValueError(
            "the exact weight axis needs a dict of two runs; give a grid of weights for other retrievers."
        )
    if measure.qrels is None or not measure.metrics:
        raise ValueError("the exact weight axis needs qrels and a metric of documents.")
    label = measure.metrics[0].label
    # Lists do not matter here (top_k=0): an interval ends where the metric changes.
    path = weight_path(dict(runs), measure.qrels, metrics=(label,), top_k=0, **options)
    edges = np.unique(np.r_[0.0, path["weight_from"].to_numpy(), path["weight_to"].to_numpy(), 1.0])
    middle = (edges[:-1] + edges[1:]) / 2
    ids = code_judgements(measure.qrels, pd.Index([]), measure.over).queries
    values = np.zeros((len(middle), len(ids)))
    for query, rows in path.groupby("query_id", sort=False, observed=True):
        at = np.searchsorted(rows["weight_from"].to_numpy(), middle, side="right") - 1
        if query in ids:
            values[:, ids.get_loc(query)] = rows[label].to_numpy()[at]
    first, second = (str(name) for name in runs)
    settings = [options | {"weights": {first: float(w), second: float(1 - w)}} for w in middle]
    return settings, ids, values


def _folds(ids: pd.Index, cv: Any, random_state: int) -> np.ndarray:
    """Give each query's fold."""
    if len(ids) < 2:
        raise ValueError(
            f"tune needs at least 2 scored queries, some to choose on and others to test on; got {len(ids)}."
        )
    if isinstance(cv, (Mapping, pd.Series)):
        given = {str(query): fold for query, fold in cv.items()}
        missing = [query for query in ids if query not in given]
        if missing:
            raise ValueError(f"cv lacks {len(missing)} queries, the first {missing[0]!r}; give each a fold.")
        fold = pd.factorize(np.array([str(given[query]) for query in ids], dtype=object))[0]
    else:
        k = check_top_k(cv, "cv", none=False) or 0
        if not 2 <= k <= len(ids):
            raise ValueError(
                f"cv must be at least 2 and at most the number of queries, {len(ids)}; got {cv!r}."
            )
        fold = np.random.default_rng(random_state).permutation(np.arange(len(ids)) % k)
    if len(np.unique(fold)) < 2:
        raise ValueError("cv must make at least two folds.")
    return fold


def _choose(
    settings: list[dict],
    ids: pd.Index,
    values: np.ndarray,
    fold: np.ndarray,
    label: str,
    ci: float,
    draws: int,
    seed: int,
) -> Tuned:
    """Choose in each fold and over all, and set the two against each other."""
    if len(settings) > 1 and (np.ptp(values, axis=0) <= 1e-12).all():
        warn(f"all {len(settings)} settings score the same {label} on every query: nothing was chosen.")
    best = int(values.mean(axis=1).round(12).argmax())
    held = np.empty(len(ids))
    rows = []
    for number in range(fold.max() + 1):
        inside = fold == number
        chosen = int(values[:, ~inside].mean(axis=1).round(12).argmax())
        held[inside] = values[chosen, inside]
        rows.append((number, chosen, values[chosen, ~inside].mean(), held[inside].mean(), int(inside.sum())))
    folds = pd.DataFrame(rows, columns=["fold", "setting", "train", "held_out", "queries"])
    low, high = mean_intervals(held[:, None], ci=ci, resamples=draws, random_state=seed)
    table = _table(settings, values, best, folds["setting"].to_numpy(), ci, draws, seed)
    long = pd.DataFrame(
        {
            "setting": np.repeat(np.arange(len(settings)), len(ids)),
            "query_id": as_ids(np.tile(ids.to_numpy(), len(settings)), "query_id"),
            "value": values.ravel(),
            "fold": np.tile(fold, len(settings)),
        }
    )
    tuned = float(values[best].mean())
    return Tuned(
        params=dict(settings[best]),
        metric=label,
        tuned=tuned,
        held_out=float(held.mean()),
        ci_low=float(low[0]),
        ci_high=float(high[0]),
        gap=tuned - float(held.mean()),
        settings=table,
        folds=folds.merge(settings_frame(settings), on="setting", how="left"),
        scores=long,
    )


def _table(
    settings: list[dict], values: np.ndarray, best: int, chosen: np.ndarray, ci: float, draws: int, seed: int
) -> pd.DataFrame:
    """Set every setting against the best one."""
    d = (values - values[best]).T
    d[np.abs(d) <= 1e-12] = 0.0
    p = p_values(d, "randomization", resamples=draws, random_state=seed)
    low, high = mean_difference_intervals(d, ci, draws, seed)
    return settings_frame(settings).assign(
        mean=values.mean(axis=1),
        delta=d.mean(axis=0),
        delta_low=low,
        delta_high=high,
        p=p,
        tie=p >= 1 - ci,
        chosen=np.bincount(chosen, minlength=len(settings)),
    )
