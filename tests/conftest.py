"""Settings of all tests."""

import gc
import os
from collections.abc import Iterator
from importlib.util import find_spec

import pytest
from hypothesis import HealthCheck, settings

# What a test optimizes is optimized, here and in processes that it starts, and not read from the cache.
os.environ.setdefault("SCANOPT_FLAGS", "compilation_cache=False")

import scanopt

collect_ignore = [f"{peer}_programs.py" for peer in ("jax", "onnx", "pytensor") if find_spec(peer) is None]
"""Programs written with libraries that are not there."""

# The same examples on every run and machine, and no failure for being slow: CI has two cores and two workers.
settings.register_profile("scanopt", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("scanopt")


def pytest_collection_finish() -> None:
    """What was loaded and collected stays to the end: it is not looked through again and again for garbage."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def priced_as_array_steps() -> Iterator[None]:
    """Programs are chosen as where there is no compiler: for what laws find, which kernels often do without."""
    before = scanopt.config.cost
    scanopt.config.cost = "numpy"
    yield
    scanopt.config.cost = before


@pytest.fixture(scope="module")
def brief_search() -> Iterator[None]:
    """The exact search ends early: for tests of values, which are the same whatever program is chosen."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("scanopt.extraction.extract._LEAST_SECONDS", 0.3)
        yield
