"""``judge``: results of several systems in one blind pool, graded by click or key, saved as you go."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from ragkit.frames import as_docs, as_qrels, as_run, best_per_doc, unit_column
from ragkit.widgets import html
from ragkit.widgets.controls import button, checkbox, int_slider, need_ipywidgets
from ragkit.widgets.results import marked
from ragkit.widgets.teach.base import Shown, TeachPanel, head_of, query_picker, text_of
from ragkit.widgets.teach.grades import check_place, read_grades, write_grades

GRADES = {0: "not relevant", 1: "related", 2: "relevant", 3: "answers it"}


def judge(
    runs: Any,
    docs: Any,
    qrels: Any = None,
    *,
    queries: Any = None,
    query: str | None = None,
    depth: int = 10,
    path: str | Path | None = None,
    random_state: int = 0,
) -> Judge:
    """Open a panel to judge results: one document at a time, without saying which system found it.

    Parameters
    ----------
    runs : run, or dict of name to run
        The systems whose results are pooled.
    docs : documents
        What is read.
    qrels : judgements, optional
        Judgements to start from; those pairs are not asked again.
    queries : queries, optional
        Texts of the queries; without them they are called by their ids.
    query : str, optional
        The query to start with.
    depth : int, default=10
        How many results of each system go into the pool.
    path : str or Path, optional
        Where judgements are saved after each one, in the form that the name says: ``.csv``, ``.jsonl``,
        ``.tsv`` as in BEIR, any other as in TREC. A file that is there is read first, in any form that
        :func:`ragkit.read_qrels` reads.
    random_state : int, default=0
        Seed of the order in which documents are shown.

    Returns
    -------
    Judge
        The panel; ``panel.value`` is the judgements frame.

    Raises
    ------
    OSError
        If the folder of `path` is not there, or not to be written in.
    ValueError
        If the file that is there holds more than grades, or its form cannot hold the ids.

    See Also
    --------
    ragkit.evaluate : What judgements are for.
    """
    return Judge(runs, docs, qrels, queries, query, depth, path, random_state)


class Judge(TeachPanel):
    """The panel that :func:`judge` opens; see there.

    Parameters
    ----------
    runs, docs, qrels, queries, query, depth, path, random_state : object
        As in :func:`judge`.
    """

    name: ClassVar[str] = "judge"
    BOXES: ClassVar[tuple[str, ...]] = ()

    def __init__(
        self,
        runs: Any,
        docs: Any,
        qrels: Any,
        queries: Any,
        query: str | None,
        depth: int,
        path: str | Path | None,
        random_state: int,
    ):
        W = need_ipywidgets()
        frames = [as_run(run) for run in (runs.values() if isinstance(runs, Mapping) else [runs])]
        self._pool = _pool(
            [best_per_doc(f) if unit_column(f) == "chunk_id" else f for f in frames], depth, random_state
        )
        self._docs = as_docs(docs).drop_duplicates("doc_id").set_index("doc_id", drop=False)
        self._path = None if path is None else Path(path).expanduser()
        self._grades = {} if qrels is None else _by_pair(as_qrels(qrels))
        if self._path is not None:
            self._grades |= _by_pair(read_grades(self._path))
            pairs = {(query, doc): 0 for query, docs in self._pool.items() for doc in docs}
            check_place(self._path, _as_frame(pairs | self._grades))
        asked = {q: q for q in self._pool} if queries is None else queries
        self.queries, picker = query_picker(asked, query)
        controls = {
            "query": picker,
            "place": int_slider(
                "document", 1, low=1, high=max(map(len, self._pool.values()), default=1),
                tooltip="The document of the pool on show. Right: the next one.",
            ),
            "open_only": checkbox(
                "unjudged only", True, tooltip="Go on to the next document without a grade"
            ),
        }  # fmt: skip
        super().__init__(controls)
        keys = [
            button(f"{grade} {word}", tooltip=f"Give grade {grade}; key {grade} in the box beside")
            for grade, word in GRADES.items()
        ]
        for grade, key in zip(GRADES, keys):
            key.on_click(lambda _, grade=grade: self._grade_or_say_why(grade))
        self._key = W.Text(
            placeholder="or press 0 1 2 3, n, b here",
            tooltip="Click here, then press 0 to 3 to grade, n for the next document, b for the one before",
            layout=W.Layout(width="210px"),
        )
        self._key.observe(self._pressed, "value")
        undo, on = button("back", tooltip="The document before"), button("skip", tooltip="The next document")
        undo.on_click(lambda _: self.step(-1))
        on.on_click(lambda _: self.step(+1))
        self._buttons = W.HBox([*keys, undo, on, self._key], layout=W.Layout(flex_flow="row wrap"))
        self._version = 0
        self._lay_out_judge()

    def _lay_out_judge(self) -> None:
        W = need_ipywidgets()
        style = self._box("style")
        style.value = html.CSS
        row = W.HBox(
            [self.controls["place"], self.controls["open_only"]], layout=W.Layout(flex_flow="row wrap")
        )
        self.controls["place"].style.description_width = "76px"
        self.controls["place"].layout.width = "320px"
        card = self._box("card", min_height="200px")
        self._start(
            [style, self.controls["query"], row, self._message, self._buttons, card, self._box("progress")]
        )
        self.controls["query"].observe(self._first_open, "value")
        self._first_open(None)

    # --- judging -------------------------------------------------------------------------------------------

    def grade(self, relevance: int) -> None:
        """Grade the document on show, save, and go on.

        Parameters
        ----------
        relevance : int
            0 is not relevant.

        Raises
        ------
        OSError
            If the judgements cannot be saved; the grade is then not kept either.
        """
        self.settle()
        query, place = self._state["query"], self._state["place"]
        pool = self._pool.get(query, [])
        if not pool:
            return
        before = dict(self._grades)
        self._grades[query, pool[min(place, len(pool)) - 1]] = int(relevance)
        try:
            if self._path is not None:
                write_grades(_as_frame(self._grades), self._path)
        except OSError:
            self._grades = before
            raise
        self._version += 1
        with self.batch():
            self.controls["place"].value = self._next(query, place)

    def _grade_or_say_why(self, relevance: int) -> None:
        """Grade by click or key; an error is said on the screen, for nobody sees what a button raises."""
        try:
            self.grade(relevance)
        except OSError as error:
            self.error = f"the grade is not saved, {type(error).__name__}: {error}"
            self._message.value = html.line(self.error, "error", role="alert")

    def step(self, by: int) -> None:
        """Show another document of the pool.

        Parameters
        ----------
        by : int
            How many further, or back where negative.
        """
        pool = self._pool.get(self.controls["query"].value, [])
        self.controls["place"].value = int(np.clip(self.controls["place"].value + by, 1, max(len(pool), 1)))

    def _next(self, query: str, place: int) -> int:
        """The next document to judge: the next open one, or simply the next."""
        pool = self._pool.get(query, [])
        places = [*range(place + 1, len(pool) + 1), *range(1, place + 1)]
        if self.controls["open_only"].value:
            return next(
                (n for n in places if (query, pool[n - 1]) not in self._grades), min(place, len(pool))
            )
        return min(place + 1, len(pool))

    def _first_open(self, change: Any) -> None:
        query = self.controls["query"].value
        with self.batch():
            self.controls["place"].value = max(self._next(query, 0), 1)

    def _pressed(self, change: Any) -> None:
        """Take the last key typed into the box, and empty it."""
        key = change["new"][-1:].lower()
        if not change["new"]:
            return
        self._key.value = ""
        if key.isdigit() and int(key) in GRADES:
            self._grade_or_say_why(int(key))
        elif key in ("n", "b"):
            self.step(1 if key == "n" else -1)

    # --- the panel -----------------------------------------------------------------------------------------

    def _read(self) -> dict[str, Any]:
        return super()._read() | {"version": self._version}

    def _public(self, state: dict[str, Any]) -> dict[str, Any]:
        return {"query": state["query"]}

    def _compute(self, state: dict[str, Any]) -> Shown:
        pool = self._pool.get(state["query"], [])
        doc = pool[min(state["place"], len(pool)) - 1] if pool else None
        return Shown(_as_frame(self._grades), {"doc": doc})

    def _render(self, state: dict[str, Any], result: Shown) -> dict[str, str]:
        doc, query = result.more["doc"], text_of(self.queries, state["query"])
        if doc is None:
            return {"card": html.wrap("no results to judge"), "progress": ""}
        row = self._docs.loc[doc] if doc in self._docs.index else pd.Series({"text": "(text not given)"})
        title = str(row.get("title", "") or "") if isinstance(row.get("title"), str) else ""
        grade = self._grades.get((state["query"], doc))
        now = "not judged yet" if grade is None else f"grade {grade}: {GRADES.get(grade, '')}"
        words = set(query.casefold().split())
        body = marked(str(row["text"]), words, lambda t: t.casefold().split(), 1500)
        card = (
            f'<table class="rk-table" aria-label="document"><tbody><tr><td>'
            '<div style="font-size:15px" class="title">'
            f"{escape(title)}</div><div style='font-size:14px;max-width:60em'>{body}</div>"
            f'<div class="id">{escape(doc)} · {now}</div></td></tr></tbody></table>'
        )
        return {"card": html.wrap(card), "progress": html.wrap(self._progress(state["query"]))}

    def _progress(self, query: str) -> str:
        """Draw the pool as a row of squares: empty, or with the grade."""
        squares = []
        for n, doc in enumerate(self._pool.get(query, []), 1):
            grade = self._grades.get((query, doc))
            shown = "·" if grade is None else str(grade)
            squares.append(
                f'<span title="document {n}" style="display:inline-block;width:18px;text-align:center;'
                f'border:1px solid currentColor;margin:1px">{shown}</span>'
            )
        return "".join(squares)

    def _summary(self, state: dict[str, Any], result: Shown) -> str:
        pool = self._pool.get(state["query"], [])
        done = sum((state["query"], doc) in self._grades for doc in pool)
        everything = sum(len(p) for p in self._pool.values())
        judged = sum((q, doc) in self._grades for q, p in self._pool.items() for doc in p)
        text = text_of(self.queries, state["query"])
        return f"“{text}”: {done} of {len(pool)} judged; {judged} of {everything} in all queries"

    def _program(self, params: dict[str, Any], setup: str | None) -> str:
        nested: dict[str, dict[str, int]] = {}
        for (query, doc), grade in self._grades.items():
            nested.setdefault(query, {})[doc] = grade
        return head_of(setup, "nothing but ragkit") + f"value = rk.as_qrels({nested!r})\n"


def _by_pair(qrels: pd.DataFrame) -> dict[tuple[str, str], int]:
    """Grades by query and document, the highest where subtopics have one each."""
    best = qrels.groupby(["query_id", "doc_id"], sort=False, as_index=False)["relevance"].max()
    return {(q, d): int(r) for q, d, r in zip(best["query_id"], best["doc_id"], best["relevance"])}


def _as_frame(grades: Mapping[tuple[str, str], int]) -> pd.DataFrame:
    rows = [(query, doc, grade) for (query, doc), grade in grades.items()]
    return as_qrels(pd.DataFrame(rows, columns=["query_id", "doc_id", "relevance"]) if rows else {})


def _pool(runs: list[pd.DataFrame], depth: int, random_state: int) -> dict[str, list[str]]:
    """Pool the first results of all runs by query, in an order that tells nothing of ranks or systems."""
    pool: dict[str, set[str]] = {}
    for run in runs:
        head = run[run["rank"] <= depth]
        for query, doc in zip(head["query_id"], head["doc_id"]):
            pool.setdefault(str(query), set()).add(str(doc))
    rng = np.random.default_rng(random_state)
    return {query: rng.permutation(sorted(docs)).tolist() for query, docs in pool.items()}
