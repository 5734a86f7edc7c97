"""Where large results of kernels lie in memory: at a line of the cache, by a handler that is set for them alone."""

from __future__ import annotations

import ctypes
import gc
import threading
import time
from typing import Any

import numpy as np
import pytest
from numpy._core import multiarray

import scanopt
import scanopt.tensor as T
from scanopt.backends.kernels.entry import can_enter
from scanopt.backends.kernels.numpy_table import entry_of

pytestmark = pytest.mark.skipif(not can_enter(), reason="calls go through Python here")
NAME = "lines_of_the_cache"


def smoothing() -> Any:
    u, x = T.dmatrix("u"), T.dvector("x")
    rows, _ = scanopt.scan(lambda u, x: 0.5 * x + u, sequences=u, outputs_info=x)
    f = scanopt.function([u, x], rows, backend="c")
    deadline = time.monotonic() + 60
    while f._entry.function is None and time.monotonic() < deadline:
        called(f, 200)
    return f


@pytest.fixture(scope="module")
def f() -> Any:
    return smoothing()


def handler(x: np.ndarray[Any, Any]) -> str:
    return multiarray.get_handler_name(x)


def called(f: Any, steps: int) -> np.ndarray[Any, Any]:
    u, x = np.ones((steps, 16)), np.zeros(16)
    for _ in range(3):
        found = f(u, x)
    return found


@pytest.mark.parametrize("steps", [100, 1000, 60_000])
def test_large_results_begin_at_a_line(f: Any, steps: int) -> None:
    found = [called(f, steps) for _ in range(5)]
    assert {handler(x) for x in found} == {NAME}
    assert {x.ctypes.data % 64 for x in found} == {0}
    assert all(x.flags.owndata and np.array_equal(x, found[0]) for x in found)


def test_small_results_are_numpys(f: Any) -> None:
    assert handler(called(f, 3)) == "default_allocator"
    assert handler(np.empty(10_000)) == "default_allocator"


def test_results_can_be_resized_and_outlive_their_function() -> None:
    x = called(smoothing(), 1000)
    gc.collect()
    before = x[0].copy()
    x.resize((5000, 16), refcheck=False)
    assert np.array_equal(x[0], before)
    assert not x[1000:].any()


def test_results_are_freed_by_other_threads(f: Any) -> None:
    found: list[Any] = []
    threads = [threading.Thread(target=lambda: found.append(called(f, 2000))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {handler(x) for x in found} == {NAME}
    assert handler(np.empty(10_000)) == "default_allocator"
    found.clear()
    gc.collect()


def test_a_handler_of_the_users_stays(f: Any) -> None:
    api = ctypes.pythonapi
    pointer, capsule = api.PyCapsule_GetPointer, api.PyCapsule_New
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    capsule.restype, capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    usual = ctypes.py_object.from_address(entry_of(306)).value
    size, name = 127 + 1 + 5 * 8, b"mem_handler"
    text = bytearray(ctypes.string_at(pointer(usual, name), size))
    text[:8] = b"of_mine\0"
    memory = ctypes.create_string_buffer(bytes(text), size)
    own = capsule(ctypes.addressof(memory), name, None)
    set_handler = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(entry_of(304))
    before = set_handler(own)
    try:
        found = called(f, 1000)
        assert handler(found) == "of_mine"
        assert handler(np.empty(10_000)) == "of_mine"
    finally:
        del found
        set_handler(before)
    assert handler(called(f, 1000)) == NAME
