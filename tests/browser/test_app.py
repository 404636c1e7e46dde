"""The app: `python -m ragkit PATH` over a folder of documents, in Voila and Chromium."""

import pytest
from playwright.sync_api import expect

from tests.browser.panels import PANEL, PANELS, PICTURES, Shown
from tests.browser.servers import app_command, running

FILES = {
    "crane.md": "# Cranes\n\nThe crane dances in the marsh and flies south in autumn. " * 3,
    "tower.txt": "A tower crane lifts steel; its wind speed limit is posted below.",
    "notes/mint.md": "# Mint\n\nMint leaves sweeten tea. A mint strikes coins.",
    "notes/table.csv": "id,title,text\n001,Wind,Wind speed is measured in knots.\n002,Tea,Tea in glasses.\n",
    "more.jsonl": '{"id": "owl", "text": "The owl hunts at night."}\n',
    ".hidden.txt": "not to be read",
}


@pytest.fixture
def app(chromium, tmp_path):
    pytest.importorskip("voila", reason="voila is not installed (pip install voila)")
    documents = tmp_path / "documents"
    for name, text in FILES.items():
        (documents / name).parent.mkdir(parents=True, exist_ok=True)
        (documents / name).write_text(text, encoding="utf-8")
    with running(app_command, tmp_path, root=documents, answers="/voila/static/") as server:
        yield server


def test_the_app_serves_the_lab_over_a_folder_of_documents(app, page):
    page.goto(app.url)
    panel = Shown(page, page.locator(PANEL), PANELS["explore"])
    expect(panel.root.locator(PICTURES).first).to_be_visible(timeout=90_000)
    panel.type("text", "mint tea")
    expect(panel.root.get_by_role("table", name="results")).to_contain_text("mint.md")
    expect(panel.root).not_to_contain_text(".hidden")
    before = panel.screen()
    panel.press("top_k", "ArrowLeft", 8)
    panel.wait_for_change(before, "tables")
