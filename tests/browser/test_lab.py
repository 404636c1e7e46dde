"""The lab, in what only it has: steps through queries, pins, rulers, a shared slider; the first notebook."""

import shutil

import pytest
from playwright.sync_api import expect

from tests.browser.panels import PANEL, PANELS, PICTURES, Shown
from tests.browser.servers import HERE

EXPLORE = PANELS["explore"]
FIRST = HERE.parents[1] / "notebooks" / "01_first_search.ipynb"
pytestmark = pytest.mark.parametrize("spec", [pytest.param(EXPLORE, id="explore")])


def test_the_first_notebook_runs_and_its_sliders_move_table_and_plot(lab, run_notebook, spec):
    shutil.copy(FIRST, lab.root / FIRST.name)
    page = run_notebook(FIRST.name)
    first = Shown(page, page.locator(PANEL).first, spec)
    expect(first.root.locator(PICTURES).first).to_be_visible(timeout=90_000)
    before = first.screen()
    first.press("top_k", "ArrowLeft", 3)
    first.wait_for_change(before, "tables")
    first.wait_for_change(before, "pictures")


def test_queries_are_stepped_through_and_typed(panel):
    panel.do(("next", ""))
    expect(panel.status).to_contain_text("stub 40 windows driver")
    panel.do(("previous", ""))
    expect(panel.status).to_contain_text("lattice m2 bridge mode")
    panel.type("text", "quiet hours")
    expect(panel.status).to_contain_text("quiet hours")
    expect(panel.root.locator("mark", has_text="quiet").first).to_be_visible()


def test_settings_are_pinned_compared_with_and_cleared(panel):
    before = panel.screen()
    panel.type("weights['keyword']", "0.9")
    panel.wait_for_change(before, "tables")
    panel.do(("pin this setting", ""))
    expect(panel.root.get_by_role("columnheader", name="rank in A")).to_be_visible()
    means = panel.root.get_by_role("table", name="mean metrics")
    expect(means.get_by_role("columnheader", name="A", exact=True)).to_be_visible()
    panel.do(("compare with", "A"))
    expect(panel.root.get_by_role("columnheader", name="from A")).to_be_visible()
    panel.do(("clear pins", ""))
    expect(panel.root.get_by_role("columnheader", name="rank in A")).to_have_count(0)


def test_the_ruler_takes_the_slider_to_the_next_change(panel):
    before, number = panel.screen(), panel.reads("lambda_")
    panel.root.locator("button[title*='next higher value']").last.click()
    panel.wait_for_change(before, "tables")
    assert float(panel.reads("lambda_")) > float(number)


def test_no_column_leaves_the_view_when_documents_drop_out(panel):
    panel.do(("weights['keyword']", "1"))
    expect(panel.root.locator(".rk-gone")).to_be_visible()
    wide = panel.root.evaluate("""root => [...root.querySelectorAll('.widget-html, .widget-html-content')]
        .filter(e => e.scrollWidth > e.clientWidth + 1).map(e => e.innerText.slice(0, 80))""")
    assert wide == []


def test_two_panels_share_a_slider(panel, spec, gallery):
    other = PANELS["tune_mmr"]
    shared = "controls={'lambda_': shown['explore'].controls['lambda_']}"
    twin = gallery.open_twin(other, other.make.removesuffix(")") + f", {shared})")
    before, there = panel.screen(), twin.screen()
    twin.press("lambda_", "Home", 1)
    twin.wait_for_change(there, "tables")
    panel.wait_for_change(before, "tables")
    assert panel.reads("lambda_") == twin.reads("lambda_") == "0.00"
    gallery.tell("close('twin')")
    before = panel.screen()
    panel.press("lambda_", "End", 1)
    panel.wait_for_change(before, "tables")
