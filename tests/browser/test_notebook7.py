"""The lab in Notebook 7."""

from playwright.sync_api import expect

from tests.browser.conftest import RUN_ALL, open_notebook
from tests.browser.panels import PANEL, PANELS, PICTURES, SETUP, Shown


def test_the_lab_works_in_notebook_7(notebook7, page):
    spec = PANELS["explore"]
    notebook7.write("lab.ipynb", SETUP, spec.cell())
    open_notebook(page, f"{notebook7.url}/notebooks/lab.ipynb")
    page.evaluate(RUN_ALL)
    panel = Shown(page, page.locator(PANEL), spec)
    expect(panel.root.locator(PICTURES).first).to_be_visible(timeout=90_000)
    before = panel.screen()
    # Notebook 7 keeps the arrow keys for itself; Home, End and the page keys reach the slider.
    panel.press("top_k", "Home", 1)
    panel.wait_for_change(before, "tables")
    panel.wait_for_change(before, "pictures")
