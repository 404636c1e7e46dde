"""What is shown is escaped."""

from __future__ import annotations

import pandas as pd
import pytest

import ragkit as rk

EVIL = "<img src=x onerror=alert(1)> & <b>bold</b> </td></tr></table><script>1</script>"


def run_of(*docs, query="q"):
    return rk.as_run({query: list(docs)})


def test_text_ids_queries_and_names_are_escaped():
    html = rk.show(run_of(EVIL), {EVIL: EVIL}, queries={"q": EVIL})._repr_html_()
    html += rk.show({EVIL: run_of(EVIL)}, {EVIL: EVIL})._repr_html_()
    assert "&lt;img" in html
    assert "<img" not in html
    assert "<script" not in html


def test_several_runs_stand_side_by_side():
    frame = rk.show({"a": run_of("x", "y"), "b": run_of("y")}, {"x": "ex", "y": "why"}).frame
    assert frame.values.tolist() == [["q", 1, "x · ex", "y · why"], ["q", 2, "y · why", ""]]


def test_titles_lead_and_long_texts_are_cut():
    docs = pd.DataFrame({"doc_id": ["x"], "title": ["T"], "text": ["word " * 100]})
    text = rk.show(run_of("x"), docs, width=20).frame["text"][0]
    assert text.startswith("T · word")
    assert len(text) <= 20


def test_empty_runs_and_top_k():
    assert "no results" in rk.show(rk.as_run({}))._repr_html_()
    assert len(rk.show(run_of("x", "y", "z"), top_k=2).frame) == 2
    with pytest.raises(ValueError, match="at least one run"):
        rk.show({})
    with pytest.raises(ValueError, match="top_k must be"):
        rk.show(run_of("x"), top_k=-1)
