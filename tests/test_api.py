"""The public surface and the house: names, docstrings, who imports whom, what loads when."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import numpydoc.docscrape
import pytest

import ragkit as rk

PACKAGE = Path(rk.__file__).parent
ROOT = PACKAGE.parent
MODULES = sorted(path for path in PACKAGE.rglob("*.py"))

# Lower layers first: a module may import its own layer's exceptions and anything below, nothing above.
BASE = {"frames", "text", "similarity"}
ALGORITHMS = {
    "datasets", "chunking", "bm25", "embedding", "vectors", "fusion", "diversity", "rerank", "metrics",
}  # fmt: skip
WORKFLOWS = {"hybrid", "experiment", "explain"}
MAY_IMPORT = (
    {"frames": set(), "text": {"frames"}, "similarity": {"frames"}}
    | dict.fromkeys(ALGORITHMS, BASE)
    | {"vectors": BASE | {"diversity"}}
    | {"diversity": BASE | {"metrics"}}  # the measures of each interval of mmr_path
    | dict.fromkeys(WORKFLOWS, BASE | ALGORITHMS | WORKFLOWS)
    | {"plot": BASE | ALGORITHMS | WORKFLOWS}
    | {"widgets": BASE | ALGORITHMS | WORKFLOWS | {"plot"}}
    | {"integrations": BASE | ALGORITHMS | WORKFLOWS | {"plot", "widgets"}}
    | {"lessons": BASE | ALGORITHMS | WORKFLOWS | {"plot", "widgets"}}
    | {"__main__": BASE | ALGORITHMS | WORKFLOWS | {"plot", "widgets"}}
)


def imports_of(path: Path) -> set[str]:
    """Name the parts of ragkit that a file imports, at the top or inside functions."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "ragkit":
            parts = node.module.split(".")[1:2]
            found |= set(parts) if parts else {alias.name for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {a.name.split(".")[1] for a in node.names if a.name.startswith("ragkit.")}
    return found


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_modules_import_only_what_stands_below_them(path):
    part = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    if part == "__init__":
        return
    assert part in MAY_IMPORT, f"say in this test where {part} stands in the house"
    above = imports_of(path) - {part} - MAY_IMPORT[part]
    assert not above, f"{part} must not import {sorted(above)}"


def test_the_names_are_sorted_complete_and_there():
    assert rk.__all__ == sorted(rk.__all__)
    assert all(getattr(rk, name) is not None for name in rk.__all__)
    assert set(rk.__all__) <= set(dir(rk))


def loaded_by(statement: str) -> set[str]:
    code = f"{statement}\nimport sys\nprint(' '.join(sys.modules))"
    return set(
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout.split()
    )


def test_importing_ragkit_loads_no_ui_no_plots_and_no_scikit_learn():
    loaded = loaded_by("import ragkit")
    heavy = {
        "matplotlib",
        "ipywidgets",
        "IPython",
        "sklearn",
        "tqdm",
        "scipy.stats",
        "joblib",
        "langchain_core",
    }
    assert not heavy & loaded


def test_the_list_of_dependencies_is_short_and_each_has_its_reason():
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    names = {re.split(r"[<>=]", d)[0] for d in tomllib.loads(text)["project"]["dependencies"]}
    assert names == {"numpy", "scipy", "pandas", "scikit-learn", "matplotlib", "ipywidgets", "tqdm"}
    for name in names:
        line = next(line for line in text.splitlines() if line.strip().startswith(f'"{name}>='))
        assert "# " in line, f"{name} needs its reason beside it"


def public_callables() -> list[tuple[str, object]]:
    found = {name: getattr(rk, name) for name in rk.__all__}
    for module in ("plot", "widgets"):
        loaded = importlib.import_module(f"ragkit.{module}")
        found |= {f"{module}.{name}": getattr(loaded, name) for name in getattr(loaded, "__all__", ())}
    members = [
        (f"{name}.{attribute}", member)
        for name, cls in found.items()
        if inspect.isclass(cls) and not issubclass(cls, Warning)
        for attribute, member in inspect.getmembers(cls, inspect.isfunction)  # inherited ones too
        if not attribute.startswith("_") and member.__module__.startswith("ragkit")
    ]
    functions = [(name, thing) for name, thing in found.items() if callable(thing)]
    return functions + members


@pytest.mark.parametrize(("name", "thing"), public_callables(), ids=lambda v: v if isinstance(v, str) else "")
def test_public_docstrings_have_numpydocs_form(name, thing):
    doc = inspect.getdoc(thing)
    assert doc, f"{name} has no docstring"
    summary = doc.splitlines()[0]
    assert summary.endswith((".", ":")) or doc.splitlines()[1].strip(), (
        f"{name}: end the first line with a stop"
    )
    assert len(summary) < 110, f"{name}: shorten the first line"
    if inspect.isclass(thing) and issubclass(thing, (Warning, tuple)):
        return
    sections = numpydoc.docscrape.NumpyDocString(doc)
    documented = {p.strip(" *") for parameter in sections["Parameters"] for p in parameter.name.split(",")}
    signature = inspect.signature(thing)
    parameters = {p for p in signature.parameters if p not in ("self", "cls")}
    assert parameters <= documented, f"{name}: document {sorted(parameters - documented)}"
    assert documented <= parameters, (
        f"{name}: {sorted(documented - parameters)} is documented but not a parameter"
    )
    if not inspect.isclass(thing) and signature.return_annotation not in (None, "None"):
        assert sections["Returns"] or sections["Yields"], f"{name}: say what it returns"


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_the_package_never_asserts_and_never_prints(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        assert not isinstance(node, ast.Assert), f"line {node.lineno}: raise a built-in error instead"
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and path.name != "__main__.py":
            assert node.func.id != "print", f"line {node.lineno}: return it instead"
