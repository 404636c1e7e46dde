"""The table of panels that the browser tests go through, and the hands and eyes to try them with."""

import ast
import contextlib
import json
import re
import time
from dataclasses import dataclass

from playwright.sync_api import Error, expect

# What the panels are opened on: a corpus with titles of real length, and functions of a user's own that
# cannot take every text.
SETUP = """
import json, pathlib, tempfile
import pandas as pd
import ragkit as rk
from ipywidgets.widgets.widget import _instances
from ragkit.widgets import explore, judge, similarity_lab, tune_bm25, tune_chunks, tune_fusion, tune_mmr
from ragkit.widgets import tune_tokens
docs, queries, qrels, spans, _ = rk.load_dataset("helpdesk")
queries = queries.head(6)
qrels = qrels[qrels["query_id"].isin(queries["query_id"])]
def stem(word):
    if "gibberish" in word:
        raise ValueError("gibberish cannot be read")
    return word
def embed(texts):
    return lsa([stem(text) for text in texts])
lsa = rk.LSAEmbedder(32).fit(docs["text"].tolist())
index = rk.KeywordIndex(docs, tokenizer=lambda text: stem(text).casefold().split())
vectors = rk.VectorStore(docs, embed=lsa)
hybrid = rk.HybridSearch(rk.KeywordIndex(docs), vectors)
odd = pd.DataFrame({"query_id": ["q99"], "text": ["what gibberish says"]})
runs = {"keyword": hybrid.index.search(queries, top_k=30), "vector": vectors.search(queries, top_k=30)}
run = runs["vector"]
def new_folder():
    global folder
    folder = pathlib.Path(tempfile.mkdtemp()) / "judged"
    folder.mkdir()
    return folder
shown = {}
def close(name):
    if name in shown:
        shown.pop(name).close()
def show(name, make):
    close(name)
    shown[name] = make()
    return shown[name]
"""

Step = tuple[str, str]  # a control by its label, and what is typed, chosen or, with "", clicked


@dataclass(frozen=True)
class Spec:
    """What a panel is tried with; None where it has no such control, and why is said beside it."""

    make: str  # how it is opened, in Python
    slider: str | None  # its first slider
    keys: tuple[str, int] | None  # a key, and how often it is pressed
    reads: str | None  # what the slider's number says then
    typed: Step  # an exact entry
    query: tuple[Step, str] | None  # the choice of a query, and what the status line says then
    wrong: tuple[Step, str] | None  # what makes an error, and what the error line says
    right: Step | None  # what makes it good again
    compared: tuple[Step, str] | None  # what puts two settings side by side, and what appears
    code: str  # what the copied code must contain
    picture: bool = True
    last: str | None = None  # a table that comes after all else

    @property
    def name(self):
        """The function that opens the panel."""
        return self.make.split("(")[0]

    def cell(self):
        """The code of a notebook cell that shows the panel anew."""
        return f"show({self.name!r}, lambda: {self.make})"

    def control(self, label):
        """The name that a panel's `controls` has for a label."""
        return {"document": "place"}.get(label, label)


SECOND = "stub 40 windows driver"
SPECS = (
    Spec(
        make="explore(hybrid, queries, qrels, lambda_=0.5)",
        slider="weights['keyword']", keys=("ArrowRight", 10), reads="0.40",
        typed=("top_k", "4"),
        query=(("query", "q02"), SECOND),
        wrong=(("fetch_k", "4"), "fetch_k"), right=("fetch_k", "40"),
        compared=(("pin this setting", ""), "rank in A"),
        code="value = hybrid.search(",
        last="mean metrics",
    ),
    Spec(
        make="tune_bm25(index, pd.concat([queries, odd]))",
        slider="k1", keys=("ArrowRight", 8), reads="1.60",
        typed=("top_k", "3"),
        query=(("query", "q02"), SECOND),
        wrong=(("query", "q99"), "cannot be read"), right=("query", "q01"),
        compared=(("overlay the other variants", ""), "bm25l"),
        code="value = index.search(",
    ),
    Spec(
        make="tune_fusion(runs, docs, qrels, queries=queries)",
        slider="weights['keyword']", keys=("ArrowRight", 10), reads="0.60",
        typed=("top_k", "4"),
        query=(("query", "q02"), SECOND),
        wrong=None, right=None,  # its lists and ranges hold nothing that does not go together
        compared=None,  # the lists before and after are always side by side
        code="value = rk.fuse(",
    ),
    Spec(
        make="tune_mmr(run, vectors, docs, qrels, queries=queries)",
        slider="lambda_", keys=("ArrowRight", 10), reads="0.60",
        typed=("top_k", "4"),
        query=(("query", "q02"), SECOND),
        wrong=(("fetch_k", "3"), "fetch_k"), right=("fetch_k", "20"),
        compared=None,  # the ranks before and after are always side by side
        code="value = rk.mmr(",
    ),
    Spec(
        make="tune_chunks(docs, spans)",
        slider="size", keys=("ArrowLeft", 5), reads="300",
        typed=("overlap", "40"),
        query=(("doc_id", "attic-4012"), "attic-4012"),  # a document to choose: there is no query
        wrong=(("overlap", "400"), "overlap"), right=("overlap", "50"),
        compared=(("beside", "fixed"), "fixed"),
        code="value = rk.chunk(",
    ),
    Spec(
        make="tune_tokens(docs, queries, stem=stem)",
        slider="min_length", keys=("ArrowRight", 4), reads="5",
        typed=("extra_stop_words", "bridge mode"),
        query=(("text", "the quiet hours of a group"), "of 6 words count"),
        wrong=(("text", "what gibberish says"), "cannot be read"), right=("text", "quiet hours"),
        compared=None,  # the ranks by the default tokenizer are always beside
        code="rk.Tokenizer(",
    ),
    Spec(
        make="similarity_lab(embed=embed)",
        slider=None, keys=None, reads=None,  # its one control is a box of sentences
        typed=("sentences", "quiet hours\nhours of quiet\nwindows driver"),
        query=None,
        wrong=(("sentences", "what gibberish says"), "cannot be read"), right=("sentences", "quiet hours"),
        compared=None,  # all sentences are always side by side
        code="cosine_similarity(vectors, vectors)",
    ),
    Spec(
        make="judge(runs, docs, queries=queries, depth=3, path=new_folder() / 'qrels.tsv')",
        slider="document", keys=("ArrowRight", 2), reads="3",
        typed=("document", "2"),
        query=(("query", "q02"), SECOND),
        wrong=None, right=None,  # what goes wrong is saving: a test of its own
        compared=None,  # one document at a time, and nobody is told who found it
        code="value = rk.as_qrels(",
        picture=False,
    ),
)  # fmt: skip
PANELS = {spec.name: spec for spec in SPECS}
PANEL = ".widget-vbox.rk"
PICTURES = "svg.rk-plot"
TABLES = ".rk-table"


class Shown:
    """A panel in a page: what a person sees of it and does with it."""

    def __init__(self, page, root, spec):
        self.page = page
        self.root = root
        self.spec = spec
        self.status = root.locator("[role=status]").first
        self.alert = root.locator("[role=alert]")

    # --- eyes ----------------------------------------------------------------------------------------------

    def screen(self):
        """The text of the tables and the markup of the pictures."""
        return self.root.evaluate(_SCREEN)

    def wait_for_change(self, before, part=None):
        """Wait until tables and pictures, or one of both, are no longer what they were."""
        handle = self.root.element_handle()
        was = before if part is None else before[part]
        self.page.wait_for_function(
            f"([e, part, was]) => {{ const s = ({_SCREEN})(e);"
            "return JSON.stringify(part ? s[part] : s) !== was; }",
            arg=[handle, part, json.dumps(was, ensure_ascii=False, separators=(",", ":"))],
            polling=50,  # by default a page looks at every frame, and has no time for its own work
        )

    def reads(self, label):
        """The number that the box of a slider shows."""
        return self.number(label).input_value()

    def pixels(self):
        """The pictures as the screen shows them."""
        for _ in range(50):
            # While keys are worked off, a picture may be replaced under the camera.
            with contextlib.suppress(Error):
                return [picture.screenshot(timeout=2000) for picture in self.root.locator(PICTURES).all()]
        raise AssertionError("the pictures never came to rest")

    # --- hands ---------------------------------------------------------------------------------------------

    def control(self, label):
        """A control by the text of its label, or of the button itself."""
        quoted = json.dumps(label, ensure_ascii=False)
        labelled = self.root.locator(f".jupyter-widgets:has(> .widget-label:text-is({quoted}))")
        ticked = self.root.locator(f".widget-checkbox label:has(:text-is({quoted}))")
        pressed = self.root.get_by_role("button", name=label, exact=True)
        return labelled.or_(ticked).or_(pressed).first

    def handle(self, label):
        return self.control(label).locator(".noUi-handle")

    def number(self, label):
        """The box with the exact number of a slider."""
        quoted = json.dumps(label, ensure_ascii=False)
        return self.root.locator(f".rk-exact:has(> .widget-label:text-is({quoted})) input")

    def press(self, label, key, times):
        self.handle(label).focus()
        for _ in range(times):
            self.page.keyboard.press(key)

    def drag(self, label, share):
        """Drag a slider's handle with the mouse, to this share of its track."""
        self.handle(label).scroll_into_view_if_needed()
        box = self.handle(label).bounding_box()
        track = self.control(label).locator(".noUi-base").bounding_box()
        y = box["y"] + box["height"] / 2
        self.page.mouse.move(box["x"] + box["width"] / 2, y)
        self.page.mouse.down()
        self.page.mouse.move(track["x"] + share * track["width"], y, steps=8)
        self.page.mouse.up()

    def type(self, label, text):
        """Type in place of what is there, key by key."""
        number = self.control(label).locator(".noUi-handle").count() > 0
        (self.number(label) if number else self.control(label).locator("input, textarea")).click()
        self.page.keyboard.press("Control+A")
        self.page.keyboard.type(text)
        if number:
            self.page.keyboard.press("Enter")

    def do(self, step):
        """Do with a control what a person would: choose from a list, click, type a number, paste a text."""
        label, what = step
        control = self.control(label)
        if not what:
            control.click()
        elif control.locator("select").count():
            options = control.locator("option").all_inner_texts()
            # A choice may go by the id that its label begins with.
            chosen = next(o for o in options if re.match(re.escape(what) + r"\b", o))
            control.locator("select").select_option(label=chosen)
        elif control.locator(".noUi-handle").count():
            self.type(label, what)
        else:
            control.locator("input, textarea").fill(what)


_SCREEN = """e => ({
  tables: [...e.querySelectorAll('.rk-table')].map(t => t.textContent),
  pictures: [...e.querySelectorAll('svg.rk-plot')].map(p => p.outerHTML)})"""


#: The cell at the end of the notebook, for one panel more.
TWIN = "show('twin', make_twin) if 'make_twin' in globals() else None"


class Notebook:
    """A notebook in JupyterLab with a panel in each cell, and its kernel."""

    def __init__(self, page, specs):
        self.page = page
        self.specs = list(specs)
        self._theme = "light"

    def open(self, spec):
        """Run the cell of a panel anew, and wait until the new panel is there in place of the old."""
        return self._run(1 + self.specs.index(spec), spec)

    def open_twin(self, spec, make=None):
        """Open the same panel once more, in the last cell of the notebook."""
        self.tell(f"make_twin = lambda: {make or spec.make}")
        return self._run(1 + len(self.specs), spec)

    def panel(self, spec):
        """A panel that is open."""
        return Shown(self.page, self._cell(1 + self.specs.index(spec)), spec)

    def _cell(self, n):
        return self.page.locator(".jp-Notebook .jp-CodeCell").nth(n).locator(PANEL)

    def _run(self, n, spec):
        self._cell(n).evaluate_all("all => all.forEach(e => e.dataset.old = 1)")
        self.page.evaluate(_RUN_CELL, n)
        new = Shown(self.page, self._cell(n).and_(self.page.locator(":not([data-old])")), spec)
        expect(new.status).not_to_be_empty()
        if spec.picture:
            expect(new.root.locator(PICTURES).first).to_be_visible()
        if spec.last:
            expect(new.root.get_by_role("table", name=spec.last)).to_be_visible()
        return new

    def look(self, theme="light", width=1400, height=1100):
        """Look at the notebook in a theme and in a window of some size."""
        if self._theme != theme:
            self.page.evaluate(_THEME, {"light": "JupyterLab Light", "dark": "JupyterLab Dark"}[theme])
            is_light = "t => document.body.dataset.jpThemeLight === t"
            self.page.wait_for_function(is_light, arg=str(theme == "light").lower())
            self._theme = theme
        self.page.set_viewport_size({"width": width, "height": height})

    def ask(self, expression):
        """Evaluate a Python expression in the kernel; JSON brings its value here."""
        return json.loads(ast.literal_eval(self.page.evaluate(_ASK, f"json.dumps({expression})")))

    def wait_for(self, condition, seconds=30):
        """Ask the kernel until a condition holds: what the page sends last may still be on its way."""
        until = time.monotonic() + seconds
        while not self.ask(condition):
            assert time.monotonic() < until, f"never came true: {condition}"

    def tell(self, code):
        """Run Python in the kernel."""
        self.page.evaluate(_TELL, code)


_KERNEL = "const k = window.jupyterapp.shell.currentWidget.sessionContext.session.kernel;"
_FAILED = "if (r.content.status !== 'ok') throw new Error(r.content.ename + ': ' + r.content.evalue);"
_THEME = "theme => window.jupyterapp.commands.execute('apputils:change-theme', {theme})"
_RUN_CELL = """async n => { const w = window.jupyterapp.shell.currentWidget; w.content.activeCellIndex = n;
  await window.jupyterapp.commands.execute('notebook:run-cell'); }"""
_TELL = f"""async code => {{ {_KERNEL}
  const r = await k.requestExecute({{code, store_history: false}}).done; {_FAILED} }}"""
_ASK = f"""async code => {{ {_KERNEL}
  const r = await k.requestExecute(
    {{code: '', silent: true, store_history: false, user_expressions: {{it: code}}}}).done; {_FAILED}
  const it = r.content.user_expressions.it;
  if (it.status !== 'ok') throw new Error(it.ename + ': ' + it.evalue);
  return it.data['text/plain']; }}"""
