"""``similarity_lab``: a handful of sentences, their vectors and their cosines, live as you type."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from ragkit.plot.labels import shorten
from ragkit.similarity import as_matrix, cosine_similarity
from ragkit.widgets import html
from ragkit.widgets.controls import need_ipywidgets
from ragkit.widgets.teach.base import Shown, TeachPanel, head_of

SENTENCES = (
    "The cat sleeps by the warm window.",
    "A warm window pleases every cat.",
    "The market fell sharply on Monday.",
    "On Monday the market lost its value.",
)

_KEY = (
    '<span class="id"><span class="rk-key" style="background:rgb(0,114,178);margin-left:0"></span>above 0'
    '<span class="rk-key" style="background:rgb(213,94,0)"></span>below 0; stronger: further from 0</span>'
)


def similarity_lab(
    sentences: Sequence[str] | str = SENTENCES,
    embed: Callable[[list[str]], Any] | None = None,
    *,
    controls: Mapping[str, Any] | None = None,
) -> SimilarityLab:
    """Open a panel on vectors: type sentences, one per line, and see which lie near each other.

    Parameters
    ----------
    sentences : list of str, or str with one sentence per line
        What to start with.
    embed : callable, optional
        ``list of str -> array (n, d)``; None is :class:`ragkit.LSAEmbedder` fitted on the sentences
        themselves, which knows no word that only one of them has.
    controls : dict of str to widget, optional
        Controls of another panel to share.

    Returns
    -------
    SimilarityLab
        The panel; ``panel.value`` has a row and a column of cosines for each sentence.

    See Also
    --------
    ragkit.VectorStore : Searches by these cosines.
    """
    text = sentences if isinstance(sentences, str) else "\n".join(sentences)
    return SimilarityLab(text, embed, controls)


class SimilarityLab(TeachPanel):
    """The panel that :func:`similarity_lab` opens; see there.

    Parameters
    ----------
    sentences : str
        One per line.
    embed : callable or None
        What makes vectors.
    shared : dict of str to widget or None
        Controls of another panel.
    """

    name: ClassVar[str] = "similarity_lab"
    PICTURES: ClassVar[dict[str, tuple[float, float]]] = {"cosines": (5.6, 3.4)}
    BOXES: ClassVar[tuple[str, ...]] = ("vectors",)

    def __init__(
        self, sentences: str, embed: Callable[[list[str]], Any] | None, shared: Mapping[str, Any] | None
    ):
        W = need_ipywidgets()
        self.embed = embed
        box = W.Textarea(
            value=sentences,
            description="sentences",
            tooltip="One sentence per line; vectors and cosines follow as you type",
            rows=max(5, sentences.count("\n") + 2),
            layout=W.Layout(width="auto"),
            style={"description_width": "76px"},
        )
        super().__init__({"sentences": box}, shared=shared)
        self._open([])

    def _lines(self, state: Mapping[str, Any]) -> list[str]:
        return [line.strip() for line in state["sentences"].splitlines() if line.strip()]

    def _compute(self, state: dict[str, Any]) -> Shown:
        lines = self._lines(state)
        if not lines:
            return Shown(pd.DataFrame(), {"vectors": np.zeros((0, 0)), "lines": lines})
        vectors = as_matrix(self.embed(lines) if self.embed is not None else _own_vectors(lines))
        cosines = np.atleast_2d(cosine_similarity(vectors, vectors))
        names = [f"{n + 1}" for n in range(len(lines))]
        return Shown(pd.DataFrame(cosines, index=names, columns=names), {"vectors": vectors, "lines": lines})

    def _render(self, state: dict[str, Any], result: Shown) -> dict[str, str]:
        rows = (
            f'<tr><td class="num">{n}</td><td>{escape(line)}</td><td>{_strip(vector)}</td></tr>'
            for n, (line, vector) in enumerate(zip(result.more["lines"], result.more["vectors"]), 1)
        )
        if not result.more["lines"]:
            return {"vectors": ""}
        size = count(result.more["vectors"].shape[1], "number")
        names = ("", "sentence", f"vector of {size}<br>{_KEY}")
        head = "".join(f'<th scope="col">{name}</th>' for name in names)
        return {"vectors": html.wrap(html.rows_table(head, rows, 3, "sentences and vectors"))}

    def _drawings(self, state: dict[str, Any], result: Shown) -> dict[str, tuple[Any, str]]:
        lines = result.more["lines"]
        return {
            "cosines": (lambda ax: _draw_cosines(ax, result.value, lines), "Cosine of each pair of sentences")
        }

    def _summary(self, state: dict[str, Any], result: Shown) -> str:
        lines, table = result.more["lines"], result.value.to_numpy()
        if not lines:
            return "no sentences; type two to compare them"
        if len(lines) < 2:
            return f"1 sentence; type one more to compare; vectors by {self._maker(lines)}"
        off = np.where(np.eye(len(lines), dtype=bool), -2.0, table)
        i, j = np.unravel_index(int(off.argmax()), off.shape)
        nearest = f"nearest are {i + 1} and {j + 1}, cosine {off[i, j]:.2f}"
        if abs(off[i, j]) < 0.005:
            nearest = "no two are alike, the highest cosine is 0.00"
        return f"{len(lines)} sentences; {nearest}; vectors by {self._maker(lines)}"

    def _maker(self, lines: list[str]) -> str:
        """Name what made the vectors; of LSA on a handful of sentences, say what it can know of them."""
        if self.embed is not None:
            name = getattr(self.embed, "__name__", type(self.embed).__name__)
            return "the function that was given" if name == "<lambda>" else str(name)
        fitted = f"LSA fitted on {'this sentence' if len(lines) == 1 else f'these {len(lines)} sentences'}"
        alone = len(lines) > 1 and not _share_a_word(lines)
        return fitted + (", no two of which share a word" if alone else "")

    def _program(self, params: dict[str, Any], setup: str | None) -> str:
        lines = self._lines(params)
        needs = "`embed`, the embedder that the panel was opened with" if self.embed else "nothing but ragkit"
        texts = "".join(f"    {line!r},\n" for line in lines)
        fitted = "" if self.embed else "embed = rk.LSAEmbedder().fit(sentences)\n"
        return (
            f"{head_of(setup, needs)}import pandas as pd\nfrom ragkit.similarity import cosine_similarity\n\n"
            f"sentences = [\n{texts}]\n{fitted}vectors = embed(sentences)\n"
            "names = [str(n + 1) for n in range(len(sentences))]\n"
            "value = pd.DataFrame(cosine_similarity(vectors, vectors), index=names, columns=names)\n"
        )


def _own_vectors(lines: list[str]) -> Any:
    """Vectors from the sentences alone."""
    from ragkit.embedding import LSAEmbedder

    return LSAEmbedder().fit(lines)(lines)


def _share_a_word(lines: list[str]) -> bool:
    """Whether any word stands in two of the sentences."""
    from ragkit.text import Tokenizer

    words = [word for line in lines for word in set(Tokenizer()(line))]
    return len(words) > len(set(words))


def count(n: int, name: str) -> str:
    """Write a number of things: "1 number", "2 numbers".

    Parameters
    ----------
    n : int
        How many.
    name : str
        One of them.

    Returns
    -------
    str
        The words.
    """
    return f"{n} {name}{'' if n == 1 else 's'}"


def _strip(vector: np.ndarray, most: int = 48) -> str:
    """Draw a vector as a row of cells: orange below 0, blue above, stronger the further from 0."""
    values = vector[:most]
    top = float(np.abs(vector).max()) or 1.0
    cells = "".join(
        f'<i title="{value:.3f}" style="display:inline-block;width:7px;height:16px;background:'
        f'rgba({"0,114,178" if value >= 0 else "213,94,0"},{abs(value) / top:.2f})"></i>'
        for value in values
    )
    more = f" … {len(vector) - most} more" if len(vector) > most else ""
    numbers = ", ".join(f"{value:.2f}" for value in values[:6])
    label = f"vector {numbers} and so on"
    return f'<span role="img" aria-label="{label}">{cells}</span><span class="id">{more}</span>'


def _draw_cosines(ax: Any, table: pd.DataFrame, lines: list[str]) -> None:
    """Draw the cosines as a heat map with the numbers in it."""
    from ragkit.plot.style import note

    if not lines:
        ax.set_xticks([])
        ax.set_yticks([])
        note(ax, "type a sentence")
        return
    values = table.to_numpy()
    ax.imshow(values, cmap="cividis", vmin=-1 if values.min() < -0.01 else 0, vmax=1, aspect="auto")
    for (i, j), value in np.ndenumerate(values):
        if len(lines) <= 12:
            ax.text(
                j, i, f"{value:.2f}", ha="center", va="center", color="#111111" if value > 0.5 else "#eeeeee"
            )
    ax.set_yticks(range(len(lines)), [f"{shorten(line, 26)}  {n}" for n, line in enumerate(lines, 1)])
    ax.set_xticks(range(len(lines)), [str(n) for n in range(1, len(lines) + 1)])
    ax.set_xlim(-0.5, len(lines) - 0.5)
    ax.set_ylim(len(lines) - 0.5, -0.5)
    ax.tick_params(left=False, bottom=False)
