"""Pins, rulers and the teaching panels in JupyterLab: keys, clicks, typing; the lab in Notebook 7."""

import importlib.util
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
_spec = importlib.util.spec_from_file_location("panels", HERE / "panels.py")
panels = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(panels)
_spec = importlib.util.spec_from_file_location("browser_conftest", HERE / "conftest.py")
own = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(own)
DATA, slider, results, wait_changed = panels.DATA, panels.slider, panels.results, panels.wait_changed

TEACH = f"""{DATA}
from ragkit.widgets import judge, similarity_lab, tune_bm25, tune_chunks, tune_fusion, tune_mmr, tune_tokens
runs = {{"keyword": hybrid.index.search(queries), "vector": hybrid.store.search(queries)}}
"""


def press(page, name, key, times):
    handle, _ = slider(page, name)
    handle.focus()
    for _ in range(times):
        page.keyboard.press(key)


def test_settings_are_pinned_compared_and_cleared(lab, run_notebook):
    lab.write("pins.ipynb", DATA, "explore(hybrid, queries, qrels)")
    page = run_notebook("pins.ipynb")
    table = results(page)
    press(page, "weights['keyword']", "ArrowLeft", 40)
    wait_changed(page, table)
    page.get_by_role("button", name="pin this setting").click()
    page.locator("th", has_text="rank in A").wait_for()
    page.get_by_role("table", name="mean metrics").get_by_role(
        "columnheader", name="A", exact=True
    ).wait_for()
    table = results(page)
    page.locator(".widget-dropdown:has(.widget-label:text-is('compare with')) select").select_option("A")
    wait_changed(page, table)
    assert "from A" in results(page).replace("\n", " ")
    page.get_by_role("button", name="clear pins").click()
    page.locator("th", has_text="rank in A").wait_for(state="detached")


def test_the_ruler_takes_the_slider_to_the_next_change(lab, run_notebook):
    lab.write("ruler.ipynb", DATA, "explore(hybrid, queries, qrels)")
    page = run_notebook("ruler.ipynb")
    table = results(page)
    _, readout = slider(page, "weights['keyword']")
    before = readout.inner_text()
    page.locator("button[title*='next higher value']").first.click()
    wait_changed(page, table)
    assert readout.inner_text() != before
    page.locator(".rk-ruler").first.wait_for()


@pytest.mark.parametrize(
    ("code", "name", "key", "times"),
    [
        ("tune_bm25(hybrid.index, queries)", "k1", "ArrowRight", 8),
        ("tune_fusion(runs, docs, qrels, queries=queries)", "weights['keyword']", "ArrowRight", 30),
        ("tune_mmr(runs['vector'], hybrid.store, docs, queries=queries)", "step", "ArrowRight", 2),
        ("tune_chunks(docs, size=60)", "size", "ArrowLeft", 1),
        ("tune_tokens(docs, queries)", "min_length", "ArrowRight", 4),
    ],
    ids=lambda v: v.split("(")[0] if isinstance(v, str) and "(" in v else "",
)
def test_a_teaching_panel_follows_the_keyboard(lab, run_notebook, code, name, key, times):
    lab.write("teach.ipynb", TEACH, code)
    page = run_notebook("teach.ipynb")
    page.locator("svg.rk-plot").first.wait_for()
    before = page.locator("svg.rk-plot").first.evaluate("e => e.outerHTML")
    press(page, name, key, times)
    wait_changed(page, before, "svg.rk-plot", prop="outerHTML")
    cut = page.evaluate(
        """() => [...document.querySelectorAll('.widget-label')]
        .filter(e => e.scrollWidth > e.clientWidth + 1).map(e => e.innerText)"""
    )
    assert cut == []


def test_sentences_are_compared_as_they_are_typed(lab, page, run_notebook):
    lab.write("vectors.ipynb", TEACH, "similarity_lab(embed=embed)", "explore(hybrid, queries, plots=[])")
    run_notebook("vectors.ipynb")
    box = page.locator("textarea").first
    box.wait_for()
    box.fill("crane wind")
    page.get_by_text("1 sentence; type one more").wait_for()
    box.press_sequentially("\nwind crane")
    page.get_by_text("nearest are 1 and 2, cosine 1.00").wait_for()


def test_judging_by_click_and_by_key(lab, page, run_notebook):
    lab.write("judge.ipynb", TEACH, "judge(runs, docs, queries=queries, depth=3)")
    run_notebook("judge.ipynb")
    page.get_by_role("button", name="2 relevant").click()
    page.get_by_text("1 of ").first.wait_for()
    page.get_by_placeholder("or press 0 1 2 3").press_sequentially("3")
    page.get_by_text("“crane wind”: 2 of").wait_for()


@pytest.fixture(scope="module")
def notebook7(chromium, tmp_path_factory):
    pytest.importorskip("notebook", reason="Notebook 7 is not installed (pip install notebook)")
    folder = tmp_path_factory.mktemp("notebook7")
    root = folder / "notebooks"
    root.mkdir()
    port = own.free_port()
    command = [
        sys.executable, "-m", "notebook", "--no-browser", "--allow-root", "--ip=127.0.0.1", f"--port={port}",
        "--ServerApp.port_retries=0", f"--ServerApp.root_dir={root}", "--IdentityProvider.token=",
        "--ServerApp.disable_check_xsrf=True", "--JupyterNotebookApp.expose_app_in_browser=True",
    ]  # fmt: skip
    url = f"http://127.0.0.1:{port}"
    with own.server(command, f"{url}/api", own.jupyter_env(folder), folder / "notebook.log"):
        yield own.Lab(url, root)


def test_the_lab_works_in_notebook_7(notebook7, page):
    notebook7.write("lab.ipynb", DATA, "explore(hybrid, queries, qrels)")
    page.goto(f"{notebook7.url}/notebooks/lab.ipynb")
    page.wait_for_selector(".jp-NotebookPanel .jp-Cell")
    page.evaluate(own.KERNEL_READY)
    page.evaluate("() => { window.jupyterapp.commands.execute('notebook:run-all-cells') }")
    page.wait_for_selector(".rk-table[aria-label=results]", timeout=90_000)
    table = results(page)
    # Notebook 7 keeps the arrow keys for itself; Home, End and the page keys reach the slider.
    press(page, "top_k", "Home", 1)
    wait_changed(page, table)
