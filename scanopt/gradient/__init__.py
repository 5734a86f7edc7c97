"""Gradients of symbolic graphs, through loops of any depth."""

from scanopt.array.entries import FUNCTIONS as _FUNCTIONS
from scanopt.gradient.errors import DisconnectedInputError, DisconnectedInputWarning, NullTypeGradError
from scanopt.gradient.grad import Lop, grad
from scanopt.gradient.jacobian import hessian, jacobian
from scanopt.gradient.pushforward import Rop
from scanopt.gradient.verify import VerifyGradError, verify_grad

__all__ = [
    "DisconnectedInputError", "DisconnectedInputWarning", "Lop", "NullTypeGradError", "Rop", "VerifyGradError",
    "consider_constant", "disconnected_grad", "grad", "grad_clip", "grad_scale", "hessian", "jacobian", "verify_grad",
    "zero_grad",
]  # fmt: skip

consider_constant, disconnected_grad, grad_clip, grad_scale, zero_grad = (
    _FUNCTIONS[k] for k in ("consider_constant", "disconnected_grad", "grad_clip", "grad_scale", "zero_grad")
)
