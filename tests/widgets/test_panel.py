"""The contract of every panel, on a toy: state, errors, code, snapshot, closing. No browser, no kernel."""

import asyncio
import time
import warnings

import pandas as pd
import pytest

from ragkit.frames import RetrievalWarning
from ragkit.widgets import html
from ragkit.widgets.controls import (
    check_value,
    checkbox,
    dropdown,
    float_slider,
    int_slider,
    label_width,
    set_options,
)
from ragkit.widgets.number import decimals
from ragkit.widgets.panel import Panel
from ragkit.widgets.picture import Picture
from ragkit.widgets.throttle import Throttle


class Result:
    def __init__(self, value):
        self.value = value


class Toy(Panel):
    """k numbers, times lambda; k=3 is broken, k=5 warns."""

    name = "toy"

    def __init__(self, k=2, lambda_=0.5, controls=None):
        self.calls = 0
        super().__init__(
            {
                "k": int_slider("k", k, low=0, high=10, tooltip="how many"),
                "lambda_": float_slider("lambda_", lambda_, low=0, high=1, step=0.05, tooltip="how much"),
            },
            shared=controls,
        )
        self.picture = Picture(3, 2)
        self._start([*self.controls.values(), self._message, self._box("picture"), self._box("table")])

    def _compute(self, state):
        self.calls += 1
        if state["k"] == 3:
            raise ValueError("bad k <3>")
        if state["k"] == 5:
            warnings.warn("five is a trap", RetrievalWarning, stacklevel=2)
        return Result(pd.DataFrame({"n": [i * state["lambda_"] for i in range(state["k"])]}))

    def _render(self, state, result):
        return {"table": html.wrap(html.table(result.value))}

    def _draw(self, state, result):
        yield "picture", self.picture.draw(lambda ax: ax.plot(result.value["n"]), f"{state['k']} numbers")

    def _program(self, params, setup):
        numbers = f"[i * {params['lambda_']} for i in range({params['k']})]"
        return f"import pandas as pd\nvalue = pd.DataFrame({{'n': {numbers}}})\n"


@pytest.fixture
def toy():
    panel = Toy()
    yield panel
    panel.close()


def live_widgets():
    from ipywidgets.widgets import widget

    return set(widget._instances)


# --- state ------------------------------------------------------------------------------------------------


def test_a_slider_changes_params_value_and_picture(toy):
    before = toy.pictures["picture"]
    toy.controls["k"].value = 4
    assert toy.params == {"k": 4, "lambda_": 0.5}
    assert toy.value["n"].tolist() == [0.0, 0.5, 1.0, 1.5]
    assert toy.pictures["picture"] != before


@pytest.mark.parametrize("start", [0.3, 0.4, 0.6, 0.7])
def test_a_new_panel_computes_once(start):
    panel = Toy(lambda_=start)
    panel._repr_mimebundle_()
    assert (panel.calls, panel.params["lambda_"]) == (1, start)
    panel.close()


def test_one_move_of_a_slider_is_one_computation(toy):
    for k in (1, 4, 8):
        toy.controls["k"].value = k
    assert toy.calls == 1 + 3


def test_the_ends_of_a_slider_can_be_reached_and_binary_noise_is_gone(toy):
    toy.controls["lambda_"].value = 1.0
    assert toy.params["lambda_"] == 1.0
    toy.controls["lambda_"].value = 0.1 + 0.2
    assert repr(toy.params["lambda_"]) == "0.3"
    table = toy.value
    calls = toy.calls
    toy.controls["lambda_"].value = 0.3
    assert toy.calls == calls and toy.value is table
    assert toy.controls["lambda_"].box.value == "0.30"


def test_a_value_given_with_more_decimals_is_kept_and_shown():
    panel = Toy(lambda_=0.3125)
    assert panel.params["lambda_"] == 0.3125
    assert panel.controls["lambda_"].box.value == "0.3125"
    panel.close()


def test_a_value_outside_the_range_widens_it():
    panel = Toy(k=40)
    assert panel.params["k"] == 40
    panel.close()


def test_a_batch_of_changes_computes_once(toy):
    toy.set(k=7, lambda_=0.25)
    assert toy.calls == 2 and toy.params == {"k": 7, "lambda_": 0.25}


def test_the_state_comes_back_from_params(toy):
    toy.set(k=7, lambda_=0.25)
    again = Toy(**toy.params)
    pd.testing.assert_frame_equal(again.value, toy.value)
    again.close()


def test_an_unknown_control_is_named(toy):
    with pytest.raises(ValueError, match=r"toy has no control \['kk'\]; it has \['k', 'lambda_'\]"):
        toy.set(kk=1)
    with pytest.raises(ValueError, match=r"controls names \['kk'\]"):
        Toy(controls={"kk": toy.controls["k"]})
    with pytest.raises(ValueError, match=r"Did you mean 'lambda_'\?$"):
        toy.set(lambda_mult=0.5)


def test_a_number_outside_the_range_of_its_slider_is_refused_and_nothing_is_set(toy):
    before, calls = dict(toy.params), toy.calls
    with pytest.raises(
        ValueError, match=r"^lambda_ must be in \[0, 1\] \(the range of its slider\); got 70\.$"
    ):
        toy.set(k=7, lambda_=70)
    with pytest.raises(
        TypeError, match=r"^lambda_ must be a number in \[0, 1\] .*; got 'half' of type str\.$"
    ):
        toy.set(lambda_="half")
    assert toy.params == before and toy.calls == calls and toy.controls["k"].value == before["k"]
    toy.set(lambda_=1)  # the ends are in it
    assert toy.params["lambda_"] == 1


def test_a_choice_that_is_not_on_the_list_is_answered_with_the_list():
    control = dropdown("fusion", "rrf", ["rrf", "linear", "min"], tooltip="")
    with pytest.raises(ValueError) as caught:
        check_value("fusion", control, "linaer")
    assert str(caught.value) == (
        "fusion cannot be 'linaer'; choose one of 'rrf', 'linear', 'min'. Did you mean 'linear'?"
    )
    check_value("fusion", control, "min")
    control.close()


# --- errors and warnings ------------------------------------------------------------------------------------


def test_an_error_shows_in_the_panel_and_the_last_good_result_stays(toy):
    good, picture = toy.value, toy.pictures["picture"]
    toy.controls["k"].value = 3
    assert toy.error == "ValueError: bad k <3>"
    assert 'role="alert"' in toy._message.value and "bad k &lt;3&gt;" in toy._message.value
    assert toy.value is good and toy.params["k"] == 2 and toy.pictures["picture"] == picture
    toy.controls["k"].value = 4
    assert toy.error is None and "bad k" not in toy._message.value and len(toy.value) == 4


def test_going_back_to_the_last_good_setting_clears_the_error(toy):
    toy.controls["k"].value = 3
    toy.controls["k"].value = 2
    assert toy.error is None and "bad k" not in toy._message.value


def test_a_warning_shows_in_the_panel_beside_the_result(toy):
    toy.controls["k"].value = 5
    assert toy.warnings == ["five is a trap"] and "five is a trap" in toy._message.value
    toy.controls["k"].value = 6
    assert toy.warnings == [] and "trap" not in toy._message.value


def test_a_setting_that_fails_from_the_start_raises_and_leaves_no_widget():
    before = live_widgets()
    with pytest.raises(ValueError, match="bad k"):
        Toy(k=3)
    assert live_widgets() == before


# --- several panels -----------------------------------------------------------------------------------------


def test_two_panels_do_not_touch_each_other():
    one, two = Toy(lambda_=0.2), Toy(lambda_=0.9)
    one.controls["lambda_"].value = 0.5
    assert (two.calls, two.params["lambda_"]) == (1, 0.9)
    one.close()
    two.close()


def test_two_panels_can_share_a_slider_and_one_outlives_the_other():
    before = live_widgets()
    one = Toy(k=4)
    two = Toy(k=6, controls={"lambda_": one.controls["lambda_"]})
    one.controls["lambda_"].value = 0.25
    assert one.params["lambda_"] == two.params["lambda_"] == 0.25
    assert (one.params["k"], two.params["k"]) == (4, 6)
    one.close()
    two.controls["lambda_"].value = 0.75
    assert two.params["lambda_"] == 0.75 and one.params["lambda_"] == 0.25
    two.close()
    assert live_widgets() == before


def test_thirty_panels_opened_and_closed_leave_no_widget_alive():
    before = live_widgets()
    for _ in range(30):
        panel = Toy()
        panel.widget._repr_mimebundle_()
        panel.close()
    assert live_widgets() == before


def test_a_closed_panel_can_be_collected():
    import gc
    import weakref

    panel = Toy()
    panel.close()
    ref = weakref.ref(panel)
    del panel
    gc.collect()
    assert ref() is None


# --- taking away --------------------------------------------------------------------------------------------


def test_the_code_gives_the_value(toy):
    toy.set(k=4, lambda_=0.25)
    names = {}
    exec(toy.code(), names)
    pd.testing.assert_frame_equal(names["value"], toy.value)


def test_the_code_box_opens_and_follows_the_sliders(toy):
    toy._code_toggle.value = True
    assert "range(2)" in toy._code_box.value and toy._code_box.layout.display is None
    toy.controls["k"].value = 4
    assert "range(4)" in toy._code_box.value


def test_the_snapshot_is_one_page_without_network(toy, tmp_path):
    page = toy.snapshot(tmp_path / "toy.html")
    assert (tmp_path / "toy.html").read_text(encoding="utf-8") == page
    assert "<svg" in page and "<table" in page and "range(2)" in page
    for outside in ("src=", "href=", "@import", "<script"):
        assert outside not in page.replace('xlink:href="#', "").replace("xlink:href='#", "")


def test_the_repr_says_what_is_on_show(toy):
    assert repr(toy) == "toy(k=2, lambda_=0.5): 2 rows"


def test_without_a_front_end_the_picture_and_the_table_are_there(toy):
    bundle = toy._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in bundle
    assert "data:image/png;base64," in bundle["text/html"] or "<svg" in bundle["text/html"]
    assert "<table" in bundle["text/html"] and bundle["text/plain"] == repr(toy)


def test_a_closed_panel_still_shows_what_it_showed():
    panel = Toy()
    panel.close()
    bundle = panel._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" not in bundle and "<table" in bundle["text/html"]


# --- controls -----------------------------------------------------------------------------------------------


def test_new_options_keep_the_choice_and_compute_nothing():
    class Choosing(Toy):
        def __init__(self):
            self.calls = 0
            Panel.__init__(self, {"fusion": dropdown("fusion", "max", ["rrf", "max"], tooltip="t")})
            self._start([self.controls["fusion"]])

        def _compute(self, state):
            self.calls += 1
            return Result(pd.DataFrame({"n": [state["fusion"]]}))

        def _render(self, state, result):
            return {}

    panel = Choosing()
    set_options(panel, panel.controls["fusion"], [("rrf", "rrf"), ("linear", "linear"), ("max", "max")])
    assert (panel.calls, panel.controls["fusion"].value, panel.params) == (1, "max", {"fusion": "max"})
    set_options(panel, panel.controls["fusion"], [("rrf", "rrf"), ("linear", "linear")])
    assert (panel.calls, panel.params) == (2, {"fusion": "rrf"})
    panel.close()


def test_every_control_has_a_tooltip_and_room_for_its_label(toy):
    made = [*toy.controls.values(), checkbox("on", True, tooltip="t"), dropdown("d", 1, [1], tooltip="t")]
    assert all(control.tooltip for control in made)
    assert int(label_width(["weights['keyword']"])[:-2]) >= 18 * 7


@pytest.mark.parametrize(("value", "digits"), [(0.5, 2), (0.125, 3), (1 / 3, 6), (0.1 + 0.2, 2), (2, 2)])
def test_decimals_are_those_a_person_would_write(value, digits):
    assert decimals(value, 2) == digits


# --- time ---------------------------------------------------------------------------------------------------


def test_the_throttle_runs_first_and_last_and_little_between():
    async def drag():
        seen, now = [], [0]
        throttle = Throttle(lambda: seen.append(now[0]), lambda: 0.05)
        for step in range(40):
            now[0] = step
            throttle()
            await asyncio.sleep(0.005)
        await asyncio.sleep(0.1)
        return seen

    seen = asyncio.run(drag())
    assert seen[0] == 0 and seen[-1] == 39 and 2 <= len(seen) < 20


def test_the_throttle_runs_every_request_where_no_loop_runs():
    seen = []
    throttle = Throttle(lambda: seen.append(1), lambda: 10.0)
    for _ in range(5):
        throttle()
    assert len(seen) == 5


class Slow(Toy):
    """Takes longer than a step of a slider may take, and notes what its message line says meanwhile."""

    def _compute(self, state):
        self.said = self._message.value
        time.sleep(0.16)
        return super()._compute(state)


def test_slow_work_is_throttled_and_says_that_it_is_working():
    async def drag(panel):
        for k in (4, 6, 7, 8, 9):
            panel.controls["k"].handle.set_state({"value": k})  # as a message from the page does
            await asyncio.sleep(0)
        await asyncio.sleep(0.4)

    panel = Slow()
    asyncio.run(drag(panel))
    assert panel.params["k"] == 9 and panel.calls < 6
    assert "working" in panel.said
    panel.close()


def test_what_code_sets_is_there_in_its_next_line_however_slow():
    async def cell(panel):
        seen = []
        for k in (4, 6, 7):
            panel.controls["k"].value = k
            seen.append((panel.params["k"], len(panel.value)))
        return seen

    panel = Slow()
    assert asyncio.run(cell(panel)) == [(4, 4), (6, 6), (7, 7)]
    panel.close()


# --- pictures -----------------------------------------------------------------------------------------------


def test_a_picture_is_redrawn_in_place_and_depends_on_nothing_else():
    picture = Picture(3, 2)
    first = picture.draw(lambda ax: ax.plot([1, 2]), "one")
    second = picture.draw(lambda ax: ax.plot([2, 1]), "two")
    assert first != second and len(picture.figure.axes) == 1
    assert picture.draw(lambda ax: ax.plot([1, 2]), "one") == first


def test_a_picture_has_alternative_text_and_follows_the_theme():
    svg = Picture(3, 2).draw(lambda ax: ax.plot([1, 2], color="#000000"), 'ranks of "a" & <b>')
    assert 'role="img" aria-label="ranks of &quot;a&quot; &amp; &lt;b&gt;"' in svg
    assert "currentColor" in svg and "#000000" not in svg


def test_text_in_a_picture_is_escaped():
    svg = Picture(3, 2).draw(lambda ax: ax.set_title("<script>alert(1)</script>"), "x")
    assert "<script>" not in svg


def test_an_exported_notebook_shows_the_panel_standing_still(toy):
    nbformat = pytest.importorskip("nbformat")
    nbconvert = pytest.importorskip("nbconvert")
    from nbformat import v4

    bundle = {k: v for k, v in toy._repr_mimebundle_().items() if k.startswith("text/")}
    cell = v4.new_code_cell(
        "panel", outputs=[v4.new_output("execute_result", data=bundle, execution_count=1)]
    )
    page, _ = nbconvert.HTMLExporter().from_notebook_node(v4.new_notebook(cells=[cell]))
    assert nbformat.validate is not None and 'class="rk-table"' in page and "2 numbers" in page
