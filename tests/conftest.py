"""Shared fixtures: small collections whose every number can be worked out by hand."""

from __future__ import annotations

import json
from pathlib import Path

import hypothesis
import pandas as pd
import pytest

GOLDEN = Path(__file__).parent / "golden"

# One profile everywhere: no deadline (shared machines are noisy) and no random seed between runs.
hypothesis.settings.register_profile("ragkit", deadline=None, derandomize=True, max_examples=60)
hypothesis.settings.load_profile("ragkit")


def golden(name: str) -> list[dict]:
    """Read the cases of a golden file."""
    return json.loads((GOLDEN / f"{name}.json").read_text(encoding="utf-8"))["cases"]


@pytest.fixture
def docs() -> pd.DataFrame:
    """Five documents on two subjects."""
    return pd.DataFrame(
        {
            "doc_id": ["d1", "d2", "d3", "d4", "d5"],
            "text": [
                "red fox in the snow",
                "the quick brown fox",
                "a blue whale sings",
                "whales and foxes",
                "snow on the mountain",
            ],
            "year": [2020, 2021, 2020, 2022, 2021],
        }
    )
