"""Gradients of symbolic graphs, through loops of any depth."""

from scanopt.gradient.errors import DisconnectedInputError, DisconnectedInputWarning, NullTypeGradError
from scanopt.gradient.grad import Lop, grad
from scanopt.gradient.jacobian import hessian, jacobian
from scanopt.gradient.pushforward import Rop
from scanopt.gradient.verify import VerifyGradError, verify_grad

__all__ = [
    "DisconnectedInputError", "DisconnectedInputWarning", "Lop", "NullTypeGradError", "Rop", "VerifyGradError",
    "grad", "hessian", "jacobian", "verify_grad",
]  # fmt: skip
