"""Every panel in JupyterLab: keys, mouse, typing, queries, errors, comparing, code, neighbours, closing."""

import pytest
from playwright.sync_api import expect

from tests.browser.panels import PICTURES, SPECS, TABLES

EVERY = [pytest.param(spec, id=spec.name) for spec in SPECS]


def having(part):
    """The panels that have this part; the table of panels says why the others have not."""
    return [param for param in EVERY if getattr(param.values[0], part)]


@pytest.mark.parametrize("spec", having("slider"))
def test_keys_move_the_slider_the_tables_and_the_pictures(panel, spec):
    before, pixels = panel.screen(), panel.pixels()
    panel.press(spec.slider, *spec.keys)
    expect(panel.number(spec.slider)).to_have_value(spec.reads)
    panel.wait_for_change(before, "tables")
    if spec.picture:
        panel.wait_for_change(before, "pictures")
        assert panel.pixels() != pixels
    expect(panel.alert).to_have_count(0)


@pytest.mark.parametrize("spec", having("slider"))
def test_the_mouse_drags_the_slider(panel, spec):
    before, number = panel.screen(), panel.reads(spec.slider)
    panel.drag(spec.slider, 0.8)
    panel.wait_for_change(before, "tables")
    assert panel.reads(spec.slider) != number


@pytest.mark.parametrize("spec", EVERY)
def test_what_is_typed_is_taken_exactly(panel, spec, gallery):
    before, (label, text) = panel.screen(), spec.typed
    panel.type(label, text)
    panel.wait_for_change(before)
    gallery.wait_for(f"str(shown[{spec.name!r}].controls[{spec.control(label)!r}].value) == {text!r}")


@pytest.mark.parametrize("spec", having("query"))
def test_another_query_changes_the_whole_screen(panel, spec):
    step, words = spec.query
    before = panel.screen()
    panel.do(step)
    expect(panel.status).to_contain_text(words)
    panel.wait_for_change(before, "tables")
    if spec.picture:
        panel.wait_for_change(before, "pictures")


@pytest.mark.parametrize("spec", having("wrong"))
def test_an_error_shows_as_a_line_over_the_last_good_result_and_goes_away(panel, spec, gallery):
    step, words = spec.wrong
    params, before = gallery.ask(f"str(shown[{spec.name!r}].params)"), panel.screen()
    panel.do(step)
    expect(panel.alert).to_contain_text(words)
    assert panel.screen() == before
    assert gallery.ask(f"str(shown[{spec.name!r}].params)") == params
    panel.do(spec.right)
    expect(panel.alert).to_have_count(0)


@pytest.mark.parametrize("spec", EVERY[-1:])
def test_a_grade_that_cannot_be_saved_is_an_error_too(panel, spec, gallery):
    gallery.tell("folder.rename(folder.with_name('away'))")
    panel.root.get_by_role("button", name="3 answers it").click()
    expect(panel.alert).to_contain_text("not saved")
    gallery.tell("folder.with_name('away').rename(folder)")
    panel.root.get_by_role("button", name="3 answers it").click()
    expect(panel.alert).to_have_count(0)
    expect(panel.status).to_contain_text("1 of")


@pytest.mark.parametrize("spec", having("compared"))
def test_two_settings_stand_side_by_side(panel, spec):
    step, words = spec.compared
    there = panel.root.locator(f"{TABLES}, {PICTURES}").filter(has_text=words)
    assert there.count() == 0
    panel.do(step)
    expect(there.first).to_be_visible()


@pytest.mark.parametrize("spec", EVERY)
def test_the_code_is_copied_and_gives_what_is_on_show(panel, spec, gallery):
    panel.root.get_by_role("button", name="code", exact=True).click()
    panel.root.get_by_role("button", name="copy code").click()
    panel.root.get_by_role("button", name="copied").wait_for()
    copied = gallery.page.evaluate("() => navigator.clipboard.readText()")
    assert spec.code in copied
    gallery.tell(f"made = dict(globals()); exec({copied!r}, made)")
    gallery.tell(f"pd.testing.assert_frame_equal(made['value'], shown[{spec.name!r}].value)")


@pytest.mark.parametrize("spec", EVERY)
def test_a_snapshot_shows_the_same_without_kernel_and_network(panel, spec, gallery, page, tmp_path):
    gallery.tell(f"shown[{spec.name!r}].snapshot({str(tmp_path / 'snapshot.html')!r})")
    page.context.set_offline(True)
    page.goto(f"file://{tmp_path}/snapshot.html")
    assert page.locator(TABLES).all_text_contents() == panel.root.locator(TABLES).all_text_contents()
    assert page.locator(PICTURES).count() == len(panel.screen()["pictures"])
    for picture in page.locator(PICTURES).all():
        box = picture.bounding_box()
        assert box["width"] > 200 and box["height"] > 100


@pytest.mark.parametrize("spec", having("slider"))
def test_a_panel_leaves_the_others_in_the_notebook_alone(panel, spec, gallery):
    twin = gallery.open_twin(spec)
    others = [gallery.panel(other) for other in SPECS if other is not spec] + [twin]
    before, still = panel.screen(), [other.screen() for other in others]
    panel.press(spec.slider, *spec.keys)
    panel.wait_for_change(before)
    expect(panel.number(spec.slider)).to_have_value(spec.reads)
    gallery.ask("None")  # a round trip: whatever the keys led to has been sent
    assert [other.screen() for other in others] == still


@pytest.mark.parametrize("spec", EVERY)
def test_closing_frees_every_widget_and_leaves_the_others_alive(panel, spec, gallery):
    gallery.tell("close('twin'); counted = len(_instances)")
    twin = gallery.open_twin(spec)
    assert gallery.ask("len(_instances) > counted")
    gallery.tell("close('twin')")
    expect(twin.root).to_have_count(0)
    assert gallery.ask("len(_instances) - counted") == 0
    before = panel.screen()
    panel.do(spec.typed)
    panel.wait_for_change(before)
