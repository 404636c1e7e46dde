"""JupyterLab on loopback and Debian's Chromium; skipped with a plain reason where there is none."""

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

HERE = Path(__file__).parent
SHOTS = Path(os.environ.get("RAGKIT_SHOTS", HERE / "shots"))
CHROMIUM = os.environ.get("RAGKIT_CHROMIUM") or next(
    (p for p in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if p), None
)
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


def pytest_collection_modifyitems(items):
    for item in items:
        if HERE in Path(item.path).parents:
            item.add_marker(pytest.mark.browser)


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
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as p:
        browser = p.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def jupyter_env(folder):
    """Settings, data and kernels of a test stay in its own folder."""
    names = {
        name: folder / name.lower()
        for name in (
            "JUPYTER_CONFIG_DIR",
            "JUPYTER_DATA_DIR",
            "JUPYTER_RUNTIME_DIR",
            "IPYTHONDIR",
            "MPLCONFIGDIR",
        )
    }
    for path in names.values():
        path.mkdir(parents=True, exist_ok=True)
    lab = names["JUPYTER_CONFIG_DIR"] / "labconfig"
    lab.mkdir(exist_ok=True)
    quiet = {"disabledExtensions": {"@jupyterlab/apputils-extension:announcements": True}}
    (lab / "page_config.json").write_text(json.dumps(quiet))
    root = str(HERE.parents[1])
    path = os.pathsep.join(p for p in (root, os.environ.get("PYTHONPATH", "")) if p)
    return os.environ | {name: str(path) for name, path in names.items()} | {"PYTHONPATH": path}


@contextlib.contextmanager
def server(command, url, env, log):
    """Start a server, wait until it answers, and end it with all its kernels."""
    with open(log, "wb") as out:
        process = subprocess.Popen(
            command, env=env, stdout=out, stderr=subprocess.STDOUT, start_new_session=True
        )
        try:
            for _ in range(400):
                with contextlib.suppress(OSError):
                    urllib.request.urlopen(url, timeout=2).close()
                    break
                if process.poll() is not None:
                    raise RuntimeError(f"{command[2]} ended: {Path(log).read_text()[-2000:]}")
                time.sleep(0.1)
            else:
                raise RuntimeError(f"{command[2]} did not answer: {Path(log).read_text()[-2000:]}")
            yield
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(15)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def lab_command(port, root):
    """The command that starts JupyterLab on loopback, without a token prompt."""
    return [
        sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--ip=127.0.0.1",
        f"--port={port}", "--ServerApp.port_retries=0", f"--ServerApp.root_dir={root}",
        "--IdentityProvider.token=", "--ServerApp.disable_check_xsrf=True",
        "--LabApp.expose_app_in_browser=True",
    ]  # fmt: skip


def open_and_run(page, url, name, theme="light", timeout=90_000):
    """Open a notebook in JupyterLab, run all its cells, and wait for the first slider."""
    page.goto(f"{url}/lab/tree/{name}?reset")
    page.wait_for_selector(".jp-NotebookPanel .jp-Cell")
    page.evaluate(KERNEL_READY)
    if theme == "dark":
        dark = "'apputils:change-theme', {theme: 'JupyterLab Dark'}"
        page.evaluate(f"() => window.jupyterapp.commands.execute({dark})")
        page.wait_for_function("() => document.body.dataset.jpThemeLight === 'false'")
    # Not awaited: the promise resolves only when every cell has run.
    page.evaluate("() => { window.jupyterapp.commands.execute('notebook:run-all-cells') }")
    page.wait_for_selector(".jp-Notebook .widget-slider", timeout=timeout)
    return page


class Lab:
    """A running JupyterLab: its address, and the folder that its notebooks live in."""

    def __init__(self, url, root):
        self.url = url
        self.root = root

    def write(self, name, *cells):
        """Write a notebook of code cells."""
        import nbformat

        v4 = nbformat.v4
        notebook = v4.new_notebook(cells=[v4.new_code_cell(cell) for cell in cells])
        notebook.metadata["kernelspec"] = {
            "name": "python3",
            "display_name": "Python 3",
            "language": "python",
        }
        nbformat.write(notebook, self.root / name)
        return name


@pytest.fixture(scope="session")
def lab(chromium, tmp_path_factory):
    pytest.importorskip("jupyterlab", reason="jupyterlab is not installed")
    folder = tmp_path_factory.mktemp("lab")
    root = folder / "notebooks"
    root.mkdir()
    port = free_port()
    command = lab_command(port, root)
    url = f"http://127.0.0.1:{port}"
    with server(command, f"{url}/api", jupyter_env(folder), folder / "lab.log"):
        yield Lab(url, root)


def _own(error):
    """Whether an error is Notebook 7's own: 7.6 throws it on an empty notebook that imports nothing."""
    return "reading 'schema'" in str(error) and "/static/notebook/notebook_core." in (error.stack or "")


@pytest.fixture
def page(chromium, request):
    """A page that fails the test on an error in the page, and leaves a screenshot."""
    size = {"width": 1440, "height": 1100}
    context = chromium.new_context(viewport=size, permissions=["clipboard-read", "clipboard-write"])
    page = context.new_page()
    errors = []
    page.on("pageerror", lambda error: _own(error) or errors.append(str(error)))
    yield page
    SHOTS.mkdir(parents=True, exist_ok=True)
    name = re.sub(r"\W+", "_", request.node.name)
    with contextlib.suppress(Exception):
        page.screenshot(path=SHOTS / f"{name}.png")
    context.close()
    assert errors == []


@pytest.fixture
def run_notebook(lab, page):
    """Open a notebook in JupyterLab, run all its cells, and wait until the last has run."""

    def run(name, theme="light"):
        return open_and_run(page, lab.url, name, theme)

    return run
