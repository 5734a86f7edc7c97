"""Settings of the whole library: `config.floatX`, `config.scan.allow_gc` and the other documented flags.

A flag with a dot in its name has two spellings, `config.scan.allow_gc` and `config.scan__allow_gc`.
The environment variable SCANOPT_FLAGS="floatX=float32,scan.allow_gc=False" sets flags at the start.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from scanopt.memory import FREE, as_bytes
from scanopt.modes import as_mode

__all__ = ["PRECISIONS", "Config", "config"]


def _float_dtype(value: Any) -> str:
    try:
        name: str = np.dtype(value).name
    except TypeError:
        name = ""
    if name not in ("float16", "float32", "float64"):
        raise ValueError("expected 'float32' or 'float64'")
    return name


def _truth(value: Any) -> bool:
    if not isinstance(value, bool | np.bool_):
        raise ValueError("expected True or False")
    return bool(value)


def _mode(value: Any) -> Any:
    as_mode(value)  # raises for an unknown mode
    return value


def _cost(value: Any) -> Any:
    if not isinstance(value, str) or not value:
        raise ValueError("expected the name of a cost model, 'calibrated', or a file that ends in .json")
    return value


def _memory(value: Any) -> Any:
    as_bytes(value)  # raises for anything but an amount of memory
    return value


def _threads(value: Any) -> Any:
    if isinstance(value, str) and value.isdecimal():  # from SCANOPT_FLAGS
        value = int(value)
    if value == "auto" or (isinstance(value, int) and not isinstance(value, bool) and value >= 0):
        return value or "auto"
    raise ValueError("expected 'auto' or a number of threads")


def _precision(value: Any) -> Any:
    if value not in PRECISIONS:
        raise ValueError(f"expected {' or '.join(map(repr, PRECISIONS))}")
    return value


def _progress(value: Any) -> Any:
    if value not in ("auto", "always", "never"):
        raise ValueError("expected 'auto', 'always' or 'never'")
    return value


PRECISIONS = ("float32", "tensorfloat32")
"""Precisions of float32 products on a device: the first keeps 24 bits of each number, the second 11."""


class _Flag(NamedTuple):
    """A flag: its default, the function that checks and converts a new value, and its meaning."""

    default: Any
    read: Callable[[Any], Any]
    meaning: str


FLAGS = {
    "floatX": _Flag("float64", _float_dtype, "dtype of T.vector() and the like where none is given"),
    "mode": _Flag("optimized", _mode, "mode of function() where none is given"),
    "allow_gc": _Flag(True, _truth, "free the arrays that steps compute in after each call; False keeps them"),
    "scan__allow_gc": _Flag(True, _truth, "free the buffers of a loop after each call; False keeps them for the next"),
    "scan__allow_output_prealloc": _Flag(True, _truth, "write results of a step straight into the rows that are kept"),
    "cost": _Flag("default", _cost, "cost model of function() where none is given: a name or a .json file"),
    "profile": _Flag(False, _truth, "collect times of functions and of their loops where profile is not given"),
    "compilation_cache": _Flag(True, _truth, "keep optimized programs on disk, for the same program again"),
    "adapt": _Flag(True, _truth, "adapt of function() where not given: calls of other sizes may run other programs"),
    "threads": _Flag("auto", _threads, "threads of function() where not given: 'auto', or how many kernels may use"),
    "progress": _Flag("auto", _progress, "show the progress of long work: 'auto' (on terminals), 'always' or 'never'"),
    "matmul_precision": _Flag("float32", _precision, "float32 products on a GPU: 'float32' or 'tensorfloat32'"),
    "memory": _Flag(FREE, _memory, "memory of function() where none is given: bytes, '2GB', or 'free' of the machine"),
}
"""All flags by name, with `__` for the dot."""

_WITHOUT = "leave the line out, since there is nothing that it would change"
_THEIRS = {
    **dict.fromkeys(
        ("assert_no_cpu_op", "base_compiledir", "blas", "check_input", "check_stack_trace", "cmodule", "compile",
         "compiledir", "compiledir_format", "conv", "ctc", "cxx", "cycle_detection", "deterministic", "dnn",
         "exception_verbosity", "experimental", "gcc", "gpuelemwise", "int_division", "lib", "magma", "metaopt",
         "nocleanup", "numba", "on_opt_error", "on_shape_error", "openmp", "openmp_elemwise_minsize", "optdb",
         "optimizer_verbose", "optimizer_verbose_ignore", "pickle_test_value", "print_global_stats",
         "print_test_value", "reoptimize_unpickled_function", "tensor", "traceback", "unittests",
         "unpickle_function", "vm", "warn", "warn_float64"),
        _WITHOUT,
    ),
    **dict.fromkeys(("compute_test_value", "compute_test_value_opt"),
                    "dtypes and numbers of axes are checked at once, values by x.eval({...}); leave the line out"),
    **dict.fromkeys(("device", "force_device", "gpuarray", "init_gpu_device"),
                    "function(..., backend='cupy') runs on a GPU; leave the line out"),
    **dict.fromkeys(("linker", "optimizer", "optimizer_excluding", "optimizer_including", "optimizer_requiring"),
                    "function(..., mode=, exclude=) and config.mode say which laws rewrite programs"),
    **dict.fromkeys(("profile_memory", "profile_optimizer", "profiling"),
                    "function(..., profile=True) collects times, and f.report has those of the optimization"),
    "cast_policy": "Python numbers take the dtype of the arrays beside them; config.floatX is that of T.vector()",
    "on_unused_input": "write function(..., on_unused_input='ignore')",
    "NanGuardMode": "compare with the interpreter: f.unoptimized(...)",
    "DebugMode": "compare with the interpreter: f.unoptimized(...)",
}  # fmt: skip
"""Flags of Theano and its heirs, by the words before their first dots: what to write in place of them."""

_WORDS = {"true": True, "1": True, "false": False, "0": False}


def _shown(name: str) -> str:
    """A flag's name as the documents write it: with dots."""
    return name.replace("__", ".")


def _known(name: str) -> str:
    """The key in FLAGS of a name in either spelling.  Raises AttributeError that names similar flags."""
    key = name.replace(".", "__")
    if key in FLAGS:
        return key
    if key.split("__")[0] in _THEIRS:
        raise AttributeError(f"config has no flag {_shown(key)!r}: {_THEIRS[key.split('__')[0]]}")
    near = [_shown(k) for k in FLAGS if k.lower() == key.lower()]
    near = near or get_close_matches(_shown(key), [_shown(k) for k in FLAGS], 2)
    hint = f"did you mean {' or '.join(map(repr, near))}?" if near else f"there are {', '.join(map(_shown, FLAGS))}"
    raise AttributeError(f"config has no flag {_shown(key)!r}; {hint}")


def _checked(key: str, value: Any) -> Any:
    try:
        return FLAGS[key].read(value)
    except (TypeError, ValueError) as error:
        found = "" if ", found " in str(error) else f", found {value!r}"
        raise ValueError(f"config.{_shown(key)}: {error}{found}") from None


class Config:
    """The settings, one attribute each; assignments are checked.  `print(config)` lists them.

    Reading or setting an unknown flag raises AttributeError, a wrong value ValueError.

    >>> config.floatX, config.scan.allow_gc, config.scan__allow_gc
    ('float64', True, True)

    Source: the documents' config.floatX, config.allow_gc, config.scan.allow_gc.
    """

    __slots__ = ("_values",)

    def __init__(self, flags: str = "") -> None:
        object.__setattr__(self, "_values", {key: flag.default for key, flag in FLAGS.items()})
        for key, value in _parsed(flags).items():
            self._values[key] = value

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if any(key.startswith(f"{name}__") for key in FLAGS):
            return _Group(self, name)
        return self._values[_known(name)]

    def __setattr__(self, name: str, value: Any) -> None:
        key = _known(name)
        self._values[key] = _checked(key, value)

    @contextmanager
    def change_flags(self, flags: Mapping[str, Any] | None = None, /, **more: Any) -> Iterator[None]:
        """Change some flags inside a `with` block, or during each call of a decorated function.

        flags: a mapping, for names with dots.  Nothing changes where a name or a value is wrong.

        >>> with config.change_flags({"scan.allow_gc": True}, floatX="float32"):
        ...     config.floatX, config.scan.allow_gc
        ('float32', True)
        >>> config.floatX
        'float64'
        """
        given = {_known(name): value for name, value in [*(flags or {}).items(), *more.items()]}
        new = {key: _checked(key, value) for key, value in given.items()}
        before = dict(self._values)
        self._values.update(new)
        try:
            yield
        finally:
            self._values.update({key: before[key] for key in new})

    def __dir__(self) -> list[str]:
        return [*FLAGS, "scan", "change_flags"]

    def __str__(self) -> str:
        rows = [(f"{_shown(key)} = {self._values[key]!r}", flag.meaning) for key, flag in FLAGS.items()]
        width = max(len(left) for left, _ in rows)
        return "\n".join(f"{left:{width}}  {right}" for left, right in rows)


class _Group:
    """The flags whose names start with a word and a dot."""

    __slots__ = ("_config", "_name")

    def __init__(self, config: Config, name: str) -> None:
        object.__setattr__(self, "_config", config)
        object.__setattr__(self, "_name", name)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._config, f"{self._name}__{name}")

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._config, f"{self._name}__{name}", value)

    def __dir__(self) -> list[str]:
        return [key.removeprefix(f"{self._name}__") for key in FLAGS if key.startswith(f"{self._name}__")]


def _parsed(flags: str) -> dict[str, Any]:
    """The flags of a text "name=value,name=value"."""
    out: dict[str, Any] = {}
    for part in filter(None, (part.strip() for part in flags.split(","))):
        name, equals, text = (word.strip() for word in part.partition("="))
        if not equals:
            raise ValueError(f"SCANOPT_FLAGS must be name=value,name=value, found {part!r}")
        try:
            key = _known(name)
            value = _WORDS.get(text.lower(), text) if isinstance(FLAGS[key].default, bool) else text
            out[key] = _checked(key, value)
        except (AttributeError, ValueError) as error:
            raise ValueError(f"SCANOPT_FLAGS: {error}") from None
    return out


config = Config(os.environ.get("SCANOPT_FLAGS", ""))
"""The settings in use."""


class _Settings(ModuleType):
    """The class of this module: `scanopt.config.floatX` is the setting whether `config` is the module or the object."""

    def __getattr__(self, name: str) -> Any:
        return getattr(config, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("_") or name in self.__dict__:
            super().__setattr__(name, value)
        else:
            setattr(config, name, value)

    def __dir__(self) -> list[str]:
        return dir(config)

    def __str__(self) -> str:
        return str(config)


sys.modules[__name__].__class__ = _Settings
