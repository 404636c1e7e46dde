"""What the tests of the integrations share."""

from __future__ import annotations

from langchain_core.embeddings import Embeddings


class Table(Embeddings):
    """Embeddings from a table; its asynchronous forms are its own, and it remembers what was called."""

    def __init__(self, vectors, query=None):
        self.vectors, self.queries, self.calls = vectors, query or {}, []

    def embed_documents(self, texts):
        self.calls.append("embed_documents")
        return [self.vectors[text] for text in texts]

    def embed_query(self, text):
        self.calls.append("embed_query")
        return self.queries.get(text, self.vectors[text])

    async def aembed_documents(self, texts):
        self.calls.append("aembed_documents")
        return [self.vectors[text] for text in texts]

    async def aembed_query(self, text):
        self.calls.append("aembed_query")
        return self.queries.get(text, self.vectors[text])
