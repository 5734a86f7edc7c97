"""The documents' programs, with only their import lines changed, give the numbers that the documents print."""

import contextlib
import io
import re
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import pytest

import scanopt

IMPORTS = """
import numpy
import numpy as np
import scanopt as theano
import scanopt.tensor as T
"""

POWER = """
k = T.iscalar("k")
A = T.vector("A")

# Symbolic description of the result
result, updates = theano.scan(fn=lambda prior_result, A: prior_result * A,
                              outputs_info=T.ones_like(A),
                              non_sequences=A,
                              n_steps=k)

# We only care about A**k, but scan has provided us with A**1 through A**k.
# Discard the values that we don't care about. Scan is smart enough to
# notice this and not waste memory saving them.
final_result = result[-1]

# compiled function that returns A**k
power = theano.function(inputs=[A,k], outputs=final_result, updates=updates)

print(power(range(10),2))
print(power(range(10),4))
"""
POWER_PRINTS = """
[  0.   1.   4.   9.  16.  25.  36.  49.  64.  81.]
[  0.00000000e+00   1.00000000e+00   1.60000000e+01   8.10000000e+01
   2.56000000e+02   6.25000000e+02   1.29600000e+03   2.40100000e+03
   4.09600000e+03   6.56100000e+03]
"""

POLYNOMIAL = """
coefficients = theano.tensor.vector("coefficients")
x = T.scalar("x")

max_coefficients_supported = 10000

# Generate the components of the polynomial
components, updates = theano.scan(fn=lambda coefficient, power, free_variable: coefficient * (free_variable ** power),
                                  outputs_info=None,
                                  sequences=[coefficients, theano.tensor.arange(max_coefficients_supported)],
                                  non_sequences=x)
# Sum them up
polynomial = components.sum()

# Compile a function
calculate_polynomial = theano.function(inputs=[coefficients, x], outputs=polynomial)

# Test
test_coefficients = numpy.asarray([1, 0, 2], dtype=numpy.float32)
test_value = 3
print(calculate_polynomial(test_coefficients, test_value))
print(1.0 * (3 ** 0) + 0.0 * (3 ** 1) + 2.0 * (3 ** 2))
"""

TRIANGULAR = """
up_to = T.iscalar("up_to")

# define a named function, rather than using lambda
def accumulate_by_adding(arange_val, sum_to_date):
    return sum_to_date + arange_val
seq = T.arange(up_to)

# An unauthorized implicit downcast from the dtype of 'seq', to that of
# 'T.as_tensor_variable(0)' which is of dtype 'int8' by default would occur
# if this instruction were to be used instead of the next one:
# outputs_info = T.as_tensor_variable(0)

outputs_info = T.as_tensor_variable(np.asarray(0, seq.dtype))
scan_result, scan_updates = theano.scan(fn=accumulate_by_adding,
                                        outputs_info=outputs_info,
                                        sequences=seq)
triangular_sequence = theano.function(inputs=[up_to], outputs=scan_result)

# test
some_num = 15
print(triangular_sequence(some_num))
print([n * (n + 1) // 2 for n in range(some_num)])
"""
TRIANGULAR_PRINTS = """
[  0   1   3   6  10  15  21  28  36  45  55  66  78  91 105]
[0, 1, 3, 6, 10, 15, 21, 28, 36, 45, 55, 66, 78, 91, 105]
"""

SET_VALUES = """
location = T.imatrix("location")
values = T.vector("values")
output_model = T.matrix("output_model")

def set_value_at_position(a_location, a_value, output_model):
    zeros = T.zeros_like(output_model)
    zeros_subtensor = zeros[a_location[0], a_location[1]]
    return T.set_subtensor(zeros_subtensor, a_value)

result, updates = theano.scan(fn=set_value_at_position,
                              outputs_info=None,
                              sequences=[location, values],
                              non_sequences=output_model)

assign_values_at_positions = theano.function(inputs=[location, values, output_model], outputs=result)

# test
test_locations = numpy.asarray([[1, 1], [2, 3]], dtype=numpy.int32)
test_values = numpy.asarray([42, 50], dtype=numpy.float32)
test_output_model = numpy.zeros((5, 5), dtype=numpy.float32)
print(assign_values_at_positions(test_locations, test_values, test_output_model))
"""
SET_VALUES_PRINTS = """
[[[  0.   0.   0.   0.   0.]
  [  0.  42.   0.   0.   0.]
  [  0.   0.   0.   0.   0.]
  [  0.   0.   0.   0.   0.]
  [  0.   0.   0.   0.   0.]]

 [[  0.   0.   0.   0.   0.]
  [  0.   0.   0.   0.   0.]
  [  0.   0.   0.  50.   0.]
  [  0.   0.   0.   0.   0.]
  [  0.   0.   0.   0.   0.]]]
"""

POWER_OF_2 = """
def power_of_2(previous_power, max_value):
    return previous_power*2, theano.scan_module.until(previous_power*2 > max_value)

max_value = T.scalar()
values, _ = theano.scan(power_of_2,
                        outputs_info = T.constant(1.),
                        non_sequences = max_value,
                        n_steps = 1024)

f = theano.function([max_value], values)

print(f(45))
"""

RNN = """
def oneStep(u_tm4, u_t, x_tm3, x_tm1, y_tm1, W, W_in_1, W_in_2,  W_feedback, W_out):

  x_t = T.tanh(theano.dot(x_tm1, W) + \\
               theano.dot(u_t,   W_in_1) + \\
               theano.dot(u_tm4, W_in_2) + \\
               theano.dot(y_tm1, W_feedback))
  y_t = theano.dot(x_tm3, W_out)

  return [x_t, y_t]

W = T.matrix()
W_in_1 = T.matrix()
W_in_2 = T.matrix()
W_feedback = T.matrix()
W_out = T.matrix()

u = T.matrix() # it is a sequence of vectors
x0 = T.matrix() # initial state of x has to be a matrix, since
                # it has to cover x[-3]
y0 = T.vector() # y0 is just a vector since scan has only to provide
                # y[-1]


([x_vals, y_vals], updates) = theano.scan(fn=oneStep,
                                          sequences=dict(input=u, taps=[-4,-0]),
                                          outputs_info=[dict(initial=x0, taps=[-3,-1]), y0],
                                          non_sequences=[W, W_in_1, W_in_2, W_feedback, W_out],
                                          strict=True)
     # for second input y, scan adds -1 in output_taps by default
"""

MODES: dict[str, dict[str, Any]] = {
    "optimized": {},
    "exact": {"fp": "exact"},
    "fast": {"fp": "fast"},
    "unoptimized": {"mode": "unoptimized"},
}

in_all_modes = pytest.mark.parametrize("options", MODES.values(), ids=MODES)


def run(code: str, options: Mapping[str, Any], monkeypatch: pytest.MonkeyPatch) -> tuple[dict[str, Any], str]:
    """The names that a program defines, and what it prints."""
    monkeypatch.setattr(scanopt, "function", partial(scanopt.function, **options))
    names: dict[str, Any] = {}
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(IMPORTS + code, names)
    return names, printed.getvalue()


def numbers(text: str) -> list[float]:
    return [float(x) for x in re.findall(r"-?\d+\.?\d*(?:e[+-]?\d+)?", text)]


@in_all_modes
@pytest.mark.parametrize(
    ("code", "documented"),
    [
        (POWER, POWER_PRINTS),
        (POLYNOMIAL, "19.0\n19.0"),
        (TRIANGULAR, TRIANGULAR_PRINTS),
        (SET_VALUES, SET_VALUES_PRINTS),
        (POWER_OF_2, "[  2.   4.   8.  16.  32.  64.]"),
    ],
    ids=["power", "polynomial", "triangular", "set_values", "power_of_2"],
)
def test_documented_numbers(
    code: str, documented: str, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, printed = run(code, options, monkeypatch)
    assert numbers(printed) == numbers(documented)


@in_all_modes
def test_dtypes_are_the_documented_ones(options: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    names, _ = run(TRIANGULAR, options, monkeypatch)
    assert names["triangular_sequence"](5).dtype == names["seq"].dtype == "int64"


@in_all_modes
def test_rnn_with_several_taps(options: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """`scan will consider uvals[0] as u[-4], and will start scanning from uvals[4] towards the end`."""
    names, _ = run(RNN, options, monkeypatch)
    inputs = [names[n] for n in ("u", "x0", "y0", "W", "W_in_1", "W_in_2", "W_feedback", "W_out")]
    f = scanopt.function(inputs, [names["x_vals"], names["y_vals"]], updates=names["updates"])
    rng = np.random.default_rng(0)
    shapes = [(9, 2), (3, 5), (3,), (5, 5), (2, 5), (2, 5), (3, 5), (5, 3)]
    u, x0, y0, W, W_in_1, W_in_2, W_feedback, W_out = values = [rng.standard_normal(s) / 2 for s in shapes]
    x, y = list(x0), [y0]
    for t in range(4, 9):
        y_next = x[-3] @ W_out
        x.append(np.tanh(x[-1] @ W + u[t] @ W_in_1 + u[t - 4] @ W_in_2 + y[-1] @ W_feedback))
        y.append(y_next)
    x_values, y_values = f(*values)
    np.testing.assert_allclose(x_values, x[3:], rtol=1e-12)
    np.testing.assert_allclose(y_values, y[1:], rtol=1e-12)


def test_only_the_last_power_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """`Scan is smart enough to notice this and not waste memory saving them.`"""
    names, _ = run(POWER, {}, monkeypatch)
    assert "all rows of" not in str(names["power"].program)


def test_one_symbolic_step_however_many_steps_run(monkeypatch: pytest.MonkeyPatch) -> None:
    names, _ = run(POWER_OF_2, {}, monkeypatch)
    assert names["f"](1e30).shape == (100,)
    assert names["f"](np.inf).shape == (1024,)
    assert names["f"](np.nan).shape == (1024,)
