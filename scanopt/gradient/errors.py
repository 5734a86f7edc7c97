"""Errors of gradients, with the names in Theano's documents."""

from __future__ import annotations

__all__ = ["DisconnectedInputError", "DisconnectedInputWarning", "NullTypeGradError"]


class DisconnectedInputError(ValueError):
    """The cost does not depend smoothly on a variable that a gradient is asked for."""


class DisconnectedInputWarning(UserWarning):
    """The warning in place of DisconnectedInputError with `disconnected_inputs="warn"`."""


class NullTypeGradError(TypeError):
    """A gradient would go through an operator without derivatives."""
