"""What each exercise asks, and how its answer is worked out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from math import log, log2
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

from ragkit.bm25 import KeywordIndex
from ragkit.chunking import chunk
from ragkit.datasets import load_dataset
from ragkit.diversity import mmr, mmr_path
from ragkit.embedding import TableEmbedder
from ragkit.experiment import per_query, sweep, tune
from ragkit.explain import funnel, funnel_stages
from ragkit.fusion import fuse
from ragkit.hybrid import HybridSearch, best_weight, weight_path
from ragkit.metrics import evaluate
from ragkit.rerank import format_context
from ragkit.text import Tokenizer
from ragkit.vectors import VectorStore


@dataclass(frozen=True)
class Exercise:
    """One question with a number or an id as its answer.

    Parameters
    ----------
    question : str
        What is asked.
    hint : str
        What to say to a wrong answer.
    solve : callable
        Works out the answer: a number, a text, or an interval of numbers that are all right.
    digits : int, default=0
        Decimals asked for.
    """

    question: str
    hint: str
    solve: Callable[[], Any]
    digits: int = 0


@cache
def _class(name: str) -> SimpleNamespace:
    """Set up a corpus as the notebooks do: index, store, hybrid, and both runs over all queries."""
    data: Any = load_dataset(name)
    known = TableEmbedder(data.queries["text"], data.vectors.queries)
    index = KeywordIndex(data.docs)
    store = VectorStore(data.docs, vectors=data.vectors.docs, query_embed=known)
    runs = {"keyword": index.search(data.queries), "vector": store.search(data.queries)}
    hybrid = HybridSearch(index, store)
    return SimpleNamespace(data=data, index=index, store=store, runs=runs, hybrid=hybrid)


def _by_query(system: str, metric: str = "ndcg@10") -> Any:
    """Give a measure of one run over fieldguide, by query."""
    room = _class("fieldguide")
    scores = evaluate(room.runs[system], room.data.qrels, metrics=[metric])
    return scores.set_index("query_id")["value"]


def _mercury() -> tuple[Any, Any]:
    """Give the thirty nearest articles to the query "mercury", and the store."""
    room = _class("fieldguide")
    asked = room.data.queries[room.data.queries["text"] == "mercury"]
    return room.store.search(asked, top_k=30), room.store


def _lost(pool: int) -> Any:
    """Give how many relevant documents each stage of the hybrid search loses."""
    room = _class("helpdesk")
    lost = funnel(room.hybrid, room.data.queries, room.data.qrels, params={"pool": pool})
    return funnel_stages(lost).set_index("stage")["lost"]


@cache
def _tuned() -> Any:
    room = _class("fieldguide")
    space = {"k1": [0.6, 0.9, 1.2, 1.5, 2.0], "b": [0.0, 0.25, 0.5, 0.75, 1.0]}
    return tune(room.index, space, room.data.qrels, queries=room.data.queries, metric="ap", progress=False)


def _plateau(metric: str, tolerance: float) -> float:
    """Give how wide the stretch of keyword weights is whose mean is within a tolerance of the best."""
    room = _class("fieldguide")
    path = weight_path(room.runs, room.data.qrels, method="linear", metrics=[metric])
    best = best_weight(path, tolerance=tolerance).iloc[0]
    return float(best["plateau_to"] - best["plateau_from"])


def _smallest_k_for_agreement() -> int:
    """Find the k at which third and fifth place in two lists beat a single first place."""
    return next(k for k in range(1, 61) if 1 / (k + 5) + 1 / (k + 3) > 1 / (k + 1))


def _toy_score(unit: str, query: str, **knobs: Any) -> float:
    run = _class("toy").index.search(query, **knobs)
    return float(run.set_index("doc_id").loc[unit, "score"])


def _context_passages() -> int:
    room = _class("helpdesk")
    run = room.runs["vector"]
    return len(format_context(run[run["query_id"] == "q01"], room.data.docs, budget=1500).used)


def _diverse_second() -> int:
    run, store = _mercury()
    return int(mmr(run, store, lambda_=0.0, top_k=5)["previous_rank"].iloc[1])


def _nearest_other(unit: str) -> float:
    """Give the cosine of a sentence of toy and the one nearest to it."""
    store = _class("toy").store
    return float(store.search(vectors=store.vectors([unit]), top_k=2)["score"].iloc[1])


def _settings_done(grid: dict[str, list[float]], path: Path) -> int:
    """Sweep with a file, and count the settings that it holds then."""
    room = _class("helpdesk")
    options: dict[str, Any] = {"queries": room.data.queries, "metrics": ["rr"], "progress": False}
    table = sweep(room.index, grid, room.data.qrels, path=path, **options)
    return len(table.drop_duplicates(["k1", "b"]))


def _settings_added() -> int:
    """Sweep, widen the grid, sweep again with the same file."""
    with TemporaryDirectory() as folder:
        kept = Path(folder) / "sweep.jsonl"
        before = _settings_done({"k1": [0.9, 1.2], "b": [0.4, 0.75, 1.0]}, kept)
        return _settings_done({"k1": [0.9, 1.2], "b": [0.2, 0.4, 0.75, 1.0]}, kept) - before


def _weights_sweep_rows() -> int:
    room = _class("toy")
    grid = {"k1": [0.9, 1.2], "b": [0.4, 0.75, 1.0]}
    metrics = ["ndcg@10", "rr"]
    return len(
        sweep(room.index, grid, room.data.qrels, queries=room.data.queries, metrics=metrics, progress=False)
    )


def _wins(a: str, b: str) -> int:
    room = _class("fieldguide")
    table = per_query(room.runs, room.data.qrels, "rr")
    return int((table[a] > table[b] + 1e-12).sum())


EXERCISES: dict[str, Exercise] = {
    "01.1": Exercise(
        "How many queries does fieldguide have?",
        "One of the tables of data has a row for each query; how many rows has it?",
        lambda: len(_class("fieldguide").data.queries),
    ),
    "01.2": Exercise(
        "What is the mean recall@5 of the vector run, to three decimals?",
        "Compare once more with another list of metrics, and read the column mean.",
        lambda: float(_by_query("vector", "recall@5").mean()),
        3,
    ),
    "01.3": Exercise(
        "Fuse with method='linear' and the same weights: what is the mean nDCG@10 now, to three decimals?",
        "Put rk.fuse(..., method='linear', weights=...) into runs and compare once more.",
        lambda: float(
            evaluate(
                fuse(_class("fieldguide").runs, method="linear", weights={"keyword": 0.3, "vector": 0.7}),
                _class("fieldguide").data.qrels,
                metrics=["ndcg@10"],
            )["value"].mean()
        ),
        3,
    ),
    "02.1": Exercise(
        "How many tokens of 'The 2 sons of Groß & Klein live at No. 9 B' does the default tokenizer keep?",
        "Signs are no tokens, digits and single letters are. rk.Tokenizer().explain gives the reasons.",
        lambda: len(Tokenizer()("The 2 sons of Groß & Klein live at No. 9 B")),
    ),
    "02.2": Exercise(
        "Into how many chunks does fieldguide fall at size=400, overlap=0?",
        "Every row of what rk.chunk gives is a chunk. Without overlap=0, a fifth of size is shared.",
        lambda: len(chunk(_class("fieldguide").data.docs, size=400, overlap=0)),
    ),
    "02.3": Exercise(
        "At size=400, overlap=100: how many characters stand in two neighbouring chunks?",
        "The overlap column says how many each chunk shares with the one before; add them up.",
        lambda: int(chunk(_class("fieldguide").data.docs, size=400, overlap=100)["overlap"].sum()),
    ),
    "03.1": Exercise(
        "What would be the idf of a word that stands in five of toy's twelve sentences, to three decimals?",
        "The formula stands above, and N is 12; what is df?",
        lambda: log(1 + (12 - 5 + 0.5) / (5 + 0.5)),
        3,
    ),
    "03.2": Exercise(
        "What is the score of s05 for 'dog chases fox' when b=0.25, to three decimals?",
        "Only the bracket changes: 1 - b + b * length / average length. The search takes b, too.",
        lambda: _toy_score("s05", "dog chases fox", b=0.25),
        3,
    ),
    "03.3": Exercise(
        "s08 says 'fox' twice. What does it score for 'fox' when k1=3, to three decimals?",
        "The tf part is tf * (k1 + 1) / (tf + k1 * length_norm); explain shows the length_norm of s08.",
        lambda: _toy_score("s08", "fox", k1=3),
        3,
    ),
    "04.1": Exercise(
        "What is the cosine of [3, 4] and [5, 12], to two decimals?",
        "Multiply component by component and add; divide by both lengths, which are 5 and 13.",
        lambda: 63 / 65,
        2,
    ),
    "04.2": Exercise(
        "What is the cosine of toy's s12 and the nearest other sentence, to three decimals?",
        "Every sentence is nearest to itself, with 1; the second row of the search counts.",
        lambda: _nearest_other("s12"),
        3,
    ),
    "04.3": Exercise(
        "Multiply one of two vectors by 10. By how much does their cosine change?",
        "Both the product and the length grow tenfold.",
        lambda: 0.0,
        6,
    ),
    "05.1": Exercise(
        "For how many queries of fieldguide is nDCG@10 of the keyword run exactly 0?",
        "rk.per_query gives a column for each system. Hits alone do not help: none of ten may be relevant.",
        lambda: int((_by_query("keyword") == 0).sum()),
    ),
    "05.2": Exercise(
        "For how many queries is the keyword run better than the vector run by rr, the reciprocal rank?",
        "rk.per_query takes the name of the measure and gives a column for each run.",
        lambda: _wins("keyword", "vector"),
    ),
    "05.3": Exercise(
        "If an oracle chose the better of the two for each query, what would the mean nDCG@10 be, "
        "to three decimals?",
        "Which number would the oracle get for a single query? Then for all of them.",
        lambda: float(_by_query("keyword").combine(_by_query("vector"), max).mean()),
        3,
    ),
    "06.1": Exercise(
        "Second in one list, fifth in the other: what is the RRF score at k=60, weights 1, to five decimals?",
        "Each list gives weight / (k + rank); add the two.",
        lambda: 1 / 62 + 1 / 65,
        5,
    ),
    "06.2": Exercise(
        "x is fifth in one list and third in the other, y is first in one and absent from the other. "
        "What is the smallest whole k >= 1 at which x beats y?",
        "Compare 1/(k+5) + 1/(k+3) with 1/(k+1), from k = 1 upwards.",
        _smallest_k_for_agreement,
    ),
    "06.3": Exercise(
        "With method='linear': how wide is the plateau of recall@10 on fieldguide at tolerance 0.01, "
        "from its lowest keyword weight to its highest, to three decimals?",
        "The path above knows another measure; make one for this. In its best weight at that tolerance, "
        "take plateau_to - plateau_from; weight_from to weight_to is the best interval alone.",
        lambda: _plateau("recall@10", 0.01),
        3,
    ),
    "07.1": Exercise(
        "For 'mercury', top_k=3 of 30: how many different selections are there over lambda? Order counts.",
        "mmr_path has one row for each; two orders of the same three count as two.",
        lambda: len(mmr_path(*_mercury(), top_k=3)),
    ),
    "07.2": Exercise(
        "At lambda_=0, top_k=5 of 30: at which rank did the article stand before that comes second?",
        "At 0 only novelty counts: the second is the least similar to the first. Its previous_rank.",
        _diverse_second,
    ),
    "07.3": Exercise(
        "Relevance 0.8, greatest similarity to a pick 0.6, lambda 0.7: what is the MMR score, "
        "to two decimals?",
        "The formula stands under the first table of the notebook.",
        lambda: 0.7 * 0.8 - 0.3 * 0.6,
        2,
    ),
    "08.1": Exercise(
        "The first four have grades 0, 3, 0, 1, and no other document is relevant. nDCG, to 3 decimals?",
        "A grade at rank r counts grade / log2(r + 1); divide by the same sum for the order 3, 1.",
        lambda: (3 / log2(3) + 1 / log2(5)) / (3 + 1 / log2(3)),
        3,
    ),
    "08.2": Exercise(
        "What is the smallest two-sided p that a randomisation test over 8 queries can give, to 4 decimals?",
        "Count the ways to flip eight signs, and those of them in which all eight point the same way.",
        lambda: 2 / 2**8,
        4,
    ),
    "08.3": Exercise(
        "Relevant documents stand at ranks 1 and 3; there are 4 in all. Average precision, to 3 decimals?",
        "Add the precision at each relevant rank and divide by all 4, not by the 2 found.",
        lambda: (1 / 1 + 2 / 3) / 4,
        3,
    ),
    "09.1": Exercise(
        "Tune k1 and b by average precision (ap): what is the optimism gap, to four decimals?",
        "Call tune once more with another metric; what it returns shows the gap.",
        lambda: float(_tuned().gap),
        4,
    ),
    "09.2": Exercise(
        "By average precision (ap): how many of the 25 settings cannot be told from the best?",
        "Count True in the column tie of the settings that the exercise before gave you.",
        lambda: int(_tuned().settings["tie"].sum()),
    ),
    "09.3": Exercise(
        "How wide is the plateau of the linear keyword weight at tolerance 0.03, to three decimals?",
        "plateau_to - plateau_from of rk.best_weight(path, tolerance=0.03).",
        lambda: _plateau("ndcg@10", 0.03),
        3,
    ),
    "10.1": Exercise(
        "With pool=50, how many relevant documents of helpdesk does the pool lose?",
        "The funnel takes params={'pool': 50}; row 'pool', column lost, of rk.funnel_stages(lost).",
        lambda: int(_lost(50)["pool"]),
    ),
    "10.2": Exercise(
        "And with pool=20?",
        "The same call with another pool; read the same row of its stages.",
        lambda: int(_lost(20)["pool"]),
    ),
    "10.3": Exercise(
        "With pool=20, how many does fusion lose?",
        "The same table, row 'fusion'.",
        lambda: int(_lost(20)["fusion"]),
    ),
    "11.1": Exercise(
        "How many passages of the vector run for helpdesk's q01 fit into a budget of 1500 characters?",
        "len(context.used) of rk.format_context(run, docs, budget=1500).",
        _context_passages,
    ),
    "11.2": Exercise(
        "How many documents has helpdesk for the product 'Attic'?",
        "Compare the column product with the name; the sum of the answers counts the True ones.",
        lambda: int((_class("helpdesk").data.docs["product"] == "Attic").sum()),
    ),
    "11.3": Exercise(
        "Filter with where={'product': 'Attic'}: how many hits has the keyword run for 'backup'?",
        "Search with where=, without top_k, and count the rows.",
        lambda: len(_class("helpdesk").index.search("backup", where={"product": "Attic"})),
    ),
    "12.1": Exercise(
        "A sweep over two values of k1, three of b, toy's four queries and two metrics: how many rows?",
        "One for each setting, query and metric.",
        _weights_sweep_rows,
    ),
    "12.2": Exercise(
        "Put 0.2 into the grid's b and sweep again with that file: how many settings are worked out anew?",
        "What is in the file is not worked out again. The new b goes with each k1.",
        _settings_added,
    ),
    "12.3": Exercise(
        "How many bytes do 100,000 vectors of 384 float32 numbers take, in megabytes (10**6)?",
        "Each number takes 4 bytes.",
        lambda: 100_000 * 384 * 4 / 1e6,
        1,
    ),
}
