"""Numbers that are dragged or typed, and the marks that a dragged one snaps to. No browser, no kernel."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ragkit as rk
from ragkit.widgets import explore, tune_fusion, tune_mmr
from ragkit.widgets.controls import float_slider, int_slider
from ragkit.widgets.ruler import Ruler
from ragkit.widgets.stops import REACH, snap

DOCS = pd.DataFrame(
    {
        "doc_id": ["crane", "tower", "mint", "coin", "tea", "wind", "marsh", "owl"],
        "text": [
            "The crane dances in the marsh before the crane flies south.",
            "A tower crane lifts steel; the wind speed limit of the crane is posted below.",
            "Mint coins and mint leaves share a word.",
            "A coin is struck at the royal mint from a blank of nickel.",
            "Tea with mint leaves is sweet.",
            "Wind speed is measured in knots by ships.",
            "A marsh is flooded ground where the wind bends grey reeds.",
            "The owl hunts at night over the marsh.",
        ],
    }
)
QUERIES = pd.DataFrame({"query_id": ["q1", "q2"], "text": ["crane wind", "mint marsh"]})
WORDS = ["crane", "wind", "mint", "marsh", "coin"]


def embed(texts):
    return np.array([[t.casefold().count(w) + 0.1 * n for n, w in enumerate(WORDS)] for t in texts])


INDEX, STORE = rk.KeywordIndex(DOCS), rk.VectorStore(DOCS, embed=embed)
RUNS = {"keyword": INDEX.search(QUERIES), "vector": STORE.search(QUERIES)}


def number(value=0.5, **options):
    options = {"low": 0.0, "high": 1.0, "step": 0.01, "tooltip": "Right: more."} | options
    return float_slider("weight", value, **options)


def drag(control, to):
    """Move a handle as a message from the page does."""
    control.handle.set_state({"value": to})


def type_in(control, text):
    control.box.set_state({"value": text})


# --- the number -----------------------------------------------------------------------------------------


def test_handle_box_and_value_say_the_same():
    control = number(0.25)
    assert (control.value, control.handle.value, control.box.value) == (0.25, 0.25, "0.25")
    drag(control, 0.4)
    assert (control.value, control.handle.value, control.box.value) == (0.4, 0.4, "0.40")
    control.value = 0.7
    assert (control.value, control.handle.value, control.box.value) == (0.7, 0.7, "0.70")


def test_a_typed_number_is_kept_exactly_though_the_handle_moves_in_steps():
    control = number(step=0.05)
    type_in(control, "0.4966")
    assert control.value == 0.4966 and control.box.value == "0.4966"
    assert control.handle.value == 0.5  # the nearest of its steps: elsewhere the page would round, and say so
    drag(control, 0.5)
    assert control.value == 0.4966  # the page answers with the value it was given: nobody has moved


def test_a_step_of_the_handle_leads_on_from_where_it_stands():
    control = number()
    type_in(control, "0.4966")
    drag(control, 0.51)
    assert control.value == 0.51


@pytest.mark.parametrize("text", ["", "half", "nan", "inf", "1e999"])
def test_what_is_no_number_changes_nothing(text):
    control = number()
    type_in(control, text)
    assert control.value == 0.5 and control.box.value == "0.50"


@pytest.mark.parametrize(("text", "value"), [("7", 1.0), ("-7", 0.0), (" .25 ", 0.25), ("1e-1", 0.1)])
def test_what_is_typed_stays_in_range_and_is_written_one_way(text, value):
    control = number()
    type_in(control, text)
    assert control.value == value and control.box.value == f"{value:.2f}"


def test_whole_numbers_are_whole_and_typed_between_the_steps():
    control = int_slider("size", 400, low=40, high=2000, step=20, tooltip="Right: longer.")
    type_in(control, "415")
    assert control.value == 415 and isinstance(control.value, int)
    assert control.handle.value == 420 and control.box.value == "415"
    drag(control, 440)
    assert control.value == 440 and isinstance(control.value, int)


@given(st.floats(0, 1), st.floats(0, 1))
def test_the_value_is_what_was_set_whatever_came_before(first, then):
    control = number(first)
    control.value = then
    assert control.value == round(then, 6) and float(control.box.value) == control.value
    assert abs(control.handle.value - control.value) <= 0.005 + 1e-9
    # The page sends back what it was given, perhaps with another last binary digit.
    drag(control, float(np.nextafter(control.handle.value, 2)))
    assert control.value == round(then, 6)
    for part in (control.handle, control.box, control):
        part.close()


def test_one_move_is_one_event_by_hand_by_box_and_by_code():
    control, seen = number(), []
    control.observe(lambda change: seen.append(change["new"]), "value")
    drag(control, 0.6)
    type_in(control, "0.7")
    control.value = 0.8
    assert seen == [0.6, 0.7, 0.8]


def test_the_box_has_a_name_for_those_who_hear_it_and_both_are_greyed_out():
    control = number()
    assert control.box.description == "weight"  # the label of the input; the handle's is no label of anything
    control.disabled = True
    assert control.handle.disabled and control.box.disabled


# --- snapping -------------------------------------------------------------------------------------------

marks_of = st.lists(st.floats(0.001, 0.999), max_size=30)


@given(st.integers(0, 100), st.sampled_from([-0.01, 0.01]), marks_of)
def test_a_snap_goes_on_in_its_direction_over_one_mark_at_most(place, by, marks):
    value = place / 100
    landed = snap(value, by, marks, 0.0, 1.0)
    assert 0.0 <= landed <= 1.0 and (landed - value) * by >= 0
    assert abs(landed - value) < 1.25 * REACH
    between = {m for m in marks if min(value, landed) <= m <= max(value, landed)}
    assert len(between) <= 1
    assert landed == value or len(between) == 1  # it moves for a mark, and for nothing else
    assert landed not in marks or landed == value in (0.0, 1.0)


@given(st.integers(1, 99), st.sampled_from([-0.01, 0.01]), st.floats(0.001, 0.999))
def test_a_lone_mark_is_snapped_to_from_both_sides_and_left_again(place, by, mark):
    value = place / 100
    landed = snap(value, by, [mark], 0.0, 1.0)
    ahead = (mark - value) * by
    if abs(mark - value) < 0.0099 and ahead >= 0 and min(mark, 1 - mark) > 0.02:
        assert (landed - mark) * by > 0 and abs(landed - mark) <= REACH / 4
    if ahead < 0 or abs(mark - value) > REACH:
        assert landed == value


@given(st.floats(0.02, 0.97), st.floats(1e-4, 0.009), st.sampled_from([-1, 1]))
def test_a_stretch_between_two_steps_is_stopped_at_from_one_side_or_the_other(start, width, way):
    marks = [start, start + width]
    steps = [n / 100 for n in range(101)][::way]
    stops = {snap(step, way * 0.01, marks, 0.0, 1.0) for step in steps}
    stops |= {snap(step, -way * 0.01, marks, 0.0, 1.0) for step in steps}
    assert any(marks[0] < stop < marks[1] for stop in stops)


def test_the_ends_of_the_axis_are_reached_as_they_are():
    assert snap(0.0, -0.01, [0.001, 0.999], 0.0, 1.0) == 0.0
    assert snap(1.0, 0.01, [0.001, 0.999], 0.0, 1.0) == 1.0


def test_only_the_hand_snaps():
    control = number()
    marks = Ruler(control, 100)
    marks.show([0.0, 0.6049])
    drag(control, 0.6)
    assert 0.6049 < control.value < 0.6075 and control.box.value == f"{control.value:.3f}"
    assert control.handle.value == 0.6  # it stays under the finger
    for value in (0.6, 0.6049):
        type_in(control, str(value))
        assert control.value == value
        control.value = 0.2
        control.value = value
        assert control.value == value
    drag(control, 0.61)
    drag(control, 0.6)
    assert control.value == 0.6  # the mark lies behind
    drag(control, 0.61)
    assert control.value == 0.61
    marks.show(None)
    drag(control, 0.6)
    drag(control, 0.61)
    assert control.value == 0.61


def test_two_rulers_of_one_number_both_count_until_they_go():
    control = number()
    one, two = Ruler(control, 100), Ruler(control, 100)
    one.show([0.55])
    two.show([0.655])
    drag(control, 0.65)
    assert control.value > 0.655
    two.release()
    drag(control, 0.64)
    drag(control, 0.65)
    assert control.value == 0.65


# --- in the panels --------------------------------------------------------------------------------------


def opened():
    hybrid = rk.HybridSearch(INDEX, STORE)
    yield tune_fusion(RUNS, queries=QUERIES, method="linear", top_k=3), "weight", "path"
    yield tune_mmr(RUNS["vector"], STORE, queries=QUERIES, top_k=4), "lambda_", "path"
    yield explore(hybrid, QUERIES, plots=[], lambda_=0.5, top_k=4), "lambda_", "path"
    yield explore(hybrid, QUERIES, plots=[], top_k=4), "weight", "weights"


@pytest.mark.parametrize("case", range(4), ids=["tune_fusion", "tune_mmr", "lab-lambda", "lab-weight"])
def test_a_drag_stops_just_past_each_mark_and_params_value_and_code_follow(case):
    for n, (panel, name, kind) in enumerate(opened()):
        if n != case:
            panel.close()
            continue
        more = panel._result.more if hasattr(panel._result, "more") else panel._result._asdict()
        path = more[kind]
        start = next(c for c in path.columns if str(c).endswith("_from"))
        marks = [m for m in path[start] if 0.05 < m < 0.95]
        assert marks
        control, snapped = panel.controls[name], 0
        for mark in marks:
            control.value = mark - 0.02
            drag(control, np.floor(mark * 100) / 100)
            shown = panel.params[name] if name in panel.params else panel.params["weights"]["keyword"]
            assert shown == control.value and repr(shown) in panel.code()
            if control.value > mark:
                snapped += 1
                row = path[path[start] <= shown].iloc[-1]
                ids = panel.value["doc_id"].tolist()
                assert tuple(row["unit_ids"])[: len(ids)] == tuple(ids)
            assert panel.error is None
        assert snapped
        panel.close()


def test_a_drag_sends_nothing_back_to_the_handle():
    panel = tune_fusion(RUNS, queries=QUERIES, method="linear", top_k=3)
    control, sent = panel.controls["weight"], []
    send = control.handle.send_state
    control.handle.send_state = lambda key=None: (sent.append(key), send(key))[1]
    for place in range(30, 70):
        drag(control, place / 100)
    assert sent == [] and control.handle.value == 0.69
    panel.close()


def test_a_closed_panel_leaves_a_shared_number_free_of_its_marks():
    one = tune_fusion(RUNS, queries=QUERIES, method="linear", top_k=3)
    two = tune_fusion(RUNS, queries=QUERIES, method="max", controls={"weight": one.controls["weight"]})
    assert two.controls["weight"].marks
    one.close()
    assert not two.controls["weight"].marks
    drag(two.controls["weight"], 0.3)
    assert two.params["weight"] == 0.3
    two.close()
