"""LangChain's own standard suites, unmodified: vector store and retrievers, sync and async."""

import pytest

pytest.importorskip("langchain_core", reason="needs langchain-core (the extra langchain)")
pytest.importorskip("langchain_tests", reason="needs langchain-tests (the extra dev)")

from langchain_tests.integration_tests import RetrieversIntegrationTests, VectorStoreIntegrationTests

import ragkit as rk
from ragkit.integrations.langchain import RagkitRetriever, RagkitVectorStore

DOCS = {
    "a": "red fox in the snow",
    "b": "the quick brown fox",
    "c": "a fox and a blue whale",
    "d": "whales, foxes and a fox",
    "e": "a fox at sea",
    "f": "sea of whales",
}


class TestVectorStoreOfCosines(VectorStoreIntegrationTests):
    @pytest.fixture
    def vectorstore(self):
        return RagkitVectorStore(self.get_embeddings())


class TestVectorStoreOfDistances(VectorStoreIntegrationTests):
    @pytest.fixture
    def vectorstore(self):
        return RagkitVectorStore(self.get_embeddings(), metric="euclidean")


class TestVectorStoreThatIsWrapped(VectorStoreIntegrationTests):
    @pytest.fixture
    def vectorstore(self):
        return RagkitVectorStore(self.get_embeddings(), store=rk.VectorStore(embed=lambda texts: [[0.0]]))


class OfRagkit(RetrieversIntegrationTests):
    @property
    def retriever_constructor(self):
        return RagkitRetriever

    @property
    def retriever_query_example(self):
        return "fox"


class TestKeywordRetriever(OfRagkit):
    @property
    def retriever_constructor_params(self):
        return {"source": rk.KeywordIndex(DOCS)}


class TestVectorRetriever(OfRagkit):
    @property
    def retriever_constructor_params(self):
        return {"source": rk.VectorStore(DOCS)}


class TestHybridRetriever(OfRagkit):
    @property
    def retriever_constructor_params(self):
        hybrid = rk.HybridSearch(rk.KeywordIndex(DOCS), rk.VectorStore(DOCS))
        return {"source": hybrid, "params": {"fusion": "linear", "lambda_": 0.7, "top_k": 4}}


class TestFunctionAsRetriever(OfRagkit):
    @property
    def retriever_constructor_params(self):
        index, store = rk.KeywordIndex(DOCS), rk.VectorStore(DOCS)

        def fused(queries):
            return rk.fuse({"keyword": index.search(queries), "vector": store.search(queries)})

        return {"source": fused, "docs": DOCS}
