"""The house rules for the LangChain layer: docstrings, what loads when, and life without langchain-core."""

from __future__ import annotations

import inspect
import subprocess
import sys

import pytest

pytest.importorskip("langchain_core", reason="needs langchain-core (the extra langchain)")

from numpydoc.docscrape import NumpyDocString

import ragkit.integrations.langchain as layer


def methods_of(name: str, thing: type) -> dict[str, object]:
    """The public methods that ragkit itself wrote, inherited ones too."""
    ours = [cls for cls in thing.__mro__ if cls.__module__.startswith("ragkit")]
    names = {
        attribute for cls in ours for attribute in vars(cls) if not attribute.startswith(("_", "model_"))
    }
    found = {f"{name}.{attribute}": getattr(thing, attribute, None) for attribute in names}
    return {full: member for full, member in found.items() if inspect.isroutine(member)}


def public() -> list[tuple[str, object]]:
    found = {name: getattr(layer, name) for name in layer.__all__}
    for name, thing in list(found.items()):
        found |= methods_of(name, thing) if inspect.isclass(thing) else {}
    return sorted(found.items())


@pytest.mark.parametrize(("name", "thing"), public(), ids=lambda v: v if isinstance(v, str) else "")
def test_docstrings_have_numpydocs_form_and_name_every_parameter(name, thing):
    doc = inspect.getdoc(thing)
    assert doc and doc.splitlines()[0].endswith((".", ":"))
    sections = NumpyDocString(doc)
    documented = {p.strip(" *") for entry in sections["Parameters"] for p in entry.name.split(",")}
    parameters = {p for p in inspect.signature(thing).parameters if p not in ("self", "cls")}
    if inspect.isclass(thing) and issubclass(thing, layer.RagkitRetriever):  # pydantic's own are LangChain's
        parameters = set(thing.model_fields) - {"name", "tags", "metadata"}
    assert documented >= parameters, parameters - documented
    if not inspect.isclass(thing) and inspect.signature(thing).return_annotation not in (None, "None"):
        assert sections["Returns"]


def test_names_are_sorted_and_the_package_itself_loads_nothing():
    assert layer.__all__ == sorted(layer.__all__)
    code = "import ragkit, ragkit.integrations, sys; print('langchain_core' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_without_langchain_core_the_import_says_what_to_install():
    code = (
        "import sys; sys.modules['langchain_core'] = None\n"
        "try:\n    import ragkit.integrations.langchain\n"
        "except ImportError as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "ragkit.integrations.langchain needs langchain-core" in done.stdout
    assert "ragkit[langchain]" in done.stdout
