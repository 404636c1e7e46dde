"""``tune_tokens``: what the tokenizer keeps and drops, and what that does to a ranking."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from html import escape
from typing import Any, ClassVar

from ragkit import plot
from ragkit.bm25 import KeywordIndex
from ragkit.frames import as_docs, as_queries
from ragkit.hybrid.cache import StageCache
from ragkit.text import STOP_WORDS, Tokenizer
from ragkit.widgets import html
from ragkit.widgets.controls import checkbox, dropdown, int_slider, need_ipywidgets
from ragkit.widgets.knobs import NONE
from ragkit.widgets.teach.base import Shown, TeachPanel, head_of


def tune_tokens(
    docs: Any,
    queries: Any = None,
    *,
    text: str | None = None,
    stop_words: str | None = "english",
    extra_stop_words: str = "",
    keep_words: str = "",
    min_length: int = 1,
    normal_form: str | None = "NFKC",
    case: str | None = "fold",
    stem: Callable[[str], str] | None = None,
    top_k: int = 8,
    controls: Mapping[str, Any] | None = None,
) -> TuneTokens:
    """Open a panel on tokens: type a text, see which words count, and how the ranking moves.

    Parameters
    ----------
    docs : documents
        What is searched; a few thousand at most, for every change of the tokenizer indexes them anew.
    queries : queries, optional
        Their texts are offered in the box.
    text : str, optional
        The text to start with: the first query by default.
    stop_words, min_length, normal_form, case : optional
        Where the controls start; as in :class:`ragkit.Tokenizer`.
    extra_stop_words, keep_words : str, default=""
        Words, with blanks between them.
    stem : callable, optional
        ``str -> str``; with it there is a box to tick that turns it on.
    top_k : int, default=8
        How many results are compared.
    controls : dict of str to widget, optional
        Controls of another panel to share.

    Returns
    -------
    TuneTokens
        The panel; ``panel.value`` is ``tokenizer.explain(text)``, ``panel.tokenizer`` the tokenizer.

    See Also
    --------
    ragkit.Tokenizer : What the controls set.
    """
    given = {
        "text": text, "stop_words": stop_words, "extra_stop_words": extra_stop_words,
        "keep_words": keep_words,
        "min_length": min_length, "normal_form": normal_form, "case": case, "top_k": top_k,
    }  # fmt: skip
    return TuneTokens(docs, queries, stem, given, controls)


class TuneTokens(TeachPanel):
    """The panel that :func:`tune_tokens` opens; see there.

    Parameters
    ----------
    docs, queries, stem : object
        As in :func:`tune_tokens`.
    given : dict
        Where the controls start.
    shared : dict of str to widget or None
        Controls of another panel.
    """

    name: ClassVar[str] = "tune_tokens"
    PICTURES: ClassVar[dict[str, tuple[float, float]]] = {"ranks": (5.6, 3.0)}
    BOXES: ClassVar[tuple[str, ...]] = ("words", "table")

    def __init__(
        self,
        docs: Any,
        queries: Any,
        stem: Callable[[str], str] | None,
        given: Mapping[str, Any],
        shared: Mapping[str, Any] | None,
    ):
        W = need_ipywidgets()
        self.docs, self.stem = as_docs(docs), stem
        texts = as_queries(queries)["text"].tolist() if queries is not None else []
        start = given["text"] if given["text"] is not None else (texts[0] if texts else "")
        wide = W.Layout(width="auto", max_width="640px")
        self._indexes = StageCache(6)
        controls = {
            "text": W.Combobox(
                value=start, options=texts[:500], description="text",
                tooltip="Any text; it is searched as a query",
                layout=wide, style={"description_width": "36px"},
            ),
            "stop_words": dropdown(
                "stop_words",
                given["stop_words"] or NONE,
                [NONE, *STOP_WORDS],
                tooltip="Which list of words is dropped",
            ),
            "extra_stop_words": W.Text(
                value=given["extra_stop_words"], description="extra_stop_words",
                tooltip="Further words to drop, blanks between them", layout=W.Layout(width="auto"),
            ),
            "keep_words": W.Text(
                value=given["keep_words"], description="keep_words",
                tooltip="Words never dropped as stop words, blanks between them",
                layout=W.Layout(width="auto"),
            ),
            "min_length": int_slider(
                "min_length",
                given["min_length"],
                low=0,
                high=8,
                tooltip="Shorter words are dropped. Right: more are dropped.",
            ),
            "normal_form": dropdown(
                "normal_form",
                given["normal_form"] or NONE,
                ["NFKC", "NFC", "NFD", "NFKD", NONE],
                tooltip="Unicode normal form: NFKC lets full-width and composed letters meet",
            ),
            "case": dropdown(
                "case",
                given["case"] or NONE,
                ["fold", "lower", NONE],
                tooltip="How upper and lower case are levelled; None keeps them apart",
            ),
        }  # fmt: skip
        if stem is not None:
            controls["stem"] = checkbox(
                "stem words", True, tooltip="Cut words down to their stem before they count"
            )
        self._top_k = given["top_k"]
        super().__init__(controls, shared=shared)
        also = ["stem"] if stem is not None else []
        self._open(
            [
                ("dropped words", ["stop_words", "extra_stop_words", "keep_words", "min_length"]),
                ("letters", ["normal_form", "case", *also]),
            ]
        )

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer that the controls describe."""
        return self._made(self._state)

    def _arguments(self, state: Mapping[str, Any]) -> dict[str, Any]:
        named = {n: None if state[n] == NONE else state[n] for n in ("stop_words", "normal_form", "case")}
        lists = {n: state[n].split() for n in ("extra_stop_words", "keep_words")}
        return named | lists | {"min_length": state["min_length"]}

    def _made(self, state: Mapping[str, Any]) -> Tokenizer:
        return Tokenizer(**self._arguments(state), stem=self.stem if state.get("stem") else None)

    def _public(self, state: dict[str, Any]) -> dict[str, Any]:
        arguments = self._arguments(state)
        joined = {n: state[n] for n in ("extra_stop_words", "keep_words")}
        return {"text": state["text"]} | arguments | joined

    def _index(self, tokenizer: Tokenizer, key: Any) -> KeywordIndex:
        return self._indexes.get(key, lambda: KeywordIndex(self.docs, tokenizer=tokenizer))

    def _compute(self, state: dict[str, Any]) -> Shown:
        tokenizer, text = self._made(state), state["text"]
        key = tuple((n, str(v)) for n, v in state.items() if n != "text")
        runs = {
            "default": self._index(Tokenizer(), "default").search(text, top_k=self._top_k),
            "this": self._index(tokenizer, key).search(text, top_k=self._top_k),
        }
        return Shown(tokenizer.explain(text), {"runs": runs})

    def _render(self, state: dict[str, Any], result: Shown) -> dict[str, str]:
        pieces = []
        for word, token, kept, reason in result.value[["word", "token", "kept", "reason"]].itertuples(
            index=False
        ):
            if kept:
                shown = escape(word) if word == token else f"{escape(word)} → {escape(token)}"
                pieces.append(
                    f'<span title="kept" style="border-bottom:2px solid #009E73;margin:0 5px">{shown}</span>'
                )
            else:
                title = escape(reason, quote=True)
                pieces.append(
                    f'<span title="{title}" style="opacity:.6;text-decoration:line-through;margin:0 5px">'
                    f"{escape(word)}</span><span class='id'>{title}</span>"
                )
        words = f'<div style="font-size:15px;line-height:2">{"".join(pieces) or "no words"}</div>'
        return {
            "words": html.wrap(words),
            "table": html.wrap(html.table(result.value, caption="what becomes of each word")),
        }

    def _drawings(self, state: dict[str, Any], result: Shown) -> dict[str, tuple[Any, str]]:
        runs, docs = result.more["runs"], self.docs
        return {
            "ranks": (
                lambda ax: plot.bump(runs, docs=docs, top_k=self._top_k, ax=ax),
                "Ranks with the default tokenizer and with this one",
            )
        }

    def _summary(self, state: dict[str, Any], result: Shown) -> str:
        kept = int(result.value["kept"].sum())
        found = len(result.more["runs"]["this"])
        return (
            f"{kept} of {len(result.value)} words count; {found} of the first {self._top_k} places are filled"
        )

    def _program(self, params: dict[str, Any], setup: str | None) -> str:
        arguments = self._arguments(self._state)
        stem = bool(self._state.get("stem"))
        inner = "".join(f"    {name}={value!r},\n" for name, value in arguments.items())
        inner += "    stem=stem,\n" if stem else ""
        needs = "`stem`, the function that the panel was opened with" if stem else "nothing but ragkit"
        return (
            head_of(setup, needs)
            + f"tokenizer = rk.Tokenizer(\n{inner})\nvalue = tokenizer.explain({params['text']!r})\n"
        )
