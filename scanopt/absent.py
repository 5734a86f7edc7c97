"""Errors for unknown names: the names near them, and what to write for names that other libraries have."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

__all__ = ["ABSENT", "no_such_attribute", "no_such_name"]

_ABSENT = {
    "Elemwise DimShuffle CAReduce Dot Subtensor IncSubtensor Alloc Reshape OpFromGraph as_op COp wrap_py":
        "operators are entries of a table: use a function of the same meaning (T.add), or see docs/extending.md",
    "opt gof_opt optdb rewriting FusionOptimizer":
        "Assert is scanopt.Assert; laws do this by themselves, and function(..., exclude=[...]) and Mode choose "
        "among them (docs/laws.md)",
    "FunctionGraph FrozenFunctionGraph fgraph":
        "a graph is its variables: see scanopt.graph.ancestors([y]), and f.program of a function",
    "linker link VMLinker CLinker OpWiseCLinker": "function(..., backend='numpy' or 'cupy') chooses what runs",
    "DebugMode NanGuardMode MonitorMode": "compare with the interpreter: f.unoptimized(...)",
    "sparse SparseType": "there are no sparse arrays: use dense ones",
    "gpuarray gpu_from_host cuda transfer": "function(..., backend='cupy') runs on a GPU; nothing is moved by hand",
    "signal max_pool_2d pool_2d": "use T.nnet.max_pool(x, (2, 2)) or T.nnet.avg_pool, and T.nnet.conv2d",
    "topk argtopk topk_and_argtopk": "take T.sort(x)[-k:], or T.argsort(x)[-k:] for the places",
    "iv ive jv kn kv kve yv hyp0f1 hyp1f1 hyp2f1 owens_t poch factorial gammaincinv gammainccinv betaincinv":
        "T.special has other special functions; to add one, see docs/extending.md",
    "permute_row_elements": "take x[:, order], or T.take_along_axis(x, orders, axis=-1)",
    "NumericType Scalar DenseTensorType TensorLike": "every type is a TensorType: T.tensor(dtype, shape)",
    "RandomType RandomVariable random_state_type RandomGeneratorType":
        "use T.shared_randomstreams.RandomStreams(seed), or T.random with a key",
    "rng_mrg": "use T.shared_randomstreams.MRG_RandomStreams",
    "_asarray": "use np.asarray(x, dtype)",
    "compat python2x": "use Python's own: from collections import OrderedDict",
    "xtensor": "there are no arrays with named axes: T.tensor(..., axes=names) names them in messages",
    "inplace": "programs write in place where they can by themselves: use the plain functions",
    "pydotprint d3viz": "f.show() writes a page with pictures; scanopt.dprint(x) prints the graph",
}  # fmt: skip

ABSENT = {name: text for names, text in _ABSENT.items() for name in names.split()}
"""Names of Theano, Aesara and PyTensor that are not here on purpose, each with what to write."""


def no_such_name(where: str, name: str, known: Iterable[str], other: str = "") -> AttributeError:
    """The error for a name that a module does not have.  other: the full name under which another module has it.

    >>> print(no_such_name("scanopt.tensor", "arrange", ["arange", "add", "range"]))
    module 'scanopt.tensor' has no attribute 'arrange'; near: arange, range
    """
    return no_such_attribute(f"module {where!r}", name, known, ABSENT.get(name) or (f"it is {other}" if other else ""))


def no_such_attribute(owner: str, name: str, known: Iterable[str], instead: str = "") -> AttributeError:
    """The error for an attribute that a module or an object does not have.  instead: what to write."""
    text = f"{owner} has no attribute {name!r}"
    if instead:
        return AttributeError(f"{text}; {instead}")
    if name.startswith("_"):  # probed very often by programs that inspect modules
        return AttributeError(text)
    lower = {n.lower(): n for n in sorted(known, reverse=True)}
    near = get_close_matches(name.lower(), lower, 3, 0.7)
    return AttributeError(f"{text}; near: {', '.join(lower[n] for n in near)}" if near else text)
