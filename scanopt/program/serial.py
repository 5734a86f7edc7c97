"""Loop programs as JSON, and back.

What is read is taken for untrusted: nothing is executed or unpickled, every field is checked,
names must be made before they are read, and the type of every step is inferred anew.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterable
from typing import Any, NoReturn

import numpy as np

from scanopt.array.op import Op
from scanopt.array.types import TensorType
from scanopt.program.check import check_program
from scanopt.program.ir import Compute, Const, Input, Keep, Loop, Program, Read, State, Step

__all__ = ["FORMAT", "VERSION", "from_json", "to_json"]

FORMAT, VERSION = "scanopt program", 1
DTYPES = {
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float16", "float32", "float64", "complex64", "complex128",
}  # fmt: skip
Json = Any


# Writing


def to_json(program: Program) -> str:
    """The program as JSON text; equal programs give equal texts.

    Raises ValueError for a dtype that the format does not know.
    """
    data = {
        "format": FORMAT,
        "version": VERSION,
        "inputs": [{"name": x.name, "type": _type(x.type), "label": x.label} for x in program.inputs],
        "consts": [_const(c) for c in program.consts],
        "steps": [_step(s) for s in program.steps],
        "outputs": list(program.outputs),
        "checks": list(program.checks),
        "notes": dict(sorted(program.notes.items())),
    }
    return json.dumps(data, indent=1, allow_nan=False)


def _type(type: TensorType) -> Json:
    if type.dtype not in DTYPES:
        raise ValueError(f"a program with dtype {type.dtype} cannot be saved")
    return {"dtype": type.dtype, "shape": list(type.shape)}


def _const(c: Const) -> Json:
    little = np.ascontiguousarray(c.value, dtype=c.value.dtype.newbyteorder("<"))
    return {"name": c.name, "type": _type(c.type), "base64": base64.b64encode(little.tobytes()).decode("ascii")}


def _step(step: Step) -> Json:
    if isinstance(step, Compute):
        return {
            "kind": "compute", "out": step.out, "op": step.op.key, "args": list(step.args),
            "type": _type(step.type),
        }  # fmt: skip
    return {
        "kind": "loop",
        "label": step.label,
        "steps": step.steps,
        "reads": [{"out": r.out, "source": r.source, "type": _type(r.type)} for r in step.reads],
        "states": [
            {"init": s.init, "depth": s.depth, "taps": [list(tap) for tap in s.taps],
             "update": s.update, "type": _type(s.type), "label": s.label}
            for s in step.states
        ],
        "body": [_step(s) for s in step.body],
        "keeps": [
            {"out": k.out, "value": k.value, "rows": k.rows, "type": _type(k.type)}
            for k in step.keeps
        ],
        "until": step.until,
        "phase": step.phase,
    }  # fmt: skip


# Reading


def from_json(text: str) -> Program:
    """The program written as `text` by `to_json`.

    Raises ValueError, saying what is wrong and where, for anything but a valid program: text that
    is no JSON, a missing or unknown field, an operator that is not in the table, a name that is
    made twice or read before it is made, a type that does not follow from the operands.
    """
    import scanopt.loops.require  # an operator of its own, beside the table's  # noqa: F401

    try:
        data = json.loads(text, object_pairs_hook=_object, parse_constant=_no_constant)
        program = _program(data)
        check_program(program)
    except RecursionError:
        raise ValueError("the program is nested too deeply") from None
    return program


def _object(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [k for k, _ in pairs]
        twice = next(k for k in names if names.count(k) > 1)
        raise ValueError(f"field {twice!r} stands twice in one object")
    return found


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def _program(data: Json) -> Program:
    where = "program"
    head = data if isinstance(data, dict) else {}
    if head.get("format") != FORMAT:
        raise ValueError(f"not a {FORMAT}: no field format={FORMAT!r}")
    if head.get("version") != VERSION or isinstance(head.get("version"), bool):
        raise ValueError(f"version {head.get('version')!r} is not known: expected {VERSION}")
    f = _fields(data, where, "format version inputs consts steps outputs checks notes")
    notes = f["notes"]
    if not isinstance(notes, dict) or not all(isinstance(v, str) for v in notes.values()):
        raise ValueError(f"{where}: notes must be an object of strings")
    return Program(
        tuple(_input(x, f"input {i}") for i, x in enumerate(_list(f, "inputs", where))),
        tuple(_read_const(x, f"const {i}") for i, x in enumerate(_list(f, "consts", where))),
        _steps(f, "steps", where),
        _names(f, "outputs", where),
        _names(f, "checks", where),
        dict(notes),
    )


def _fields(data: Json, where: str, names: str) -> dict[str, Json]:
    wanted = set(names.split())
    if not isinstance(data, dict):
        raise ValueError(f"{where}: expected an object, found {type(data).__name__}")
    for word, some in (("no", wanted - data.keys()), ("unknown", data.keys() - wanted)):
        if some:
            raise ValueError(f"{where}: {word} field {min(some)!r}")
    return data


def _list(f: dict[str, Json], name: str, where: str) -> list[Json]:
    found = f[name]
    if not isinstance(found, list):
        raise ValueError(f"{where}: {name} must be a list")
    return found


def _text(f: dict[str, Json], name: str, where: str) -> str:
    found = f[name]
    if not isinstance(found, str):
        raise ValueError(f"{where}: {name} must be a string, found {found!r}")
    return found


def _int(x: Json, what: str, where: str) -> int:
    if not isinstance(x, int) or isinstance(x, bool):
        raise ValueError(f"{where}: {what} must be an integer, found {x!r}")
    return x


def _names(f: dict[str, Json], name: str, where: str) -> tuple[str, ...]:
    found = _list(f, name, where)
    if not all(isinstance(x, str) for x in found):
        raise ValueError(f"{where}: {name} must be a list of names")
    return tuple(found)


def _read_type(data: Json, where: str) -> TensorType:
    f = _fields(data, f"{where}, type", "dtype shape")
    if f["dtype"] not in DTYPES:
        raise ValueError(f"{where}: unknown dtype {f['dtype']!r}")
    shape = tuple(None if n is None else _int(n, "a length", where) for n in _list(f, "shape", where))
    if any(n is not None and n < 0 for n in shape):
        raise ValueError(f"{where}: a length is negative")
    return TensorType(f["dtype"], shape)


def _input(data: Json, where: str) -> Input:
    f = _fields(data, where, "name type label")
    return Input(_text(f, "name", where), _read_type(f["type"], where), _text(f, "label", where))


def _read_const(data: Json, where: str) -> Const:
    f = _fields(data, where, "name type base64")
    type, text = _read_type(f["type"], where), _text(f, "base64", where)
    if None in type.shape:
        raise ValueError(f"{where}: the shape of a constant must be known")
    try:
        raw = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise ValueError(f"{where}: bad base64: {error}") from None
    dtype = np.dtype(type.dtype).newbyteorder("<")
    expected = dtype.itemsize
    for n in type.shape:
        expected *= n or 0
    if len(raw) != expected:
        raise ValueError(f"{where}: expected {expected} bytes, found {len(raw)}")
    shape = tuple(n or 0 for n in type.shape)
    value = np.frombuffer(raw, dtype).astype(type.dtype).reshape(shape)
    value.setflags(write=False)
    return Const(_text(f, "name", where), value)


def _steps(f: dict[str, Json], name: str, where: str) -> tuple[Step, ...]:
    return tuple(_read_step(x, f"{where}, step {i}") for i, x in enumerate(_list(f, name, where)))


def _read_step(data: Json, where: str) -> Step:
    kind = data.get("kind") if isinstance(data, dict) else None
    if kind == "loop":
        return _loop(data, where)
    if kind != "compute":
        raise ValueError(f"{where}: unknown kind of step {kind!r}")
    f = _fields(data, where, "kind out op args type")
    return Compute(
        _text(f, "out", where), _op(_text(f, "op", where), where), _names(f, "args", where),
        _read_type(f["type"], where),
    )  # fmt: skip


def _op(key: str, where: str) -> Op:
    try:
        op = Op.parse(key)
        again = op.key
    except (ValueError, TypeError, AttributeError) as error:
        raise ValueError(f"{where}: {error}") from None
    if again != key:
        raise ValueError(f"{where}: {key!r} is not how the operator {again!r} is written")
    return op


def _loop(data: Json, where: str) -> Loop:
    f = _fields(data, where, "kind label steps reads states body keeps until phase")
    return Loop(
        _text(f, "label", where),
        _text(f, "steps", where),
        tuple(_read(x, f"{where}, read {i}") for i, x in enumerate(_list(f, "reads", where))),
        tuple(_state(x, f"{where}, state {i}") for i, x in enumerate(_list(f, "states", where))),
        _steps(f, "body", where),
        tuple(_keep(x, f"{where}, keep {i}") for i, x in enumerate(_list(f, "keeps", where))),
        None if f["until"] is None else _text(f, "until", where),
        _int(f["phase"], "phase", where),
    )


def _read(data: Json, where: str) -> Read:
    f = _fields(data, where, "out source type")
    return Read(_text(f, "out", where), _text(f, "source", where), _read_type(f["type"], where))


def _state(data: Json, where: str) -> State:
    f = _fields(data, where, "init depth taps update type label")
    return State(
        _text(f, "init", where), _int(f["depth"], "depth", where),
        tuple(_taps(_list(f, "taps", where), where)), _text(f, "update", where),
        _read_type(f["type"], where), _text(f, "label", where),
    )  # fmt: skip


def _taps(pairs: list[Json], where: str) -> Iterable[tuple[int, str]]:
    for pair in pairs:
        if not isinstance(pair, list) or len(pair) != 2 or not isinstance(pair[1], str):
            raise ValueError(f"{where}: a tap is a list of a number and a name, found {pair!r}")
        yield _int(pair[0], "a tap", where), pair[1]


def _keep(data: Json, where: str) -> Keep:
    f = _fields(data, where, "out value rows type")
    rows = None if f["rows"] is None else _int(f["rows"], "rows", where)
    return Keep(_text(f, "out", where), _text(f, "value", where), rows, _read_type(f["type"], where))
