"""Convolutions against SciPy's, pooling and activations against their definitions; gradients, loops, errors."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.signal
import scipy.special
from against_numpy import Array, check, check_in_a_step, close, numbers

import scanopt
import scanopt.tensor as T

N: Any = T.nnet
sliding: Any = np.lib.stride_tricks.sliding_window_view


# Convolutions


def by_hand(x: Array, w: Array, mode: str, steps: tuple[int, ...], flip: bool, dilations: tuple[int, ...]) -> Array:
    """With scipy.signal, one image, output and channel after the other."""
    wide = np.zeros((*w.shape[:2], *((k - 1) * d + 1 for k, d in zip(w.shape[2:], dilations, strict=True))))
    wide[(..., *(slice(None, None, d) for d in dilations))] = w
    if not flip:
        wide = wide[(..., *[slice(None, None, -1)] * len(steps))]
    if mode == "half":
        pad = [k // 2 for k in wide.shape[2:]]
        x, mode = np.pad(x, [(0, 0), (0, 0), *((p, p) for p in pad)]), "valid"
    images = [
        [sum(map(lambda a, b: scipy.signal.convolve(a, b, mode), image, kernel)) for kernel in wide] for image in x
    ]
    return np.asarray(images)[(..., *(slice(None, None, s) for s in steps))]


@pytest.mark.parametrize("mode", ["valid", "full", "half"])
def test_convolutions(mode: str) -> None:
    x, w, line, taps = numbers(2, 3, 7, 6), numbers(4, 3, 3, 2), numbers(2, 3, 9), numbers(4, 3, 2)
    options = [*itertools.product([(1, 1), (2, 1)], [True, False], [(1, 1), (1, 2)])]
    check(
        lambda x, w: [N.conv2d(x, w, None, None, mode, s, flip, d) for s, flip, d in options],
        x, w, like=lambda x, w: [by_hand(x, w, mode, s, flip, d) for s, flip, d in options],
    )  # fmt: skip
    check(
        lambda x, w: [N.conv1d(x, w, None, None, mode, 2, True, 2), N.conv1d(x, w, border_mode=mode)],
        line, taps, like=lambda x, w: [by_hand(x, w, mode, (2,), True, (2,)), by_hand(x, w, mode, (1,), True, (1,))],
    )  # fmt: skip
    check(
        lambda x, w: N.conv3d(x, w, border_mode=mode), numbers(1, 2, 4, 3, 4), numbers(2, 2, 2, 2, 3),
        like=lambda x, w: by_hand(x, w, mode, (1, 1, 1), True, (1, 1, 1)),
    )  # fmt: skip


def test_paddings() -> None:
    x, w = numbers(2, 3, 7, 6), numbers(4, 3, 3, 2)

    def padded(x: Array, w: Array) -> list[Array]:
        def one(*pairs: tuple[int, int]) -> Array:
            return by_hand(np.pad(x, [(0, 0), (0, 0), *pairs]), w, "valid", (2, 2), False, (1, 1))

        return [one((1, 1), (1, 1)), one((0, 0), (2, 2)), one((1, 0), (0, 3)), one((1, 1), (0, 0))]

    modes = (1, (0, 2), ((1, 0), (0, 3)), "same")
    check(
        lambda x, w: [N.conv2d(x, w, border_mode=m, subsample=2, filter_flip=False) for m in modes], x, w, like=padded
    )


def test_shapes_that_are_promised() -> None:
    x, w = T.tensor4("x", "float64"), T.tensor4("w", "float64")
    y = N.conv2d(x, w, input_shape=(2, 3, 7, None), filter_shape=(4, 3, 3, 2))
    assert y.type.shape == (2, 4, 5, None)
    f = scanopt.function([x, w], y)
    assert f(numbers(2, 3, 7, 6), numbers(4, 3, 3, 2)).shape == (2, 4, 5, 5)
    with pytest.raises(ValueError, match="7"):
        f(numbers(2, 3, 8, 6), numbers(4, 3, 3, 2))


def test_groups() -> None:
    x, w = numbers(2, 4, 5, 5), numbers(6, 2, 2, 3)

    def by_group(x: Array, w: Array) -> Array:
        parts = [by_hand(x[:, 2 * g : 2 * g + 2], w[3 * g : 3 * g + 3], "valid", (1, 1), True, (1, 1)) for g in (0, 1)]
        return np.concatenate(parts, 1)

    check(lambda x, w: N.conv2d(x, w, num_groups=2), x, w, like=by_group)


def test_convolutions_in_a_step() -> None:
    def like(x: Array, w: Array) -> Array:
        return by_hand(x, w, "valid", (1, 1), True, (1, 1))

    check_in_a_step(N.conv2d, numbers(2, 3, 5, 5), numbers(4, 3, 2, 2), like=like)


def test_dtypes_of_convolutions() -> None:
    for dtype in ("float32", "int64"):
        check(N.conv1d, numbers(1, 2, 5, dtype=dtype), numbers(1, 2, 3, dtype=dtype),
              like=lambda x, w: by_hand(x, w, "valid", (1,), True, (1,)).astype(x.dtype))  # fmt: skip


def test_a_filter_that_is_longer_than_the_image() -> None:
    check(N.conv1d, numbers(2, 3, 2), numbers(4, 3, 5), like=lambda x, w: np.zeros((2, 4, 0)))


GRADIENTS: dict[str, tuple[Callable[..., Any], tuple[Array, ...]]] = {
    "conv2d": (
        lambda x, w: N.conv2d(x, w, None, None, "same", (2, 1), filter_dilation=(1, 2)),
        (numbers(1, 2, 5, 4), numbers(2, 2, 3, 2)),
    ),
    "conv1d of groups": (
        lambda x, w: N.conv1d(x, w, None, None, "full", 3, num_groups=2),
        (numbers(1, 4, 5), numbers(2, 2, 2)),
    ),
    "max_pool": (lambda x: N.max_pool(x, (2, 3), (2, 1), 1), (numbers(2, 5, 4),)),
    "avg_pool": (lambda x: N.avg_pool(x, (2, 3), (2, 1), "same"), (numbers(2, 5, 4),)),
    "windows": (lambda x: sliding(x, (2, 3)), (numbers(3, 4),)),
    "activations": (
        lambda x: T.stack([
            N.gelu(x), N.gelu(x, approximate=False), N.silu(x), N.leaky_relu(x, 0.1), N.selu(x), N.celu(x, 0.7),
            N.softsign(x), N.hard_sigmoid(x), N.relu6(x), N.hard_tanh(x), N.log_sigmoid(x),
        ]),
        (np.array([-3.3, -1.7, -0.4, 0.3, 1.2, 7.0]),),
    ),
    "glu": (N.glu, (numbers(2, 4),)),
    "crossentropies": (
        lambda x, b: N.crossentropy_softmax_argmax_1hot_with_bias(x, b, np.array([2, 0]))[0]
        + N.sigmoid_binary_crossentropy(x, 0.3).sum(1),
        (numbers(2, 3), numbers(3)),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients(name: str) -> None:
    build, args = GRADIENTS[name]
    T.verify_grad(build, list(args))


def test_the_gradient_of_a_convolution_whose_shapes_are_not_known() -> None:
    """The gradient by the filters is a convolution with the images."""
    x, w = T.tensor4("x", "float64"), T.tensor4("w", "float64")
    f = scanopt.function([x, w], T.grad(N.conv2d(x, w, filter_flip=False).sum(), [x, w]))
    images, kernels = numbers(2, 3, 5, 4), numbers(4, 3, 2, 2)
    ones = np.ones((2, 4, 4, 3))
    for run in (f, f.unoptimized):
        by_x, by_w = run(images, kernels)
        close(by_x, by_hand(ones, kernels.swapaxes(0, 1), "full", (1, 1), True, (1, 1)))
        turned = by_hand(images.swapaxes(0, 1), ones.swapaxes(0, 1), "valid", (1, 1), False, (1, 1))
        close(by_w, turned.swapaxes(0, 1))


# Pooling and windows


def test_pooling() -> None:
    x = numbers(2, 3, 7, 6)

    def pooled(x: Array) -> list[Array]:
        parts = sliding(x, (2, 3), axis=(2, 3))
        wide = np.pad(x, [(0, 0), (0, 0), (1, 1), (1, 1)], constant_values=np.nan)
        around = sliding(wide, (2, 3), axis=(2, 3))[:, :, ::2, ::3]
        zeros = sliding(np.nan_to_num(wide), (2, 3), axis=(2, 3))[:, :, ::2, ::3]
        axes = (-2, -1)
        return [
            parts[:, :, ::2, ::3].max(axes), parts[:, :, ::1, ::2].mean(axes), np.nanmax(around, axes),
            np.nanmean(around, axes), zeros.mean(axes), sliding(x, 2, axis=3)[..., ::2, :].max(-1),
        ]  # fmt: skip

    def ours(x: Any) -> list[Any]:
        return [
            N.max_pool(x, (2, 3)), N.avg_pool(x, (2, 3), (1, 2)), N.max_pool(x, (2, 3), padding=1),
            N.avg_pool(x, (2, 3), padding=1), N.avg_pool(x, (2, 3), padding=1, count_padding=True), N.max_pool(x, 2),
        ]  # fmt: skip

    check(ours, x, like=pooled)
    check_in_a_step(lambda x: N.max_pool(x, 2, 1), numbers(5), like=lambda x: sliding(x, 2).max(-1))
    check(lambda x: N.max_pool(x, 2, padding=1), numbers(4, dtype="int8") - 100,
          like=lambda x: np.array([x[0], max(x[1:3]), x[3]], "int8"))  # fmt: skip


def test_windows_as_numpy_has_them() -> None:
    check(lambda x: [sliding(x, (2, 3)), sliding(x, 2, axis=1), sliding(x, (2, 2), axis=(0, 0))], numbers(4, 5))
    check_in_a_step(lambda x: sliding(x, 3).sum(-1), numbers(5))


def test_nothing_is_written_onto_windows() -> None:
    """They share entries: what comes of one must not be put into its place."""
    rows, start = T.dmatrix("rows"), T.dvector("start")

    def step(row: Any, state: Any, first: Any) -> Any:
        return np.tanh(np.exp(sliding(row * 2 + state, 3)) * first(sliding(row + state, 3))).sum(1).sum() + 0.5 * state

    states, _ = scanopt.scan(lambda r, s: step(r, s, lambda w: w.at[0].set(7.0)), rows, start)
    f = scanopt.function([rows, start], states)
    values, state, expected = numbers(4, 6), numbers(6, seed=1), []
    for row in values:
        state = step(row, state, lambda w: np.concatenate([np.full((1, 3), 7.0), w[1:]]))
        expected.append(state)
    for run in (f, f.unoptimized):
        close(run(values, numbers(6, seed=1)), np.stack(expected))


# Activations and classes

X = np.array([-np.inf, -1000.0, -7.0, -2.0, -0.5, -0.0, 0.0, 0.3, 1.0, 5.0, 8.0, 1000.0, np.inf])
EXACT: dict[str, Callable[[Any], Any]] = {
    "log_sigmoid": scipy.special.log_expit,
    "leaky_relu": lambda x: np.where(x > 0, x, x * np.asarray(0.01, x.dtype)),
    "relu6": lambda x: np.clip(x, 0, 6),
    "hard_sigmoid": lambda x: np.clip(x * np.asarray(0.2, x.dtype) + np.asarray(0.5, x.dtype), 0, 1),
    "hard_tanh": lambda x: np.clip(x, -1, 1),
    "selu": lambda x: (
        1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(np.minimum(x, 0)))
    ).astype(x.dtype),
    "celu": lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0))),
    "silu": lambda x: x * scipy.special.expit(x),
    "swish": lambda x: x * scipy.special.expit(x),
    "softsign": lambda x: x / (1 + np.abs(x)),
    "gelu": lambda x: (0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))).astype(x.dtype),
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_activations(dtype: str) -> None:
    """At infinity too, where that is a number."""
    everywhere = {"log_sigmoid", "leaky_relu", "relu6", "hard_tanh", "selu"}
    x, y = X.astype(dtype), X[1:-1].astype(dtype)
    check(
        lambda x, y: [getattr(N, name)(x if name in everywhere else y) for name in EXACT],
        x, y, like=lambda x, y: [f(x if name in everywhere else y) for name, f in EXACT.items()],
    )  # fmt: skip
    check(lambda x: N.gelu(x, approximate=False), y, like=lambda x: (x * scipy.special.ndtr(x)).astype(dtype))


def test_classes() -> None:
    x = np.array([[0, 2], [1, 7]])
    eye = np.eye(3)
    rows = np.stack([eye[0], eye[2], eye[1], np.zeros(3)]).reshape(2, 2, 3)
    check(lambda x: [N.one_hot(x, 3), N.one_hot(x, 3, axis=0, dtype="int8")], x,
          like=lambda x: [rows, np.moveaxis(rows, -1, 0).astype("int8")])  # fmt: skip
    logits, bias = numbers(2, 3), numbers(3)
    soft = scipy.special.softmax(logits + bias, axis=1)
    check(
        lambda x, b: [*N.crossentropy_softmax_argmax_1hot_with_bias(x, b, np.array([2, 0])), N.softmax_with_bias(x, b),
                      N.crossentropy_categorical_1hot(N.softmax_with_bias(x, b), np.array([2, 0]))],
        logits, bias,
        like=lambda x, b: [-np.log(soft[[0, 1], [2, 0]]), soft, soft.argmax(1), soft, -np.log(soft[[0, 1], [2, 0]])],
    )  # fmt: skip
    t = np.abs(np.tanh(logits))
    check(N.sigmoid_binary_crossentropy, logits, t,
          like=lambda x, t: -(t * scipy.special.log_expit(x) + (1 - t) * scipy.special.log_expit(-x)))  # fmt: skip
    check(lambda x: N.glu(x, 0), logits, like=lambda x: x[:1] * scipy.special.expit(x[1:]))


IMAGE = np.ones((1, 4, 4, 4))


@pytest.mark.parametrize(
    ("build", "error", "text"),
    [
        (lambda x, w: N.conv2d(x[0], w), ValueError, "conv2d takes images (batch, channels, ...) of 4 axes, found"),
        (lambda x, w: N.conv2d(x, w[0]), ValueError, "conv2d takes filters (outputs, channels, ...) of 4 axes, found"),
        (lambda x, w: N.conv2d(IMAGE, np.ones((1, 2, 2, 2))), ValueError, "divided by num_groups=1, found constant"),
        (lambda x, w: N.conv2d(IMAGE, np.ones((3, 2, 2, 2)), num_groups=2), ValueError, "does not divide the 3"),
        (lambda x, w: N.conv2d(x, w, border_mode="wide"), ValueError, "ints or pairs of ints, found 'wide'"),
        (lambda x, w: N.conv2d(x, w, border_mode=(1, -1)), ValueError, "for each of 2 axes, found (1, -1)"),
        (lambda x, w: N.conv2d(x, w, subsample=0), ValueError, "subsample is a positive int, or 2 of them, found 0"),
        (lambda x, w: N.max_pool(x, ()), ValueError, "max_pool"),
        (lambda x, w: N.max_pool(T.dvector("v"), (2, 2)), ValueError, "max_pool of 2 axes, found 'v'"),
        (lambda x, w: N.one_hot(x, 3), TypeError, "one_hot takes integers, found 'x'"),
        (lambda x, w: N.glu(np.ones(3)), ValueError, "glu halves an axis, and axis 0 of"),
        (lambda x, w: sliding(T.dvector("v", shape=(3,)), 4), ValueError, "windows of 4 along axis 0 of 'v'"),
        (lambda x, w: sliding(x, 2), ValueError, "window_shape has 1 lengths for 4 axes of 'x'"),
    ],
)  # fmt: skip
def test_errors(build: Callable[..., Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=re.escape(text)):
        build(T.tensor4("x", "float64"), T.tensor4("w", "float64"))
