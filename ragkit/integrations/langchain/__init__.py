"""LangChain: ragkit's stores, searches, splitters and embedders behind langchain-core's interfaces.

Needs langchain-core (the extra ``langchain``). Nothing here is imported by ``import ragkit``.
"""

try:
    import langchain_core  # noqa: F401
except ImportError as error:
    raise ImportError(
        "ragkit.integrations.langchain needs langchain-core, which is not installed; "
        "pip install langchain-core, or install ragkit with its extra: ragkit[langchain]."
    ) from error

from ragkit.hybrid.program import script
from ragkit.integrations.langchain.documents import to_langchain
from ragkit.integrations.langchain.embeddings import EmbeddingsAdapter
from ragkit.integrations.langchain.retriever import RagkitRetriever
from ragkit.integrations.langchain.splitter import RagkitSplitter
from ragkit.integrations.langchain.store import RagkitVectorStore

__all__ = [
    "EmbeddingsAdapter",
    "RagkitRetriever",
    "RagkitSplitter",
    "RagkitVectorStore",
    "script",
    "to_langchain",
]
