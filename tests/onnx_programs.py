# ruff: noqa: E501
"""ONNX models as text: what `from_onnx` is tried on, and what its benchmark runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnx.parser

__all__ = ["MODELS", "arguments", "model"]

HEAD = '<ir_version: 10, opset_import: ["" : 21]>\n'

MODELS: dict[str, str] = {
    "mlp": """
        mlp (float[N, 4] x, float[4, 8] w, float[8] b, float[8, 3] v) => (float[N, 3] y)
        { h = MatMul(x, w)  a = Add(h, b)  r = Relu(a)  o = MatMul(r, v)  y = Softmax<axis = -1>(o) }""",
    "rnn": """
        rnn (float[7, 2, 3] x, float[1, 5, 3] w, float[1, 5, 5] r, float[1, 10] b) => (float[7, 1, 2, 5] y, float[1, 2, 5] h)
        { y, h = RNN<hidden_size = 5>(x, w, r, b) }""",
    "rnn_reverse_relu_clip": """
        f (float[7, 2, 3] x, float[1, 5, 3] w, float[1, 5, 5] r) => (float[7, 1, 2, 5] y, float[1, 2, 5] h)
        { y, h = RNN<hidden_size = 5, direction = "reverse", activations = ["Relu"], clip = 0.5>(x, w, r) }""",
    "gru_bidirectional": """
        f (float[6, 2, 3] x, float[2, 12, 3] w, float[2, 12, 4] r, float[2, 24] b, float[2, 2, 4] h0)
        => (float[6, 2, 2, 4] y, float[2, 2, 4] h)
        { y, h = GRU<hidden_size = 4, direction = "bidirectional">(x, w, r, b, , h0) }""",
    "gru_linear_before_reset": """
        f (float[6, 2, 3] x, float[1, 12, 3] w, float[1, 12, 4] r, float[1, 24] b) => (float[6, 1, 2, 4] y, float[1, 2, 4] h)
        { y, h = GRU<hidden_size = 4, linear_before_reset = 1>(x, w, r, b) }""",
    "lstm_lengths": """
        f (float[6, 3, 2] x, float[1, 16, 2] w, float[1, 16, 4] r, float[1, 32] b)
        => (float[6, 1, 3, 4] y, float[1, 3, 4] h, float[1, 3, 4] c)
        { n = Constant<value = int32[3] {6, 2, 4}>()  y, h, c = LSTM<hidden_size = 4>(x, w, r, b, n) }""",
    "lstm_bidirectional_peepholes": """
        f (float[6, 3, 2] x, float[2, 16, 2] w, float[2, 16, 4] r, float[2, 32] b, float[2, 3, 4] h0, float[2, 3, 4] c0,
           float[2, 12] p) => (float[6, 2, 3, 4] y, float[2, 3, 4] h, float[2, 3, 4] c)
        { n = Constant<value = int32[3] {6, 5, 4}>()
          y, h, c = LSTM<hidden_size = 4, direction = "bidirectional">(x, w, r, b, n, h0, c0, p) }""",
    "scan_sum": """
        f (float[3] s0, float[9, 3] x) => (float[3] s, float[9, 3] y)
        { s, y = Scan<num_scan_inputs = 1, body = body (float[3] a, float[3] b) => (float[3] c, float[3] d)
            { c = Add(a, b)  d = Identity(c) }>(s0, x) }""",
    "scan_rnn_backwards": """
        f (float[5] h0, float[3, 8] x, float[3, 5] w, float[5, 5] u) => (float[5] h, float[8, 5] y)
        { h, y = Scan<num_scan_inputs = 1, scan_input_axes = [1], scan_input_directions = [1],
            scan_output_directions = [1], body = body (float[5] a, float[3] b) => (float[5] c, float[5] d)
            { p = MatMul(b, w)  q = MatMul(a, u)  r = Add(p, q)  c = Tanh(r)  d = Mul(c, c) }>(h0, x) }""",
    "loop_counted": """
        f (float[4] x) => (float[4] last, float[6, 4] rows)
        { m = Constant<value = int64 {6}>()  t = Constant<value = bool {1}>()
          last, rows = Loop<body = body (int64 i, bool go, float[4] s) => (bool on, float[4] n, float[4] row)
            { on = Identity(go)  f = Cast<to = 1>(i)  h = Constant<value = float {0.5}>()  a = Mul(s, h)  n = Add(a, f)
              row = Sin(n) }>(m, t, x) }""",
    "loop_until": """
        f (float x, float bound) => (float last, float[K] rows)
        { m = Constant<value = int64 {50}>()  t = Constant<value = bool {1}>()
          last, rows = Loop<body = body (int64 i, bool go, float s) => (bool on, float n, float row)
            { a = Mul(s, s)  b = Abs(a)  o = Constant<value = float {0.7}>()  n = Add(b, o)  on = Less(n, bound)
              row = Identity(s) }>(m, t, x) }""",
    "if_in_loop": """
        f (float[5] x) => (float s)
        { n = Shape(x)  m = Squeeze(n)  z = Constant<value = float {0}>()
          s = Loop<body = body (int64 i, bool go, float a) => (bool on, float b)
            { on = Identity(go)  e = Gather(x, i)  p = Greater(e, z)
              b = If<then_branch = yes () => (float u) { u = Add(a, e) }, else_branch = no () => (float v) { v = Mul(a, e) }>(p)
            }>(m, , z) }""",
    "attention": """
        f (float[2, 5, 4] x, float[4, 12] w) => (float[2, 5, 4] y)
        { qkv = MatMul(x, w)  q, k, v = Split<axis = -1, num_outputs = 3>(qkv)  kt = Transpose<perm = [0, 2, 1]>(k)
          s = MatMul(q, kt)  two = Constant<value = float {2}>()  d = Div(s, two)  a = Softmax<axis = -1>(d)
          z = MatMul(a, v)  r = Add(z, x)  g = Constant<value = float[4] {1, 2, 3, 4}>()
          y = LayerNormalization<axis = -1>(r, g) }""",
    "convolutions": """
        f (float[2, 3, 8, 8] x, float[4, 3, 3, 3] w, float[4] b) => (float[2, 4] y, float[2, 4, 2, 2] z)
        { c = Conv<pads = [1, 1, 1, 1], strides = [2, 2]>(x, w, b)  r = LeakyRelu<alpha = 0.1>(c)
          p = MaxPool<kernel_shape = [2, 2], strides = [2, 2]>(r)  z = AveragePool<kernel_shape = [3, 3], pads = [1, 1, 1, 1],
          strides = [2, 2]>(r)  g = GlobalAveragePool(p)  one = Constant<value = int64[2] {2, 3}>()  y = Squeeze(g, one) }""",
    "shapes": """
        f (float[N, M] x) => (float[M, N] a, float[K] b, float[N, L] c, float[P, M] d, float[N, 1, M] e)
        { a = Transpose(x)  s = Shape(x)  m1 = Constant<value = int64[1] {-1}>()  b = Reshape(x, m1)
          z = Constant<value = int64[1] {0}>()  one = Constant<value = int64[1] {1}>()  two = Constant<value = int64[1] {2}>()
          big = Constant<value = int64[1] {100}>()  c = Slice(x, one, big, one, two)  d = Concat<axis = 0>(x, x)
          e = Unsqueeze(x, one) }""",
    "entries": """
        f (float[6, 4] x, int64[3] i, float[3, 4] u) => (float[3, 4] a, float[6, 4] b, float[6, 4] c, float[6, 3] d)
        { a = Gather<axis = 0>(x, i)  one = Constant<value = int64[1] {1}>()  j = Unsqueeze(i, one)
          b = ScatterND(x, j, u)  c = ScatterND<reduction = "add">(x, j, u)  d = Gather<axis = 1>(x, i) }""",
    "reductions": """
        f (float[4, 6] x) => (float[4] a, float[1, 6] b, float[4, 6] c, float[4, 2] d, int64[4, 2] e, int64[4] g, float h)
        { one = Constant<value = int64[1] {1}>()  zero = Constant<value = int64[1] {0}>()  two = Constant<value = int64[1] {2}>()
          a = ReduceSum<keepdims = 0>(x, one)  b = ReduceMax(x, zero)  i = Constant<value = int64 {1}>()
          c = CumSum<reverse = 1>(x, i)  d, e = TopK(x, two)  g = ArgMax<axis = 1, keepdims = 0>(x)
          h = ReduceLogSumExp<keepdims = 0>(x) }""",
    "kalman": """
        f (float[20] y, float q, float r) => (float[20] m)
        { zero = Constant<value = float {0}>()  one = Constant<value = float {1}>()
          a, b, m = Scan<num_scan_inputs = 1, body = body (float m0, float p0, float yt) => (float m1, float p1, float out)
            { p = Add(p0, q)  s = Add(p, r)  k = Div(p, s)  e = Sub(yt, m0)  d = Mul(k, e)  m1 = Add(m0, d)
              o = Constant<value = float {1}>()  g = Sub(o, k)  p1 = Mul(g, p)  out = Identity(m1) }>(zero, one, y) }""",
}

SHAPES = {"N": 3, "M": 5}


def model(name: str) -> Any:
    """One of the models, checked."""
    made = onnx.parser.parse_model(HEAD + MODELS[name].strip())
    onnx.checker.check_model(made, full_check=True)
    return made


def arguments(made: Any) -> dict[str, Any]:
    """An array for each input of a model."""
    rng = np.random.default_rng(3)
    found: dict[str, Any] = {}
    for x in made.graph.input:
        t = x.type.tensor_type
        shape = [d.dim_value or SHAPES[d.dim_param] for d in t.shape.dim]
        if t.elem_type == onnx.TensorProto.INT64:
            found[x.name] = np.array([4, 0, 2], np.int64)[: shape[0]] % 4
        else:
            found[x.name] = np.asarray(rng.normal(size=shape) / 2, np.float32)
    found |= {name: np.float32(5.0) for name in ("bound",) if name in found}
    found |= {name: np.float32(0.3) for name in ("q", "r") if name in found and not np.ndim(found[name])}
    return found
