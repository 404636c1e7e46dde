"""Cut prose into chunks of 1,000 characters, side by side with the splitters that people use.

    python benchmarks/bench_chunk.py [--mb 10] [--rounds 5] [--slow]

The text is random words in sentences of 6 to 25 words, in paragraphs that fit into a chunk ("short") or hold
several ("long"). Every splitter's rule is its own, so before timing it is checked that each keeps to the
size and covers the text, and how many of its chunks equal ours; the ratios are of speed alone. ragkit's time
includes the frame with offsets, ids and texts; the peers give lists of texts. Peers that are not installed
are skipped; `--slow` adds chonkie's SentenceChunker, for at most one megabyte.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import platform
import random
import statistics
import time
from collections.abc import Callable

import ragkit as rk

SIZE = 1000
Splitter = Callable[[str], list[str]]


def prose(characters: int, sentences: tuple[int, int], seed: int = 0) -> str:
    """Make random prose with paragraphs of so many sentences."""
    rng = random.Random(seed)
    letters = "etaoinshrdlucmfwypvbgk"
    words = ["".join(rng.choices(letters, k=rng.randint(2, 9))) for _ in range(5000)]
    paragraphs, total = [], 0
    while total < characters:
        lines = (" ".join(rng.choices(words, k=rng.randint(6, 25))) for _ in range(rng.randint(*sentences)))
        paragraphs.append(" ".join(line.capitalize() + rng.choice("....?!") for line in lines))
        total += len(paragraphs[-1]) + 2
    return "\n\n".join(paragraphs)


def ours(method: str, overlap: int) -> Splitter:
    return lambda text: rk.chunk(text, method=method, size=SIZE, overlap=overlap)["text"].tolist()


def peers(overlap: int, slow: bool) -> dict[str, Splitter]:
    """Give the peers that are installed and can do this overlap."""
    found: dict[str, Splitter] = {}
    if importlib.util.find_spec("langchain_text_splitters"):
        from langchain_text_splitters import RecursiveCharacterTextSplitter

        found["langchain recursive"] = RecursiveCharacterTextSplitter(
            chunk_size=SIZE, chunk_overlap=overlap
        ).split_text
    if importlib.util.find_spec("semantic_text_splitter"):
        from semantic_text_splitter import TextSplitter

        found["semantic-text-splitter"] = TextSplitter(SIZE, overlap=overlap).chunks
    if importlib.util.find_spec("chonkie") and not overlap:
        import chonkie

        fast = chonkie.FastChunker(chunk_size=SIZE, delimiters=".?!\n")
        found["chonkie fast"] = lambda text: [c.text for c in fast.chunk(text)]
        recursive = chonkie.RecursiveChunker(tokenizer="character", chunk_size=SIZE)
        found["chonkie recursive"] = lambda text: [c.text for c in recursive.chunk(text)]
        if slow:
            sentence = chonkie.SentenceChunker(tokenizer="character", chunk_size=SIZE, chunk_overlap=0)
            found["chonkie sentence"] = lambda text: [c.text for c in sentence.chunk(text)]
    return found


def check(name: str, text: str, chunks: list[str], overlap: int) -> None:
    """Check that chunks keep to the size and, without overlap, hold all that is not white space."""
    if max(map(len, chunks)) > SIZE:
        raise SystemExit(f"{name} exceeds the size: {max(map(len, chunks))}")
    if not overlap and "".join("".join(chunks).split()) != "".join(text.split()):
        raise SystemExit(f"{name} does not cover the text")


def compare(text: str, overlap: int, rounds: int, slow: bool) -> None:
    """Time all splitters in turns and print speeds and ratios."""
    splitters = {f"ragkit {m}": ours(m, overlap) for m in ("sentence", "recursive", "paragraph", "fixed")}
    splitters |= peers(overlap, slow)
    results = {name: split(text) for name, split in splitters.items()}
    for name, chunks in results.items():
        check(name, text, chunks, overlap)
    times: dict[str, list[float]] = {name: [] for name in splitters}
    for _ in range(rounds):
        for name, split in splitters.items():
            begin = time.process_time()
            split(text)
            times[name].append(time.process_time() - begin)
    sets = {name: {c.strip() for c in chunks} for name, chunks in results.items()}
    best = {name: min(values) for name, values in times.items()}
    for name, values in times.items():
        speed = len(text) / 1e6 / best[name]
        median = len(text) / 1e6 / statistics.median(values)
        same = len(sets[name] & sets["ragkit recursive"]) / len(sets[name])
        ratios = [best[name] / best[f"ragkit {m}"] for m in ("sentence", "recursive")]
        print(
            f"  {name:24s} {speed:7.1f} MB/s (median {median:6.1f}) {len(results[name]):7d} chunks, "
            f"{same:4.0%} as recursive; sentence {ratios[0]:6.2f}x, recursive {ratios[1]:6.2f}x as fast",
            flush=True,
        )


def growth(characters: int) -> None:
    """Print how the time grows when the text doubles, for texts that are hard to cut."""
    kinds = {
        "one line without blanks": lambda n: "x" * n,
        "overlap 900 of 1000": lambda n: prose(n, (40, 60)),
        "dots": lambda n: "." * n,
        "blanks": lambda n: "a" + " " * n + "b",
        "flags": lambda n: "\U0001f1eb" * n,
    }
    for name, make in kinds.items():
        seconds = []
        for n in (characters, 2 * characters):
            text = make(n)
            begin = time.process_time()
            rk.chunk(text, overlap=900 if name.startswith("overlap") else None)
            seconds.append(time.process_time() - begin)
        speed = 2 * characters / 1e6 / seconds[1]
        print(
            f"  {name:24s} {speed:7.1f} MB/s; twice the text, {seconds[1] / seconds[0]:.2f}x the time",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mb", type=float, default=10)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--slow", action="store_true")
    args = parser.parse_args()
    machine = f"Python {platform.python_version()}, {os.cpu_count()} cores"
    print(f"{machine}, {args.mb:g} MB, chunks of {SIZE} characters; CPU time")
    for kind, sentences in (("short", (3, 8)), ("long", (40, 60))):
        text = prose(int(args.mb * 1e6), sentences)
        for overlap in (0, 200):
            print(f"{kind} paragraphs, overlap {overlap}")
            compare(text, overlap, args.rounds, args.slow and args.mb <= 1)
    print("growth")
    growth(int(args.mb * 1e5))
    documents = ["a"] * int(args.mb * 1e5)
    begin = time.process_time()
    rk.chunk(documents)
    print(f"  {len(documents)} documents of one character: {time.process_time() - begin:.2f} s")


if __name__ == "__main__":
    main()
