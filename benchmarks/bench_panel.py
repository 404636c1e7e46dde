"""How long after a key press has the lab changed? Real JupyterLab, real Chromium, the keyboard.

    python benchmarks/bench_panel.py [--docs 2000 100000] [--steps 15]
    python benchmarks/bench_panel.py --kernel        # CPU time alone, which a busy machine does not distort

Per slider: milliseconds from the key press to the changed table, to the last changed plot, and to the
changed means over all queries (which come later on purpose), as medians of single steps; nan where the step
changed nothing. The target is 150 ms for table and plots with 2,000 documents, 250 ms with 100,000. Then 40
keys at 25 per second: how often the table changed, and how long after the last key it stood still. Needs
JupyterLab, playwright and Chromium; says so and stops where one is missing.
"""

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
SETUP = """
import numpy as np, pandas as pd
from sklearn.feature_extraction.text import HashingVectorizer
from ragkit.bm25 import KeywordIndex
from ragkit.hybrid import HybridSearch
from ragkit.vectors import VectorStore
from ragkit.widgets import explore
n = {n}
rng = np.random.default_rng(0)
words = np.array(["w%d" % i for i in range(20_000)])
p = 1 / np.arange(1, len(words) + 1); p /= p.sum()
texts = [" ".join(row) for row in words[rng.choice(len(words), (n, 100), p=p)]]
ids = ["d%06d" % i for i in range(n)]
docs = pd.DataFrame({{"doc_id": ids, "title": ["Document " + i for i in ids], "text": texts}})
R = rng.standard_normal((4096, 64))
hashing = HashingVectorizer(n_features=4096, alternate_sign=False)
def embed(texts):
    return hashing.transform(texts) @ R
queries = {{"q%d" % i: " ".join(words[rng.integers(5, 3000, 4)]) for i in range(20)}}
hybrid = HybridSearch(KeywordIndex(docs), VectorStore(docs, embed=embed))
found = hybrid.search(queries, top_k=40)  # judged are some of what is found: else the means would be 0
qrels = found.sample(200, random_state=0)[["query_id", "doc_id"]].assign(relevance=1)
"""
WATCH = """() => {
  window.changes = [];
  const parts = {table: '.rk-table[aria-label=results]', plot: 'svg.rk-plot',
                 means: '.rk-table[aria-label="mean metrics"]'};
  for (const [part, selector] of Object.entries(parts))
    for (const found of document.querySelectorAll(selector))
      new MutationObserver(() => { window.changes.push([part, performance.now()]); })
        .observe(found.closest('.widget-html'), {subtree: true, childList: true, characterData: true});
}"""
SLIDERS = ["weights['keyword']", "k1", "top_k", "lambda_"]


def kernel(n, plots, count):
    """Milliseconds of CPU per step in the kernel, without a page: the table, and table and plots."""
    names = {}
    exec(SETUP.format(n=n), names)
    panel = names["explore"](names["hybrid"], names["queries"], names["qrels"], lambda_=0.5, plots=plots)
    cls, marks = type(panel), {}
    draw, late = cls._show_pictures, cls._run_late

    def show(self):
        marks["table"] = time.process_time()
        draw(self)
        marks["plots"] = time.process_time()

    cls._show_pictures, cls._run_late = show, lambda self: None
    moves = {"weight": 0.01, "k1": 0.05, "top_k": 1, "lambda_": 0.01}
    for name, by in moves.items():
        control, times = panel.controls[name], []
        for step in range(count + 2):
            start = time.process_time()
            control.value += by if step % 2 else -by
            times.append([(marks[part] - start) * 1e3 for part in ("table", "plots")])
        table, both = (statistics.median(column) for column in zip(*times[2:]))
        print(f"{n:>8} {name:<20} {table:>9.0f} {both:>9.0f}", flush=True)
    cls._show_pictures, cls._run_late = draw, late
    panel.close()


def handle(page, name):
    """The handle of a slider, found by its label."""
    return page.locator(f".widget-slider:has(.widget-label:text-is({name!r})) .noUi-handle").first


def press(page, key):
    """Press a key and give the page's own clock at that moment."""
    start = page.evaluate("() => { window.changes.length = 0; return performance.now(); }")
    page.keyboard.press(key)
    return start


def settled(page, quiet=1.0, most=6.0):
    """Wait until the page has stood still, and give its changes: what, and when."""
    end = time.monotonic() + most
    still = "q => window.changes.length && performance.now() - window.changes.at(-1)[1] > q"
    while time.monotonic() < end and not page.evaluate(still, quiet * 1e3):
        time.sleep(0.1)
    return page.evaluate("() => window.changes")


def steps(page, name, count):
    """Single steps of one slider: median times of the table, the last plot and the means."""
    handle(page, name).focus()
    seen = {"table": [], "plot": [], "means": []}
    for n in range(count + 2):
        start = press(page, "ArrowLeft" if n % 2 else "ArrowRight")
        changes = settled(page)
        if n < 2:  # the first steps fill caches
            continue
        for part, times in seen.items():
            mine = [at - start for what, at in changes if what == part]
            times += mine[-1:]
    return [statistics.median(times) if times else float("nan") for times in seen.values()]


def burst(page, name):
    """40 keys at 25 per second: table changes seen, and stillness of table and plots after the last key."""
    handle(page, name).focus()
    page.keyboard.press("Home")
    time.sleep(1.5)
    press(page, "ArrowRight")
    for _ in range(39):
        time.sleep(0.04)
        page.keyboard.press("ArrowRight")
    end = page.evaluate("() => performance.now()")
    changes = [(what, at) for what, at in settled(page) if what != "means"]
    return sum(what == "table" for what, _ in changes), max([at - end for _, at in changes] or [0.0])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--docs", type=int, nargs="*", default=[2_000, 100_000])
    parser.add_argument("--steps", type=int, default=15)
    parser.add_argument("--plots", nargs="*", default=["ranks"])
    parser.add_argument(
        "--kernel", action="store_true", help="CPU time in the kernel alone; needs no browser"
    )
    options = parser.parse_args()
    if options.kernel:
        print(f"{'docs':>8} {'slider':<20} {'table ms':>9} {'plots ms':>9}   CPU time in the kernel")
        for n in options.docs:
            kernel(n, options.plots, options.steps)
        return
    try:
        import jupyterlab  # noqa: F401
        from playwright.sync_api import sync_playwright
    except ImportError as error:
        sys.exit(f"skipped: {error.name} is not installed")
    sys.path.insert(0, str(ROOT))
    from tests.browser.conftest import CHROMIUM, FLAGS, RUN_ALL, open_notebook
    from tests.browser.servers import lab_command, running

    if not CHROMIUM:
        sys.exit("skipped: no Chromium found")
    print(f"{'docs':>8} {'slider':<20} {'table ms':>9} {'plots ms':>9} {'means ms':>9}")
    with running(lab_command, Path(tempfile.mkdtemp())) as lab, sync_playwright() as p:
        browser = p.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        for n in options.docs:
            cell = f"panel = explore(hybrid, queries, qrels, lambda_=0.5, plots={options.plots!r})\npanel"
            name = lab.write(f"bench{n}.ipynb", SETUP.format(n=n), cell)
            page = browser.new_context(viewport={"width": 1440, "height": 1400}).new_page()
            open_notebook(page, f"{lab.url}/lab/tree/{name}?reset")
            page.evaluate(f"() => {{ ({RUN_ALL})(); }}")
            page.wait_for_selector(".rk-table[aria-label=results]", timeout=300_000)
            time.sleep(2.0)
            page.evaluate(WATCH)
            for name in SLIDERS:
                times = steps(page, name, options.steps)
                print(f"{n:>8} {name:<20} " + " ".join(f"{t:>9.0f}" for t in times), flush=True)
            changes, still = burst(page, "lambda_")
            print(
                f"{n:>8} 40 keys in 1.6 s: {changes} changes, still {still:.0f} ms after the last key",
                flush=True,
            )
        browser.close()


if __name__ == "__main__":
    main()
