"""The notebooks: what their cleaner promises, and what a reader may count on in each."""

from __future__ import annotations

import ast
import importlib.util
import itertools
import re
from pathlib import Path

import nbformat
import pytest

HERE = Path(__file__).parent.parent / "notebooks"
PATHS = sorted(HERE.glob("*.ipynb"))
README = (HERE / "README.md").read_text(encoding="utf-8")

spec = importlib.util.spec_from_file_location("clean", HERE / "clean.py")
cleaner = importlib.util.module_from_spec(spec)
spec.loader.exec_module(cleaner)

each = pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)


def read(path):
    return nbformat.read(path, as_version=4)


def code_of(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def prose_of(notebook):
    return "\n\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")


def made(*, count=1, view=False, extra=None):
    """Make a notebook of one heading and one executed cell that shows a widget."""
    output = nbformat.v4.new_output(
        "execute_result", {"text/plain": "a panel", "text/html": "<b>a panel</b>"}, execution_count=count
    )
    if view:
        output.data[cleaner.WIDGET_VIEW] = {"model_id": "7f3a"}
    cell = nbformat.v4.new_code_cell("panel", execution_count=count, outputs=[output], metadata={"x": 1})
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell("# Why?"), cell])
    notebook.metadata.update(extra or {"language_info": {"name": "python", "version": "3.12.1"}})
    return notebook


# --- the cleaner -----------------------------------------------------------------------------------------


def test_cleaning_takes_away_widget_state_versions_and_random_ids_and_keeps_the_outputs():
    widgets = {"widgets": {"application/vnd.jupyter.widget-state+json": {"state": {"7f3a": {}}}}}
    notebook = cleaner.clean(made(count=7, view=True, extra=widgets))
    text = nbformat.writes(notebook)
    assert "7f3a" not in text and "version" not in text
    assert [cell.id for cell in notebook.cells] == ["c000", "c001"]
    (cell,) = code_of(notebook)
    assert cell.execution_count == cell.outputs[0].execution_count == 1 and cell.metadata == {}
    assert cell.outputs[0].data == {"text/plain": "a panel", "text/html": "<b>a panel</b>"}


def test_two_executions_of_one_notebook_are_cleaned_to_the_same_bytes():
    first, second = made(count=3, view=True), made(count=12)
    assert first.cells[1].id != second.cells[1].id
    assert nbformat.writes(cleaner.clean(first)) == nbformat.writes(cleaner.clean(second))
    again = nbformat.from_dict(first)
    assert nbformat.writes(cleaner.clean(again)) == nbformat.writes(first)


def test_a_cell_that_was_not_executed_is_not_numbered_by_cleaning_so_the_check_finds_it():
    notebook = cleaner.clean(made(count=None))
    assert code_of(notebook)[0].execution_count is None
    assert cleaner.problems(notebook) == ["not executed from top to bottom"]


def test_the_check_names_what_is_wrong():
    assert cleaner.problems(cleaner.clean(made())) == []
    assert cleaner.problems(made(view=True)) == ["not clean: run `python notebooks/clean.py`"]
    late = cleaner.clean(made())
    code_of(late)[0].execution_count = 2
    assert "not executed from top to bottom" in cleaner.problems(late)
    failed = cleaner.clean(made())
    code_of(failed)[0].outputs = [nbformat.v4.new_output("error", ename="E", evalue="", traceback=[])]
    assert "holds an error" in cleaner.problems(failed)


def test_the_versions_that_made_the_outputs_are_pinned_exactly():
    pins = cleaner.pins()
    needed = {"numpy", "pandas", "scipy", "scikit-learn", "matplotlib", "ipywidgets", "nbval", "nbconvert"}
    assert needed <= set(pins) and list(pins) == sorted(pins)
    assert all(re.fullmatch(r"\d+(\.\d+)+", version) for version in pins.values())


# --- every notebook --------------------------------------------------------------------------------------


@each
def test_it_is_committed_executed_in_order_and_clean(path):
    assert cleaner.problems(read(path)) == []


@each
def test_no_output_depends_on_this_machine_or_this_run(path):
    text = path.read_text(encoding="utf-8")
    outputs = [nbformat.writes(nbformat.v4.new_notebook(cells=[cell])) for cell in code_of(read(path))]
    for found in outputs:
        found = re.sub(r'"image/png": "[^"]*"', "", found)
        assert not re.search(r"0x[0-9a-f]{6,}|/tmp/|/home/|/root/|\\\\Users\\\\|ipykernel_", found)
    assert "RetrievalWarning: " not in text and '"stderr"' not in text


@each
def test_it_asks_a_question_promises_something_and_says_where_to_read_on(path):
    notebook = read(path)
    title = notebook.cells[0].source.splitlines()[0]
    assert re.fullmatch(r"# .+\?", title)
    assert "At the end you will be able to **" in notebook.cells[0].source
    last = notebook.cells[-1].source
    assert last.startswith("## Further reading") and "[glossary](README.md#glossary)" in last
    papers = re.findall(r"^- .+\*.+\*.*\((?:.*, )?\d{4}[^)]*\)|^- .+\(\w.* \d{4}\)", last, flags=re.M)
    assert len(papers) >= 2, last
    question = title[2:]
    assert re.search(rf"\({re.escape(path.name)}\) \| {re.escape(question)} \|", README)


@each
def test_its_cells_are_short_and_show_something(path):
    cells = code_of(read(path))
    lengths = [len([line for line in cell.source.splitlines() if line.strip()]) for cell in cells]
    assert max(lengths) <= 12 and sorted(lengths)[len(lengths) // 2] <= 5
    assert max(len(line) for cell in cells for line in cell.source.splitlines()) <= 110
    assert all(cell.outputs for cell in cells)


@each
def test_every_cell_of_code_has_prose_before_it(path):
    kinds = [cell.cell_type for cell in read(path).cells]
    assert all("markdown" in pair for pair in itertools.pairwise(kinds))


@each
def test_it_has_at_most_one_panel_and_shows_the_same_without_it(path):
    cells = code_of(read(path))
    panels = [n for n, cell in enumerate(cells) if re.search(r"rk\.(widgets\.|explore\()", cell.source)]
    assert len(panels) <= 1
    for n in panels:
        assert cells[n].source.splitlines()[-1] == "panel"
        assert "panel.value" in cells[n + 1].source


@each
def test_its_exercises_are_asked_in_prose_as_the_check_asks_them(path):
    notebook = read(path)
    number = path.name[:2]
    for n in (1, 2, 3):
        (place,) = [
            at for at, cell in enumerate(notebook.cells) if f'lessons.check("{number}.{n}"' in cell.source
        ]
        assert notebook.cells[place - 1].source.startswith(f"**{number}.{n}**")
        assert notebook.cells[place].source == f'rk.lessons.check("{number}.{n}", ...)'


@each
def test_it_calls_nothing_that_ragkit_has_not_got(path):
    import ragkit as rk

    for cell in code_of(read(path)):
        for node in ast.walk(ast.parse(cell.source)):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "rk":
                assert hasattr(rk, node.attr), node.attr


# --- the map and the glossary ----------------------------------------------------------------------------

TERMS = re.findall(r"^\| ([^|]+) \| [^|]+ \|$", README.split("## Glossary")[1], flags=re.M)[1:]


def test_the_glossary_is_in_order_and_each_of_its_terms_is_used():
    names = [term.casefold() for term in TERMS]
    assert names == sorted(names) and len(set(names)) == len(names)
    words = "\n".join(path.read_text(encoding="utf-8") for path in PATHS).casefold().replace("_", " ")
    teacher = README.casefold()
    for term in TERMS:
        spellings = [part.strip() for part in re.split(r"[,()]", term.casefold()) if part.strip()]
        assert any(s in words or teacher.count(s) > 1 for s in spellings), term


METRICS = {"ndcg": "nDCG", "recall": "recall", "rr": "reciprocal rank", "ap": "average precision",
           "p": "precision", "dcg": "discounted cumulative gain", "st-recall": "subtopic recall"}  # fmt: skip


@each
def test_what_it_measures_stands_in_the_glossary(path):
    glossary = README.split("## Glossary")[1]
    for cell in code_of(read(path)):
        for listed in re.findall(r"metrics=\[([^\]]*)\]", cell.source):
            for name in re.findall(r'"([\w-]+)', listed):
                assert METRICS[name] in glossary
