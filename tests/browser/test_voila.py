"""Every panel on one page of Voila, each moved once."""

import pytest
from playwright.sync_api import expect

from tests.browser.panels import SPECS


@pytest.mark.parametrize("spec", [pytest.param(spec, id=spec.name) for spec in SPECS])
def test_a_panel_follows_in_voila(in_voila, spec):
    before = in_voila.screen()
    if spec.slider:
        in_voila.press(spec.slider, *spec.keys)
        expect(in_voila.number(spec.slider)).to_have_value(spec.reads)
    else:
        in_voila.type(*spec.typed)
    in_voila.wait_for_change(before, "tables")
    if spec.picture:
        in_voila.wait_for_change(before, "pictures")
