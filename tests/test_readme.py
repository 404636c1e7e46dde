"""The README's Python runs, from top to bottom."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import pytest

import ragkit as rk

README = Path(__file__).parent.parent / "README.md"


def test_the_python_blocks_run_in_order(capsys):
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) >= 5
    namespace: dict = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rk.RetrievalWarning)  # misspelt queries of fieldguide
        for block in blocks:
            exec(compile(block, "README.md", "exec"), namespace)
        exec(capsys.readouterr().out, namespace)  # what panel.code() printed runs too
    assert namespace["picked"]["rank"].tolist() == [1, 2, 3]


def test_the_first_code_block_is_the_two_commands():
    first = re.search(r"```sh\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert first and [line.split("#")[0].strip() for line in first[1].splitlines()] == [
        "make lab",
        "make test",
    ]


@pytest.mark.parametrize("link", re.findall(r"\]\(([^)]+)\)", README.read_text(encoding="utf-8")))
def test_links_lead_somewhere(link):
    assert (README.parent / link).exists()
