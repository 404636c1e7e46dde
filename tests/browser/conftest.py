"""Servers, a browser and pages for the tests; skipped with a plain reason where there is no Chromium."""

import contextlib
import os
import re
import shutil
import signal
import sys
from pathlib import Path

import pytest

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

from tests.browser.panels import PANEL, SETUP, SPECS, TWIN, Notebook, Shown  # noqa: E402
from tests.browser.servers import lab_command, notebook_command, running, voila_command  # noqa: E402

HERE = Path(__file__).parent
SHOTS = Path(os.environ.get("RAGKIT_SHOTS", HERE / "shots"))
CHROMIUM = os.environ.get("RAGKIT_CHROMIUM") or next(
    (p for p in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if p), None
)
# How long a condition may take to come true, in ms: a test waits no longer than that takes.
WAIT = 30_000
playwright.expect.set_options(timeout=WAIT)
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
]  # fmt: skip

# The indicator of JupyterLab says idle before the kernel can be reached, and what is run then is lost for
# ever. The kernel's own answer, and one silent run, are the only sure signs.
KERNEL_READY = """async () => {
  const app = window.jupyterapp; await app.restored; let w;
  for (;;) { w = app.shell.currentWidget; if (w && w.sessionContext) break;
             await new Promise(r => setTimeout(r, 50)); }
  await w.sessionContext.ready; const k = w.sessionContext.session.kernel; await k.info;
  const f = k.requestExecute({code: 'None', silent: true, store_history: false}); await f.done; }"""
RUN_ALL = "() => window.jupyterapp.commands.execute('notebook:run-all-cells')"


def pytest_collection_modifyitems(items):
    for item in items:
        if HERE in Path(item.path).parents:
            item.add_marker(pytest.mark.browser)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """Let a fixture know, when it ends, whether its test failed."""
    report = yield
    if call.when == "call":
        item.failed = report.failed
    return report


@pytest.fixture(scope="session", autouse=True)
def _ended_by_sigterm():
    """Let `timeout` end the servers too: SIGTERM becomes an exit that runs the clean-up."""
    old = signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    yield
    signal.signal(signal.SIGTERM, old)


@pytest.fixture(scope="session")
def chromium():
    if not CHROMIUM:
        pytest.skip("no Chromium found (apt-get install chromium, or set RAGKIT_CHROMIUM)")
    with playwright.sync_playwright() as p:
        browser = p.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


# --- servers ----------------------------------------------------------------------


@pytest.fixture(scope="session")
def lab(chromium, tmp_path_factory):
    pytest.importorskip("jupyterlab", reason="jupyterlab is not installed")
    with running(lab_command, tmp_path_factory.mktemp("lab")) as server:
        yield server


@pytest.fixture(scope="session")
def notebook7(chromium, tmp_path_factory):
    pytest.importorskip("notebook", reason="Notebook 7 is not installed (pip install notebook)")
    with running(notebook_command, tmp_path_factory.mktemp("notebook7")) as server:
        yield server


@pytest.fixture(scope="session")
def voila(chromium, tmp_path_factory):
    pytest.importorskip("voila", reason="voila is not installed (pip install voila)")
    with running(voila_command, tmp_path_factory.mktemp("voila"), answers="/voila/static/") as server:
        yield server


# --- pages ----------------------------------------------------------------------


def _own(error):
    """Whether an error is Notebook 7's own: 7.6 throws it on an empty notebook that imports nothing."""
    return "reading 'schema'" in str(error) and "/static/notebook/notebook_core." in (error.stack or "")


@contextlib.contextmanager
def open_page(chromium):
    """A page of a wide window; what goes wrong in it is collected in ``page.errors``."""
    size = {"width": 1400, "height": 1100}
    context = chromium.new_context(viewport=size, permissions=["clipboard-read", "clipboard-write"])
    page = context.new_page()
    page.set_default_timeout(WAIT)
    page.set_default_navigation_timeout(90_000)
    page.errors = []
    page.on("pageerror", lambda error: _own(error) or page.errors.append(str(error)))
    try:
        yield page
    finally:
        context.close()


@contextlib.contextmanager
def watched(page, request):
    """Keep a screenshot of a failure, and fail on an error in the page."""
    page.errors.clear()
    yield
    if getattr(request.node, "failed", True):
        SHOTS.mkdir(parents=True, exist_ok=True)
        name = re.sub(r"\W+", "_", request.node.name)
        with contextlib.suppress(Exception):
            page.screenshot(path=SHOTS / f"failed_{name}.png")
    assert page.errors == []


def open_notebook(page, address):
    """Open a notebook in JupyterLab or Notebook 7, and wait until its kernel answers."""
    page.goto(address)
    page.wait_for_selector(".jp-NotebookPanel .jp-Cell", timeout=90_000)
    page.evaluate(KERNEL_READY)


@pytest.fixture
def page(chromium, request):
    """A page of its own."""
    with open_page(chromium) as page, watched(page, request):
        yield page


@pytest.fixture
def run_notebook(lab, page):
    """Open a notebook in JupyterLab, and run all its cells."""

    def run(name):
        open_notebook(page, f"{lab.url}/lab/tree/{name}?reset")
        page.evaluate(RUN_ALL)
        return page

    return run


@pytest.fixture(scope="session")
def gallery(lab, chromium):
    """One notebook with all panels, open in JupyterLab for as long as the tests run."""
    lab.write("gallery.ipynb", SETUP, *(spec.cell() for spec in SPECS), TWIN)
    with open_page(chromium) as page:
        open_notebook(page, f"{lab.url}/lab/tree/gallery.ipynb?reset")
        page.evaluate("() => window.jupyterapp.shell.collapseLeft()")
        page.evaluate(RUN_ALL)
        yield Notebook(page, SPECS)


@pytest.fixture
def panel(gallery, spec, request):
    """The panel of `spec`, as it opens, among all the others."""
    with watched(gallery.page, request):
        yield gallery.open(spec)


@pytest.fixture(scope="session")
def dashboard(voila, chromium):
    """The same notebook as Voila shows it."""
    voila.write("gallery.ipynb", SETUP, *(spec.cell() for spec in SPECS))
    with open_page(chromium) as page:
        page.goto(f"{voila.url}/voila/render/gallery.ipynb", timeout=90_000)
        page.wait_for_function(
            "([panel, n]) => document.querySelectorAll(panel + ' [role=status]').length >= n",
            arg=[PANEL, len(SPECS)],
            timeout=90_000,
        )
        yield page


@pytest.fixture
def in_voila(dashboard, spec, request):
    """The panel of `spec` in Voila's page."""
    with watched(dashboard, request):
        yield Shown(dashboard, dashboard.locator(PANEL).nth(SPECS.index(spec)), spec)
