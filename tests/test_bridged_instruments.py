"""Instruments work on programs of other libraries: `scanopt explain` and `scanopt ablate` of a file that reads one."""

import textwrap
from pathlib import Path

import pytest

from scanopt.cli import main

pytestmark = pytest.mark.filterwarnings("ignore")  # those of the libraries

FILES = {
    "jax": """
        import jax, jax.numpy as jnp, numpy as np, scanopt

        def cell(w, xs):
            return jax.lax.scan(lambda h, x: (jnp.tanh(x @ w + h), h.sum()), jnp.zeros(3, "float32"), xs)

        print(scanopt.from_jax(cell)(np.eye(3, dtype="float32"), np.ones((20, 3), "float32"))[1].shape)
        """,
    "onnxruntime": """
        import scanopt
        from onnx_programs import arguments, model

        made = model("rnn")
        print(len(scanopt.from_onnx(made)(**arguments(made))))
        """,
    "pytensor": """
        import os
        os.environ.setdefault("PYTENSOR_FLAGS", "cxx=,scan__allow_output_prealloc=False")
        import numpy as np, pytensor, pytensor.tensor as pt, scanopt

        x, a = pt.dvector("x"), pt.dscalar("a")
        step = lambda u, s, a: a * s + u * 1.0
        trace = pytensor.scan(step, x, np.float64(0), a, return_updates=False)
        f = pytensor.function([x, a], trace[-1], mode=scanopt.pytensor_mode())
        print(f(np.ones(20), 0.5))
        """,
}


@pytest.mark.parametrize("command", ["explain", "ablate"])
@pytest.mark.parametrize("peer", FILES)
def test_of_a_program_of_another_library(
    peer: str, command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip(peer, reason=f"{peer} is not installed")
    file = tmp_path / f"{peer}_program.py"
    file.write_text(textwrap.dedent(FILES[peer]), encoding="utf-8")
    assert main([command, str(file)]) == 0
    found = capsys.readouterr().out
    print(found)
    assert "cost" in found
    if command == "ablate":
        assert "without" in found
