"""How every panel looks, light and dark, wide and narrow; and what pointer and Tab key find on it."""

import pytest

from tests.browser.conftest import SHOTS, watched
from tests.browser.panels import SPECS
from tests.browser.servers import HERE

EVERY = [pytest.param(spec, id=spec.name) for spec in SPECS]
VIEWS = [(theme, width) for theme in ("light", "dark") for width in (1400, 700)]
LOOKS = (HERE / "looks.js").read_text(encoding="utf-8")


def look(panel, for_):
    """Look at a panel for one kind of fault."""
    return panel.root.evaluate(f"root => ({LOOKS}).{for_}(root)")


@pytest.fixture(scope="module")
def album(gallery):
    """The notebook with all panels as they open."""
    for spec in SPECS:
        gallery.open(spec)
    SHOTS.mkdir(parents=True, exist_ok=True)
    return gallery


@pytest.fixture(scope="module", params=VIEWS, ids=lambda view: f"{view[0]}-{view[1]}")
def view(album, request):
    """A theme, and a window of some width that is high enough for a whole panel."""
    theme, width = request.param
    album.look(theme, width, height=3200)
    yield f"{theme}_{width}"
    album.look()


@pytest.fixture
def panel(album, spec, request):
    """A panel of the album."""
    with watched(album.page, request):
        yield album.panel(spec)


@pytest.mark.parametrize("spec", EVERY)
def test_a_panel_is_readable_and_leaves_a_screenshot(panel, spec, view):
    panel.root.screenshot(path=SHOTS / f"{spec.name}_{view}.png")
    assert look(panel, "layout") == []
    assert look(panel, "contrast") == []


@pytest.mark.parametrize("spec", EVERY)
def test_every_control_has_a_tooltip(panel):
    assert look(panel, "tooltips") == []


@pytest.mark.parametrize("spec", EVERY)
def test_the_tab_key_visits_every_control_in_the_order_of_the_page(panel):
    seen = []
    for _ in range(stops := look(panel, "stops")):
        seen.append(panel.page.evaluate("() => Number(document.activeElement.dataset.stop)"))
        panel.page.keyboard.press("Tab")
    assert seen == list(range(stops))
