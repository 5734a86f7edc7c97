"""The page docs/gallery.md and its pictures: `python tests/gallery_page.py` writes them anew."""

from pathlib import Path
from typing import Any

import scanopt
import scanopt.tensor as T
from scanopt.view.svg import program_svg

__all__ = ["REWRITES", "gallery"]

DOCS = Path(__file__).parents[1] / "docs"


def product_of_rows() -> Any:
    """A product of each row leaves the loop as one product of matrices."""
    X, W, h0 = T.dmatrix("X"), T.dmatrix("W"), T.dvector("h0")
    h, _ = scanopt.scan(lambda x, h, W: T.tanh(x @ W + h), X, h0, W)
    return scanopt.function([X, W, h0], h)


def last_of_powers() -> Any:
    """Only the last of all powers is read, so only the last one is kept."""
    k, A = T.iscalar("k"), T.dvector("A")
    powers, _ = scanopt.scan(lambda p, A: p * A, outputs_info=T.ones_like(A), non_sequences=A, n_steps=k)
    return scanopt.function([k, A], powers[-1])


def two_loops() -> Any:
    """Two loops of one length become one."""
    x, s = T.dvector("x"), T.dscalar("s")
    sums, _ = scanopt.scan(lambda v, a: T.tanh(a + v), x, s)
    products, _ = scanopt.scan(lambda v, a: T.sin(a * v), x, s)
    return scanopt.function([x, s], [sums, products])


def what_never_changes() -> Any:
    """A value that does not depend on the step is computed once."""
    x, a, s = T.dvector("x"), T.dscalar("a"), T.dscalar("s")
    rows, _ = scanopt.scan(lambda v, b, a: T.tanh(b * T.exp(a) + v), x, s, a)
    return scanopt.function([x, a, s], rows)


def map_of_a_row() -> Any:
    """A loop whose steps are independent of one another becomes operators on whole arrays."""
    x = T.dvector("x")
    return scanopt.function([x], scanopt.map(lambda v: T.exp(v) * 2.0, x)[0])


def gradient_of_a_loop() -> Any:
    """The gradient of a weight is a sum over steps, which becomes one product outside."""
    X, w, h0 = T.dmatrix("X"), T.dvector("w"), T.dscalar("h0")
    h, _ = scanopt.scan(lambda x, h, w: T.tanh(T.dot(x, w) + h), X, h0, w)
    return scanopt.function([X, w, h0], scanopt.grad(h[-1], w))


REWRITES = (product_of_rows, last_of_powers, two_loops, what_never_changes, map_of_a_row, gradient_of_a_loop)


def gallery() -> dict[str, str]:
    """The page and its pictures, by their names in docs."""
    out: dict[str, str] = {}
    text = [
        "# Rewrites as pictures\n",
        "Made by `tests/gallery_page.py`; do not edit.  Inputs are at the top, results at the bottom, loops are boxes\n"
        "(see [Views](views.md#pictures)).  Below each pair are the laws that did it; [Laws](laws.md) has all laws.\n",
    ]
    for make in REWRITES:
        f, name = make(), make.__name__.replace("_", "-")
        assert make.__doc__ is not None
        both = {"before": f.initial, "after": f.program}
        out |= {f"gallery/{name}-{side}.svg": program_svg(p) for side, p in both.items()}
        laws = "\n".join(f"- `{s.law}`: `{s.formula}`" for s in f.explain().steps)
        pictures = f"![before](gallery/{name}-before.svg) | ![after](gallery/{name}-after.svg)"
        text.append(
            f"## {make.__doc__.rstrip('.')}\n\n| as written | as it runs |\n|---|---|\n| {pictures} |\n\n{laws}\n"
        )
    return {"gallery.md": "\n".join(text)} | out


if __name__ == "__main__":
    (DOCS / "gallery").mkdir(exist_ok=True)
    with scanopt.config.change_flags(cost="numpy", compilation_cache=False):  # the same with and without a compiler
        for name, text in gallery().items():
            (DOCS / name).write_text(text, encoding="utf-8")
