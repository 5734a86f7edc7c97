"""What higher layers provide to lower ones: each feature by name, imported when it is first asked for.

`x.eval()` compiles and `f.show()` draws, though variables are made below the compiler, and functions below the page.
So that imports point downward all the same, the lower module asks here, as in `features.function(inputs, output)`.
"""

from __future__ import annotations

import importlib
from typing import Any

__all__ = ["FEATURES"]

FEATURES = {
    # for variables
    "Variable": "scanopt.array.variable",
    "At": "scanopt.array.at",
    "FUNCTIONS": "scanopt.array.entries",
    "namespace": "scanopt.array.standard",
    "RandomStream": "scanopt.array.random.stream",
    "RandomStreams": "scanopt.array.random.streams",
    "MRG_RandomStreams": "scanopt.array.random.streams",
    "Assert": "scanopt.loops.checks_and_prints",
    "scan": "scanopt.loops.scan",
    "loop": "scanopt.loops.carry",
    "map": "scanopt.loops.derived",
    "foldl": "scanopt.loops.derived",
    "function": "scanopt.compilation.function",
    "html": "scanopt.view.notebook",
    # for loops and their programs
    "queries": "scanopt.egraph.queries",
    "program_text": "scanopt.program.text",
    # for compiled functions
    "as_jax": "scanopt.bridges.jaxprs.writing",
    "to_onnx": "scanopt.bridges.onnx_models.writing",
    "map_blocks": "scanopt.scale.dask_arrays",
    "record": "scanopt.compilation.explanation",
    "told": "scanopt.compilation.explanation",
    "IdleLaws": "scanopt.lab.law_probe",
    "growth": "scanopt.lab.growth",
    "why_not": "scanopt.lab.why_not",
    "history": "scanopt.history.document",
    "page_html": "scanopt.view.page",
    "page_widget": "scanopt.view.widget",
}
"""The module of each feature.  Type checkers read the same from the stub beside this file."""


def __getattr__(name: str) -> Any:
    if name not in FEATURES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(FEATURES[name]), name)
    return value
