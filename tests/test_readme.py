"""The README's Python runs, from top to bottom."""

from __future__ import annotations

import ast
import re
import warnings
from pathlib import Path

import pytest

import ragkit as rk

README = Path(__file__).parent.parent / "README.md"


def test_the_python_blocks_run_in_order_and_print_what_stands_below_them(capsys):
    text = README.read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```(?:\n\n```text\n(.*?)```)?", text, re.DOTALL)
    assert len(blocks) >= 5 and sum(bool(output) for _, output in blocks) == text.count("```text") >= 3
    namespace: dict = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rk.RetrievalWarning)  # misspelt queries of fieldguide
        for block, output in blocks:
            last = run_all(block, namespace)
            assert not output or repr(last) == output.rstrip("\n")
        exec(capsys.readouterr().out, namespace)  # what panel.code() printed runs too
    assert "project-mercury" in set(namespace["picked"]["doc_id"]) - set(namespace["found"]["doc_id"].head(5))


def run_all(block, namespace):
    """Run a block as a notebook's cell, and return the value of its last line."""
    *body, last = ast.parse(block).body
    exec(compile(ast.Module(body, []), "README.md", "exec"), namespace)
    if isinstance(last, ast.Expr):
        return eval(compile(ast.Expression(last.value), "README.md", "eval"), namespace)
    return exec(compile(ast.Module([last], []), "README.md", "exec"), namespace)


def test_the_first_code_block_is_the_two_commands():
    first = re.search(r"```sh\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert first and [line.split("#")[0].strip() for line in first[1].splitlines()] == [
        "make lab",
        "make test",
    ]


@pytest.mark.parametrize("link", re.findall(r"\]\(([^)]+)\)", README.read_text(encoding="utf-8")))
def test_links_lead_somewhere(link):
    assert (README.parent / link).exists()
