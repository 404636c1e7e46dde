"""Ways to find and drive the parts of a panel in a page."""

DATA = """
import pandas as pd
from ragkit.bm25 import KeywordIndex
from ragkit.hybrid import HybridSearch
from ragkit.vectors import VectorStore
from ragkit.widgets import explore
words = "crane wind mint coin tower marsh tea frost harbour lantern orchard copper".split()
texts = [" ".join(words[(n * k) % 12] for k in range(1, 9)) + f" number {n}" for n in range(60)]
docs = pd.DataFrame({"doc_id": [f"d{n:02d}" for n in range(60)], "title": [t.title()[:24] for t in texts],
                     "text": texts, "half": ["odd" if n % 2 else "even" for n in range(60)]})
queries = pd.DataFrame(
    {"query_id": ["q1", "q2", "q3"], "text": ["crane wind", "copper tea", "frost harbour mint"]})
qrels = pd.DataFrame({"query_id": ["q1", "q1", "q2", "q3"], "doc_id": ["d48", "d07", "d05", "d09"],
                      "relevance": [2, 1, 3, 1]})
def embed(texts):
    return [[t.count(w) + 0.01 * len(t) * (n % 3) for n, w in enumerate(words)] for t in texts]
hybrid = HybridSearch(KeywordIndex(docs), VectorStore(docs, embed=embed))
"""


def slider(page, name, nth=0):
    """The handle and the number of a slider, found by its label."""
    box = page.locator(f".widget-slider:has(.widget-label:text-is({name!r}))").nth(nth)
    return box.locator(".noUi-handle"), box.locator(".widget-readout")


def type_into(page, readout, text):
    """Type a number into the field beside a slider."""
    readout.click()
    page.keyboard.press("Control+A")
    page.keyboard.type(text)
    page.keyboard.press("Enter")


def results(page, nth=0):
    """The result table of a panel as text."""
    return page.locator(".rk-table[aria-label=results]").nth(nth).inner_text()


def picture(page, nth=0):
    """The markup of a panel's picture."""
    return page.locator("svg.rk-plot").nth(nth).evaluate("e => e.outerHTML")


def wait_changed(page, before, selector=".rk-table[aria-label=results]", nth=0, prop="innerText"):
    """Wait until what `selector` finds is no longer what it was."""
    page.wait_for_function(
        "([s, n, p, t]) => document.querySelectorAll(s)[n] && document.querySelectorAll(s)[n][p] !== t",
        arg=[selector, nth, prop, before],
        timeout=15_000,
    )
