"""scanopt: symbolic loops, optimized by equality saturation, run on NumPy or CuPy."""

from __future__ import annotations

import importlib
import os
import sys
from importlib.machinery import ModuleSpec, PathFinder
from typing import Any

import scanopt.forks  # a fork waits for what is imported below  # noqa: F401
from scanopt import absent, importing
from scanopt.namespaces import MODULES, Namespace

__version__ = "0.1.0"


class _Beside:
    """Finds rewrites/ and backends/, which are installed inside the package and in a clone stand beside it."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """Find these two packages only: nothing else in that directory is part of scanopt."""
        beside = name in ("scanopt.rewrites", "scanopt.backends")
        return PathFinder.find_spec(name, [os.path.dirname(__path__[0])]) if beside else None


if not os.path.isdir(os.path.join(__path__[0], "rewrites")):
    sys.meta_path.insert(0, _Beside)  # before the finder of another clone in editable mode

# Public names and the module each lives in: imported when first used, so `import scanopt` is light.  With a colon: the
# module itself.
_HOME = {
    "scan": "scanopt.scan_module",
    "map": "scanopt.loops.derived",
    "reduce": "scanopt.loops.derived",
    "foldl": "scanopt.loops.derived",
    "foldr": "scanopt.loops.derived",
    "filter": "scanopt.loops.derived",
    "loop": "scanopt.loops.carry",
    "fori_loop": "scanopt.loops.carry",
    "while_loop": "scanopt.loops.carry",
    "function": "scanopt.compilation.function",
    "In": "scanopt.compilation.inputs",
    "load": "scanopt.compilation.saved",
    "clone": "scanopt.loops.rebuild",
    "scan_checkpoints": "scanopt.loops.checkpoints",
    "grad": "scanopt.transforms.gradients",
    "value_and_grad": "scanopt.transforms.gradients",
    "stop_gradient": "scanopt.lax.slices",
    "custom_jvp": "scanopt.transforms.custom",
    "custom_vjp": "scanopt.transforms.custom",
    "jacfwd": "scanopt.transforms.jacobians",
    "jacobian": "scanopt.transforms.jacobians",
    "jacrev": "scanopt.transforms.jacobians",
    "hessian": "scanopt.transforms.jacobians",
    "jvp": "scanopt.transforms.directions",
    "vjp": "scanopt.transforms.directions",
    "linearize": "scanopt.transforms.directions",
    "jit": "scanopt.transforms.jit",
    "vmap": "scanopt.transforms.vmap",
    "lax": "",
    "tree": "",
    "cond": "scanopt.lax",
    "switch": "scanopt.lax",
    "associative_scan": "scanopt.lax",
    "check": "scanopt.loops.checks_and_prints",
    "debug_print": "scanopt.loops.checks_and_prints",
    "Print": "scanopt.loops.checks_and_prints",
    "Assert": "scanopt.loops.checks_and_prints",
    "CheckError": "scanopt.loops.effects",
    "printing": "",
    "gradient": "",
    "until": "scanopt.loops.until",
    "ifelse": "scanopt.tensor",
    "scan_module": "",
    "shared": "scanopt.array.constants",
    "config": "scanopt.config",
    "Mode": "scanopt.modes",
    "profile_summary": "scanopt.loops.profile",
    "dprint": "scanopt.view.text",
    "Variable": "scanopt.array.variable",
    "watch": "scanopt.view.live",
    "interpret": "scanopt.interpreter",
    "dot": "scanopt.tensor",
    "pushforward": "scanopt.tensor",
    "pullback": "scanopt.tensor",
    "Rop": "scanopt.tensor",
    "Lop": "scanopt.tensor",
    "Out": "scanopt.compilation.inputs",
    "Param": "scanopt.compilation.inputs",
    "clone_replace": "scanopt.graph",
    "graph_replace": "scanopt.graph",
    "graph_inputs": "scanopt.graph",
    "ancestors": "scanopt.graph",
    "graph": "",
    "gof": "scanopt.graph:",
    "debugprint": "scanopt.printing",
    "pprint": "scanopt.printing",
    "pp": "scanopt.printing",
    "tensor": "",
    "from_pytensor": "scanopt.bridges.pytensor_graphs.functions",
    "pytensor_mode": "scanopt.bridges.pytensor_graphs.functions",
    "from_onnx": "scanopt.bridges.onnx_models.reading",
    "from_jax": "scanopt.bridges.jaxprs.functions",
    "axis_pattern": "scanopt.scale.pattern",
    "distribute": "scanopt.scale.distribute",
    "resumable": "scanopt.scale.resumable",
    "Op": "scanopt.array.op",
    "OpSpec": "scanopt.array.op",
    "law": "scanopt.calculus.law",
    "Phase": "scanopt.egraph.schedule",
    "Schedule": "scanopt.egraph.schedule",
    "register_cost": "scanopt.extraction.cost",
    "register_schedule": "scanopt.egraph.schedule",
}

__all__ = ["__version__", *_HOME]


def __getattr__(name: str) -> Any:
    if name in MODULES:
        return Namespace(f"scanopt.{name}", MODULES[name], __getattr__, __dir__)
    if name not in _HOME:
        raise absent.no_such_name("scanopt", name, __all__)
    home = _HOME[name]
    module = importlib.import_module(home.rstrip(":") or f"scanopt.{name}")
    value = getattr(module, name) if home and not home.endswith(":") else module
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)


sys.meta_path.append(importing.Finder)
