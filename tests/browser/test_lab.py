"""The lab in JupyterLab and Chromium: keys, mouse, typing, queries, errors, code, several panels, closing."""

import importlib.util
import shutil
from pathlib import Path

import pytest

HERE = Path(__file__).parent
_spec = importlib.util.spec_from_file_location("panels", HERE / "panels.py")
panels = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(panels)
DATA, slider, results, picture, wait_changed = (
    panels.DATA, panels.slider, panels.results, panels.picture, panels.wait_changed
)  # fmt: skip
FIRST = HERE.parents[1] / "notebooks" / "01_first_search.ipynb"


@pytest.fixture
def opened(lab, run_notebook):
    """A notebook with one lab in it, run."""
    lab.write("lab.ipynb", DATA, "panel = explore(hybrid, queries, qrels)\npanel")
    return run_notebook("lab.ipynb")


def test_the_first_notebook_runs_and_its_sliders_move_table_and_plot(lab, page, run_notebook):
    if not FIRST.exists():
        pytest.skip("notebooks/01_first_search.ipynb is not there")
    shutil.copy(FIRST, lab.root / FIRST.name)
    run_notebook(FIRST.name)
    table, plot = results(page), picture(page)
    handle, readout = slider(page, "top_k")
    handle.focus()
    before = readout.inner_text()
    for _ in range(3):
        page.keyboard.press("ArrowLeft")
    wait_changed(page, table)
    wait_changed(page, plot, "svg.rk-plot", prop="outerHTML")
    assert readout.inner_text() != before


def test_arrow_keys_move_table_and_plot(opened):
    table, plot = results(opened), picture(opened)
    handle, readout = slider(opened, "weights['keyword']")
    handle.focus()
    for _ in range(30):
        opened.keyboard.press("ArrowRight")
    wait_changed(opened, table)
    wait_changed(opened, plot, "svg.rk-plot", prop="outerHTML")
    opened.wait_for_function(
        "() => [...document.querySelectorAll('.widget-readout')].some(e => e.innerText === '0.60')"
    )
    assert readout.inner_text() == "0.60"
    box = opened.locator("svg.rk-plot").first.bounding_box()
    assert box["width"] > 200 and box["height"] > 100


def test_no_column_leaves_the_view_when_documents_drop_out(lab, run_notebook):
    lab.write("gone.ipynb", DATA, "explore(hybrid, queries, qrels, top_k=30)")
    page = run_notebook("gone.ipynb")
    panels.type_into(page, slider(page, "weights['keyword']")[1], "1")
    page.locator(".rk-gone").wait_for()
    wide = page.evaluate(
        """() => [...document.querySelectorAll('.rk .widget-html, .rk .widget-html-content')]
        .filter(e => e.scrollWidth > e.clientWidth + 1).map(e => e.innerText.slice(0, 80))"""
    )
    assert wide == []


def test_the_mouse_drags_a_slider(opened):
    table = results(opened)
    handle, readout = slider(opened, "top_k")
    box = handle.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    opened.mouse.move(x, y)
    opened.mouse.down()
    opened.mouse.move(x + 40, y, steps=8)
    opened.mouse.up()
    wait_changed(opened, table)
    assert int(readout.inner_text()) > 10


def test_a_number_can_be_typed(opened):
    table = results(opened)
    _, readout = slider(opened, "weights['keyword']")
    panels.type_into(opened, readout, "0.05")
    wait_changed(opened, table)
    assert readout.inner_text() == "0.05"


def test_queries_are_chosen_stepped_through_and_typed(opened):
    table = results(opened)
    opened.get_by_role("button", name="next").click()
    wait_changed(opened, table)
    opened.locator("[role=status]", has_text="copper tea").first.wait_for()
    table = results(opened)
    opened.get_by_placeholder("type your own query").fill("lantern orchard")
    wait_changed(opened, table)
    opened.locator("[role=status]", has_text="lantern orchard").first.wait_for()
    opened.locator(".rk-table mark", has_text="lantern").first.wait_for()


def test_an_error_shows_as_a_line_and_goes_away(opened):
    table = results(opened)
    opened.get_by_text("MMR: no two results").click()
    wait_changed(opened, table)
    table = results(opened)
    _, readout = slider(opened, "fetch_k")
    for text, there in (("4", True), ("40", False)):
        panels.type_into(opened, readout, text)
        opened.locator("[role=alert]").wait_for(state="visible" if there else "detached")
        if there:
            assert "fetch_k" in opened.locator("[role=alert]").inner_text() and results(opened) == table


def test_the_code_can_be_copied(opened):
    opened.get_by_role("button", name="code", exact=True).click()
    opened.get_by_role("button", name="copy code").click()
    opened.get_by_role("button", name="copied").wait_for()
    copied = opened.evaluate("() => navigator.clipboard.readText()")
    assert "value = hybrid.search(" in copied and "top_k=10" in copied
    compile(copied, "copied", "exec")


def test_two_panels_in_one_notebook_do_not_touch_each_other_and_one_can_be_closed(lab, run_notebook):
    lab.write(
        "two.ipynb",
        DATA,
        "one = explore(hybrid, queries, top_k=3, plots=[])\none",
        "two = explore(hybrid, queries, top_k=4, plots=[])\ntwo",
    )
    page = run_notebook("two.ipynb")
    page.wait_for_function("() => document.querySelectorAll('.rk-table[aria-label=results]').length === 2")
    first, second = results(page, 0), results(page, 1)
    handle, _ = slider(page, "top_k", 0)
    handle.focus()
    page.keyboard.press("ArrowRight")
    wait_changed(page, first)
    assert results(page, 1) == second
    page.evaluate(
        """async () => { const k = window.jupyterapp.shell.currentWidget.sessionContext.session.kernel;
        await k.requestExecute({code: 'one.close()'}).done; }"""
    )
    page.wait_for_function("() => document.querySelectorAll('.rk-table[aria-label=results]').length === 1")
    handle, _ = slider(page, "top_k", 0)
    handle.focus()
    page.keyboard.press("ArrowRight")
    wait_changed(page, second)


def test_dark_theme_and_a_narrow_window_stay_readable(lab, page, run_notebook):
    lab.write(
        "dark.ipynb", DATA, "explore(hybrid, queries, qrels, lambda_=0.5, plots=['ranks', 'trade-off'])"
    )
    page.set_viewport_size({"width": 820, "height": 1400})
    run_notebook("dark.ipynb", theme="dark")
    picture(page)
    light = page.evaluate(
        "() => getComputedStyle(document.querySelector('svg.rk-plot text')).fill.match(/[0-9]+/g).slice(0, 3)"
    )
    assert min(map(int, light)) > 150
    cut = page.evaluate(
        """() => [...document.querySelectorAll('.widget-label')]
        .filter(e => e.scrollWidth > e.clientWidth + 1).map(e => e.innerText)"""
    )
    assert cut == []


def test_a_snapshot_shows_table_and_plot_offline(chromium, page, tmp_path):
    names = {}
    exec(DATA, names)
    panel = names["explore"](names["hybrid"], names["queries"], names["qrels"])
    panel.snapshot(tmp_path / "snapshot.html")
    panel.close()
    page.context.set_offline(True)
    page.goto(f"file://{tmp_path}/snapshot.html")
    assert "d" in results(page)
    box = page.locator("svg.rk-plot").first.bounding_box()
    assert box["width"] > 200 and box["height"] > 100
