"""Gradients of symbolic graphs, through loops of any depth."""

from scanopt.gradient.errors import DisconnectedInputError, DisconnectedInputWarning, NullTypeGradError
from scanopt.gradient.grad import Lop, grad

__all__ = ["DisconnectedInputError", "DisconnectedInputWarning", "Lop", "NullTypeGradError", "grad"]
