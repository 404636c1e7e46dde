"""A corpus on any machine: the docstrings of the installed scientific packages, judged by "See Also"."""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import importlib.metadata
import inspect
import io
import os
import pkgutil
import re
import types
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

_PACKAGES = {
    "numpy": "numpy",
    "scipy": "scipy",
    "pandas": "pandas",
    "sklearn": "scikit-learn",
    "matplotlib": "matplotlib",
}
# Modules that are no public interface, or that do something when they are imported.
_SKIP = re.compile(
    r"(^|\.)(_|tests?$|testing|conftest|setup$|externals$|experimental$|f2py$|distutils$|typing$|compat$"
    r"|backends?$|pylab$|core$|util$|libs$|datasets$|arrays$|indexes$|errors$|tseries$|sphinxext$|style$)"
)
_SHORTEST = 25  # words: setters and getters that say only their name are no documents
_VERSION = 1  # of the way the corpus is made


class Entry(NamedTuple):
    """One documented object: its public name and the parts of its docstring."""

    name: str
    package: str
    kind: str
    summary: str
    text: str
    body: str
    see_also: list[str]


def installed_versions() -> dict[str, str]:
    """List the packages that are installed, with their versions."""
    versions = {}
    for module, name in _PACKAGES.items():
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            versions[module] = importlib.metadata.version(name)
    return versions


def cached_folder(versions: dict[str, str]) -> Path:
    """Name the folder for these versions in the user's cache: under ``XDG_CACHE_HOME``, or ``~/.cache``."""
    key = hashlib.sha256(repr((_VERSION, sorted(versions.items()))).encode()).hexdigest()[:12]
    given = os.environ.get("XDG_CACHE_HOME", "")
    home = Path(given) if os.path.isabs(given) else Path.home() / ".cache"
    return home / "ragkit" / f"docstrings-{key}"


def docstring_frames(packages: list[str]) -> tuple:
    """Make documents, queries and judgements of the public objects of some packages."""
    import pandas as pd

    entries, aliases = collect(packages)
    links = {e.name: _resolve(e, aliases) for e in entries}
    docs = pd.DataFrame(
        {
            "doc_id": [e.name for e in entries],
            "title": [e.name for e in entries],
            "text": [e.text for e in entries],
            "package": [e.package for e in entries],
            "kind": [e.kind for e in entries],
            "body": [e.body for e in entries],
        }
    )
    asked = [e for e in entries if links[e.name] and len(e.summary.split()) > 2]
    queries = pd.DataFrame(
        {
            "query_id": [e.name for e in asked],
            "text": [e.summary for e in asked],
            "kind": [e.kind for e in asked],
        }
    )
    pairs = [(e.name, other, 1) for e in asked for other in links[e.name]]
    qrels = pd.DataFrame(pairs, columns=["query_id", "doc_id", "relevance"])
    return docs, queries, qrels


def collect(packages: list[str]) -> tuple[list[Entry], dict[str, str]]:
    """List the documented public objects, each once, and every name under which one can be found."""
    seen: dict[Any, str] = {}
    aliases: dict[str, str] = {}
    entries = []
    for package in packages:
        for name, item, kind in _objects(package):
            parsed = _parse(name, package, kind, inspect.getdoc(item) or "")
            if parsed is None:
                continue
            # Twins share an object, or (classes that inherit and copy) a text.
            keys = (_identity(item), (parsed.text, parsed.body))
            known = next((seen[key] for key in keys if key in seen), None)
            aliases[name] = known or name
            if known is None:
                entries.append(parsed)
                seen |= dict.fromkeys(keys, name)
    return entries, aliases


def _objects(package: str) -> Iterator[tuple[str, Any, str]]:
    """Give name, object and kind of the public functions, classes and methods; the best name first."""
    found = []
    for module in _modules(package):
        for name in getattr(module, "__all__", None) or [n for n in dir(module) if n[0] != "_"]:
            item = _attribute(module, name)
            if not isinstance(item, types.ModuleType) and callable(item) and _from(item, package):
                borrowed = getattr(item, "__module__", "") != module.__name__
                depth = module.__name__.count(".")
                found.append((depth + 2 * borrowed * (depth > 1), depth, f"{module.__name__}.{name}", item))
    found.sort(key=lambda f: f[:3])
    for _, _, name, item in found:
        yield name, item, "class" if inspect.isclass(item) else "function"
    classes = {id(item): (name, item) for _, _, name, item in reversed(found) if inspect.isclass(item)}
    for qualified, item in sorted(classes.values(), key=lambda c: (c[0].count("."), c[0])):
        for name in dir(item):
            member = inspect.getattr_static(item, name, None)
            described = callable(member) or isinstance(member, (classmethod, staticmethod, property))
            if name[0] != "_" and described and _from(member, package):
                yield f"{qualified}.{name}", member, "method"


def _attribute(module: types.ModuleType, name: str) -> Any:
    """Look a name up; some packages raise for names that they list."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return getattr(module, name, None)
        except Exception:
            return None


def _from(item: Any, package: str) -> bool:
    """Say whether an object was defined in the package (or does not tell)."""
    item = getattr(item, "__func__", None) or getattr(item, "fget", None) or item
    home = getattr(item, "__module__", None)
    return not isinstance(home, str) or home.split(".")[0] in ("", package)


def _modules(package: str) -> Iterator[types.ModuleType]:
    """Import the public modules of a package; one that cannot be imported is left out."""
    root = importlib.import_module(package)
    yield root
    for found in pkgutil.iter_modules(root.__path__, package + "."):
        if _SKIP.search(found.name.removeprefix(package + ".")):
            continue
        module = _import(found.name)
        if module is None:
            continue
        yield module
        for inner in pkgutil.iter_modules(getattr(module, "__path__", []), found.name + "."):
            if not _SKIP.search(inner.name.removeprefix(package + ".")) and inner.ispkg:
                deeper = _import(inner.name)
                if deeper is not None:
                    yield deeper


def _import(name: str) -> types.ModuleType | None:
    silent = io.StringIO()
    with warnings.catch_warnings(), contextlib.redirect_stdout(silent), contextlib.redirect_stderr(silent):
        warnings.simplefilter("ignore")
        try:
            return importlib.import_module(name)
        except Exception:  # modules that need what is not installed, or refuse to be imported
            return None


def _identity(item: Any) -> Any:
    """Give a key that aliases share; bound and wrapped forms of one function are one object."""
    item = getattr(item, "__func__", item)
    item = getattr(item, "fget", None) or item
    return id(item)


def _parse(name: str, package: str, kind: str, doc: str) -> Entry | None:
    """Cut a numpydoc docstring into summary, description, body and "See Also"; None without a summary."""
    sections = _sections(inspect.cleandoc(doc))
    paragraphs = [" ".join(p.split()) for p in re.split(r"\n\s*\n", sections.pop("", "").strip())]
    paragraphs = [p for p in paragraphs if p and not re.match(r"^[\w.]+\([^)]*\)( -> .*)?$|^\.\. ", p)]
    if not paragraphs or len(doc.split()) < _SHORTEST:
        return None
    also = sections.pop("See Also", "")
    body = "\n\n".join(f"{head}\n{text.strip()}" for head, text in sections.items() if text.strip())
    return Entry(name, package, kind, paragraphs[0], "\n\n".join(paragraphs), body, _see_also(also))


def _sections(doc: str) -> dict[str, str]:
    """Cut at underlined headings; the part before the first is called ''."""
    parts = re.split(r"(?m)^([A-Z][\w ]+)\n-{3,}[ ]*$\n?", doc)
    out = {"": parts[0]}
    for head, text in zip(parts[1::2], parts[2::2]):
        out[head.strip()] = out.get(head.strip(), "") + text
    return out


def _see_also(text: str) -> list[str]:
    """List the names before the colons, of the lines that are not indented."""
    names = []
    for line in text.splitlines():
        if line and not line[0].isspace():
            head = re.split(r"\s:\s|\s:$|:\s", re.sub(r":\w+:", "", line), maxsplit=1)[0]
            listed = [name.strip() for name in head.replace("`", "").rstrip(",").split(",")]
            if all(re.fullmatch(r"[A-Za-z_][\w.]*", name) for name in listed):  # else it is prose
                names += listed
    return names


def _resolve(entry: Entry, aliases: dict[str, str]) -> list[str]:
    """Find the objects that "See Also" names, looking from the object's own place outwards."""
    found = []
    places = entry.name.split(".")[:-1]
    for name in entry.see_also:
        tries = [name] + [".".join([*places[:n], name]) for n in range(len(places), 0, -1)]
        other = next((aliases[t] for t in tries if t in aliases), None)
        if other is not None and other != entry.name and other not in found:
            found.append(other)
    return found
