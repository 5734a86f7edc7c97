"""Functions as JSON files: `f.save(path)` writes one, `scanopt.load(path)` reads it.

A file holds the program, the options of its inputs, and the values of shared variables.  Running
it needs NumPy alone.  Files are not trusted: see `scanopt.program.serial`.  The checksum shows that a file was
damaged, not who wrote it: whoever changes a file can compute a matching checksum.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from scanopt.array.shown import shown
from scanopt.array.types import TensorType
from scanopt.array.variable import SharedVariable, Variable
from scanopt.backends import executor
from scanopt.compilation.callable import Runnable, compiled
from scanopt.compilation.inputs import In
from scanopt.compilation.saving import FORMAT, VERSION, digest, text_of
from scanopt.compilation.signature import Signature
from scanopt.compilation.threads import threads_of
from scanopt.program.ir import Compute, Loop, Program
from scanopt.program.reading import Json, check_version, fields, integer, list_in, read_json, text_in, texts_in
from scanopt.program.serial import read_const, read_program

__all__ = ["SavedFunction", "from_text", "load"]

FORMS = ("list", "single", "none", "dict")


class SavedFunction(Runnable):
    """A function read from a file: it is called like the one that was saved.

    Its shared variables are its own and start with the values that were saved.
    """

    def __init__(self, signature: Signature, program: Program, name: str | None, backend: str) -> None:
        super().__init__(signature, name)
        self._program, self._backend, self._threads = program, backend, threads_of(None)
        executor(backend)  # raises an error that says what is missing
        try:
            self._compiled: Any = compiled(program, backend, self._threads)
        except Exception as error:  # parameters that no public function makes
            raise ValueError(f"the program cannot be compiled: {type(error).__name__}: {error}") from error
        self._enter_quickly()

    def _run(self, values: Sequence[Any]) -> list[Any]:
        results: list[Any] = self._compiled(values)
        return results

    @property
    def program(self) -> Program:
        """The program that runs."""
        return self._program

    @property
    def backend(self) -> str:
        """The executor asked for."""
        return self._backend

    @property
    def source(self) -> str:
        """The source text of the program."""
        return str(self._compiled.source)

    def __reduce__(self) -> tuple[Any, ...]:
        return from_text, (text_of(self),)


def load(path: str | Path, backend: str | None = None) -> SavedFunction:
    """The function saved in a file.  backend: the executor, by default the one it was compiled for.

    Nothing in the file is executed but the program itself, when the function is called; unlike a pickle,
    which must be trusted, a file may come from anybody.
    Raises OSError; ValueError, saying what is wrong and where, for a file that was not written by
    `save` or was changed since.

    >>> import os, tempfile
    >>> from scanopt import function, tensor as T
    >>> x = T.dvector("x")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "double.json")
    ...     function([x], {"double": x + x}).save(path)
    ...     load(path)([1.0, 2.0])
    {'double': array([2., 4.])}
    """
    try:
        return from_text(Path(path).read_bytes().decode("ascii"), backend)
    except ValueError as error:
        reason = "it holds no ASCII text" if isinstance(error, UnicodeDecodeError) else error
        raise ValueError(f"{shown(str(path))} cannot be loaded: {reason}") from None


def from_text(text: str, backend: str | None = None) -> SavedFunction:
    """The function in the text of such a file: see `load`.  Raises ValueError."""
    return read_json(text, lambda data: _function(data, backend))


def _function(data: Json, backend: str | None) -> SavedFunction:
    where = "function"
    check_version(data, FORMAT, VERSION)
    f = fields(
        data, where, "format version name backend inputs shared reads updates form keys program sha256"
    )  # fmt: skip
    program = read_program(f["program"])
    signature = _signature(f, program, where)
    name = None if f["name"] is None else text_in(f, "name", where)
    text_in(f, "backend", where)
    if f["sha256"] != digest({k: v for k, v in f.items() if k != "sha256"}):
        raise ValueError("the checksum does not match: the file was changed after it was saved")
    return SavedFunction(signature, program, name, backend or f["backend"])


def _signature(f: dict[str, Json], program: Program, where: str) -> Signature:
    shared = [_shared(x, f"{where}, shared variable {i}") for i, x in enumerate(list_in(f, "shared", where))]
    read, updated = (
        [_one_of(shared, x, kind, where) for x in list_in(f, kind, where)] for kind in ("reads", "updates")
    )
    given = list_in(f, "inputs", where)
    if len(program.inputs) != len(given) + len(read):
        raise ValueError(f"{where}: the program has {len(program.inputs)} inputs, not {len(given)} + {len(read)}")
    slots = tuple(_slot(x, program.inputs[i].type, f"{where}, input {i}") for i, x in enumerate(given))
    for x, v in zip(program.inputs[len(given) :], read, strict=True):
        _same_kind(v.type, x.type, f"{where}, shared variable {v.name or x.name!r}")
        v.type = x.type  # a length that the program relies on holds for all its values
        v.checked(v.get_value(borrow=True))
    types = _types(program)
    results = [Variable(types[name]) for name in program.outputs]
    states = [i for i, x in enumerate(slots) if x.update is not None]
    count = len(results) - len(updated) - len(states)
    form, keys = text_in(f, "form", where), texts_in(f, "keys", where)
    expected = {"single": 1, "none": 0, "dict": len(keys)}.get(form, count)
    if form not in FORMS or count != expected or count < 0 or len(set(keys)) != (count if form == "dict" else 0):
        raise ValueError(f"{where}: {len(results)} results do not fit form {form!r} with {len(keys)} keys")
    changes = dict(zip(updated, results[count:], strict=False))
    if len(changes) < len(updated):
        raise ValueError(f"{where}: one shared variable is updated twice")
    for v, new in changes.items():
        _same_kind(v.type, new.type, f"{where}, update of shared variable {v.name!r}")
    for i, new in zip(states, results[count + len(updated) :], strict=True):
        _same_kind(slots[i].variable.type, new.type, f"{where}, update of input {i}")
    return Signature(slots, tuple(read), tuple(results[:count]), changes, form, keys, [x.value for x in slots])


def _shared(data: Json, where: str) -> SharedVariable:
    c = read_const(data, where)
    return SharedVariable(c.value, c.name or None)


def _one_of(shared: Sequence[SharedVariable], x: Json, what: str, where: str) -> SharedVariable:
    if not 0 <= integer(x, what, where) < len(shared):
        raise ValueError(f"{where}: {what} names shared variable {x}, and there are {len(shared)}")
    return shared[x]


def _slot(data: Json, type: TensorType, where: str) -> In:
    f = fields(data, where, "name variable strict allow_downcast value updated")
    names = [None if f[k] is None else text_in(f, k, where) for k in ("name", "variable")]
    for key, allowed in (
        ("strict", (True, False)),
        ("allow_downcast", (True, False, None)),
        ("updated", (True, False)),
    ):
        if not any(f[key] is x for x in allowed):
            raise ValueError(f"{where}: {key} must be true or false, found {f[key]!r}")
    value = None if f["value"] is None else read_const(f["value"], where)
    if value is not None:
        _same_kind(type, value.type, f"{where}, default value")
    v = Variable(type, names[1])
    update = v if f["updated"] else None
    return In(v, names[0], None if value is None else value.value, update, None, f["strict"], f["allow_downcast"])


def _same_kind(a: TensorType, b: TensorType, where: str) -> None:
    if (a.dtype, a.ndim) != (b.dtype, b.ndim):
        raise ValueError(f"{where}: its type is declared as {a}, but is {b}")


def _types(program: Program) -> dict[str, TensorType]:
    """The types of the names that can be results."""
    out = {x.name: x.type for x in program.inputs} | {c.name: c.type for c in program.consts}
    for step in program.steps:
        made = [step] if isinstance(step, Compute) else step.keeps if isinstance(step, Loop) else step.results
        out |= {x.out: x.type for x in made}
    return out
