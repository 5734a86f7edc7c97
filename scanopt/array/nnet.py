"""Neural networks on symbolic arrays: `scanopt.tensor.nnet`, by the names of theano.tensor.nnet and of jax.nn.

Where the two have different functions under one name, it is Theano's: `conv2d` flips its filters, and so on.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from scanopt.absent import no_such_name
from scanopt.array.nnet_activations import (
    batch_normalization,
    celu,
    crossentropy_categorical_1hot,
    crossentropy_softmax_1hot,
    crossentropy_softmax_1hot_with_bias,
    crossentropy_softmax_argmax_1hot_with_bias,
    gelu,
    glu,
    hard_sigmoid,
    hard_tanh,
    leaky_relu,
    log_sigmoid,
    one_hot,
    relu6,
    selu,
    silu,
    softmax_with_bias,
    softsign,
    swish,
)
from scanopt.array.nnet_convolutions import avg_pool, conv1d, conv2d, conv3d, max_pool
from scanopt.array.operators.elementwise import sigmoid
from scanopt.array.operators.nnet import (
    binary_crossentropy,
    categorical_crossentropy,
    elu,
    logsoftmax,
    logsumexp,
    relu,
    sigmoid_binary_crossentropy,
    softplus,
)
from scanopt.array.operators.reductions import softmax

__all__ = [
    "avg_pool",
    "batch_normalization",
    "binary_crossentropy",
    "categorical_crossentropy",
    "celu",
    "conv1d",
    "conv2d",
    "conv3d",
    "crossentropy_categorical_1hot",
    "crossentropy_softmax_1hot",
    "crossentropy_softmax_1hot_with_bias",
    "crossentropy_softmax_argmax_1hot_with_bias",
    "elu",
    "gelu",
    "glu",
    "hard_sigmoid",
    "hard_tanh",
    "leaky_relu",
    "log_sigmoid",
    "log_softmax",
    "logsoftmax",
    "logsumexp",
    "max_pool",
    "one_hot",
    "relu",
    "relu6",
    "selu",
    "sigmoid",
    "sigmoid_binary_crossentropy",
    "silu",
    "softmax",
    "softmax_graph",
    "softmax_with_bias",
    "softplus",
    "softsign",
    "swish",
    "ultra_fast_sigmoid",
]  # fmt: skip

__path__: list[str] = []  # as a package has it: see scanopt.importing

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """What Theano has in modules of `nnet` is here: `T.nnet.nnet.softmax`, `T.nnet.conv.conv2d`."""
        if name in ("abstract_conv", "basic", "bn", "conv", "nnet", "sigm"):
            return sys.modules[__name__]
        raise no_such_name("scanopt.tensor.nnet", name, __all__)


log_softmax = logsoftmax
softmax_graph, ultra_fast_sigmoid = softmax, sigmoid  # Theano's approximation was faster there
