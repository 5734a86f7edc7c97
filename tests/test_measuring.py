"""Times of calls: of kernels, not of the array steps that run until these are compiled."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

import scanopt
import scanopt.tensor as T
from scanopt.backends.kernels import build
from scanopt.compilation import measuring
from scanopt.compilation.measuring import seconds_per_call


def test_kernels_are_waited_for_and_called_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a first call asks for may ask for more once it is there."""
    running = iter([True, True, False])
    monkeypatch.setattr(measuring, "wait_for_builds", lambda: next(running))
    calls: list[int] = []
    seconds_per_call(lambda: calls.append(0), budget=0.0)
    assert len(calls) == 3 + 3
    assert next(running, None) is None


@pytest.mark.skipif(shutil.which("cc") is None, reason="no compiler")
def test_no_compiler_runs_any_more() -> None:
    x, n = T.dvector("x"), T.lscalar("n")
    scale = float(np.random.default_rng().random())  # so that no kernel is in the cache
    y, _ = scanopt.scan(lambda s: s * scale, outputs_info=x, n_steps=n)
    f = scanopt.function([x, n], y, backend="c")
    f(np.ones(3), 5)
    build.wait_for_builds()
    assert not build._RUNNING
