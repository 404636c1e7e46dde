"""Names of metrics: one metric, many spellings, and what each of them means to its own package."""

import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ragkit as rk
from ragkit.metrics.names import SPECS, parse_metric

RUN, QRELS = {"q": ["x", "a", "b"]}, {"q": {"a": 1, "b": 2, "c": 1}}

# Spelling and canonical name, recorded from the parsers of ir_measures 0.4.3, pytrec_eval-terrier 0.5.11
# and ranx 0.3.21, and read by hand.
SPELLINGS = [
    ("nDCG@10", "ndcg@10"),
    ("NDCG@10", "ndcg@10"),
    (" ndcg @ 10", "ndcg@10"),
    ("ndcg(cutoff=10)", "ndcg@10"),
    ("nDCG(dcg='log2')@10", "ndcg@10"),
    ("nDCG(dcg='exp-log2')@10", "ndcg(gain=exponential)@10"),
    ("nDCG(gains={0:0,1:1,2:5})@10", "ndcg(gains={2: 5})@10"),
    ("nDCG(judged_only=True)@10", "ndcg(judged_only=True)@10"),
    ("AP", "ap"),
    ("MAP", "ap"),
    ("AP(rel=2)@100", "ap(rel=2)@100"),
    ("AP(rel=1,judged_only=False)@100", "ap@100"),
    ("P@5", "precision@5"),
    ("Precision@5", "precision@5"),
    ("P(rel=2)@5", "precision(rel=2)@5"),
    ("P@5(rel=2)", "precision(rel=2)@5"),
    ("R@5", "recall@5"),
    ("Recall@5", "recall@5"),
    ("RR", "rr"),
    ("MRR(rel=2)@10", "rr(rel=2)@10"),
    ("Success@5", "hit@5"),
    ("Rprec", "rprec"),
    ("RPrec(rel=2)", "rprec(rel=2)"),
    ("Bpref", "bpref"),
    ("BPref(rel=2)", "bpref(rel=2)"),
    ("RBP(p=0.8)@4", "rbp@4"),
    ("RBP(rel=1,p=0.5)", "rbp(p=0.5)"),
    ("ERR@20", "err@20"),
    ("Judged@10", "judged@10"),
    ("SetP", "precision"),
    ("SetR(rel=2)", "recall(rel=2)"),
    ("SetF(beta=0.5)", "f1(beta=0.5)"),
    ("NumRelRet", "hits"),
    ("ERR_IA@20", "err_ia@20"),
    ("nERR_IA@20", "nerr_ia@20"),
    ("α_nDCG(alpha=0.3)@20", "alpha_ndcg(alpha=0.3)@20"),
    ("alpha_nDCG@20", "alpha_ndcg@20"),
    ("P_IA@10", "precision_ia@10"),
    ("StRecall@10", "subtopic_recall@10"),
    # trec_eval
    ("ndcg_cut_10", "ndcg@10"),
    ("ndcg_cut.10", "ndcg@10"),
    ("P_5", "precision@5"),
    ("P.5", "precision@5"),
    ("recall_100", "recall@100"),
    ("map", "ap"),
    ("map_cut_100", "ap@100"),
    ("recip_rank", "rr"),
    ("success_10", "hit@10"),
    ("set_P", "precision"),
    ("set_recall", "recall"),
    ("set_F", "f1"),
    ("set_F_2.0", "f1(beta=2.0)"),
    ("num_rel_ret", "hits"),
    # ranx
    ("hits@10", "hits@10"),
    ("hit_rate@10", "hit@10"),
    ("mrr@10", "rr@10"),
    ("map@100", "ap@100"),
    ("r-precision", "rprec"),
    ("f1@10", "f1@10"),
    ("rbp.95", "rbp(p=0.95)"),
    ("ndcg_burges@10", "ndcg(gain=exponential)@10"),
    ("precision@10-l2", "precision(rel=2)@10"),
    ("map-l2", "ap(rel=2)"),
    # by hand
    ("F_1", "f1"),
    ("R-Precision", "rprec"),
    ("recall_cap@10", "recall_capped@10"),
]


# Worked examples -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("spelling", "name"), SPELLINGS)
def test_every_spelling_names_one_metric(spelling, name):
    assert parse_metric(spelling).canonical == name
    assert parse_metric(name).canonical == name


def test_a_metric_that_was_sent_to_another_process_keeps_its_name():
    sent = pickle.loads(pickle.dumps(parse_metric("P(rel=2)@5")))
    assert sent.canonical == "precision(rel=2)@5" and sent == parse_metric("P(rel=2)@5")


def test_the_scores_hold_the_name_as_it_was_written():
    spellings = ["ndcg_cut_10", "nDCG@10", " ndcg @ 10"]
    scores = rk.evaluate(RUN, QRELS, metrics=spellings)
    assert scores["metric"].tolist() == ["ndcg_cut_10", "nDCG@10", "ndcg @ 10"]
    assert len(set(scores["value"])) == 1


def test_scores_meet_whatever_the_spelling():
    scores = {
        "old": rk.evaluate(RUN, QRELS, metrics=["map", "P_5"]),
        "new": rk.evaluate({"q": ["a", "b"]}, QRELS, metrics=["AP", "p@5"]),
    }
    table = rk.compare(scores, baseline="old")
    assert table[["system", "metric"]].values.tolist() == [
        [system, metric] for system in ("old", "new") for metric in ("map", "P_5")
    ]
    # AP of (x, a, b) is (1/2 + 2/3) / 3, of (a, b) is 2 / 3
    assert table["mean"].tolist() == pytest.approx([7 / 18, 2 / 5, 2 / 3, 2 / 5])
    mixed = rk.compare(scores | {"run": RUN}, QRELS, metrics=["ap"])
    assert mixed["mean"].tolist() == pytest.approx([7 / 18, 2 / 3, 7 / 18])


def test_hits_are_counted_and_a_hit_is_one():
    scores = rk.evaluate(RUN, QRELS, metrics=["hits@3", "hit@3", "hits@1", "hits(rel=2)"])
    assert scores["value"].tolist() == [2.0, 1.0, 0.0, 1.0]


def test_judged_only_closes_the_gaps_of_unjudged_documents():
    run, qrels = {"q": ["x", "a", "y", "n", "b"]}, {"q": {"a": 1, "b": 2, "n": 0, "c": 1}}
    expected = {  # as if the list were a, n, b
        "p(judged_only=True)@2": 1 / 2,
        "rr(judged_only=True)": 1.0,
        "recall(judged_only=True)@3": 2 / 3,
        "ap(judged_only=True)": (1 + 2 / 3) / 3,
        "precision(judged_only=True)": 2 / 3,
        "ndcg(judged_only=True)@1": 1 / 2,
    }
    scores = rk.evaluate(run, qrels, metrics=list(expected))
    assert dict(zip(scores["metric"], scores["value"])) == pytest.approx(expected)


def test_gains_put_other_grades_in_the_place_of_these():
    # Grade 2 is worth 5: (1 / log2(3) + 5 / 2) over (5 + 1 / log2(3) + 1 / 2).
    got = rk.evaluate(RUN, QRELS, metrics="ndcg(gains={2: 5})")["value"].item()
    assert got == pytest.approx((1 / np.log2(3) + 5 / 2) / (5 + 1 / np.log2(3) + 1 / 2))


def test_beta_weighs_recall_as_trec_eval_does():
    # P = 2/3 and R = 2/3 are equal, so look at the first two: P = 1/2, R = 1/3.
    got = rk.evaluate(RUN, QRELS, metrics=["f1(beta=2)@2", "f1@2"])["value"]
    assert got.tolist() == pytest.approx([3 * (1 / 6) / (1 / 3 + 1), 2 * (1 / 6) / (5 / 6)])


def test_measures_of_ir_measures_are_taken_as_they_print():
    class Measure:
        NAME, params = "nDCG", {"cutoff": 10}

        def __str__(self):
            return "nDCG@10"

        def __call__(self, **params):
            raise AssertionError("not called")

    assert rk.evaluate({"q": ["a"]}, {"q": {"a": 1}}, metrics=[Measure()])["metric"].tolist() == ["nDCG@10"]


@pytest.mark.parametrize(
    ("metric", "message"),
    [
        ("ndgc@10", r"unknown metric 'ndgc@10'.*'ndcg'"),
        ("ndgc_cut_10", r"unknown metric 'ndgc_cut_10'.*Did you mean 'ndcg'"),
        ("recal@10", r"Did you mean 'recall'"),
        ("ndcg10", r"Did you mean 'ndcg@10'"),
        ("p@5, p@10", r"as a list: metrics=\['p@5', 'p@10'\]"),
        ("ndcg@10 rr", r"as a list: metrics=\['ndcg@10', 'rr'\]"),
        ("infAP", "unknown metric"),
        ("ndcg@", "whole number"),
        ("ndcg@0", "whole number"),
        ("P_0", "whole number"),
        ("ndcg@-1", "whole number"),
        ("ndcg@1.5", "whole number"),
        ("ndcg@10@5", "unknown metric"),
        ("ndcg_cut", "needs its cutoff; write 'ndcg_cut_10' or 'ndcg'"),
        ("ndcg_cut_10@5", "gives cutoff twice, 10 and 5"),
        ("p(rel=2)@5-l3", "gives rel twice"),
        ("p(rel=1, rel=2)@5", "gives rel twice"),
        ("ndcg(rel=2)@5", r"does not take 'rel=2'.*gain"),
        ("p(2)@5", r"does not take '2'; write parameters as name=value"),
        ("ndcg(gain=log)", "linear"),
        ("ndcg(gains=3)", "must map grades to whole numbers"),
        ("p(rel=x)@5", "rel must be a whole number"),
        ("p(rel=0)@5", r"rel must lie in \[1, inf\); got 0. A document without a judgement"),
        ("p(judged_only=1)@5", "judged_only must be True or False"),
        ("rbp(p=2)", r"must lie in \[0, 1\]"),
        ("bpref@5", "takes no cutoff; write 'bpref'"),
        ("", "unknown metric"),
        (["rr", "rr"], "twice"),
        ([lambda r, q: 1.0, lambda r, q: 2.0], "twice"),
    ],
)
def test_a_metric_that_cannot_be_read_says_what_can(metric, message):
    with pytest.raises(ValueError, match=message):
        rk.evaluate({"q": ["a"]}, {"q": {"a": 1}}, metrics=metric)


def test_metric_table_lists_every_metric_with_its_meaning():
    table = rk.metric_table()
    assert table["metric"].tolist() == list(SPECS) and (table["meaning"].str.len() > 10).all()


# Properties ------------------------------------------------------------------------------------------

JUDGED_ONLY = [name for name, spec in SPECS.items() if "judged_only" in spec.takes]
PAIRS = st.dictionaries(st.sampled_from("abcdefgh"), st.integers(-1, 3), min_size=1, max_size=6)


@pytest.mark.filterwarnings("ignore::ragkit.RetrievalWarning")
@given(PAIRS, st.lists(st.sampled_from("abcdefghxyz"), unique=True), st.sampled_from([None, 1, 3]))
@settings(max_examples=60, deadline=None)
def test_judged_only_is_the_metric_of_the_run_without_unjudged_documents(grades, docs, k):
    qrels = rk.as_qrels({"q": grades})
    qrels["subtopic"] = [str(n % 3) for n in range(len(qrels))]
    names = [n for n in JUDGED_ONLY if k is None or SPECS[n].cutoff]
    at = "" if k is None else f"@{k}"
    got = rk.evaluate({"q": docs}, qrels, metrics=[f"{n}(judged_only=True){at}" for n in names])
    wanted = rk.evaluate({"q": [d for d in docs if d in grades]}, qrels, metrics=[f"{n}{at}" for n in names])
    assert got["value"].tolist() == wanted["value"].tolist()


@pytest.mark.filterwarnings("ignore:no document of the run occurs")
@given(PAIRS, st.permutations("abcdefghxyz"), st.permutations("abcdefghxyz"))
@settings(max_examples=30, deadline=None)
def test_the_exact_weight_axis_knows_metrics_that_close_gaps(grades, first, second):
    runs, qrels = {"one": {"q": list(first)[:7]}, "two": {"q": list(second)[:7]}}, {"q": grades}
    metric = "ndcg(judged_only=True)@2"
    path = rk.weight_path(runs, qrels, metrics=[metric], top_k=3)
    for row in path.itertuples(index=False):
        weight = (row.weight_from + row.weight_to) / 2
        fused = rk.fuse(runs, weights={"one": weight, "two": 1 - weight})
        expected = rk.evaluate(fused, qrels, metrics=metric)["value"].item()
        assert row[-1] == pytest.approx(expected, abs=1e-12)


# Parity ----------------------------------------------------------------------------------------------

TREC = {"map", "recip_rank", "Rprec", "bpref", "ndcg", "set_P", "set_recall", "set_F", "num_rel_ret"}
TREC |= {f"{name}.1,5,10" for name in ("P", "recall", "ndcg_cut", "map_cut", "success")}


@pytest.fixture(scope="module")
def collection():
    data = rk.load_dataset("fieldguide")
    qrels = data.qrels.drop(columns="subtopic", errors="ignore")
    qrels = qrels.sort_values("relevance").drop_duplicates(["query_id", "doc_id"], keep="last")
    return rk.KeywordIndex(data.docs).search(data.queries), qrels


def as_dicts(frame, value):
    return {
        str(query): dict(zip(rows["doc_id"].astype(str), rows[value].tolist()))
        for query, rows in frame.groupby("query_id", observed=True)
    }


@pytest.mark.filterwarnings("ignore:no document holds a word")
@pytest.mark.parametrize("judged_only", [False, True])
def test_each_name_of_trec_eval_gives_its_number(collection, judged_only):
    pytrec_eval = pytest.importorskip("pytrec_eval")
    run, qrels = collection
    evaluator = pytrec_eval.RelevanceEvaluator(
        as_dicts(qrels, "relevance"), TREC, judged_docs_only_flag=int(judged_only)
    )
    theirs = pd.DataFrame(evaluator.evaluate(as_dicts(run, "score"))).T
    names = {f"{name}(judged_only=True)" if judged_only else name: name for name in theirs.columns}
    ours = rk.evaluate(run, qrels, metrics=list(names), over="retrieved")
    ours = ours.pivot_table(index="query_id", columns="metric", values="value").rename(columns=names)
    assert len(names) == 9 + 5 * 3
    pd.testing.assert_frame_equal(ours[theirs.columns].loc[theirs.index], theirs, rtol=0, atol=1e-12,
                                  check_names=False)  # fmt: skip


LACKED = {"Accuracy", "AP_IA", "MAP_IA", "alpha_DCG", "α_DCG", "BPM", "Compat", "INSQ", "INST", "IPrec"}
LACKED |= {"NERR10", "NERR11", "NERR8", "NERR9", "NRBP", "nNRBP", "NumQ", "NumRel", "NumRet", "SDCG"}
LACKED |= {"SetAP", "SetRelP", "infAP"}


def test_every_name_of_ir_measures_is_read_as_its_own_parser_reads_it():
    ir_measures = pytest.importorskip("ir_measures")
    values = {"rel": 2, "p": 0.7, "alpha": 0.3, "beta": 2.0, "dcg": "exp-log2", "judged_only": True}
    values |= {"gains": {1: 3, 2: 5}, "cutoff": 7}
    ours = {"dcg": "gain", "exp-log2": "exponential"}
    for name in set(ir_measures.measures.registry) - LACKED - {"NumRelRet"}:
        supported = ir_measures.measures.registry[name].SUPPORTED_PARAMS
        for key in set(supported) - {"relative"}:
            for given_ in (
                {key: values[key]},
                {k: values[k] for k in sorted({key, "cutoff"} & set(supported))},
            ):
                at = f"@{given_['cutoff']}" if "cutoff" in given_ else ""
                inside = ",".join(f"{k}={v!r}" for k, v in given_.items() if k != "cutoff")
                text = f"{name}({inside}){at}" if inside else f"{name}{at}"
                theirs, parsed = ir_measures.parse_measure(text), parse_metric(text)
                assert theirs.params == given_
                assert parsed.k == given_.get("cutoff")
                params = {ours.get(k, k): ours.get(str(v), v) for k, v in given_.items() if k != "cutoff"}
                assert parsed.params == params
                assert parse_metric(theirs).canonical == parsed.canonical


def test_every_other_name_of_ir_measures_is_refused_by_name():
    for name in LACKED:
        with pytest.raises(ValueError, match=f"unknown metric '{name}'"):
            parse_metric(name)
