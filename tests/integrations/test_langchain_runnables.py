"""Everything a LangChain retriever does as a runnable, tried on ragkit's retrievers inside real chains.

The retriever of a RagkitVectorStore and a RagkitRetriever over a hybrid search take every test in turn.
"""

from __future__ import annotations

import asyncio
import threading
import time
from uuid import UUID

import pytest

pytest.importorskip("langchain_core", reason="needs langchain-core (the extra langchain)")

from langchain_core.callbacks import BaseCallbackHandler, adispatch_custom_event, dispatch_custom_event
from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import (
    RunnableConfig,
    RunnableLambda,
    RunnableParallel,
    RunnablePassthrough,
    chain,
)
from langchain_core.tools import create_retriever_tool

import ragkit as rk
from ragkit.integrations.langchain import RagkitRetriever, RagkitVectorStore
from tests.conftest import golden
from tests.integrations.fakes import Table

DOCS = {"alpha": "alpha one", "beta": "beta two", "gamma": "gamma three", "delta": "delta four"}
VECTORS = {
    "alpha one": [1, 0], "beta two": [0.8, 0.6], "gamma three": [0, 1], "delta four": [0.9, 0.1],
    "alpha": [1, 0.01], "beta": [0.8, 0.61], "gamma": [0.01, 1], "delta": [0.9, 0.11],
}  # fmt: skip


def of_store() -> object:
    store = RagkitVectorStore.from_texts(list(DOCS.values()), Table(VECTORS), ids=list(DOCS))
    return store.as_retriever(k=1)


def of_hybrid() -> object:
    table = Table(VECTORS)
    store = rk.VectorStore(DOCS, embed=table.embed_documents, query_embed=table.embed_documents)
    return RagkitRetriever(source=rk.HybridSearch(rk.KeywordIndex(DOCS), store), k=1)


@pytest.fixture(params=[of_store, of_hybrid], ids=["store", "hybrid"])
def retriever(request):
    return request.param()


def ids(documents) -> list[str]:
    return [doc.id for doc in documents]


class Recorder(BaseCallbackHandler):
    """Callbacks that remember what they were told."""

    def __init__(self):
        self.seen = []

    def on_retriever_start(self, serialized, query, **kwargs):
        self.seen.append(("start", query, kwargs))

    def on_retriever_end(self, documents, **kwargs):
        self.seen.append(("end", ids(documents), kwargs))

    def on_retriever_error(self, error, **kwargs):
        self.seen.append(("error", str(error), kwargs))

    def on_custom_event(self, name, data, **kwargs):
        self.seen.append(("custom", (name, data), kwargs))


class Flaky:
    """A source that raises on its first calls and always for the query ``bad``."""

    def __init__(self, failures=0):
        self.failures, self.calls, self.index = failures, 0, rk.KeywordIndex({"bad": "bad", "hi": "hi"})

    def __call__(self, queries):
        self.calls += 1
        if self.calls <= self.failures or queries["text"].iloc[0] == "bad":
            raise ConnectionError(f"boom {self.calls}")
        return self.index.search(queries)


def flaky(failures=0) -> RagkitRetriever:
    source = Flaky(failures)
    return RagkitRetriever(source=source, docs=source.index)


# ---------------------------------------------------------------------------- invoke, batch, stream


def test_invoke_gives_documents(retriever):
    [found] = retriever.invoke("gamma")
    assert isinstance(found, Document) and found.page_content == "gamma three"
    assert asyncio.run(retriever.ainvoke("gamma")) == [found]


def test_batch_keeps_the_order_whatever_the_concurrency(retriever):
    queries = ["gamma", "alpha", "beta", "delta"] * 8
    want = [[query] for query in queries]
    for config in (None, {"max_concurrency": 1}, {"max_concurrency": 3}, {"max_concurrency": 32}):
        assert [ids(found) for found in retriever.batch(queries, config)] == want
        assert [ids(found) for found in asyncio.run(retriever.abatch(queries, config))] == want
    assert retriever.batch([]) == []


def test_batch_runs_no_more_at_once_than_it_may():
    running, most, lock = 0, 0, threading.Lock()
    index = rk.KeywordIndex(DOCS)

    def slow(queries):
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        time.sleep(0.02)
        with lock:
            running -= 1
        return index.search(queries)

    RagkitRetriever(source=slow, docs=DOCS).batch(["alpha"] * 8, {"max_concurrency": 2})
    assert most == 2


def test_a_store_that_was_just_changed_may_be_asked_by_many_threads_at_once():
    hybrid = rk.HybridSearch(rk.KeywordIndex(DOCS), rk.VectorStore(DOCS))
    retriever = RagkitRetriever(source=hybrid, k=1)
    for n in range(5):
        hybrid.add({f"new{n}": f"word{n} alpha"})
        found = retriever.batch([f"word{n}"] * 16, {"max_concurrency": 16})
        assert [ids(documents) for documents in found] == [[f"new{n}"]] * 16


def test_batch_raises_the_error_or_puts_it_in_its_place():
    with pytest.raises(ConnectionError, match="boom"):
        flaky().batch(["hi", "bad", "hi"])
    first, second, third = flaky().batch(["hi", "bad", "hi"], return_exceptions=True)
    assert ids(first) == ids(third) == ["hi"]
    assert isinstance(second, ConnectionError)
    got = asyncio.run(flaky().abatch(["bad", "hi"], return_exceptions=True))
    assert isinstance(got[0], ConnectionError) and ids(got[1]) == ["hi"]


def test_batch_with_options_of_another_length_raises(retriever):
    with pytest.raises(ValueError, match="length"):
        retriever.batch(["alpha", "beta"], [{"tags": ["only one"]}])


def test_batch_as_completed_says_which_is_which(retriever):
    found = dict(retriever.batch_as_completed(["gamma", "alpha"]))
    assert {n: ids(documents) for n, documents in found.items()} == {0: ["gamma"], 1: ["alpha"]}


def test_stream_gives_the_whole_list_at_once(retriever):
    assert [ids(part) for part in retriever.stream("gamma")] == [["gamma"]]

    async def parts():
        return [ids(part) async for part in retriever.astream("gamma")]

    assert asyncio.run(parts()) == [["gamma"]]


def test_transform_joins_its_input_and_then_streams(retriever):
    assert [ids(part) for part in retriever.transform(iter(["gam", "ma"]))] == [["gamma"]]

    async def parts():
        async def letters():
            for letter in "gamma":
                yield letter

        return [ids(part) async for part in retriever.atransform(letters())]

    assert asyncio.run(parts()) == [["gamma"]]


# ---------------------------------------------------------------------------- composition


def rag(retriever):
    """Retriever, prompt, chat model, parser: the chain that people build."""
    prompt = ChatPromptTemplate.from_template("{context} | {question}")
    context = retriever | (lambda documents: "; ".join(doc.page_content for doc in documents))
    model = FakeListChatModel(responses=["an answer"])
    return {"context": context, "question": RunnablePassthrough()} | prompt | model | StrOutputParser()


def test_a_retriever_stands_in_a_chain_before_a_prompt_and_a_model(retriever):
    seen = []
    prompt = ChatPromptTemplate.from_template("{context} | {question}")
    context = retriever | (lambda documents: "; ".join(doc.page_content for doc in documents))
    asked = {"context": context, "question": RunnablePassthrough()} | prompt | RunnableLambda(seen.append)
    asked.invoke("gamma")
    assert seen[0].to_messages()[0].content == "gamma three | gamma"
    assert rag(retriever).invoke("gamma") == "an answer"
    assert "".join(rag(retriever).stream("gamma")) == "an answer"


def test_pipe_and_the_bar_take_functions_runnables_and_dicts(retriever):
    assert retriever.pipe(len).invoke("gamma") == 1
    assert (retriever | RunnableLambda(ids)).invoke("gamma") == ["gamma"]
    assert (retriever | {"n": len, "ids": RunnableLambda(ids)}).invoke("gamma") == {"n": 1, "ids": ["gamma"]}
    assert ((lambda query: query.strip()) | retriever | ids).invoke(" gamma ") == ["gamma"]
    assert retriever.map().invoke(["gamma", "alpha"]) == retriever.batch(["gamma", "alpha"])


def test_pick_and_assign_work_on_the_dicts_around_a_retriever(retriever):
    both = RunnableParallel(docs=retriever, question=RunnablePassthrough())
    assert ids(both.pick("docs").invoke("gamma")) == ["gamma"]
    assert set(both.pick(["docs"]).invoke("gamma")) == {"docs"}
    counted = both.assign(n=lambda found: len(found["docs"])).invoke("gamma")
    assert (counted["n"], counted["question"]) == (1, "gamma")
    assigned = RunnablePassthrough.assign(docs=(lambda given: given["q"]) | retriever).invoke({"q": "gamma"})
    assert (assigned["q"], ids(assigned["docs"])) == ("gamma", ["gamma"])


def test_two_retrievers_over_one_store_run_side_by_side():
    hybrid = rk.HybridSearch(rk.KeywordIndex(DOCS), rk.VectorStore(DOCS))
    both = RunnableParallel(
        one=RagkitRetriever(source=hybrid, k=1), two=RagkitRetriever(source=hybrid, k=2)
    ).batch(["gamma", "beta"] * 10)
    assert [len(found["one"]) for found in both] == [1] * 20
    assert [found["one"][0].id for found in both] == ["gamma", "beta"] * 10


def test_bind_sets_keywords_of_the_call(retriever):
    assert (
        len(retriever.bind(k=3).invoke("gamma"))
        == len(asyncio.run(retriever.bind(k=3).ainvoke("gamma")))
        == 3
    )


def test_with_config_hands_callbacks_tags_metadata_and_verbose_down(retriever):
    recorder = Recorder()
    config = {"callbacks": [recorder], "tags": ["t"], "metadata": {"m": 1}, "run_name": "mine"}
    retriever.with_config(config, verbose=True).invoke("gamma")
    (start, query, said), (end, found, _) = recorder.seen
    assert (start, query, end, found) == ("start", "gamma", "end", ["gamma"])
    assert "t" in said["tags"] and said["metadata"]["m"] == 1 and said["name"] == "mine"
    assert retriever.invoke("gamma", verbose=True) == retriever.invoke("gamma")


def test_a_retrievers_own_tags_and_metadata_reach_callbacks():
    recorder = Recorder()
    store = RagkitVectorStore.from_texts(list(DOCS.values()), Table(VECTORS))
    store.as_retriever(tags=["mine"], metadata={"m": 1}).invoke("gamma", {"callbacks": [recorder]})
    said = recorder.seen[0][2]
    assert said["tags"] == ["mine", "RagkitVectorStore", "Table"] and said["metadata"]["m"] == 1


def test_with_retry_asks_again_and_stops_when_told():
    retry = {"wait_exponential_jitter": False, "retry_if_exception_type": (ConnectionError,)}
    retriever = flaky(failures=1)
    assert ids(retriever.with_retry(stop_after_attempt=2, **retry).invoke("hi")) == ["hi"]
    assert retriever.source.calls == 2
    with pytest.raises(ConnectionError, match="boom 1"):
        flaky(failures=1).with_retry(stop_after_attempt=1, **retry).invoke("hi")
    assert ids(asyncio.run(flaky(1).with_retry(stop_after_attempt=2, **retry).ainvoke("hi"))) == ["hi"]


def test_with_fallbacks_takes_the_next_and_raises_the_first_error(retriever):
    broken = flaky(failures=99)
    assert ids(broken.with_fallbacks([retriever]).invoke("gamma")) == ["gamma"]
    assert [ids(d) for d in broken.with_fallbacks([retriever]).batch(["gamma", "beta"])] == [
        ["gamma"],
        ["beta"],
    ]
    with pytest.raises(ConnectionError, match=r"boom 1$"):
        flaky(99).with_fallbacks([flaky(99)]).invoke("hi")


def test_with_listeners_shows_the_run(retriever):
    seen = []

    def note(name):
        return lambda run: seen.append((name, run.run_type, run.inputs, run.outputs, run.error))

    listeners = {f"on_{name}": note(name) for name in ("start", "end", "error")}
    found = retriever.with_listeners(**listeners).invoke("gamma")
    (first, kind, inputs, _, _), (last, _, _, outputs, error) = seen
    assert (first, kind, inputs) == ("start", "retriever", {"query": "gamma"})
    assert (last, outputs, error) == ("end", {"documents": found}, None)
    seen.clear()
    with pytest.raises(ConnectionError):
        flaky().with_listeners(**listeners).invoke("bad")
    assert [entry[0] for entry in seen] == ["start", "error"]
    assert "boom 1" in seen[1][4]


def test_the_name_is_the_class_or_the_one_given(retriever):
    assert retriever.get_name() in ("VectorStoreRetriever", "RagkitRetriever")
    assert RagkitRetriever(source=rk.KeywordIndex(DOCS), name="library").get_name() == "library"


@pytest.mark.filterwarnings("ignore:This API is in beta")
def test_as_tool_has_name_description_and_schema_and_gives_documents(retriever):
    tool = retriever.as_tool(name="search", description="find")
    assert (tool.name, tool.description) == ("search", "find")
    assert ids(tool.invoke("gamma")) == ["gamma"]
    assert tool.args == {"tool_input": {"type": "string"}}
    assert retriever.get_input_schema().model_json_schema()["type"] == "string"
    for_agents = create_retriever_tool(retriever, "search", "find", document_separator="|")
    assert for_agents.invoke({"query": "gamma"}) == "gamma three"
    assert list(for_agents.args) == ["query"]


# ---------------------------------------------------------------------------- events


def events_of(runnable, value, **kwargs) -> list[dict]:
    async def collect():
        return [event async for event in runnable.astream_events(value, version="v2", **kwargs)]

    return asyncio.run(collect())


FIELDS = {"event", "name", "run_id", "parent_ids", "tags", "metadata", "data"}


def test_events_of_a_retriever_as_root(retriever):
    start, end = events_of(retriever, "gamma", config={"tags": ["t"], "metadata": {"m": 1}})
    assert (start["event"], end["event"]) == ("on_retriever_start", "on_retriever_end")
    for event in (start, end):
        assert set(event) == FIELDS
        assert event["name"] == retriever.get_name() and event["parent_ids"] == []
        assert "t" in event["tags"] and event["metadata"]["m"] == 1
    assert start["run_id"] == end["run_id"] and UUID(start["run_id"])
    assert start["data"] == {"input": "gamma"}
    assert ids(end["data"]["output"]) == ["gamma"]


def test_events_of_a_retriever_inside_a_chain(retriever):
    events = events_of(rag(retriever), "gamma")
    start = next(e for e in events if e["event"] == "on_retriever_start")
    end = next(e for e in events if e["event"] == "on_retriever_end")
    assert set(start) == set(end) == FIELDS
    assert start["data"] == {"input": {"query": "gamma"}}
    assert ids(end["data"]["output"]) == ["gamma"] and end["data"]["input"] == {"query": "gamma"}
    root = events[0]
    assert (root["event"], root["name"]) == ("on_chain_start", "RunnableSequence")
    assert start["parent_ids"][0] == root["run_id"] and len(start["parent_ids"]) == 3
    assert events[-1]["event"] == "on_chain_end" and events[-1]["data"]["output"] == "an answer"
    kinds = {event["event"] for event in events}
    assert {"on_prompt_start", "on_chat_model_stream", "on_parser_start", "on_chain_stream"} <= kinds


def test_events_of_a_retriever_inside_a_tool(retriever):
    tool = create_retriever_tool(retriever, "search", "find")
    events = events_of(tool, {"query": "gamma"})
    assert [e["event"] for e in events] == [
        "on_tool_start",
        "on_retriever_start",
        "on_retriever_end",
        "on_tool_end",
    ]
    assert events[1]["parent_ids"] == [events[0]["run_id"]]
    assert events[3]["data"]["output"] == "gamma three" and events[0]["name"] == "search"


def test_events_can_be_chosen_by_kind_name_and_tag(retriever):
    kinds = {e["event"] for e in events_of(rag(retriever), "gamma", include_types=["retriever"])}
    assert kinds == {"on_retriever_start", "on_retriever_end"}
    tagged = rag(retriever.with_config(tags=["here"], run_name="books"))
    assert {e["name"] for e in events_of(tagged, "gamma", include_tags=["here"])} == {"books"}
    assert {e["name"] for e in events_of(tagged, "gamma", include_names=["books"])} == {"books"}
    assert "books" not in {e["name"] for e in events_of(tagged, "gamma", exclude_tags=["here"])}


def test_custom_events_are_dispatched_from_steps_around_a_retriever(retriever):
    @chain
    async def counted(query: str, config: RunnableConfig):
        documents = await retriever.ainvoke(query, config)
        await adispatch_custom_event("found", {"n": len(documents)}, config=config)
        return documents

    events = events_of(counted, "gamma")
    custom = next(e for e in events if e["event"] == "on_custom_event")
    assert (custom["name"], custom["data"]) == ("found", {"n": 1})
    assert custom["run_id"] == events[0]["run_id"]


def test_a_source_may_dispatch_events_and_call_runnables_of_its_own():
    index = rk.KeywordIndex(DOCS)
    rewrite = RunnableLambda(lambda query: query.lower()).with_config(run_name="rewrite")

    def source(queries):
        run = index.search(rewrite.invoke(queries["text"].iloc[0]))
        dispatch_custom_event("scored", {"best": run["doc_id"].iloc[0]})
        return run

    retriever = RagkitRetriever(source=source, docs=DOCS)
    recorder = Recorder()
    assert ids(retriever.invoke("GAMMA", {"callbacks": [recorder]})) == ["gamma"]
    assert [entry[:2] for entry in recorder.seen if entry[0] == "custom"] == [
        ("custom", ("scored", {"best": "gamma"}))
    ]
    events = events_of(RunnableLambda(str.strip) | retriever, " GAMMA ")
    start = next(e for e in events if e["event"] == "on_retriever_start")
    inner = [e for e in events if e["name"] in ("rewrite", "scored")]
    assert {e["event"] for e in inner} == {"on_chain_start", "on_chain_end", "on_custom_event"}
    assert all(start["run_id"] in [e["run_id"], *e["parent_ids"]] for e in inner)


def test_an_error_of_the_source_reaches_the_callbacks():
    recorder = Recorder()
    with pytest.raises(ConnectionError):
        flaky().invoke("bad", {"callbacks": [recorder]})
    assert [kind for kind, _, _ in recorder.seen] == ["start", "error"]


# ---------------------------------------------------------------------------- the retriever of a store


@pytest.fixture
def store():
    names = ["alpha one", "beta two", "gamma three", "delta four"]
    metadatas = [{"cat": "A"}, {"cat": "A"}, {"cat": "B"}, {"cat": "B"}]
    return RagkitVectorStore.from_texts(names, Table(VECTORS), metadatas, ids=list(DOCS))


def test_as_retriever_has_three_ways_of_searching(store):
    assert ids(store.as_retriever(search_kwargs={"k": 2}).invoke("delta")) == ["delta", "alpha"]
    mmr = store.as_retriever(search_type="mmr", search_kwargs={"k": 2, "lambda_mult": 0.0})
    assert ids(mmr.invoke("delta")) == ids(asyncio.run(mmr.ainvoke("delta"))) == ["delta", "gamma"]
    # The query is (.9, .11); beta's cosine is (.72 + .066) / .9067 = .867, so its relevance is .933.
    near = store.as_retriever(
        search_type="similarity_score_threshold", search_kwargs={"score_threshold": 0.94}
    )
    assert ids(near.invoke("delta")) == ids(asyncio.run(near.ainvoke("delta"))) == ["delta", "alpha"]


def test_options_of_as_retriever_may_stand_by_themselves_and_all_are_used(store):
    retriever = store.as_retriever(k=1, filter={"cat": "A"}, tags=["t"], metadata={"m": 1}, name="mine")
    assert ids(retriever.invoke("delta")) == ["alpha"]
    assert (retriever.tags[0], retriever.metadata, retriever.get_name()) == ("t", {"m": 1}, "mine")
    assert store.as_retriever(k=0).invoke("delta") == []
    assert store.as_retriever(search_type="mmr", k=1, fetch_k=1).invoke("delta")[0].id == "delta"


def test_the_type_of_the_store_is_among_the_tags_of_its_retriever(store):
    assert store.as_retriever().tags == ["RagkitVectorStore", "Table"]
    assert store.as_retriever(tags=["t"]).tags == ["t", "RagkitVectorStore", "Table"]
    assert RagkitVectorStore().as_retriever().tags == ["RagkitVectorStore", "LSAEmbedder"]


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"search_type": "nonsense"}, ValueError, "nonsense"),
        ({"search_kwargs": {"alpha": 0.5}}, TypeError, "'alpha'"),
        ({"search_kwargs": {"fetch_k": 9}}, TypeError, "search_type 'similarity' does not know 'fetch_k'"),
        ({"search_typ": "mmr"}, TypeError, r"'search_typ'.*Did you mean 'search_type'"),
        ({"k": 1, "search_kwargs": {"k": 2}}, ValueError, "k twice"),
        ({"search_type": "similarity_score_threshold"}, ValueError, "score_threshold"),
    ],
)
def test_options_of_as_retriever_that_mean_nothing_raise_at_once(store, options, error, said):
    with pytest.raises(error, match=said):
        store.as_retriever(**options)


def test_a_retriever_adds_documents_to_its_store(store):
    retriever = store.as_retriever(k=1)
    assert retriever.add_documents([Document("gamma", id="g")]) == ["g"]
    assert asyncio.run(retriever.aadd_documents([Document("beta", id="b")])) == ["b"]
    assert store.get_by_ids(["g", "b"]) == [Document("gamma", id="g"), Document("beta", id="b")]


# ---------------------------------------------------------------------------- the recorded retriever


def of_case(case, **options):
    said = case["input"]
    store = RagkitVectorStore.from_texts(said["texts"], Table(said["embeddings"]), said["metadatas"])
    return store.as_retriever(**options)


def contents(documents) -> list[str]:
    return [doc.page_content for doc in documents]


def test_invoke_equals_the_recorded_one():
    for name, options in {
        "invoke_default": {},
        "invoke_k_2": {"k": 2},
        "invoke_filter": {"k": 2, "filter": lambda doc: doc.metadata["cat"] == "A"},
        "invoke_mmr_kwargs_override_k": {"search_type": "mmr", "k": 1},
    }.items():
        [case] = [c for c in golden("memory_vector_store") if c["name"] == name]
        want = [(doc["pageContent"], doc["metadata"]) for doc in case["output"]]
        found = of_case(case, **options).invoke("query")
        assert [(doc.page_content, doc.metadata) for doc in found] == want, name


def test_batch_stream_transform_and_pipe_equal_the_recorded_ones():
    cases = {c["name"]: c for c in golden("memory_vector_store")}
    three = of_case(cases["batch_three"], k=1).batch(["query", "other", "query"])
    assert [contents(found) for found in three] == cases["batch_three"]["output"]
    two = of_case(cases["stream_single_chunk"], k=2)
    assert [contents(part) for part in two.stream("query")] == cases["stream_single_chunk"]["output"]
    one = of_case(cases["transform_concatenates_input_strings"], k=1)
    want = cases["transform_concatenates_input_strings"]["output"]
    assert [contents(part) for part in one.transform(iter(["qu", "ery"]))] == want
    assert two.pipe(len).invoke("query") == cases["pipe_function"]["output"]


def test_events_equal_the_recorded_ones():
    [case] = [c for c in golden("memory_vector_store") if c["name"] == "stream_events_v2"]
    start, end = events_of(of_case(case, k=2), "query")
    want_start, want_end = case["output"]
    assert (start["event"], start["name"], start["data"]) == (
        want_start["event"],
        want_start["name"],
        want_start["data"],
    )
    assert (end["event"], contents(end["data"]["output"])) == (want_end["event"], want_end["data"]["output"])
