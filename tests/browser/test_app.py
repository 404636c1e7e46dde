"""The app: `python -m ragkit PATH` over a folder of documents, in Voila and Chromium."""

import contextlib
import importlib.util
import os
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

_spec = importlib.util.spec_from_file_location("panels", Path(__file__).parent / "panels.py")
panels = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(panels)

FILES = {
    "crane.md": "# Cranes\n\nThe crane dances in the marsh and flies south in autumn. " * 3,
    "tower.txt": "A tower crane lifts steel; its wind speed limit is posted below.",
    "notes/mint.md": "# Mint\n\nMint leaves sweeten tea. A mint strikes coins.",
    "notes/table.csv": "id,title,text\n001,Wind,Wind speed is measured in knots.\n002,Tea,Tea in glasses.\n",
    "more.jsonl": '{"id": "owl", "text": "The owl hunts at night."}\n',
    ".hidden.txt": "not to be read",
}


@pytest.fixture(scope="module")
def app(chromium, tmp_path_factory):
    pytest.importorskip("voila", reason="voila is not installed (pip install voila)")
    folder = tmp_path_factory.mktemp("documents")
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    with socket_port() as port:
        pass
    root = str(Path(__file__).parents[2])
    env = os.environ | {"PYTHONPATH": os.pathsep.join([root, os.environ.get("PYTHONPATH", "")])}
    command = [sys.executable, "-m", "ragkit", str(folder), "--no-browser", f"--port={port}"]
    process = subprocess.Popen(
        command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    url = f"http://127.0.0.1:{port}"
    try:
        for _ in range(300):
            with contextlib.suppress(OSError):
                urllib.request.urlopen(f"{url}/voila/static/", timeout=2)
                break
            if process.poll() is not None or _answers(url):
                break
            time.sleep(0.2)
        assert process.poll() is None, "the app ended"
        yield url
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(15)


@contextlib.contextmanager
def socket_port():
    import socket

    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        yield s.getsockname()[1]


def _answers(url):
    import socket

    host, port = url.removeprefix("http://").split(":")
    with contextlib.suppress(OSError), socket.create_connection((host, int(port)), timeout=1):
        return True
    return False


def test_the_app_serves_the_lab_over_a_folder_of_documents(app, page):
    page.goto(app, timeout=90_000)
    page.wait_for_selector(".widget-slider", timeout=90_000)
    page.wait_for_selector(".rk-table[aria-label=results]")
    before = panels.results(page)
    page.get_by_placeholder("type your own query").fill("mint tea")
    panels.wait_changed(page, before)
    assert "mint.md" in panels.results(page)
    before = panels.results(page)
    handle, _ = panels.slider(page, "top_k")
    handle.focus()
    for _ in range(8):
        page.keyboard.press("ArrowLeft")
    panels.wait_changed(page, before)
    box = page.locator("svg.rk-plot").first.bounding_box()
    assert box["width"] > 200 and box["height"] > 100
