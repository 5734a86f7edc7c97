"""Loop programs as JSON, and back.

Files are not trusted: nothing in them is executed or unpickled, every field is checked, and
names must be made before they are read.  Types are inferred, and the program that is returned
has the inferred ones, so that nothing depends on what a file says about its values.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
from collections.abc import Iterable

import numpy as np

import scanopt.loops.require  # an operator of its own, beside the table's  # noqa: F401
from scanopt.array.op import Op
from scanopt.array.shown import shown
from scanopt.array.types import DTYPES, LONGEST, MOST_AXES, TensorType
from scanopt.config import PRECISIONS
from scanopt.program.check import inferred
from scanopt.program.ir import Branch, CarriedState, Compute, Const, Either, Input, Keep, Loop, Program, Read, Step
from scanopt.program.reading import (
    Json,
    check_version,
    fields,
    integer,
    label_in,
    list_in,
    names_in,
    read_json,
    text_in,
    truth,
)  # fmt: skip
from scanopt.program.storage.check import check_storage
from scanopt.program.storage.data import read_storage, storage_data
from scanopt.program.storage.placement import keep_storage, storage_of

__all__ = [
    "FORMAT", "VERSION", "const_data", "from_json", "program_data", "read_const", "read_program", "read_type",
    "to_json", "type_data",
]  # fmt: skip

FORMAT, VERSION = "scanopt program", 3
REQUIRED = "format version inputs consts steps outputs checks notes profile exact storage"


# Writing


def to_json(program: Program) -> str:
    """The program as JSON text; equal programs give equal texts.

    Raises ValueError for a dtype that the format does not know, and for an operator of an extension with a
    parameter that its entry does not declare.
    """
    return json.dumps(program_data(program), indent=1, allow_nan=False)


def program_data(program: Program) -> Json:
    """The program as objects, lists, strings and numbers, with the types that are inferred when it is read.

    So its storage assumes the same types that the reader will infer.
    """
    made = inferred(program)
    return _data(program if made.steps == program.steps else made)


def _data(program: Program) -> Json:
    return {
        "format": FORMAT,
        "version": VERSION,
        "inputs": [{"name": x.name, "type": type_data(x.type), "label": x.label} for x in program.inputs],
        "consts": [const_data(c) for c in program.consts],
        "steps": [_step(s) for s in program.steps],
        "outputs": list(program.outputs),
        "checks": list(program.checks),
        "notes": dict(sorted(program.notes.items())),
        "profile": list(program.profile),
        "exact": program.exact,
        "storage": _storage(program),
        **({} if program.matmul_precision == "float32" else {"matmul_precision": program.matmul_precision}),
    }


def _storage(program: Program) -> Json:
    """Where the program's values live; None where that is not known and egglog is not installed to derive it."""
    try:
        return storage_data(storage_of(program))
    except ImportError:
        return None


def type_data(type: TensorType) -> Json:
    """A type as data.  Raises ValueError for a dtype that the format does not know."""
    if type.dtype not in DTYPES:
        raise ValueError(f"a program with dtype {type.dtype} cannot be saved")
    return {"dtype": type.dtype, "shape": list(type.shape)}


def const_data(c: Const) -> Json:
    """An array with a name as data, its bytes in base64."""
    little = np.ascontiguousarray(c.value, dtype=c.value.dtype.newbyteorder("<"))
    return {"name": c.name, "type": type_data(c.type), "base64": base64.b64encode(little.tobytes()).decode("ascii")}


def _step(step: Step) -> Json:
    if isinstance(step, Compute):
        step.op.check()
        return {
            "kind": "compute", "out": step.out, "op": step.op.key, "args": list(step.args),
            "type": type_data(step.type),
        }  # fmt: skip
    if isinstance(step, Branch):
        return {
            "kind": "branch", "condition": step.condition,
            "then": [_step(s) for s in step.then], "otherwise": [_step(s) for s in step.otherwise],
            "results": [
                {"out": r.out, "then": r.then, "otherwise": r.otherwise, "type": type_data(r.type)}
                for r in step.results
            ],
        }  # fmt: skip
    return {
        "kind": "loop",
        "label": step.label,
        "steps": step.steps,
        "reads": [{"out": r.out, "source": r.source, "type": type_data(r.type)} for r in step.reads],
        "states": [
            {"init": s.init, "depth": s.depth, "taps": [list(tap) for tap in s.taps],
             "update": s.update, "type": type_data(s.type), "label": s.label}
            for s in step.states
        ],
        "body": [_step(s) for s in step.body],
        "keeps": [
            {"out": k.out, "value": k.value, "rows": k.rows, "type": type_data(k.type)}
            for k in step.keeps
        ],
        "until": step.until,
        "phase": step.phase,
        "profile": list(step.profile),
        "keep_buffers": step.keep_buffers,
    }  # fmt: skip


# Reading


def from_json(text: str) -> Program:
    """The program written as `text` by `to_json`.

    Raises ValueError, saying what is wrong and where, for anything but a valid program: text that
    is no JSON, a missing or unknown field, an operator that is not in the table, a name that is
    made twice or read before it is made, a type that does not follow from the operands, a storage
    that overwrites a value that is still read.
    """
    return read_json(text, read_program)


def read_program(data: Json) -> Program:
    """The program that `program_data` gave.  Raises ValueError, saying what is wrong and where."""
    program = inferred(_program(data))
    if data["storage"] is not None:
        storage = read_storage(data["storage"], "storage")
        check_storage(program, storage)
        keep_storage(program, storage)
    return program


def _program(data: Json) -> Program:
    where = "program"
    check_version(data, FORMAT, VERSION)
    f = fields(data, where, f"{REQUIRED} matmul_precision" if "matmul_precision" in data else REQUIRED)
    precision = f.get("matmul_precision", "float32")
    if precision not in PRECISIONS:
        raise ValueError(f"{where}: matmul_precision must be {' or '.join(PRECISIONS)}, found {precision!r}")
    notes = f["notes"]
    if not isinstance(notes, dict) or not all(isinstance(v, str) for v in notes.values()):
        raise ValueError(f"{where}: notes must be an object of strings")
    names_in({"notes": [*notes, *notes.values()]}, "notes", where)
    return Program(
        tuple(_input(x, f"input {i}") for i, x in enumerate(list_in(f, "inputs", where))),
        tuple(_const(x, f"const {i}") for i, x in enumerate(list_in(f, "consts", where))),
        _steps(f, "steps", where),
        names_in(f, "outputs", where),
        names_in(f, "checks", where),
        dict(notes),
        names_in(f, "profile", where),
        truth(f["exact"], "exact", where),
        str(precision),
    )


def read_type(data: Json, where: str) -> TensorType:
    """The type that `type_data` gave.  Raises ValueError naming `where`."""
    f = fields(data, f"{where}, type", "dtype shape")
    if text_in(f, "dtype", where) not in DTYPES:
        raise ValueError(f"{where}: unknown dtype {f['dtype']!r}")
    shape = tuple(None if n is None else integer(n, "a length", where) for n in list_in(f, "shape", where))
    if any(n is not None and n < 0 for n in shape):
        raise ValueError(f"{where}: a length is negative")
    if len(shape) > MOST_AXES or any(n is not None and n > LONGEST for n in shape):
        raise ValueError(f"{where}: no array has so many axes, or one of such a length")
    return TensorType(f["dtype"], shape)


def _input(data: Json, where: str) -> Input:
    f = fields(data, where, "name type label")
    return Input(label_in(f, "name", where), read_type(f["type"], where), label_in(f, "label", where))


def read_const(data: Json, where: str) -> Const:
    """The array that `const_data` gave, its name any text.  Raises ValueError naming `where`."""
    f = fields(data, where, "name type base64")
    type, text = read_type(f["type"], where), text_in(f, "base64", where)
    if None in type.shape:
        raise ValueError(f"{where}: the shape of a constant must be known")
    try:
        raw = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise ValueError(f"{where}: bad base64: {error}") from None
    dtype = np.dtype(type.dtype).newbyteorder("<")
    shape = tuple(n or 0 for n in type.shape)
    expected = dtype.itemsize * math.prod(shape)
    if len(raw) != expected:
        raise ValueError(f"{where}: expected {expected} bytes, found {len(raw)}")
    if type.dtype == "bool" and raw.strip(b"\0\1"):
        raise ValueError(f"{where}: a byte of a bool must be 0 or 1")
    try:
        value = np.frombuffer(raw, dtype).astype(type.dtype).reshape(shape)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None
    value.setflags(write=False)
    return Const(text_in(f, "name", where), value)


def _const(data: Json, where: str) -> Const:
    found = read_const(data, where)
    label_in(data, "name", where)
    return found


def _steps(f: dict[str, Json], name: str, where: str) -> tuple[Step, ...]:
    return tuple(_read_step(x, f"{where}, step {i}") for i, x in enumerate(list_in(f, name, where)))


def _read_step(data: Json, where: str) -> Step:
    kind = data.get("kind") if isinstance(data, dict) else None
    if kind == "loop":
        return _loop(data, where)
    if kind == "branch":
        return _branch(data, where)
    if kind != "compute":
        raise ValueError(f"{where}: unknown kind of step {kind!r}")
    f = fields(data, where, "kind out op args type")
    return Compute(
        label_in(f, "out", where), _op(text_in(f, "op", where), where), names_in(f, "args", where),
        read_type(f["type"], where),
    )  # fmt: skip


def _branch(data: Json, where: str) -> Branch:
    f = fields(data, where, "kind condition then otherwise results")
    return Branch(
        label_in(f, "condition", where),
        _steps(f, "then", f"{where}, then"),
        _steps(f, "otherwise", f"{where}, otherwise"),
        tuple(_either(x, f"{where}, result {i}") for i, x in enumerate(list_in(f, "results", where))),
    )


def _either(data: Json, where: str) -> Either:
    f = fields(data, where, "out then otherwise type")
    out, then, otherwise = (label_in(f, name, where) for name in ("out", "then", "otherwise"))
    return Either(out, then, otherwise, read_type(f["type"], where))


def _op(key: str, where: str) -> Op:
    try:
        return Op.read(key)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None


def _loop(data: Json, where: str) -> Loop:
    f = fields(data, where, "kind label steps reads states body keeps until phase profile keep_buffers")
    if not isinstance(f["keep_buffers"], bool):
        raise ValueError(f"{where}: keep_buffers must be true or false, found {f['keep_buffers']!r}")
    return Loop(
        label_in(f, "label", where),
        label_in(f, "steps", where),
        tuple(_read(x, f"{where}, read {i}") for i, x in enumerate(list_in(f, "reads", where))),
        tuple(_state(x, f"{where}, state {i}") for i, x in enumerate(list_in(f, "states", where))),
        _steps(f, "body", where),
        tuple(_keep(x, f"{where}, keep {i}") for i, x in enumerate(list_in(f, "keeps", where))),
        None if f["until"] is None else label_in(f, "until", where),
        integer(f["phase"], "phase", where),
        names_in(f, "profile", where),
        f["keep_buffers"],
    )


def _read(data: Json, where: str) -> Read:
    f = fields(data, where, "out source type")
    return Read(label_in(f, "out", where), label_in(f, "source", where), read_type(f["type"], where))


def _state(data: Json, where: str) -> CarriedState:
    f = fields(data, where, "init depth taps update type label")
    return CarriedState(
        label_in(f, "init", where), integer(f["depth"], "depth", where),
        tuple(_taps(list_in(f, "taps", where), where)), label_in(f, "update", where),
        read_type(f["type"], where), label_in(f, "label", where),
    )  # fmt: skip


def _taps(pairs: list[Json], where: str) -> Iterable[tuple[int, str]]:
    for pair in pairs:
        if not isinstance(pair, list) or len(pair) != 2 or not isinstance(pair[1], str) or shown(pair[1]) != pair[1]:
            raise ValueError(f"{where}: a tap must be a list of a number and a name, found {pair!r}")
        yield integer(pair[0], "a tap", where), pair[1]


def _keep(data: Json, where: str) -> Keep:
    f = fields(data, where, "out value rows type")
    rows = f["rows"]
    if rows is not None:
        rows = label_in(f, "rows", where) if isinstance(rows, str) else integer(rows, "rows", where)
    return Keep(label_in(f, "out", where), label_in(f, "value", where), rows, read_type(f["type"], where))
