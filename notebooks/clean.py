"""Normalise committed notebooks, or check that they are: executed, in order, free of widget state.

``python notebooks/clean.py`` rewrites them; ``python notebooks/clean.py --check`` only reports.
Widget state and views are dropped (they break GitHub's viewer and name models that no longer live), cell
ids are fixed and the Python version is left out, so that a second execution gives the same bytes: with the
versions in ``pins.txt``. With others ``--check`` names them, for outputs may differ from the committed ones.
"""

from __future__ import annotations

import sys
from importlib import metadata
from pathlib import Path

import nbformat

HERE = Path(__file__).parent
WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def clean(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """Normalise a notebook in place and return it."""
    notebook.metadata = nbformat.from_dict(METADATA)
    notebook.nbformat_minor = max(notebook.nbformat_minor, 5)
    count = 0
    for number, cell in enumerate(notebook.cells):
        cell["id"] = f"c{number:03d}"
        cell.metadata = nbformat.from_dict({k: v for k, v in cell.metadata.items() if k == "tags"})
        if (
            cell.cell_type == "markdown"
        ):  # `make slides`: a slide for each section, one below it for each step
            kind = "slide" if cell.source.startswith("#") else "subslide"
            cell.metadata["slideshow"] = nbformat.from_dict({"slide_type": kind})
        if cell.cell_type != "code" or cell.execution_count is None:
            continue
        count += 1
        cell.execution_count = count
        for output in cell.outputs:
            if "execution_count" in output:
                output.execution_count = count
            if "data" in output and len(output.data) > 1:
                output.data.pop(WIDGET_VIEW, None)
    return notebook


def problems(notebook: nbformat.NotebookNode) -> list[str]:
    """Say what keeps a notebook from being committed."""
    code = [c for c in notebook.cells if c.cell_type == "code" and c.source.strip()]
    found = []
    if [c.execution_count for c in code] != list(range(1, len(code) + 1)):
        found.append("not executed from top to bottom")
    if any(o.output_type == "error" for c in code for o in c.outputs):
        found.append("holds an error")
    if nbformat.writes(clean(nbformat.from_dict(notebook))) != nbformat.writes(notebook):
        found.append("not clean: run `python notebooks/clean.py`")
    return found


def pins() -> dict[str, str]:
    """Read which versions made the outputs."""
    lines = (HERE / "pins.txt").read_text(encoding="utf-8").splitlines()
    return dict(line.split("==") for line in lines if line and not line.startswith("#"))


def unpinned() -> list[str]:
    """Name what is installed in another version than the one that made the outputs."""
    found = []
    for name, version in pins().items():
        try:
            here = metadata.version(name)
        except metadata.PackageNotFoundError:
            here = "none"
        if here != version:
            found.append(f"{name} {here} (outputs: {version})")
    return found


def main(arguments: list[str]) -> int:
    """Clean or check all notebooks beside this file."""
    bad = 0
    if other := unpinned():
        print(f"outputs may differ, other versions are installed: {', '.join(other)}")
    for path in sorted(HERE.glob("*.ipynb")):
        notebook = nbformat.read(path, as_version=4)
        if "--check" in arguments:
            for problem in problems(notebook):
                print(f"{path.name}: {problem}")
                bad += 1
        else:
            path.write_text(nbformat.writes(clean(notebook)) + "\n", encoding="utf-8")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
