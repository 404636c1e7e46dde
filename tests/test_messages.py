"""What a beginner reads after a slip: whole messages, each with the way out."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pandas as pd
import pytest

import ragkit as rk

DOCS = {"a": "red fox runs", "b": "red wine", "c": "blue whale"}
QUERIES = {"q01": "red fox", "q02": "whale"}
QRELS = {"q01": {"a": 1}, "q02": {"c": 1}}
WITH_IDS = "index.search(data.queries), or index.search({'q1': 'a text'})."


@pytest.fixture(scope="module")
def index():
    return rk.KeywordIndex(DOCS)


@pytest.fixture(scope="module")
def store():
    return rk.VectorStore(DOCS)


@pytest.fixture(scope="module")
def run(index):
    return index.search(QUERIES)


@pytest.fixture(scope="module")
def data():
    return rk.load_dataset("toy")


def said(kind, call, *args, **knobs):
    """Give the whole text of the error that a call raises."""
    with pytest.raises(kind) as caught:
        call(*args, **knobs)
    assert type(caught.value) is kind
    return str(caught.value)


def warned(call, *args, **knobs):
    """Give the whole text of the one warning that a call makes."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call(*args, **knobs)
    assert [w.category for w in caught] == [rk.RetrievalWarning]
    return str(caught[0].message)


# --- worked examples: ids of queries ---------------------------------------------------------------------


def test_a_run_whose_queries_were_numbered_is_told_from_one_with_a_few_unjudged(index):
    numbered = index.search(list(QUERIES.values()))
    way = "Search with the ids of the queries, not only their texts: " + WITH_IDS
    want = "no query_id of ??? ('0', '1') is in qrels ('q01', 'q02'), so none of its results counts. " + way
    many = want.replace("its results", "their results")
    assert warned(rk.evaluate, numbered, QRELS, metrics="rr") == want.replace("???", "the run")
    assert warned(rk.compare, {"bm25": numbered}, QRELS, metrics="rr") == want.replace("???", "run 'bm25'")
    two = {"a": numbered, "b": numbered}
    assert warned(rk.compare, two, QRELS, metrics="rr") == many.replace("???", "runs 'a', 'b'")
    grid = {"k1": [1.0, 2.0]}
    swept = warned(rk.sweep, index, grid, QRELS, queries=list(QUERIES.values()), metrics="rr")
    assert swept == many.replace("???", "runs 'setting 0', 'setting 1'")


def test_queries_without_judgements_are_counted_in_the_right_number(run):
    one = {"q01": {"a": 1}}
    assert warned(rk.evaluate, run, one, metrics="rr") == (
        "the run answers 1 query that has no judgements ('q02'); it is left out. Drop them from the run, or "
        "judge them."
    )


# --- judgements and runs ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("flat", "shown"),
    [({"q1": "a"}, "{'q1': 'a'}"), ({"q1": ["a", "b"]}, "{'q1': ['a', 'b']}"), ({"a": 1}, "{'a': 1}")],
)
def test_flat_judgements_are_answered_with_the_nested_form(flat, shown):
    assert said(TypeError, rk.as_qrels, flat) == (
        "qrels as a dict must be {query_id: {doc_id: grade}}, such as {'q1': {'d1': 3}}; got " + shown + "."
    )


def test_a_flat_run_is_answered_with_both_forms_of_a_run():
    assert said(TypeError, rk.as_run, {"a": 1.0}) == (
        "run as a dict must be {query_id: {doc_id: score}}, such as {'q1': {'d1': 0.9}}, or "
        "{query_id: [doc_id, ...]}; got {'a': 1.0}."
    )
    assert said(ValueError, rk.as_run, [("q", 1.0)]) == (
        "run must hold tuples of three, ('query_id', 'doc_id', 'score'); got ('q', 1.0)."
    )
    assert said(ValueError, rk.as_qrels, ["q1 0 d1 1"]).endswith("'relevance'); got 'q1 0 d1 1'.")


@pytest.mark.parametrize("call", [rk.evaluate, rk.mmr])
def test_several_runs_where_one_is_meant(call, run, store):
    rest, knobs = (QRELS, {"metrics": "rr"}) if call is rk.evaluate else (store, {})
    tail = "Take one of them: evaluate and mmr take one run; compare and fuse take several."
    assert said(TypeError, call, {"k": run}, rest, **knobs) == (
        f"run must be one run; got a dict of DataFrames, 'k'. {tail}"
    )
    assert said(TypeError, call, [run], rest, **knobs).startswith("run must be one run; got a list of ")


def test_runs_and_judgements_that_are_exchanged(run):
    judged = rk.as_qrels(QRELS)
    assert said(ValueError, rk.evaluate, judged, run, metrics="rr").endswith(
        "This looks like a run; are the arguments swapped?"
    )
    assert said(ValueError, rk.as_run, judged).endswith(
        "These look like judgements; are the arguments swapped?"
    )


def test_a_fraction_as_a_grade_is_shown_as_the_user_wrote_it():
    assert said(ValueError, rk.as_qrels, {"q": {"a": 0.5}}) == (
        "qrels' relevance must hold whole numbers; query 'q', document 'a' has 0.5. Round or rescale the "
        "grades first."
    )


def test_a_run_over_chunks_is_refused_with_the_call_that_helps(run):
    chunks = rk.KeywordIndex(rk.chunk(DOCS, size=5, overlap=0)).search(QUERIES)
    assert said(ValueError, rk.evaluate, chunks, QRELS, metrics="rr") == (
        "metric 'rr' needs a run over documents, because these qrels judge documents; got one over chunks. "
        "Collapse it first: rk.evaluate(rk.best_per_doc(run), qrels, ...)."
    )
    assert said(ValueError, rk.fuse, {"k": run, "c": chunks}) == (
        "fuse needs runs over one unit; chunks in 'c', documents in 'k'. Collapse the chunk runs first: "
        "rk.best_per_doc(run)."
    )


def test_by_a_kind_needs_the_queries(run):
    assert said(ValueError, rk.compare, {"a": run}, QRELS, metrics="rr", by="kind") == (
        "by='kind' needs queries=data.queries, a frame of queries with a column 'kind'."
    )
    kinds = pd.DataFrame({"query_id": [*QUERIES], "text": [*QUERIES.values()], "kind": "short"})
    assert said(ValueError, rk.compare, {"a": run}, QRELS, metrics="rr", by="knd", queries=kinds) == (
        "by='knd' is no column of the queries; choose one of ['kind']. Did you mean 'kind'?"
    )
    assert said(ValueError, rk.compare, {"a": run}, QRELS, metrics="rr", by="kind", queries=QUERIES) == (
        "by='kind' is no column of the queries; they have only query_id and text."
    )


def test_the_beginning_of_one_name_is_that_name_before_others_spelt_alike(run):
    runs = {"a": run, "b": run}
    assert said(ValueError, rk.fuse, runs, method="lin").endswith(" Did you mean 'linear'?")
    assert said(ValueError, rk.fuse, runs, method="cond").endswith(" Did you mean 'condorcet'?")
    # two names begin so: the one spelt most alike, if any is
    assert said(ValueError, rk.fuse, runs, method="m").endswith("'tm2c2'].")
    assert said(ValueError, rk.fuse, runs, method="").endswith("'tm2c2'].")


@pytest.fixture(scope="module")
def planets():
    names = ["18650-cell", "mercury-god", "mercury-planet", "project-mercury"]
    return {name: name.replace("-", " ") for name in names}


def test_an_id_that_is_misspelt_is_answered_with_the_nearest(planets):
    index, store = rk.KeywordIndex(planets), rk.VectorStore(planets)
    for held in (index, store):
        assert said(ValueError, held.explain, "mercury", "mercury-plannet") == (
            "no document has the doc_id 'mercury-plannet'; ids here are strings such as '18650-cell', "
            "'mercury-god'. Did you mean 'mercury-planet'?"
        )
    run = index.search({"q": "mercury"})
    assert said(ValueError, rk.explain, run, "q", "mercury-plannet") == (
        "explain found no unit 'mercury-plannet' for query 'q'; the run has 'project-mercury', "
        "'mercury-planet', 'mercury-god'. Did you mean 'mercury-planet'?"
    )


def test_more_is_retrieved_only_where_there_is_such_a_document(planets):
    run, store = rk.KeywordIndex(planets).search({"q": "god"}), rk.VectorStore(planets)
    assert said(ValueError, rk.lambda_for, run, store, "q", "project-mercury") == (
        "run did not retrieve 'project-mercury' for query 'q', so no lambda can select it; retrieve more "
        "(a larger top_k before it)."
    )
    want = (
        "run did not retrieve 'projct-mercury' for query 'q': neither the run nor the vectors hold a doc_id "
        "of that name. Did you mean 'project-mercury'?"
    )
    assert said(ValueError, rk.lambda_for, run, store, "q", "projct-mercury") == want
    by_id = dict(zip(planets, store.vectors([*planets])))
    assert said(ValueError, rk.lambda_for, run, by_id, "q", "projct-mercury") == want
    # an array says nothing of other documents
    assert said(ValueError, rk.lambda_for, run, [[1.0, 0.0]], "q", "ghost") == (
        "run did not retrieve 'ghost' for query 'q': the run does not hold a doc_id of that name. Check how "
        "it is written."
    )


def test_a_tolerance_in_percent_is_told_from_one_in_units_of_the_metric():
    runs = {"keyword": {"q": ["a", "b"]}, "vector": {"q": ["b", "c"]}}
    path = rk.weight_path(runs, {"q": {"b": 1}}, metrics="rr")  # 1, and 0.5 beside keyword alone
    assert warned(rk.best_weight, path, tolerance=1) == (
        "tolerance=1 covers the whole range of 'rr' on the path, 0.5 to 1, so every weight counts as just as "
        "good; it is in units of the metric: for 1 % of a metric in [0, 1] write 0.01."
    )
    both = {"q": {"a": 1, "b": 1, "c": 1}}
    flat = rk.weight_path(runs, both, metrics="rr")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rk.best_weight(path, tolerance=0.49)  # weights outside it are left
        rk.best_weight(flat, tolerance=0.01)  # that the weight does not matter is an answer


# --- one thing in the place of another -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "name"),
    [(rk.KeywordIndex, "docs"), (rk.VectorStore, "docs"), (rk.chunk, "docs"), (rk.as_queries, "queries"),
     (rk.as_qrels, "qrels")],
)  # fmt: skip
def test_a_whole_data_set_is_answered_with_its_part(call, name, data):
    assert said(TypeError, call, data) == f"{name} got a Dataset; did you mean data.{name}?"


def test_a_store_is_no_run_and_no_documents(index, store, run):
    assert said(TypeError, rk.mmr, store, run) == (
        "run got a VectorStore; a run is what its search returns: store.search(queries). Or are the "
        "arguments swapped?"
    )
    assert said(TypeError, rk.fuse, {"k": run, "v": store}).startswith("run 'v': run got a VectorStore; ")
    assert said(TypeError, rk.KeywordIndex, store) == (
        "docs got a VectorStore; pass its documents: store.docs."
    )


def test_runs_given_to_fuse_one_by_one_are_told_to_come_in_a_dict():
    run = {"q": {"a": 1.0}}
    assert said(TypeError, rk.fuse, run, run) == (
        'fuse takes its runs in one dict, not as 2 arguments: fuse({"keyword": run, "vector": other}). '
        "The names stand in the columns of the result."
    )


@pytest.mark.parametrize("wrong", ["index", None, "store", len])
def test_what_holds_no_vectors_is_named(wrong, run, index):
    given = index if wrong == "index" else wrong
    shown = "None" if wrong is None else f"a {type(given).__name__}"
    assert said(TypeError, rk.mmr, run, given) == (
        "vectors must be a VectorStore, a dict of id to vector or an array aligned with the run; "
        f"got {shown}."
    )


def test_queries_for_cosines_come_with_the_ids_of_the_run(run, store):
    message = said(ValueError, rk.mmr, run, store, relevance="cosine", queries=list(QUERIES.values()))
    assert message == (
        "queries lacks 2 of the run's queries: 'q01', 'q02'; it has '0', '1'. Give the queries with the ids "
        "that the run has, such as data.queries."
    )


def test_texts_are_no_vectors(run):
    assert said(TypeError, rk.mmr, run, DOCS) == (
        "vectors must be numbers; got texts such as 'red fox runs'. Embed them first, for instance with "
        "VectorStore(docs)."
    )
    assert said(TypeError, rk.mmr, run, rk.as_docs(DOCS)) == (
        "vectors must be numbers; got a DataFrame with the columns ['doc_id', 'text']. Embed texts first, "
        "for instance with VectorStore(docs)."
    )


def test_frames_that_hold_something_else(run, data):
    assert said(ValueError, rk.chunk, run).endswith(
        "This looks like a run, which carries no text: run.merge(docs, on='doc_id') adds it."
    )
    assert said(ValueError, rk.as_queries, run).endswith("This looks like a run; are the arguments swapped?")
    assert said(ValueError, rk.as_docs, data.queries).endswith(
        "These look like queries; are the arguments swapped?"
    )


# --- columns of other names ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "columns", "renamed"),
    [
        (rk.KeywordIndex, ["id", "text"], {"id": "doc_id"}),
        (rk.KeywordIndex, ["doc_id", "content"], {"content": "text"}),
        (rk.KeywordIndex, ["ID", "body"], {"ID": "doc_id", "body": "text"}),
        (rk.as_docs, ["doc_id", "texts"], {"texts": "text"}),
        (rk.as_queries, ["id", "question"], {"id": "query_id", "question": "text"}),
        (rk.as_qrels, ["qid", "doc_id", "grade"], {"qid": "query_id", "grade": "relevance"}),
        (rk.as_run, ["qid", "doc_id", "score"], {"qid": "query_id"}),
    ],
)
def test_the_renaming_that_is_proposed_makes_the_frame_fit(call, columns, renamed):
    frame = pd.DataFrame([["1"] * len(columns)], columns=columns)
    frame = frame.assign(**{c: 1 for c in columns if c in ("grade", "score")})
    message = said(ValueError, call, frame)
    assert message.endswith(f"found {columns}. Rename first: df.rename(columns={renamed}).")
    call(frame.rename(columns=renamed))


def test_ids_in_the_index_and_texts_without_ids():
    frame = pd.DataFrame({"text": ["x"]}, index=pd.Index(["a"], name="doc_id"))
    assert said(ValueError, rk.as_docs, frame).endswith("The index holds 'doc_id': use df.reset_index().")
    assert rk.as_docs(frame.reset_index())["doc_id"].tolist() == ["a"]
    assert said(ValueError, rk.as_docs, pd.DataFrame({"text": ["x"]})) == (
        "docs needs columns ['doc_id', 'text']; missing ['doc_id'], found ['text']. Give every row an id, or "
        "pass the texts alone: df['text'].tolist() is numbered from 0."
    )


def test_a_column_called_query_is_a_text_and_numbered_texts_are_proposed():
    assert said(ValueError, rk.as_queries, pd.DataFrame({"query": ["x"]})).endswith(
        "df.rename(columns={'query': 'text'})."
    )
    assert said(ValueError, rk.as_queries, pd.DataFrame({"text": ["x"]})).endswith(
        "pass the texts alone: df['text'].tolist() is numbered from 0."
    )


def test_one_row_is_a_row():
    assert said(ValueError, rk.as_docs, pd.DataFrame({"doc_id": ["a", "a"], "text": ["x", "y"]})) == (
        "docs has 1 repeated doc_id row ('a'); ids must be unique: use drop_duplicates('doc_id') or give "
        "them other ids."
    )
    assert said(TypeError, rk.as_queries, {"q": 1}) == (
        "queries item 0 must be a string, a dict or a document; got 1 of type int."
    )
    assert said(ValueError, rk.as_queries, ["a", None]) == (
        "queries has 1 row without text, the first '1'; write '' for an empty text or drop the row."
    )


# --- names and paths -------------------------------------------------------------------------------------


def test_a_name_in_another_case_is_recognised(index):
    assert said(ValueError, index.search, "red", variant="BM25").endswith("Did you mean 'bm25'?")
    assert said(AttributeError, getattr, rk, "Keywordindex") == (
        "module 'ragkit' has no attribute 'Keywordindex'; did you mean 'KeywordIndex'?"
    )
    assert said(AttributeError, getattr, rk, "qqqqqq") == "module 'ragkit' has no attribute 'qqqqqq'"
    assert (
        said(AttributeError, getattr, rk, "__wrapped__") == "module 'ragkit' has no attribute '__wrapped__'"
    )


def test_a_path_given_as_a_text_warns_and_stays_a_text(tmp_path):
    file = tmp_path / "one.txt"
    file.write_text("red fox")
    head = "is the path of a file or folder, but a string is taken as a document's text. "
    for given in (str(tmp_path), [str(file), "x"]):
        text = given if isinstance(given, str) else given[0]
        message = warned(rk.KeywordIndex, given)
        assert message.startswith(f"docs {text!r} {head}Read the files first: ")
        assert message.endswith("load_dataset(folder) a BEIR folder.")
    with pytest.warns(rk.RetrievalWarning, match=re.escape(head)):
        assert rk.as_docs(str(file))["text"].tolist() == [str(file)]
    rk.as_docs(["tests", "red fox"])  # a word that is by chance a folder's name: no warning
    rk.as_queries(str(file))


# --- unknown texts and ids -------------------------------------------------------------------------------


def test_an_embedder_says_its_own_reason_for_a_zero_vector(store):
    table = rk.TableEmbedder(["what do bees eat", "b"], [[1, 0], [0, 1]])
    given = rk.VectorStore({"a": "", "b": ""}, vectors=[[1, 0], [0, 1]], query_embed=table)
    assert warned(given.search, "how do bees fly") == (
        "queries 'how do bees fly' have no hits: this store only knows the vectors of 2 stored texts; for "
        "free text give it fallback=rk.LSAEmbedder(), or a model with query_embed=."
    )
    assert warned(store.search, "zzz") == (
        "queries 'zzz' have no hits: no word of theirs is known to the embedder; check spelling and language."
    )


def test_an_unknown_id_is_answered_with_ids_that_are_there(index, store):
    want = (
        "no document has the doc_id '1'; ids here are strings such as 'a', 'b'. "
        "Add what is missing, or check how the ids are written."
    )
    assert said(ValueError, index.explain, "fox", 1) == want
    assert said(ValueError, store.vectors, [1]) == want
    chunks = rk.VectorStore(rk.chunk({"a": "red"}))
    assert said(ValueError, chunks.vectors, ["a"]).startswith("no chunk has the chunk_id 'a'; ids here are ")
    assert said(ValueError, rk.VectorStore().vectors, ["a"]).startswith(
        "no document has the doc_id 'a'; there are none yet."
    )


def test_whole_numbers_are_ids_in_every_look_up():
    numbered = rk.VectorStore(["x", "y"], vectors=[[1.0, 0.0], [0.0, 1.0]])
    assert np.array_equal(numbered.vectors([1, np.int64(0)]), [[0, 1], [1, 0]])
    assert np.array_equal(numbered.vectors("1"), [[0, 1]])
    assert numbered.similarity(0, 1) == 0.0
    assert numbered.similarity(0, [0, 1]).tolist() == [1.0, 0.0]
    assert numbered.get(1)["doc_id"] == "1"
    assert 1 in numbered and 2 not in numbered and True not in numbered
    assert said(TypeError, numbered.vectors, [1.5]).startswith("doc_id must hold strings or whole numbers;")


# --- more slips, tool by tool ----------------------------------------------------------------------------


def test_fusing_a_run_of_numbered_queries_with_one_of_named_queries_warns(index, run):
    numbered = index.search(list(QUERIES.values()))
    assert warned(rk.fuse, {"k": numbered, "v": run}) == (
        "run 'k' answers queries '0', '1', which no other run does ('q01', 'q02'), so nothing meets. "
        "Search with the ids of the queries, not only their texts: " + WITH_IDS
    )
    rk.fuse({"k": numbered, "v": numbered})
    rk.fuse({"k": run, "v": run.assign(query_id="q03").head(1)})  # other queries, but no mix-up


def test_what_a_hybrid_search_is_made_of(index, store):
    of_docs = "Of documents, write HybridSearch(KeywordIndex(docs), VectorStore(docs))."
    assert said(TypeError, rk.HybridSearch, DOCS) == (
        "source 'a' must be a KeywordIndex, a VectorStore or a callable queries -> run; got a str. " + of_docs
    )
    assert said(TypeError, rk.HybridSearch, index, DOCS).endswith("queries -> run; got a dict. " + of_docs)
    assert said(TypeError, rk.HybridSearch, store, index) == (
        "source 'keyword' is a VectorStore; write HybridSearch(index, store), the KeywordIndex first."
    )
    assert said(TypeError, rk.HybridSearch, rk.KeywordIndex, store) == (
        "source 'keyword' is the class KeywordIndex; make one first: KeywordIndex(docs)."
    )


def test_what_a_vector_store_is_made_of():
    assert said(TypeError, rk.VectorStore, DOCS, embed="all-MiniLM-L6-v2") == (
        "embed must be a callable list of str -> array (n, d); got 'all-MiniLM-L6-v2'. For a model by name, "
        "SentenceTransformerEmbedder('all-MiniLM-L6-v2')."
    )
    assert said(TypeError, rk.VectorStore, DOCS, embed=rk.LSAEmbedder) == (
        "embed is the class LSAEmbedder; make one first: LSAEmbedder(...)."
    )
    assert said(ValueError, rk.VectorStore, vectors=[[1, 0]]) == (
        "vectors must have one row per document; got 1 for 0 documents. Give the documents, or their ids, "
        "first: VectorStore(docs, vectors=...)."
    )
    assert said(ValueError, rk.VectorStore, DOCS, vectors={"a": [1, 0]}) == (
        "vectors lacks 2 of the documents: 'b', 'c'; each needs one."
    )


def test_vectors_and_pairs_in_the_place_of_texts(store):
    assert said(TypeError, store.search, [1, 0]) == (
        "queries item 0 must be a string, a dict or a document; got 1 of type int. Vectors are given as "
        "vectors=."
    )
    assert said(TypeError, rk.VectorStore, [[1, 0]]).endswith(
        "got [1, 0] of type list. Vectors are given as vectors=."
    )
    assert said(TypeError, rk.KeywordIndex, [("a", "red fox")]).endswith(
        "got ('a', 'red fox') of type tuple. Pairs of id and text are read as a dict: dict(docs)."
    )


def test_files_in_the_place_of_what_they_hold(run, tmp_path):
    assert said(TypeError, rk.evaluate, "run.txt", QRELS, metrics="rr") == (
        "run got 'run.txt'; if that is a file, read it: read_run(path)."
    )
    assert said(TypeError, rk.evaluate, run, "qrels.txt", metrics="rr").endswith("read it: read_qrels(path).")
    assert said(TypeError, rk.KeywordIndex, tmp_path).endswith("read it: read_docs(path).")


def test_a_stop_word_list_is_no_tokenizer():
    assert said(TypeError, rk.KeywordIndex, DOCS, tokenizer="english") == (
        "tokenizer must be a callable str -> list of str; got 'english'. Did you mean "
        "Tokenizer(stop_words='english')?"
    )


def test_filters_written_as_text(index):
    assert said(TypeError, index.search, "red", where="year > 2000") == (
        "where must be a dict of equalities, a callable docs -> boolean Series or a boolean Series by unit "
        "id; got 'year > 2000'. Write where={'topic': 'music'}, or where=lambda docs: docs['year'] > 2000."
    )


def test_metrics_as_they_are_often_written(run):
    assert said(ValueError, rk.evaluate, run, QRELS, metrics="ndcg10") == (
        "unknown metric 'ndcg10'. Did you mean 'ndcg@10'?"
    )
    for text in ("ndcg@10,recall@5", "ndcg@10 recall@5", "ndcg@10, recall@5"):
        assert said(ValueError, rk.evaluate, run, QRELS, metrics=text) == (
            f"unknown metric {text!r}; give several as a list: metrics=['ndcg@10', 'recall@5']."
        )
    assert said(ValueError, rk.evaluate, run, QRELS, metrics="ap10").startswith("unknown metric 'ap10'. Did")


def test_compare_names_the_system_that_is_no_run(run, index):
    assert said(TypeError, rk.compare, {"a": run, "b": index}, QRELS, metrics="rr").startswith(
        "run 'b': run got a KeywordIndex; "
    )
    assert said(TypeError, rk.compare, {"a": run}, QRELS, metrics="rr", baseline=run) == (
        "baseline must be the name of a run, one of ['a']; got a DataFrame."
    )
    assert said(TypeError, rk.compare, {}, QRELS, metrics="rr").startswith(
        "runs must be a dict of name to run, with at least one; got an empty one. "
    )
    assert said(ValueError, rk.compare, {"a": run}, QRELS, metrics="rr", ci=95) == (
        "ci must be in [0, 1] (0.95 for 95 %); got 95."
    )
    assert said(ValueError, rk.compare, {"a": run}, QRELS) == (
        "compare needs metrics= for run 'a', such as metrics=['ndcg@10', 'rr']: only scores (query_id, "
        "metric, value) bring their own."
    )


def test_a_sweep_that_cannot_be_scored_is_refused_before_it_starts(index):
    grid = {"k1": [1.0, 2.0]}
    assert said(ValueError, rk.sweep, index, grid, QRELS, queries=QUERIES) == (
        "sweep needs metrics=, such as metrics=['ndcg@10', 'rr'], or spans=."
    )
    assert said(ValueError, rk.sweep, index, grid, queries=QUERIES, metrics="rr") == (
        "metric 'rr' needs qrels, such as data.qrels."
    )
    assert said(ValueError, rk.sweep, index, grid, QRELS, metrics="rr") == (
        "sweeping a KeywordIndex needs queries=, such as queries=data.queries."
    )


def test_what_is_no_data_set(tmp_path):
    file = tmp_path / "corpus.jsonl"
    file.write_text("{}")
    assert said(FileNotFoundError, rk.load_dataset, file) == (
        f"{str(file)!r} is a file, neither a folder nor an archive; read_docs, read_queries, read_qrels and "
        "read_run read single files."
    )
    assert said(TypeError, rk.load_dataset, None).startswith("load_dataset needs the name of a data set, ['")


def test_numbers_of_numpy_are_shown_as_numbers(run):
    assert said(ValueError, rk.as_run, run.assign(rank=0)) == (
        "run's rank must hold whole numbers from 1; query 'q01' has 0. Drop the column to have the run "
        "ranked by score."
    )
    assert said(ValueError, rk.fuse, {"a": run, "b": run}, weights=[1.0]) == (
        "fuse got 2 runs but 1 weight; give one for each."
    )


@pytest.mark.parametrize("text", [".", "..", "/", "~", "./"])
def test_marks_alone_are_texts_though_they_name_a_folder(text):
    assert rk.as_docs(text)["text"].tolist() == [text]
