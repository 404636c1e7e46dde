"""Cosine, dot product and Euclidean distance: on vectors and matrices, safe at the edges.

Where squares or products would overflow or vanish, vectors are scaled first, so neither large nor small
numbers spoil a result; a zero vector has cosine 0 with everything; cosines stay inside [-1, 1].
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from ragkit.frames import as_ids, some
from ragkit.frames.mixups import is_store


def as_matrix(vectors: Any, what: str = "vectors", ids: Sequence[str] | None = None) -> np.ndarray:
    """Make a 2-D array of finite floats of a vector or of many.

    Parameters
    ----------
    vectors : array_like, shape (d,) or (n, d)
        Lists, numpy arrays, Series or DataFrames of numbers; float32 and float64 are kept, other
        numbers become float64.
    what : str, default="vectors"
        The parameter's name, for the message.
    ids : sequence of str, optional
        Ids of the rows, for the message.

    Returns
    -------
    ndarray of float32 or float64, shape (n, d)
        The rows.

    Raises
    ------
    ValueError
        If rows differ in length, or a number is NaN or infinite; the message names the row.
    """
    if isinstance(vectors, pd.DataFrame) and not all(map(pd.api.types.is_numeric_dtype, vectors.dtypes)):
        raise TypeError(
            f"{what} must be numbers; got a DataFrame with the columns {list(vectors.columns)}. "
            "Embed texts first, for instance with VectorStore(docs)."
        )
    try:
        array = np.asarray(vectors)
        if array.dtype == object:
            lengths = {len(row) for row in vectors}
            if len(lengths) > 1:
                first = len(vectors[0])
                row = next(n for n, v in enumerate(vectors) if len(v) != first)
                raise ValueError(
                    f"{what} must all have one length; {_row_name(0, ids)} has {first} numbers, "
                    f"{_row_name(row, ids)} has {len(vectors[row])}."
                )
            array = np.array([np.asarray(row, dtype=np.float64) for row in vectors])
    except (TypeError, ValueError) as error:
        if "must all have one length" in str(error):
            raise
        try:  # numpy's own message for a ragged list names no row
            lengths_by_row = [len(row) for row in vectors]
        except TypeError:
            raise TypeError(
                f"{what} must be numbers, one row per unit; got {type(vectors).__name__}."
            ) from None
        first = lengths_by_row[0]
        ragged = next((n for n, length in enumerate(lengths_by_row) if length != first), None)
        if ragged is None:
            raise TypeError(f"{what} must be numbers, one row per unit: {error}.") from None
        raise ValueError(
            f"{what} must all have one length; {_row_name(0, ids)} has {first} numbers, "
            f"{_row_name(ragged, ids)} has {lengths_by_row[ragged]}."
        ) from None
    if array.dtype.kind == "U":
        raise TypeError(
            f"{what} must be numbers; got texts such as {str(array.flat[0])[:40]!r}. "
            "Embed them first, for instance with VectorStore(docs)."
        )
    if array.dtype.kind not in "iuf":
        raise TypeError(f"{what} must be numbers; got an array of {array.dtype}.")
    if array.dtype not in (np.float32, np.float64):
        array = array.astype(np.float64)
    if array.ndim == 1:
        array = array[None, :]
    if array.ndim != 2:
        raise ValueError(
            f"{what} must be one vector or a matrix of rows; got an array of shape {array.shape}."
        )
    for part in _blocks(len(array)):  # a table of True and False for all would be large
        finite = np.isfinite(array[part]).all(axis=1)
        if not finite.all():
            row = part.start + int(np.argmin(finite))
            raise ValueError(f"{what} must be finite; {_row_name(row, ids)} holds NaN or infinity.")
    return array


def _row_name(row: int, ids: Sequence[str] | None) -> str:
    return f"row {row}" if ids is None else repr(ids[row])


def row_squares(rows: np.ndarray) -> np.ndarray:
    """Sum the squares of each row; the rows' own dot products are what the matrix product does fastest.

    Parameters
    ----------
    rows : ndarray of float, shape (n, d)
        Finite rows.

    Returns
    -------
    ndarray of float, shape (n,)
        ``v @ v``, in the dtype given.

    Examples
    --------
    >>> row_squares(np.array([[3.0, 4.0], [0.0, 1.0]])).tolist()
    [25.0, 1.0]
    """
    return (rows[:, None, :] @ rows[:, :, None])[:, 0, 0]


def normalize_rows(vectors: np.ndarray) -> np.ndarray:
    """Scale each row to length 1; a zero row stays zero.

    Parameters
    ----------
    vectors : ndarray of float, shape (n, d)
        Finite rows.

    Returns
    -------
    ndarray of float, shape (n, d)
        ``v / |v|``, in the dtype given.

    Examples
    --------
    >>> normalize_rows(np.array([[3e200, 4e200], [0.0, 0.0]])).tolist()
    [[0.6, 0.8], [0.0, 0.0]]
    """
    with np.errstate(over="ignore", under="ignore"):
        squares = row_squares(vectors)
    least = _LEAST if vectors.dtype == np.float64 else 1e-30
    odd = np.flatnonzero(~((squares > least) & (squares < np.inf)))
    squares[odd] = 1.0
    unit = vectors / np.sqrt(squares)[:, None]
    if len(odd):
        unit[odd] = _scaled_units(vectors[odd])
    return unit


def _scaled_units(vectors: np.ndarray) -> np.ndarray:
    """Scale rows whose squares overflow or vanish: by their largest component first."""
    largest = np.abs(vectors).max(axis=1, keepdims=True, initial=0.0)
    scaled = vectors / np.where(largest == 0, 1, largest).astype(vectors.dtype)
    norms = np.sqrt(row_squares(scaled))[:, None]
    scaled /= np.where(norms == 0, 1, norms)
    return scaled


def row_lengths(rows: np.ndarray) -> np.ndarray:
    """Compute the Euclidean length of each row in float64, by itself and safe from overflow and underflow.

    Parameters
    ----------
    rows : ndarray of float, shape (n, d)
        The rows.

    Returns
    -------
    ndarray of float64, shape (n,)
        ``|v|``; infinite only where the true value exceeds float64.

    Examples
    --------
    >>> [f"{x:.3g}" for x in row_lengths(np.array([[3e200, 4e200], [0, 0], [3e-200, 4e-200]]))]
    ['5e+200', '0', '5e-200']
    """
    squares = np.empty(len(rows))
    with np.errstate(over="ignore", under="ignore"):
        for part in _blocks(len(rows)):  # so that no second matrix is made
            wide = rows[part].astype(np.float64, copy=False)
            squares[part] = np.einsum("ij,ij->i", wide, wide)
    lengths = np.sqrt(squares)
    outside = np.flatnonzero(~((squares > _LEAST) & (squares < np.inf)))
    for part in _blocks(len(outside)):
        lengths[outside[part]] = _scaled_lengths(rows[outside[part]].astype(np.float64))
    return lengths


_LEAST = 1e-280  # a sum of squares below this has lost digits, or all of them
_ROWS = 8192  # rows, or pairs of rows, at a time


def _blocks(n: int) -> Iterator[slice]:
    return (slice(start, start + _ROWS) for start in range(0, n, _ROWS))


def _scaled_lengths(rows: np.ndarray) -> np.ndarray:
    """Compute lengths after scaling each row by a power of two, which rounds nothing."""
    _, power = np.frexp(np.abs(rows).max(axis=1, initial=0.0))
    scaled = np.ldexp(rows, -power[:, None])
    with np.errstate(over="ignore"):
        return np.ldexp(np.sqrt(np.einsum("ij,ij->i", scaled, scaled)), power)


def row_products(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Multiply each row of x with the same row of y, in float64: each pair by itself, whatever the others.

    Parameters
    ----------
    x, y : ndarray of float64, shape (n, d)
        Finite rows.

    Returns
    -------
    ndarray of float64, shape (n,)
        Dot products; infinite only where the true value exceeds float64.

    Examples
    --------
    >>> row_products(np.array([[1e200, 2e200, 1.0]]), np.array([[2e200, -1e200, 5.0]])).tolist()
    [0.0]
    """
    with np.errstate(over="ignore", invalid="ignore"):
        products = np.einsum("ij,ij->i", x, y)
    lost = np.flatnonzero(~np.isfinite(products))
    if len(lost):
        products[lost] = _scaled_products(x[lost], y[lost])
    return products


def _scaled_products(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Compute dot products from mantissas and exponents, scaled by the largest term of each."""
    (a, i), (b, j) = np.frexp(x), np.frexp(y)
    power = (i + j).max(axis=1, initial=0)
    terms = np.ldexp(a * b, i + j - power[:, None])
    with np.errstate(over="ignore"):
        return np.ldexp(terms.sum(axis=1), power)


def row_distances(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Compute the distance of each row of x from the same row of y, in float64 and each by itself.

    Parameters
    ----------
    x, y : ndarray of float64, shape (n, d)
        Finite rows.

    Returns
    -------
    ndarray of float64, shape (n,)
        Distances >= 0; infinite only where the true value exceeds float64.

    Examples
    --------
    >>> x, y = np.array([[3e-200, 0.0], [8e307, 0.0]]), np.array([[0.0, 4e-200], [-8e307, 0.0]])
    >>> [f"{distance:.3g}" for distance in row_distances(x, y)]
    ['5e-200', '1.6e+308']
    """
    with np.errstate(over="ignore"):
        distances = row_lengths(x - y)
        lost = np.flatnonzero(~np.isfinite(distances))  # perhaps only the difference overflowed
        if len(lost):
            distances[lost] = 2 * row_lengths(x[lost] / 2 - y[lost] / 2)
    return distances


def cosine_similarity(a: Any, b: Any) -> Any:
    r"""Cosine of the angle between vectors: :math:`a \cdot b / (|a| |b|)`.

    Parameters
    ----------
    a : array_like, shape (d,) or (n, d)
        One vector or rows of them.
    b : array_like, shape (d,) or (m, d)
        One vector or rows of them.

    Returns
    -------
    float, or ndarray of shape (n,), (m,) or (n, m)
        Cosines in [-1, 1], computed in float64; an axis is there for each input that has rows. A zero
        vector has cosine 0 with everything.

    Raises
    ------
    ValueError
        If the vectors differ in length, or hold NaN or infinity.

    See Also
    --------
    dot_similarity : Without the division by the lengths.
    euclidean_distance : The distance, not a similarity.

    Examples
    --------
    >>> cosine_similarity([3, 4], [4, 3])
    0.96
    >>> cosine_similarity([1, 0], [[2, 0], [0, 5], [0, 0]]).tolist()
    [1.0, 0.0, 0.0]
    """
    x, y = _pair(a, b)
    with np.errstate(over="ignore", under="ignore"):
        squares = row_squares(x), row_squares(y)
    if all(((side > 1e-140) & (side < 1e140)).all() for side in squares):
        table = x @ y.T  # no scaled copies of the rows: to divide the products is less work
        table /= np.sqrt(squares[0])[:, None]
        table /= np.sqrt(squares[1])
    else:
        table = normalize_rows(x) @ normalize_rows(y).T
    return _shaped(np.clip(table, -1.0, 1.0, out=table), a, b)


def dot_similarity(a: Any, b: Any) -> Any:
    r"""Inner product of vectors: :math:`\sum_i a_i b_i`.

    Parameters
    ----------
    a : array_like, shape (d,) or (n, d)
        One vector or rows of them.
    b : array_like, shape (d,) or (m, d)
        One vector or rows of them.

    Returns
    -------
    float, or ndarray of shape (n,), (m,) or (n, m)
        Products in float64. What lies beyond float64, 1.8e308, comes as plus or minus infinity; a sum
        whose terms overflow but cancel does not (its error is relative to the largest term).

    See Also
    --------
    cosine_similarity : The same between vectors of length 1.

    Examples
    --------
    >>> dot_similarity([1, 2], [3, 4])
    11.0
    """
    x, y = _pair(a, b)
    with np.errstate(over="ignore", invalid="ignore"):
        table = x @ y.T
    _mend(table, ~np.isfinite(table), x, y, _scaled_products)
    return _shaped(table, a, b)


def euclidean_distance(a: Any, b: Any) -> Any:
    r"""Straight-line distance between vectors: :math:`\sqrt{\sum_i (a_i - b_i)^2}`.

    Parameters
    ----------
    a : array_like, shape (d,) or (n, d)
        One vector or rows of them.
    b : array_like, shape (d,) or (m, d)
        One vector or rows of them.

    Returns
    -------
    float, or ndarray of shape (n,), (m,) or (n, m)
        Distances >= 0 in float64, exact 0 between equal vectors only; infinite only where the true value
        exceeds float64.

    See Also
    --------
    cosine_similarity : Compares directions, not places.

    Examples
    --------
    >>> euclidean_distance([0, 0], [3, 4])
    5.0
    """
    from scipy.spatial.distance import cdist

    x, y = _pair(a, b)
    table = cdist(x, y)
    # Squares of 1e200 overflow and those of 1e-200 vanish; such pairs are few, and computed one by one.
    wrong = table == np.inf
    if _has_tiny(x) or _has_tiny(y):
        wrong |= table <= np.sqrt(_LEAST)
    _mend(table, wrong, x, y, row_distances)
    return _shaped(table, a, b)


def _has_tiny(rows: np.ndarray) -> bool:
    """Say whether there is a number so small that the square of a difference may vanish."""
    return bool(((rows != 0) & (np.abs(rows) < 1e-120)).any())


def _mend(
    table: np.ndarray,
    wrong: np.ndarray,
    x: np.ndarray,
    y: np.ndarray,
    by: Callable[[np.ndarray, np.ndarray], np.ndarray],
) -> None:
    """Compute the entries of a table that are marked anew, in blocks of pairs of rows."""
    rows, columns = np.nonzero(wrong)
    for part in _blocks(len(rows)):
        table[rows[part], columns[part]] = by(x[rows[part]], y[columns[part]])


def _pair(a: Any, b: Any) -> tuple[np.ndarray, np.ndarray]:
    x, y = (as_matrix(m, name).astype(np.float64, copy=False) for m, name in ((a, "a"), (b, "b")))
    if x.shape[1] != y.shape[1]:
        raise ValueError(
            f"vectors must have the same length to be compared; got {x.shape[1]} and {y.shape[1]} numbers. "
            "Do both come from the same embedder?"
        )
    return x, y


def _shaped(table: np.ndarray, a: Any, b: Any) -> Any:
    """Drop the axis of each input that was a single vector."""
    one_a, one_b = np.ndim(a) == 1, np.ndim(b) == 1
    if one_a and one_b:
        return float(table[0, 0])
    return table[0] if one_a else table[:, 0] if one_b else table


def by_id(vectors: Any) -> Any:
    """Turn what holds vectors by id into a dict with strings as its keys; leave all else as it is.

    Parameters
    ----------
    vectors : object
        Whatever :func:`gather_vectors` takes.

    Returns
    -------
    object
        A dict of id to vector, or the object given. Whole numbers as an index are row numbers, not ids.

    Raises
    ------
    ValueError
        If an id stands twice.

    Examples
    --------
    >>> by_id(pd.DataFrame([[1, 0], [0, 1]], index=["b", "a"]))["a"].tolist()
    [0, 1]
    """
    if isinstance(vectors, Mapping) and any(isinstance(key, (int, np.integer)) for key in vectors):
        return dict(zip(as_ids(list(vectors), "the ids of vectors"), vectors.values()))
    if not isinstance(vectors, (pd.DataFrame, pd.Series)):
        return vectors
    if not len(vectors) or pd.api.types.infer_dtype(vectors.index, skipna=False) != "string":
        return vectors
    if not vectors.index.is_unique:
        twice = vectors.index[vectors.index.duplicated()].unique()
        raise ValueError(f"vectors holds two rows for {some(twice)}; keep one of each.")
    return dict(zip(vectors.index, vectors.to_numpy()))


def gather_vectors(vectors: Any, units: pd.Series | Sequence[str]) -> np.ndarray:
    """Look up the vector of each unit in whatever holds vectors.

    Parameters
    ----------
    vectors : VectorStore, mapping of id to vector, or array_like of shape (n, d)
        An array is aligned with `units`, row by row; a DataFrame or Series whose index holds strings is
        looked up by them.
    units : sequence of str, shape (n,)
        The ids wanted; repeats are allowed.

    Returns
    -------
    ndarray of float, shape (n, d)
        One row per unit.

    Raises
    ------
    ValueError
        If a unit has no vector (it is named), or an array has another number of rows.
    """
    vectors = by_id(vectors)
    if callable(getattr(vectors, "vectors", None)):
        return vectors.vectors(list(units))
    if isinstance(vectors, Mapping):
        names = list(units)
        missing = list(dict.fromkeys(name for name in names if name not in vectors))
        if missing:
            raise ValueError(
                f"vectors lacks {len(missing)} of the run's units: {some(missing)}; "
                "add them or drop their rows."
            )
        if not names:
            return np.empty((0, len(next(iter(vectors.values()), []))))
        return as_matrix([vectors[name] for name in names], "vectors", names)
    if vectors is None or isinstance(vectors, str) or is_store(vectors) or callable(vectors):
        given = "None" if vectors is None else f"a {type(vectors).__name__}"
        raise TypeError(
            "vectors must be a VectorStore, a dict of id to vector or an array aligned with the run; "
            f"got {given}."
        )
    if len(units) == 0 and np.size(vectors) == 0:
        return np.empty((0, 0))
    matrix = as_matrix(vectors)
    if len(matrix) != len(units):
        raise ValueError(
            f"vectors is an array of {len(matrix)} rows but the run has {len(units)}; "
            "give one row per row of the run, or a dict of id to vector."
        )
    return matrix
