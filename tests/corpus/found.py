"""Programs of the wide generator that went wrong once, as data: seeds of another day make other programs."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from corpus.spec import Spec

__all__ = ["Found", "found"]


@dataclass(frozen=True)
class Found:
    """What was wrong, in words, a program that shows it, and whether its gradients do."""

    what: str
    spec: Spec
    slopes: bool = False


def found() -> list[Found]:
    """All that was found."""
    lines = Path(__file__).with_suffix(".jsonl").read_text(encoding="utf-8").splitlines()
    return [_read(json.loads(line)) for line in lines]


def _read(data: dict[str, object]) -> Found:
    return Found(str(data["what"]), Spec.from_data(data["spec"]), bool(data["slopes"]))  # type: ignore[arg-type]
