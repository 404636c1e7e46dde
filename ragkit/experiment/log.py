"""What became of the settings of a sweep, and the file that keeps it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from ragkit.experiment.measure import Measure


class Outcome(NamedTuple):
    """What became of one setting."""

    setting: int
    seconds: float
    scores: pd.DataFrame | None
    error: str
    unjudged: list[str]
    strange: bool
    notes: Sequence[str] = ()  # warnings of the search


class Log:
    """A file of outcomes, one line of JSON each; a last line that was cut short does not count."""

    def __init__(self, path: Any, measure: Measure):
        self.path = Path(path).expanduser()
        if self.path.is_dir() or not self.path.parent.is_dir():
            what = "is a folder" if self.path.is_dir() else "lies in a folder that is not there"
            raise FileNotFoundError(f"path must be a file to write to; {str(path)!r} {what}.")
        self.head = json.dumps({"ragkit": "sweep", "version": 1, "of": _fingerprint(measure)}) + "\n"
        text = self.path.read_text(encoding="utf-8") if self.path.is_file() else ""
        if text and not text.startswith(self.head):
            raise ValueError(
                f"{self.path.name} holds another sweep (other judgements, metrics, or no sweep at all); "
                "give another path, or delete the file."
            )
        whole = text[: text.rfind("\n") + 1]
        self.lines = whole.splitlines()[1:]
        if whole != text or not text:
            self.path.write_text(whole or self.head, encoding="utf-8")

    def known(self, settings: list[dict[str, Any]]) -> dict[int, Outcome]:
        """Give the outcomes of these settings that the file holds; failed ones are tried again."""
        number = {_key(setting): n for n, setting in enumerate(settings)}
        out = {}
        for at_line, line in enumerate(self.lines, 2):
            try:
                item = json.loads(line)
                at, failed = number.get(item["setting"]), item["error"]
                scores = pd.DataFrame(item["scores"], columns=["query_id", "metric", "value"])
                told = (item["unjudged"], item["strange"], item.get("notes", []))
                outcome = Outcome(at or 0, item["seconds"], scores, "", *told)
            except (ValueError, KeyError, TypeError):
                raise ValueError(
                    f"{self.path.name}, line {at_line} is damaged; delete the line, or give another path."
                ) from None
            if at is not None and not failed:
                out[at] = outcome
        return out

    def write(self, setting: dict[str, Any], outcome: Outcome) -> None:
        """Append one outcome."""
        item = outcome._asdict() | {"setting": _key(setting)}
        scores = outcome.scores
        item["scores"] = None if scores is None else scores.astype(object).values.tolist()
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(item, ensure_ascii=True) + "\n")


def _key(setting: dict[str, Any]) -> str:
    return json.dumps(setting, sort_keys=True, default=lambda v: getattr(v, "__name__", None) or repr(v))


def _fingerprint(measure: Measure) -> str:
    digest = hashlib.sha256(repr(measure.labels).encode())
    digest.update(repr(measure.over).encode())
    if measure.qrels is not None:
        for name in ("query_id", "doc_id", "relevance"):
            digest.update("\x1f".join(map(str, measure.qrels[name])).encode())
    if measure.gold is not None:
        for name in ("query_id", "doc_id", "start", "end"):
            digest.update("\x1f".join(map(str, measure.gold.spans[name])).encode())
    return digest.hexdigest()[:16]
