"""Cut prose into chunks, side by side with the splitters that people use.

    python benchmarks/bench_chunk.py [--mb 10] [--rounds 5] [--kinds short mixed] [--sizes 1000] [--slow]

The text is random words in sentences of 6 to 25 words, in paragraphs of about 300 to 800 characters that fit
into a chunk of 1,000 ("short"), of 300 to 1,400, of which two in three fit ("medium": there langchain's
splitter does about 20 MB/s), of 300 to 2,500 as articles have them ("mixed"), or of 4,000 to 6,000 ("long").
Every splitter's rule is its own, so before timing it is checked that each keeps to the size and covers the
text, and how many of its chunks equal ours; the ratios are of speed alone. How much of the overlap asked for
is there is printed as characters a chunk. ragkit's time includes the frame with offsets, ids and texts; the
peers give lists of texts. Peers that are not installed are skipped; `--slow` adds chonkie's SentenceChunker,
for at most one megabyte.
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

KINDS = {"short": (3, 8), "medium": (3, 14), "mixed": (3, 25), "long": (40, 60)}
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


def ours(method: str, size: int, overlap: int) -> Splitter:
    return lambda text: rk.chunk(text, method=method, size=size, overlap=overlap)["text"].tolist()


def peers(size: int, overlap: int, slow: bool) -> dict[str, Splitter]:
    """Give the peers that are installed and can do this overlap."""
    found: dict[str, Splitter] = {}
    if importlib.util.find_spec("langchain_text_splitters"):
        from langchain_text_splitters import RecursiveCharacterTextSplitter

        found["langchain recursive"] = RecursiveCharacterTextSplitter(
            chunk_size=size, chunk_overlap=overlap
        ).split_text
    if importlib.util.find_spec("semantic_text_splitter"):
        from semantic_text_splitter import TextSplitter

        found["semantic-text-splitter"] = TextSplitter(size, overlap=overlap).chunks
    if importlib.util.find_spec("chonkie") and not overlap:
        import chonkie

        fast = chonkie.FastChunker(chunk_size=size, delimiters=".?!\n")
        found["chonkie fast"] = lambda text: [c.text for c in fast.chunk(text)]
        recursive = chonkie.RecursiveChunker(tokenizer="character", chunk_size=size)
        found["chonkie recursive"] = lambda text: [c.text for c in recursive.chunk(text)]
        if slow:
            sentence = chonkie.SentenceChunker(tokenizer="character", chunk_size=size, chunk_overlap=0)
            found["chonkie sentence"] = lambda text: [c.text for c in sentence.chunk(text)]
    return found


def check(name: str, text: str, chunks: list[str], size: int, overlap: int) -> None:
    """Check that chunks keep to the size and, without overlap, hold all that is not white space."""
    if max(map(len, chunks)) > size:
        raise SystemExit(f"{name} exceeds the size: {max(map(len, chunks))}")
    if not overlap and "".join("".join(chunks).split()) != "".join(text.split()):
        raise SystemExit(f"{name} does not cover the text")


def compare(text: str, size: int, overlap: int, rounds: int, slow: bool) -> None:
    """Time all splitters in turns and print speeds and ratios."""
    splitters = {
        f"ragkit {m}": ours(m, size, overlap) for m in ("sentence", "recursive", "paragraph", "fixed")
    }
    splitters |= peers(size, overlap, slow)
    results = {name: split(text) for name, split in splitters.items()}
    for name, chunks in results.items():
        check(name, text, chunks, size, overlap)
    times: dict[str, list[float]] = {name: [] for name in splitters}
    for _ in range(rounds):
        for name, split in splitters.items():
            begin = time.process_time()
            split(text)
            times[name].append(time.process_time() - begin)
    sets = {name: {c.strip() for c in chunks} for name, chunks in results.items()}
    best = {name: min(values) for name, values in times.items()}
    solid = len("".join(text.split()))
    for name, values in times.items():
        speed = len(text) / 1e6 / best[name]
        median = len(text) / 1e6 / statistics.median(values)
        same = len(sets[name] & sets["ragkit recursive"]) / len(sets[name])
        shared = (len("".join("".join(results[name]).split())) - solid) / len(results[name])
        ratios = [best[name] / best[f"ragkit {m}"] for m in ("sentence", "recursive")]
        print(
            f"  {name:24s} {speed:7.1f} MB/s (median {median:6.1f}) {len(results[name]):7d} chunks sharing "
            f"{shared:4.0f}, {same:4.0%} as recursive; sentence {ratios[0]:.2f}x, recursive {ratios[1]:.2f}x",
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
    parser.add_argument("--kinds", nargs="+", choices=list(KINDS), default=list(KINDS))
    parser.add_argument("--sizes", nargs="+", type=int, default=[1000])
    parser.add_argument("--slow", action="store_true")
    args = parser.parse_args()
    machine = f"Python {platform.python_version()}, {os.cpu_count()} cores"
    print(f"{machine}, {args.mb:g} MB; CPU time")
    for kind in args.kinds:
        text = prose(int(args.mb * 1e6), KINDS[kind])
        for size in args.sizes:
            for overlap in (0, size // 5):
                print(f"{kind} paragraphs, size {size}, overlap {overlap}")
                compare(text, size, overlap, args.rounds, args.slow and args.mb <= 1)
    print("growth")
    growth(int(args.mb * 1e5))
    documents = ["a"] * int(args.mb * 1e5)
    begin = time.process_time()
    rk.chunk(documents)
    print(f"  {len(documents)} documents of one character: {time.process_time() - begin:.2f} s")


if __name__ == "__main__":
    main()
