"""Warnings that are kept for the one who asked, and given once."""

import threading
import warnings

import pytest

import ragkit as rk
from ragkit.frames import warn
from ragkit.frames.messages import warnings_kept


def test_a_block_keeps_its_warnings_and_the_next_gives_them_again():
    with warnings.catch_warnings(record=True) as caught, warnings_kept() as kept:
        warnings.simplefilter("always")
        warn("one")
        with warnings_kept() as inner:
            warn("two")
        warn("three")
    assert kept == ["one", "three"] and inner == ["two"] and not caught
    with pytest.warns(rk.RetrievalWarning, match="four"):
        warn("four")


def test_an_error_ends_the_keeping():
    with pytest.raises(ZeroDivisionError), warnings_kept():
        raise ZeroDivisionError
    with pytest.warns(rk.RetrievalWarning, match="after"):
        warn("after")


def test_threads_keep_their_own():
    told = {}

    def work(name):
        with warnings_kept() as kept:
            barrier.wait()
            warn(name)
            barrier.wait()
        told[name] = list(kept)

    barrier = threading.Barrier(3)
    threads = [threading.Thread(target=work, args=(name,)) for name in "abc"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert told == {"a": ["a"], "b": ["b"], "c": ["c"]}
