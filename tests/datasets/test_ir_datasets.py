"""from_ir_datasets with the real package: its own classes, a registered name, what goes wrong."""

import sys
from collections import namedtuple

import pytest

import ragkit as rk

TOPICS = """<top>
<num> Number: 301
<title> Red fox

<desc> Description:
Find it.

<narr> Narrative:
At length.
</top>
"""


@pytest.fixture
def ir_datasets(monkeypatch, tmp_path):
    monkeypatch.setenv("IR_DATASETS_HOME", str(tmp_path))
    return pytest.importorskip("ir_datasets")


@pytest.fixture
def parts(ir_datasets):
    """Documents, topics, judgements by subtopic, plain judgements and a first ranking, of its own classes."""
    formats, text = ir_datasets.formats, ir_datasets.util.StringFile
    return {
        "docs": formats.TsvDocs(text("001\tred fox\nNA\tblue whale\n")),
        "queries": formats.TrecQueries(text(TOPICS)),
        "subtopics": formats.TrecSubQrels(text("301 1 001 1\n301 2 001 1\n301 1 NA 0\n"), {}),
        "qrels": formats.TrecQrels(text("301 0 001 2\n301 0 NA -2\n"), {}),
        "scoreddocs": formats.TrecScoredDocs(text("301 Q0 NA 1 3.5 t\n301 Q0 001 2 1.5 t\n")),
    }


def test_its_own_classes_become_tidy_frames(ir_datasets, parts):
    whole = ir_datasets.Dataset(*(parts[n] for n in ("docs", "queries", "subtopics", "scoreddocs")))
    data = rk.from_ir_datasets(whole)
    assert data.docs.values.tolist() == [["001", "red fox"], ["NA", "blue whale"]]
    assert data.queries[["query_id", "text", "description"]].values.tolist() == [
        ["301", "Red fox", "Find it."]
    ]
    assert data.qrels.values.tolist() == [
        ["301", "001", 1, "1"],
        ["301", "001", 1, "2"],
        ["301", "NA", 0, "1"],
    ]
    run = rk.as_run(whole.scoreddocs_iter())
    assert run[["doc_id", "rank", "score"]].values.tolist() == [["NA", 1, 3.5], ["001", 2, 1.5]]
    # one of two subtopics' documents stands second: 2 gains of 1 / log2(3) over 2
    scores = rk.evaluate(run, data.qrels, metrics=["rr", "subtopic_recall@2", "alpha_ndcg@2"])
    assert scores["value"].tolist() == pytest.approx([0.5, 1.0, 0.6309297], abs=1e-6)


def test_plain_judgements_have_no_subtopic_and_missing_parts_are_none(ir_datasets, parts):
    data = rk.from_ir_datasets(ir_datasets.Dataset(parts["docs"], parts["qrels"]))
    assert data.queries is None
    assert data.qrels.values.tolist() == [["301", "001", 2], ["301", "NA", -2]]
    alone = rk.from_ir_datasets(parts["queries"])
    assert len(alone.docs) == 0 and alone.qrels is None and len(alone.queries) == 1


def test_a_registered_name_is_loaded_and_an_unknown_one_named(ir_datasets, parts):
    name = "ragkit-test"
    if name not in list(ir_datasets.registry):
        ir_datasets.registry.register(name, ir_datasets.Dataset(parts["docs"], parts["qrels"]))
    assert rk.from_ir_datasets(name).docs["doc_id"].tolist() == ["001", "NA"]
    with pytest.raises(ValueError, match=r"knows no data set 'ragkit-tset'\. Did you mean 'ragkit-test'"):
        rk.from_ir_datasets("ragkit-tset")


def test_without_the_package_a_name_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "ir_datasets", None)
    with pytest.raises(ImportError, match="needs ir_datasets: pip install ir_datasets"):
        rk.from_ir_datasets("vaswani")


@pytest.mark.parametrize("wrong", [3, None, [], {"docs": []}])
def test_what_is_no_data_set_is_refused(wrong):
    with pytest.raises(TypeError, match="needs the name of a data set or an object with docs_iter"):
        rk.from_ir_datasets(wrong)


def test_any_object_of_that_shape_will_do():
    Doc, Query, Qrel = (
        namedtuple("Doc", "doc_id title abstract"),
        namedtuple("Query", "query_id text"),
        namedtuple("Qrel", "query_id doc_id relevance iteration"),
    )

    class Data:
        docs_iter = staticmethod(lambda: iter([Doc("1", "T", "A")]))
        queries_iter = staticmethod(lambda: iter([Query("q", "t")]))
        qrels_iter = staticmethod(lambda: iter([Qrel("q", "1", 1, "a"), Qrel("q", "1", 2, "b")]))

    data = rk.from_ir_datasets(Data())
    assert data.docs["text"].tolist() == ["T A"] and data.queries.values.tolist() == [["q", "t"]]
    assert data.qrels["subtopic"].tolist() == ["a", "b"]
    Data.qrels_iter = staticmethod(lambda: iter([]))
    assert rk.from_ir_datasets(Data()).qrels.columns.tolist() == ["query_id", "doc_id", "relevance"]
