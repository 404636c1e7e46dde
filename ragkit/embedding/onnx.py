"""Sentence models in ONNX form: onnxruntime and nothing else."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np

from ragkit.embedding.batches import BatchEmbedder, in_batches, need
from ragkit.embedding.wordpiece import WordPiece
from ragkit.frames import check_choice, check_top_k
from ragkit.similarity import normalize_rows


class OnnxEmbedder(BatchEmbedder):
    """Embed with a BERT-like model exported to ONNX, such as all-MiniLM-L6-v2, bge-small or e5-small.

    Parameters
    ----------
    folder : path
        It holds ``model.onnx`` (or ``onnx/model.onnx``) and ``tokenizer.json`` or ``vocab.txt``.
    tokenizer : path, optional
        The folder of the tokenizer's file, where that is another one.
    pooling : {"mean", "cls"}, default="mean"
        How token vectors become one: their average, or the first. The model's card says which.
    normalize : bool, default=True
        Whether vectors are scaled to length 1.
    max_length : int, default=256
        Pieces of a text that are read; the rest is cut.
    prefix, query_prefix : str, default=""
        Put before each document and before each query.
    batch_size : int, default=32
        Texts embedded at a time.
    progress : bool, default=True
        Whether long work shows a bar.

    Notes
    -----
    Needs ``onnxruntime``: ``pip install ragkit[onnx]``.
    """

    def __init__(
        self,
        folder: Any,
        *,
        tokenizer: Any = None,
        pooling: str = "mean",
        normalize: bool = True,
        max_length: int = 256,
        prefix: str = "",
        query_prefix: str = "",
        batch_size: int = 32,
        progress: bool = True,
    ):
        runtime = need("onnxruntime", "onnxruntime", "OnnxEmbedder")
        found = [
            p for p in (Path(folder) / "model.onnx", Path(folder) / "onnx" / "model.onnx") if p.is_file()
        ]
        if not found:
            raise FileNotFoundError(f"{str(folder)!r} holds no model.onnx; export the model to ONNX first.")
        self.path, self.pooling = found[0], check_choice("pooling", pooling, ("mean", "cls"))
        super().__init__(batch_size, progress, prefix, query_prefix)
        self.normalize = normalize
        self.max_length = max(3, check_top_k(max_length, "max_length", none=False) or 0)
        self.pieces = WordPiece.from_folder(Path(folder if tokenizer is None else tokenizer))
        self.session = runtime.InferenceSession(str(self.path), providers=["CPUExecutionProvider"])
        self._inputs = [argument.name for argument in self.session.get_inputs()]

    def __repr__(self) -> str:
        return f"OnnxEmbedder({str(self.path.parent)!r})"

    @property
    def name(self) -> str:
        """What tells its vectors from those of another: the model file's hash and how it is used."""
        digest = hashlib.sha256(self.path.read_bytes()).hexdigest()[:16]
        return f"onnx {digest}, {self.pooling}, normalize={self.normalize}, max_length={self.max_length}"

    def _embed_all(self, texts: list[str]) -> np.ndarray:
        ids = [self.pieces.encode(text, self.max_length) for text in texts]
        order = sorted(range(len(ids)), key=lambda row: len(ids[row]))  # equal lengths waste no padding
        out: np.ndarray | None = None  # made when the model has shown how long its vectors are
        for batch in in_batches(order, self.batch_size, self.progress):
            rows = self._run([ids[row] for row in batch])
            out = np.empty((len(texts), rows.shape[1]), dtype=np.float32) if out is None else out
            out[batch] = rows
        return np.empty((0, 0), dtype=np.float32) if out is None else out

    def _run(self, ids: list[list[int]]) -> np.ndarray:
        """Embed one batch of numbered pieces."""
        width = max(map(len, ids))
        mask = np.array([[1] * len(row) + [0] * (width - len(row)) for row in ids], dtype=np.int64)
        numbers = np.array([row + [0] * (width - len(row)) for row in ids], dtype=np.int64)
        known = {"input_ids": numbers, "attention_mask": mask, "token_type_ids": np.zeros_like(numbers)}
        missing = [name for name in self._inputs if name not in known]
        if missing:
            raise ValueError(f"{str(self.path)!r} is no sentence encoder: it asks for the inputs {missing}.")
        tokens = self.session.run(None, {name: known[name] for name in self._inputs})[0]
        if tokens.ndim == 3:
            weight = mask[:, :, None].astype(tokens.dtype)
            tokens = tokens[:, 0] if self.pooling == "cls" else (tokens * weight).sum(1) / weight.sum(1)
        return normalize_rows(tokens) if self.normalize else tokens
