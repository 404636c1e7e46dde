"""Judgements from a pool, and runs that the pool never saw: who is told, and who is left in peace."""

import warnings

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ragkit as rk
from ragkit.metrics.judged import code_judgements
from ragkit.metrics.names import parse_metrics
from ragkit.metrics.pool import judged_share, pool_depth

JUDGED = [f"j{n}" for n in range(12)]
UNKNOWN = [f"u{n}" for n in range(12)]
POOL = {q: {doc: int(n < 4) for n, doc in enumerate(JUDGED)} for q in ("q1", "q2", "q3", "q4")}
POSITIVES = {q: dict.fromkeys(JUDGED, 1) for q in POOL}


def mixed(judged):
    """Ten results for each query, so many of them judged."""
    return dict.fromkeys(POOL, JUDGED[:judged] + UNKNOWN[: 10 - judged])


def silent(run, qrels, metrics):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rk.evaluate(run, qrels, metrics=metrics)
    return True


# Worked examples -------------------------------------------------------------------------------------


def test_a_run_that_the_pool_never_saw_is_named_with_the_way_out():
    with pytest.warns(rk.RetrievalWarning) as caught:
        rk.evaluate(mixed(4), POOL, metrics=["ndcg@10", "rr"])
    assert [str(w.message) for w in caught] == [
        "only 40% of the first 10 results of the run have a judgement; the others count as not relevant, and "
        "nobody looked. rk.check(run, qrels) names them. Beside them, measure 'judged@10', "
        "'ndcg(judged_only=True)@10' or 'bpref', or judge what is missing: "
        "rk.widgets.judge(runs, docs, qrels)."
    ]
    assert silent(mixed(5), POOL, "ndcg@10")  # half of it is known


def test_the_first_ranks_count_down_to_the_deepest_cutoff():
    run = {q: ["j0", "j1", "u0", "u1", "u2", "u3", "u4"] for q in POOL}
    assert silent(run, POOL, "ndcg@3")
    with pytest.warns(rk.RetrievalWarning, match="only 40% of the first 5 results"):
        rk.evaluate(run, POOL, metrics=["ndcg@3", "p@5"])


@pytest.mark.parametrize(
    "qrels",
    [
        POSITIVES,  # names what is relevant, so that silence means not
        {q: {"j0": 1, "j1": 0} for q in POOL},  # too few for a pool: examples of what is not relevant
        POSITIVES | {"q1": POOL["q1"]},  # one query of four was judged from a pool
    ],
)
def test_judgements_that_are_no_pool_bring_no_warning(qrels):
    assert silent(mixed(1), qrels, ["ndcg@10", "ap"])


@pytest.mark.parametrize(
    "metrics",
    ["bpref", "ndcg(judged_only=True)@10", ["bpref", "p(judged_only=True)@5"], ["ndcg@10", "judged@5"]],
)
def test_metrics_made_for_gaps_and_who_asks_for_the_share_are_left_in_peace(metrics):
    assert silent(mixed(1), POOL, metrics)


def test_a_run_without_results_or_with_foreign_ids_has_other_troubles():
    assert silent({}, POOL, "ndcg@10")
    with pytest.warns(rk.RetrievalWarning) as caught:
        rk.evaluate(dict.fromkeys(POOL, UNKNOWN), POOL, metrics="ndcg@10")
    assert len(caught) == 1 and "no document of the run occurs" in str(caught[0].message)


def test_systems_that_the_pool_covers_unevenly_are_named():
    runs = {"pooled": mixed(9), "new": mixed(6), "between": mixed(7)}
    with pytest.warns(rk.RetrievalWarning) as caught:
        rk.compare(runs, POOL, metrics=["ndcg@10"], baseline="pooled")
    assert len(caught) == 1 and str(caught[0].message).startswith(
        "of the first 10 results, 90% of run 'pooled' have a judgement and 60% of run 'new'. What has none "
        "counts as not relevant, so the difference favours the one that was judged."
    )
    with pytest.warns(rk.RetrievalWarning, match="'pooled'"):
        rk.per_query(runs, POOL, "ndcg@10")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rk.compare({"pooled": mixed(9), "other": mixed(8)}, POOL, metrics=["ndcg@10"])
        rk.compare({"pooled": mixed(9), "new": mixed(2)}, POSITIVES, metrics=["ndcg@10"])
        rk.compare({"pooled": mixed(9), "new": mixed(2)}, POOL, metrics=["ndcg@10", "judged@10"])


def test_runs_that_are_all_hardly_judged_are_named_together():
    with pytest.warns(
        rk.RetrievalWarning, match="only 35% of the first 10 results of runs 'a', 'b' have"
    ) as caught:
        rk.compare({"a": mixed(4), "b": mixed(3)}, POOL, metrics=["ndcg@10"])
    assert len(caught) == 1


@pytest.mark.parametrize("name", ["toy", "fieldguide", "helpdesk"])
def test_the_corpora_that_come_with_the_package_are_no_pools(name):
    data = rk.load_dataset(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # queries of words that the embedder does not know
        run = rk.VectorStore(data.docs, embed=rk.LSAEmbedder(8)).search(data.queries)
    assert silent(run, data.qrels, "ndcg@10")


# Properties ------------------------------------------------------------------------------------------


@given(
    st.lists(st.lists(st.sampled_from(JUDGED + UNKNOWN), unique=True), min_size=1, max_size=4),
    st.integers(1, 10),
)
@settings(max_examples=80, deadline=None)
def test_the_share_is_counted_over_the_places_of_all_pooled_queries(results, depth):
    run = {q: docs for q, docs in zip(POOL, results) if docs}
    frame = rk.as_run(run)
    judged = code_judgements(rk.as_qrels(POOL), frame["query_id"].unique(), "judged").match(frame)
    heads = [docs[:depth] for docs in run.values()]
    places = sum(map(len, heads))
    expected = sum(doc in JUDGED for head in heads for doc in head) / places if places else None
    assert judged_share(judged, depth) == (None if expected is None else pytest.approx(expected))


@given(
    st.lists(
        st.sampled_from(["ndcg@3", "p@5", "rr", "recall@100", "bpref", "ap(judged_only=True)"]), unique=True
    )
)
def test_the_depth_is_that_of_the_metrics_which_gaps_can_hurt(names):
    hurt = [n for n in names if n not in ("bpref", "ap(judged_only=True)")]
    depths = [{"ndcg@3": 3, "p@5": 5}.get(n, 10) for n in hurt]
    assert pool_depth(parse_metrics(names)) == (max(depths) if depths else None)
