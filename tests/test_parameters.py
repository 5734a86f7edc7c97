"""What the parameters of operators may be: each entry says it, and programs from files are held against it."""

import inspect
import json
from typing import Any

import numpy as np
import pytest

import scanopt.loops.require  # noqa: F401  (the operator of that name)
from scanopt.array.numerics import factors, running
from scanopt.array.op import Op, OpSpec, load
from scanopt.array.parameters import AXIS, Parameter, check_parameters, optional

GOOD = [
    "add", "power", 'power{"checked":true}', 'sum{"axis":[0,2],"keepdims":false}', 'sum{"axis":[],"keepdims":true}',
    'sum{"axis":[0],"dtype":"int8","keepdims":false}', 'var{"axis":[0],"ddof":1.5,"keepdims":false}',
    'reshape{"shape":[-1,null,3]}', 'full{"shape":[]}', 'transpose{"axes":[1,0]}', 'tensordot{"axes":[[1],[0]]}',
    'getitem{"index":[0,["slice",null,"in",-2],"newaxis","array"]}', 'setitem{"index":["mask"],"mode":"inc"}',
    'accumulate{"ufunc":"add"}', 'sort{"axis":0,"kind":"stable"}', 'round{"decimals":-3}', 'in_chunks{"size":64}',
    'linalg_or_flag{"function":"inv"}', 'solve_triangular{"lower":true,"trans":0,"unit_diagonal":false}',
    'random_choice{"dtype":"int64","lead":1,"replace":false,"shape":[3,null]}',
    'random_valid{"high":1,"low":0.5,"sums":"one","what":"choice: p"}',
    'require{"error":"ValueError","message":"{{x}} {found} < {expected}","relation":"ge"}',
]  # fmt: skip

BAD = [
    ('add{"xp":1}', 'add has no parameter \'xp\': it has none'),
    ('sum{"axis":[0],"keepdims":"²"}', "sum: keepdims must be true or false, found '²'"),
    ('sum{"axis":[0],"keepdims":1}', "keepdims must be true or false, found 1"),
    ('sum{"axis":[0]}', "sum lacks its parameter keepdims, true or false"),
    ('sum{"axis":0,"keepdims":true}', "axis must be a list of different axes counted from the front, found 0"),
    ('sum{"axis":[0,0],"keepdims":true}', "list of different axes"),
    ('sum{"axis":[-1],"keepdims":true}', "list of different axes"),
    ('sum{"axis":[true],"keepdims":true}', "list of different axes"),
    ('sum{"axis":[0],"keepdims":true,"out":1}', "sum has no parameter 'out': it has axis, keepdims, dtype"),
    ('sum{"axis":[0],"dtype":"object","keepdims":true}', "dtype must be a dtype, found 'object'"),
    ('max{"axis":[0],"dtype":"int8","keepdims":true}', "max has no parameter 'dtype'"),
    ('var{"axis":[0],"ddof":NaN,"keepdims":false}', "ddof must be a finite number, found nan"),
    ('var{"axis":[0],"ddof":1e999,"keepdims":false}', "ddof must be a finite number, found inf"),
    ('cast{"dtype":"U9"}', "dtype must be a dtype"),
    ('accumulate{"ufunc":"matmul"}', 'ufunc must be "add" or "multiply" or'),
    ('accumulate{"ufunc":"frompyfunc"}', "ufunc must be"),
    ('accumulate{}', "accumulate lacks its parameter ufunc"),
    ('linalg_or_flag{"function":"test"}', 'function must be "inv" or "cholesky", found \'test\''),
    ('lu_solve{"trans":true}', "trans must be 0 or 1 or 2, found True"),
    ('reshape{"shape":[-2]}', "shape must be a list of lengths, -1 for one"),
    ('reshape{"shape":3}', "shape must be a list of lengths"),
    ('full{"shape":[-1]}', "shape must be a list of lengths, null for those"),
    ('full{"shape":[9223372036854775808]}', "shape must be a list of lengths"),
    ('full{"shape":[1.0]}', "shape must be a list of lengths"),
    ('tensordot{"axes":[[0],[0,1]]}', "two lists of as many axes"),
    ('getitem{"index":"__import__"}', "a list of entries of an index, found '__import__'"),
    ('getitem{"index":[["slice",0,1]]}', "a list of entries of an index"),
    ('getitem{"index":[["slice",0,1,0]]}', "a list of entries of an index"),
    ('getitem{"index":[null]}', "a list of entries of an index"),
    ('getitem{"index":[{"a":1}]}', "a list of entries of an index"),
    ('getitem{"index":[1.0]}', "a list of entries of an index"),
    ('setitem{"index":[0],"mode":"pop"}', 'mode must be "set" or "inc", found \'pop\''),
    ('sort{"axis":0,"kind":"bogo"}', "kind must be"),
    ('softmax{"axis":64}', "axis must be an axis counted from the front, found 64"),
    ('in_chunks{"size":0}', "size must be an integer from 1 to"),
    ('require{"error":"SystemExit","message":"","relation":"ge"}', "error must be"),
    ('require{"error":"ValueError","message":"{found.__class__}","relation":"ge"}', "message must be text on one line"),
    ('require{"error":"ValueError","message":"{found:>9}","relation":"ge"}', "message must be text on one line"),
    ('require{"error":"ValueError","message":"{","relation":"ge"}', "message must be text on one line"),
    ('require{"error":"ValueError","message":"\\u001b[2J","relation":"ge"}', "message must be text on one line"),
    ('random_valid{"what":"a\\u202eb"}', "what must be text that can be printed on one line"),
    ('add{"a":1', "Expecting"), ("add{}", "'add{}' is not how the operator 'add' is written"),
    ('softmax{ "axis":0}', "is not how the operator"), ('softmax{"axis":1,"axis":0}', "is not how the operator"),
    ("add[1]", r"no operator named 'add\[1\]'"), ("x" * 10**5, "no operator named 'xxx"), ("\x1b[2J", r"'\\x1b\[2J'"),
    ('add{"\\u001b":1}', r"no parameter '\\x1b'"), ('add{"name":1}', "name"),
]  # fmt: skip


@pytest.mark.parametrize("key", GOOD)
def test_operators_as_functions_make_them(key: str) -> None:
    assert Op.read(key).key == key


@pytest.mark.parametrize(("key", "message"), BAD, ids=range(len(BAD)))
def test_operators_as_nobody_makes_them(key: str, message: str) -> None:
    with pytest.raises(ValueError, match=message.replace("[", r"\[") if "\\" not in message else message) as caught:
        Op.read(key)
    assert len(str(caught.value)) < 400
    assert str(caught.value).isprintable()


def taken(f: Any, skip: int) -> tuple[set[str], set[str], bool]:
    """The parameters that a function of an entry names, those that it needs, and whether it takes any."""
    found = [*inspect.signature(f).parameters.values()][skip:]
    named = {p.name for p in found if p.kind == p.KEYWORD_ONLY or (skip and p.kind == p.POSITIONAL_OR_KEYWORD)}
    needed = {p.name for p in found if p.name in named and p.default is p.empty}
    return named, needed, any(p.kind == p.VAR_KEYWORD for p in found)


@pytest.mark.parametrize("spec", load().values(), ids=lambda s: s.name)
def test_what_is_declared_is_what_functions_take(spec: OpSpec) -> None:
    try:
        named, needed, takes_any = taken(spec.numpy, 1)
    except ValueError:  # a function of NumPy's without a signature
        assert not spec.params
        return
    assert needed <= {name for name, p in spec.params.items() if not p.optional}
    assert spec.params.keys() <= named or takes_any


def test_no_attribute_is_looked_up_by_a_parameter() -> None:
    """Not even where an operator is made in Python."""
    for name in ("accumulate", "fold", "fold_in_order", "segmented"):
        with pytest.raises(ValueError, match="no ufunc that accumulates is named 'test'"):
            Op.make(name, ufunc="test").infer()
    with pytest.raises(ValueError, match="no ufunc that accumulates is named 'load'"):
        running.accumulate(np, "load", np.zeros(1), np.zeros(3))
    with pytest.raises(KeyError, match="test"):
        factors.flagged(np, "test", np.eye(2))


def test_an_entry_of_ones_own_declares_its_parameters() -> None:
    level = Parameter("a level from 0 to 9", lambda x: type(x) is int and 0 <= x <= 9)
    expected = {"axis": AXIS, "level": optional(level)}
    check_parameters("mine", expected, {"axis": 1})
    check_parameters("mine", expected, {"axis": 1, "level": 9})
    for given, message in (
        ({"axis": 1, "level": 10}, "mine: level must be a level from 0 to 9, found 10"),
        ({"level": 1}, "mine lacks its parameter axis, an axis counted from the front"),
        ({"axis": 1, "l": 1}, "mine has no parameter 'l': it has axis, level"),
        ({"axis": list(range(99))}, "found [0, 1, 2"),
    ):
        with pytest.raises(ValueError) as caught:  # noqa: PT011  compared below
            check_parameters("mine", expected, given)
        assert message in str(caught.value)
        assert len(str(caught.value)) < 200
        assert json.dumps(message)
