"""Settings of all tests."""

import gc
import os
from collections.abc import Iterator
from importlib.util import find_spec

import pytest
from hypothesis import HealthCheck, settings

# What a test optimizes is optimized, here and in processes that it starts, and not read from the cache.
os.environ.setdefault("SCANOPT_FLAGS", "compilation_cache=False")

from shares import left_out

import scanopt
from scanopt.backends.kernels.build import Build
from scanopt.backends.kernels.compilers import Compiler

collect_ignore = [f"{peer}_programs.py" for peer in ("jax", "onnx", "pytensor") if find_spec(peer) is None]
"""Programs written with libraries that are not there."""

# The same examples on every run and machine, and no failure for being slow: CI has two cores and two workers.
settings.register_profile("scanopt", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("scanopt")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "share(n): one in n of its cases is run, by `make test-all` all of them")
    config.addinivalue_line("markers", "thorough: only `make test-all` runs it")
    config.addinivalue_line("markers", "refused: the compiler refuses a text that this test gives it")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    left = left_out(items)
    config.hook.pytest_deselected(items=[x for x in items if x in left])
    items[:] = [x for x in items if x not in left]


def pytest_collection_finish() -> None:
    """What was loaded and collected stays to the end: it is not looked through again and again for garbage."""
    gc.collect()
    gc.freeze()


def pytest_sessionfinish() -> None:
    """pytest looks for garbage five times as it ends: what is left after one look is not looked through again."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="module", autouse=True)
def kept() -> Iterator[None]:
    """What outlives the tests of a file, mostly in caches, is not looked through for garbage again and again."""
    yield
    gc.collect()
    gc.freeze()


_REFUSED: list[str] = []
"""What the compiler said of texts that it refused."""


@pytest.fixture(scope="session", autouse=True)
def refusals() -> Iterator[None]:
    """Notes each text that the compiler refuses: its loop would run as array steps, and nobody would see why."""
    finish = Build._finish

    def finish_and_note(build: Build, compiler: Compiler) -> None:
        finish(build, compiler)
        if " gave status " in build.trouble:
            _REFUSED.append(build.trouble)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Build, "_finish", finish_and_note)
        yield


@pytest.fixture(autouse=True)
def nothing_refused(request: pytest.FixtureRequest) -> Iterator[None]:
    """The compiler accepts every text, also those that it is given in the background."""
    yield
    found = "\n".join(_REFUSED)
    _REFUSED.clear()
    if found and request.node.get_closest_marker("refused") is None:
        pytest.fail(f"The compiler refused a text, of this test or of one before: {found}")


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


@pytest.fixture
def device_kernels_pay(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel of a device runs however few steps there are."""
    monkeypatch.setattr("scanopt.backends.kernels.device_plans.fewest_steps", lambda plan: 0.0)


@pytest.fixture
def grids_first(device_kernels_pay: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """And a kernel in which all blocks run each step together is taken before the others."""
    monkeypatch.setattr("scanopt.backends.kernels.device_loops.kernel_step_seconds", lambda plan: not plan.variant.grid)
