"""docs/jax.md: each line on the right runs, and no name of JAX's control flow and transformations is left out."""

import re
from pathlib import Path
from typing import Any

import pytest

PAGE = Path(__file__).parents[1] / "docs" / "jax.md"
TEXT = PAGE.read_text(encoding="utf-8")
ROWS = [tuple(part.strip() for part in line.strip("|").split(" | ")) for line in TEXT.splitlines() if line[:2] == "| "]
CODE = [(left, right.strip("`")) for left, right in ROWS if re.fullmatch(r"`[^`]*`", right)]
SETUP = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)[1]

LAX = ["associative_scan", "cond", "fori_loop", "map", "scan", "select", "select_n", "switch", "while_loop"]
MORE_OF_LAX = ["cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp", "stop_gradient", "custom_root",
               "custom_linear_solve", "dynamic_slice", "dynamic_slice_in_dim", "dynamic_index_in_dim",
               "dynamic_update_slice", "dynamic_update_slice_in_dim", "dynamic_update_index_in_dim"]  # fmt: skip
TRANSFORMS = [
    "jit", "disable_jit", "ensure_compile_time_eval", "make_jaxpr", "eval_shape", "ShapeDtypeStruct", "device_put",
    "device_get", "named_call", "block_until_ready", "grad", "value_and_grad", "jacobian", "jacfwd", "jacrev",
    "hessian", "jvp", "linearize", "linear_transpose", "vjp", "custom_gradient", "custom_jvp", "custom_vjp",
    "closure_convert", "checkpoint", "vmap", "pmap", "shard_map", "pure_callback", "debug.print", "debug.callback",
    "debug.breakpoint",
]  # fmt: skip


@pytest.mark.parametrize(("jax", "ours"), CODE, ids=[left for left, _ in CODE])
def test_line_runs(jax: str, ours: str, capsys: Any) -> None:
    names: dict[str, Any] = {}
    exec(SETUP, names)
    exec(ours, names)
    assert capsys.readouterr().out.count("[") <= 1


def test_every_name_has_a_line() -> None:
    left = " ".join(row[0] for row in ROWS)
    for name in (*LAX, *MORE_OF_LAX):
        assert re.search(rf"`(jax\.)?lax\.{name}\b", left), name
    for name in TRANSFORMS:
        assert re.search(rf"jax\.{re.escape(name)}\b", left), name
    assert len(CODE) > 45
