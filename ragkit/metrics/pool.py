"""Were these results looked at when the judgements were made? If not, a metric measures the judgements.

What nobody judged counts as not relevant. Where the judgements name only what is relevant, that is how they
are meant. Where they come from a pool, documents that some systems returned and that were then judged, they
also say what is not relevant, and a system unlike those of the pool is scored on what nobody looked at.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from ragkit.frames import some, warn
from ragkit.metrics import formulas
from ragkit.metrics.judged import Judged
from ragkit.metrics.names import Metric

#: Results of a query that are looked at: a pool holds at least one list of this length.
DEPTH = 10
#: Below this share, more places of a precision are unknown than known.
_LOW = 0.5
#: Two of ten places: more than what differs between most systems that are compared.
_APART = 0.2


def pool_depth(metrics: Iterable[Metric]) -> int | None:
    """Give the rank down to which judgements matter to these metrics; None where they do not.

    They do not to `bpref` and ``judged_only=True``, which were made for gaps, and who asks for `judged` sees
    them.
    """
    specs = [
        (m, m.spec) for m in metrics if m.spec is not None and m.spec.reads in ("judgements", "subtopics")
    ]
    exposed = [m for m, spec in specs if not (spec.counts_all or m.params.get("judged_only"))]
    if not exposed or any(spec.formula is formulas.judged for _, spec in specs):
        return None
    return max(min(m.k or DEPTH, DEPTH) for m in exposed)


def judged_share(j: Judged, depth: int) -> float | None:
    """Share of the first results that is judged; None where most queries were not judged from a pool."""
    pooled = (j.total(np.arange(len(j.query))) >= DEPTH) & (j.total(j.grade <= 0) > 0)
    places = np.minimum(j.retrieved, depth)[pooled].sum()
    if 2 * np.count_nonzero(pooled) < j.n or not places:
        return None
    return float(j.total(j.found(depth))[pooled].sum() / places)


def warn_of_gaps(shares: Mapping[str, float | None], depth: int) -> None:
    """Warn where the results of one run, or of some beside others, were mostly never judged."""
    known = {name: share for name, share in shares.items() if share is not None}
    if not known:
        return
    way = f"Beside them, measure 'judged@{depth}', 'ndcg(judged_only=True)@{depth}' or 'bpref'"
    judge = "or judge what is missing: rk.widgets.judge(runs, docs, qrels)."
    most, least = max(known, key=known.__getitem__), min(known, key=known.__getitem__)
    if known[most] - known[least] >= _APART:
        warn(
            f"of the first {depth} results, {known[most]:.0%} of run {most!r} have a judgement and "
            f"{known[least]:.0%} of run {least!r}. What has none counts as not relevant, so the difference "
            f"favours the one that was judged. {way}, {judge}"
        )
        return
    low = [name for name, share in known.items() if share < _LOW]
    if low:
        whose = "the run" if low == ["run"] else f"run{'s' * (len(low) > 1)} {some(low)}"
        share = np.mean([known[name] for name in low])
        warn(
            f"only {share:.0%} of the first {depth} results of {whose} have a judgement; the others count as "
            f"not relevant, and nobody looked. rk.check(run, qrels) names them. {way}, {judge}"
        )
