"""Gradients of random smooth programs: central differences, optimized and not, forwards, of second order.

`python benchmarks/soundness_gradients.py` runs more of them; docs/soundness-gradients.md has what they came to.
"""

from collections import Counter

import pytest
from corpus import check
from corpus.slopes import Checked, check_slopes
from corpus.smooth import SMOOTH_KINDS, generate, smooth_kinds
from corpus.spec import Input, Line, Spec
from corpus.text import source

pytestmark = pytest.mark.usefixtures("brief_search")

PROGRAMS = 100
COMPILED = 3
"""One of so many is optimized, too: that takes longer than all the rest."""


def describe(results: list[Checked]) -> str:
    return "\n".join("\n".join([*x.failures, source(x.spec, tail=False)]) for x in results if x.failures)


@pytest.mark.share(10)
@pytest.mark.parametrize("seed", range(PROGRAMS))
def test_first_order(seed: int) -> None:
    result = check_slopes(generate(seed), entries=False, compiled=seed % COMPILED == 0)
    assert describe([result]) == ""


def test_most_of_them_have_derivatives_other_than_0() -> None:
    results = [check_slopes(generate(seed), entries=False, compiled=False) for seed in range(20)]
    assert sum(x.outcome == "smooth" for x in results) > 15


@pytest.mark.share(4)
@pytest.mark.parametrize("seed", range(1000, 1020))
def test_second_order_and_jacobians(seed: int) -> None:
    result = check_slopes(generate(seed), False, seed % 5 == 0, orders=2, jacobians=seed % 2 == 0)
    assert describe([result]) == ""


def test_every_kind_of_program_is_there() -> None:
    found = Counter(kind for seed in range(PROGRAMS) for kind in smooth_kinds(generate(seed)))
    assert found.keys() == {*SMOOTH_KINDS}
    assert min(found.values()) >= 4


@pytest.mark.parametrize(
    ("text", "failures"),
    [("T.sin(v1) * v1", 0), ("T.disconnected_grad(v1) * v1", 1),
     ("T.zero_grad(v1) + T.sin(v1)", 1), ("v1 + T.cast(T.floor(v1 * 1e9), 'float64') * 1e-9", 1)],
)  # fmt: skip
def test_what_is_no_derivative_is_found(text: str, failures: int) -> None:
    v1 = Input("v1", "float64", [None], [2], [0.3, -0.7])
    lines = [Line("v2", text, "float64", [2]), Line("v3", "T.sqr(v2).sum()", "float64", [])]
    result = check_slopes(Spec(0, [v1], [*lines], ["v3"]), entries=True, compiled=False)
    assert bool(result.failures) == bool(failures)


@pytest.mark.share(2)
@pytest.mark.parametrize("seed", [1018, 1867, 2844, 3650, 4461])
def test_what_went_wrong_once(seed: int) -> None:
    """Chunks of chunks without end; an update whose forms no one knows; masks in loops without steps; functions of
    arrays that lie backwards."""
    result = check.check(generate(seed), ways=("exact",), slopes=True)
    assert not result.failures, check.describe(result)
    assert not result.stopped
