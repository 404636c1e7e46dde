"""The teaching corpora keep what their cards say."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest

import ragkit as rk

FOLDER = Path(__file__).parent.parent / "datasets"
NAMES = sorted(path.name for path in FOLDER.iterdir() if (path / "corpus.jsonl").exists())


@pytest.fixture(scope="module", params=NAMES)
def data(request):
    return rk.load_dataset(request.param)


def test_ids_meet_and_judgements_stand_once(data):
    assert data.docs["doc_id"].is_unique and data.queries["query_id"].is_unique
    assert set(data.qrels["doc_id"]) <= set(data.docs["doc_id"])
    assert set(data.qrels["query_id"]) == set(data.queries["query_id"])
    assert not data.qrels.duplicated(["query_id", "doc_id", "subtopic"]).any()
    assert data.qrels["relevance"].between(0, 3).all()


def test_every_query_can_be_answered_and_no_two_are_the_same(data):
    best = data.qrels.groupby("query_id")["relevance"].max()
    assert (best >= 2).all()
    assert not data.queries["text"].str.casefold().duplicated().any()


def test_spans_are_whole_sentences_of_relevant_documents(data):
    if data.spans is None:
        return
    texts = data.docs.set_index("doc_id")["text"]
    relevant = set(map(tuple, data.qrels.loc[data.qrels["relevance"] > 0, ["query_id", "doc_id"]].to_numpy()))
    for span in data.spans.itertuples():
        passage = texts[span.doc_id][span.start : span.end]
        assert passage and passage == passage.strip()
        assert (span.query_id, span.doc_id) in relevant


def test_no_two_texts_open_alike(data):
    openings = data.docs["text"].str.split().str[:4].str.join(" ")
    repeated = openings[openings.duplicated()]
    assert len(repeated) <= max(1, 0.02 * len(openings)), repeated.tolist()  # near-duplicates are meant


def test_vectors_have_a_row_for_every_document_and_query(data):
    if data.vectors is not None:
        assert len(data.vectors.docs) == len(data.docs)
        assert len(data.vectors.queries) == len(data.queries)


def test_the_card_counts_right(data, request):
    name = request.node.callspec.params["data"]
    card = (FOLDER / name / "README.md").read_text(encoding="utf-8")
    numbers = {int(n.replace(",", "")) for n in re.findall(r"\d[\d,]*", card)}
    assert {len(data.docs), len(data.queries), len(data.qrels)} <= numbers


def test_fieldguide_is_large_and_mixed_enough_to_teach():
    data = rk.load_dataset("fieldguide")
    words = data.docs["text"].str.split().str.len()
    assert len(data.docs) >= 120 and words.min() >= 80
    assert len(data.queries) >= 40
    assert {"identifier", "paraphrase", "ambiguous", "broad"} <= set(data.queries["kind"])
    many = data.queries[data.queries["kind"].isin(["ambiguous", "broad"])]
    assert set(many["query_id"]) <= set(data.qrels.loc[data.qrels["subtopic"] != "", "query_id"])


def test_fieldguide_holds_relevant_documents_that_no_retriever_finds():
    data = rk.load_dataset("fieldguide")
    index, store = rk.KeywordIndex(data.docs), rk.VectorStore(data.docs)
    with pytest.warns(rk.RetrievalWarning):
        runs = [index.search(data.queries, top_k=10), store.search(data.queries, top_k=10)]
    found = set(map(tuple, pd.concat(runs)[["query_id", "doc_id"]].to_numpy()))
    answers = data.qrels.loc[data.qrels["relevance"] == 3, ["query_id", "doc_id"]]
    assert any(tuple(pair) not in found for pair in answers.to_numpy())
