"""Data in and out: teaching corpora, BEIR folders, TREC files, dicts and tuples of other packages."""

from ragkit.datasets.convert import drop_self, from_ir_datasets, to_dict, to_tuples
from ragkit.datasets.dataset import Dataset, Vectors
from ragkit.datasets.folder import list_datasets, load_dataset
from ragkit.datasets.qrels import read_qrels, write_qrels
from ragkit.datasets.runs import read_run, write_run
from ragkit.datasets.saving import save_dataset
from ragkit.datasets.texts import read_docs, read_queries, write_queries

__all__ = [
    "Dataset",
    "Vectors",
    "drop_self",
    "from_ir_datasets",
    "list_datasets",
    "load_dataset",
    "read_docs",
    "read_qrels",
    "read_queries",
    "read_run",
    "save_dataset",
    "to_dict",
    "to_tuples",
    "write_qrels",
    "write_queries",
    "write_run",
]
