"""Cosine, dot product and distance at the edges of floating point."""

from __future__ import annotations

import warnings
from fractions import Fraction
from sys import float_info

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from ragkit.similarity import (
    as_matrix,
    cosine_similarity,
    dot_similarity,
    euclidean_distance,
    gather_vectors,
    normalize_rows,
)
from tests.conftest import golden

# --- worked examples -----------------------------------------------------------------------------------


def test_cosine_by_hand():
    # (3*4 + 4*3) / (5 * 5) = 24/25
    assert cosine_similarity([3, 4], [4, 3]) == pytest.approx(0.96, abs=1e-15)


def test_a_vector_with_itself_is_one_and_with_its_opposite_minus_one():
    for v in ([0.7, 0.7, 0.7], [1, 1], [1e200, 1e200], [1e-200, 1e-200], [5e-324, 0]):
        assert cosine_similarity(v, v) == pytest.approx(1, abs=1e-15)
        assert cosine_similarity(v, [-x for x in v]) == pytest.approx(-1, abs=1e-15)


def test_a_zero_vector_is_similar_to_nothing_and_warns_of_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scores = cosine_similarity([0.3, -0.4], [[0, 0], [0.6, -0.8], [-0.3, 0.4]])
    np.testing.assert_allclose(scores, [0, 1, -1], atol=1e-15)
    assert cosine_similarity([0, 0], [0, 0]) == 0


def test_large_float32_and_wrapping_int8_are_computed_in_float64():
    assert cosine_similarity(np.full(16, 1e20, np.float32), np.full(16, 2e20, np.float32)) == pytest.approx(
        1, abs=1e-6
    )
    a, b = np.array([100, 100, 27], np.int8), np.array([-100, 100, 27], np.int8)
    assert cosine_similarity(a, a) == pytest.approx(1)
    # (-10000 + 10000 + 729) / (10000 + 10000 + 729)
    assert cosine_similarity(a, b) == pytest.approx(729 / 20729)


def test_distance_is_exact_where_squares_overflow():
    assert euclidean_distance([3e200, 0], [0, 4e200]) == pytest.approx(5e200)
    assert euclidean_distance([0.1], [0.1]) == 0


def test_a_product_is_right_where_its_terms_overflow_and_infinite_where_it_does():
    # 1e200 * 2e200 - 2e200 * 1e200 = 0; each term is 2e400.
    assert dot_similarity([1e200, 2e200], [2e200, -1e200]) == 0
    # 1e300 * 1e10 - 1e300 * 9.9e9 = 1e308
    assert dot_similarity([1e300, 1e300], [1e10, -9.9e9]) == pytest.approx(1e308)
    assert dot_similarity([1e200, 1], [1e-200, 1]) == pytest.approx(2)
    assert dot_similarity([1e200], [1e200]) == np.inf
    assert dot_similarity([1e200], [-1e200]) == -np.inf
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table = dot_similarity([[1e200, 1e200], [1, 2]], [[1e200, -1e200], [3, 4]])
    np.testing.assert_allclose(table, [[0, 7e200], [-1e200, 11]])


def test_a_distance_is_right_beside_one_of_another_size():
    # The first two rows are near each other on a scale that the third one dwarfs.
    rows = [[3e-200, 0], [0, 4e-200], [1e200, 0], [0, 0]]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table = euclidean_distance(rows, rows)
    assert table[0, 1] == pytest.approx(5e-200)
    assert table[0, 2] == table[3, 2] == 1e200
    assert table[0, 3] == 3e-200
    assert (np.diag(table) == 0).all()
    # The difference overflows, its half does not: the distance is 2e308, beyond 1.8e308, or 1.6e308, below.
    assert euclidean_distance([1e308], [-1e308]) == np.inf
    assert euclidean_distance([8e307], [-8e307]) == 1.6e308


def test_shapes_follow_the_inputs():
    rows = [[1, 0], [0, 1], [1, 1]]
    assert isinstance(cosine_similarity([1, 0], [0, 1]), float)
    assert cosine_similarity([1, 0], rows).shape == (3,)
    assert cosine_similarity(rows, [1, 0]).shape == (3,)
    assert cosine_similarity(rows, rows[:2]).shape == (3, 2)


# --- bad input ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("function", [cosine_similarity, dot_similarity, euclidean_distance])
def test_vectors_of_two_lengths_are_refused_with_both_sizes(function):
    with pytest.raises(ValueError, match="got 2 and 4"):
        function([1.0, 1.0], [1.0, 1.0, 1.0, 1.0])
    with pytest.raises(ValueError, match="got 1 and 3"):
        function(np.ones((3, 1)), np.ones(3))
    with pytest.raises(ValueError, match="got 1 and 3"):
        function(np.ones(1), np.ones(3))


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
def test_nan_and_infinity_are_refused_with_their_row(bad):
    with pytest.raises(ValueError, match="row 1 holds NaN or infinity"):
        cosine_similarity([1, 2], [[1, 2], [bad, 1]])
    with pytest.raises(ValueError, match="'b' holds NaN"):
        as_matrix([[1, 2], [bad, 1]], "vectors", ["a", "b"])


def test_ragged_rows_and_text_are_refused():
    with pytest.raises(ValueError, match="'a' has 2 numbers, 'b' has 3"):
        as_matrix([[1, 2], [1, 2, 3]], "vectors", ["a", "b"])
    with pytest.raises(TypeError, match="must be numbers"):
        as_matrix(["a", "b"])
    with pytest.raises(ValueError, match="shape"):
        as_matrix(np.ones((2, 2, 2)))


def test_vectors_are_looked_up_by_id_or_by_row():
    table = {"a": [1, 0], "b": np.array([0, 1], np.float32)}
    assert gather_vectors(table, ["b", "a", "b"]).tolist() == [[0, 1], [1, 0], [0, 1]]
    assert gather_vectors([[1, 2], [3, 4]], pd.Series(["x", "y"])).tolist() == [[1, 2], [3, 4]]
    with pytest.raises(ValueError, match="lacks 1 of the run's units: 'z'"):
        gather_vectors(table, ["a", "z"])
    with pytest.raises(ValueError, match="2 rows but the run has 3"):
        gather_vectors([[1, 2], [3, 4]], ["x", "y", "z"])
    assert gather_vectors(table, []).shape == (0, 2)


# --- properties -------------------------------------------------------------------------------------------

rows = hnp.arrays(
    np.float64, (3, 4), elements=st.floats(-1e6, 1e6).map(lambda x: 0.0 if abs(x) < 1e-6 else x)
)


@given(rows, rows, st.floats(1e-100, 1e100))
def test_cosine_is_symmetric_bounded_and_blind_to_scale(a, b, c):
    scores = cosine_similarity(a, b)
    assert (np.abs(scores) <= 1).all()
    np.testing.assert_allclose(scores, cosine_similarity(b, a).T, atol=1e-15)
    np.testing.assert_allclose(scores, cosine_similarity(a * c, b), atol=1e-12)


@given(rows, rows)
def test_matrix_functions_equal_their_definitions_pair_by_pair(a, b):
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            assert dot_similarity(a, b)[i, j] == pytest.approx(
                sum(p * q for p, q in zip(x, y)), rel=1e-9, abs=1e-3
            )
            want = sum((p - q) ** 2 for p, q in zip(x, y)) ** 0.5
            assert euclidean_distance(a, b)[i, j] == pytest.approx(want, rel=1e-9)
            length = np.linalg.norm(x) * np.linalg.norm(y)
            want = x @ y / length if length else 0.0
            assert cosine_similarity(a, b)[i, j] == pytest.approx(want, abs=1e-12)


@given(hnp.arrays(np.float32, (3, 5), elements=st.floats(-(2.0**100), 2.0**100, width=32)))
def test_normalised_rows_have_length_one_or_zero_and_keep_their_dtype(x):
    unit = normalize_rows(x)
    assert unit.dtype == np.float32
    lengths = np.linalg.norm(unit.astype(np.float64), axis=1)
    np.testing.assert_allclose(lengths, (np.abs(x).max(axis=1) > 0).astype(float), atol=1e-6)


wide = st.builds(
    lambda digits, power: digits * 10.0**power,
    st.floats(-9.9, 9.9).filter(lambda x: abs(x) > 0.1 or x == 0),
    st.integers(-307, 306),
)
wide_tables = st.integers(1, 4).flatmap(
    lambda d: st.tuples(
        *[st.lists(st.lists(wide, min_size=d, max_size=d), min_size=1, max_size=3) for _ in range(2)]
    )
)
SLIP, TINY, LARGEST = Fraction(1, 10**14), Fraction(1, 10**320), Fraction(float_info.max)


@given(wide_tables)
def test_products_and_distances_of_any_size_equal_exact_arithmetic(tables):
    products, distances = dot_similarity(*tables), euclidean_distance(*tables)
    for i, x in enumerate(tables[0]):
        for j, y in enumerate(tables[1]):
            terms = [Fraction(p) * Fraction(q) for p, q in zip(x, y)]
            exact, room = sum(terms), sum(map(abs, terms)) * SLIP + TINY
            if np.isfinite(products[i, j]):
                assert abs(Fraction(products[i, j]) - exact) <= room
            else:
                assert exact + room > LARGEST if products[i, j] > 0 else exact - room < -LARGEST
            squares = sum((Fraction(p) - Fraction(q)) ** 2 for p, q in zip(x, y))
            if np.isfinite(distances[i, j]):
                distance = Fraction(distances[i, j])
                assert max(distance * (1 - SLIP) - TINY, 0) ** 2 <= squares
                assert squares <= (distance * (1 + SLIP) + TINY) ** 2
            else:
                assert squares * (1 + SLIP) > LARGEST**2


# --- recorded from expo-ai-kit and langchain-core (JavaScript) ---------------------------------------------


def _usable(case: dict) -> bool:
    """Leave out the recorded defects: overflow to NaN or 0, unchecked and non-finite input."""
    numbers = [x for side in ("a", "b") for x in case["input"][side]]
    plain = all(isinstance(x, (int, float)) and (x == 0 or 1e-150 < abs(x) < 1e150) for x in numbers)
    return plain and (bool(numbers) or "error" in case)


CASES = [case for case in golden("cosine_similarity") if _usable(case)]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_cosine_equals_the_recorded_value(case):
    a, b = case["input"]["a"], case["input"]["b"]
    if "error" in case:
        with pytest.raises(ValueError, match=f"got {len(a)} and {len(b)}"):
            cosine_similarity(a, b)
    else:
        assert cosine_similarity(a, b) == pytest.approx(case["output"], abs=1e-12)


FUNCTIONS = {
    "cosineSimilarity": cosine_similarity,
    "innerProduct": dot_similarity,
    "euclideanDistance": euclidean_distance,
}


@pytest.mark.parametrize(
    "case",
    [
        case
        for case in golden("langchain_math")
        if case["input"]["function"] in FUNCTIONS
        and "output" in case
        and all(isinstance(x, (int, float)) for m in ("X", "Y") for row in case["input"][m] for x in row)
        and all(case["input"][m] and all(case["input"][m]) for m in ("X", "Y"))
        and len({len(row) for m in ("X", "Y") for row in case["input"][m]}) == 1
    ],
    ids=lambda case: case["name"],
)
def test_matrix_functions_equal_the_recorded_values(case):
    got = FUNCTIONS[case["input"]["function"]](case["input"]["X"], case["input"]["Y"])
    np.testing.assert_allclose(got, case["output"], atol=1e-12)
