"""Random loops of recurrences, in parts of time: what composes is found, and gives what the interpreter gives."""

from collections import Counter

import numpy as np
import pytest
from random_recurrences import generate

import scanopt
from scanopt.loops.graph import loops_of
from scanopt.scale.plans import DependenceError

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


@pytest.mark.share(4)
@pytest.mark.parametrize("first", range(0, 40, 10))
def test_random_recurrences(first: int) -> None:
    """Of all dtypes, shapes and classes, with infinities and NaN; those that no class has are refused."""
    met: Counter[str] = Counter()
    for seed in range(first, first + 10):
        program = generate(seed)
        loop = next(x for x in loops_of(program.outputs) if x.states)
        if not program.steps or loop.go_backwards:
            continue
        inputs, values = list(program.inputs), list(program.inputs.values())
        f = scanopt.function(inputs, list(loop.outputs), on_unused_input="ignore")
        try:
            d = scanopt.distribute(f, dict.fromkeys(range(5), 0), chunks=1 + seed % 4, on="here")
        except DependenceError:
            assert "unlike" in program.classes
            met["refused"] += 1
            continue
        met.update(r.how.name for r in d.plan.rounds)
        for x, y in zip(d(*values), f.unoptimized(*values), strict=True):
            tolerance = 2e-3 if y.dtype == np.float32 else 1e-8 if y.dtype.kind == "f" else 0.0
            largest = np.max(np.abs(np.where(np.isfinite(y), y, 0)), initial=1)
            np.testing.assert_allclose(x, y, tolerance, tolerance * largest, err_msg=str((seed, program.classes)))
    assert met["Affine"]
    assert met["Folded"]
