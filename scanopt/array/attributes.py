"""Attributes that variables share with other array libraries: JAX's `at`, the array API standard's, NumPy's sizes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

from scanopt import features
from scanopt.array import hints
from scanopt.array.registry import FUNCTIONS, function_named
from scanopt.array.types import TensorType

if TYPE_CHECKING:
    from scanopt.array.variable import Variable

__all__ = ["Attributes"]


class Attributes:
    """Attributes of a variable beside its operators and methods, and the error for attributes that it does not have."""

    type: TensorType
    only_in: str = ""
    """For a variable that exists only while a function is traced: which one, in words; "" for all other variables."""

    def __getattr__(self, name: str) -> Any:
        raise hints.no_attribute(cast("Variable", self), name, FUNCTIONS)

    @property
    def at(self) -> Any:
        """Make new arrays with a part changed, as in JAX: x.at[0].set(1.0), x.at[mask].add(y).

        >>> from scanopt import interpret, tensor as T
        >>> interpret(T.constant([1.0, 2.0]).at[0].add(5.0))
        array([6., 2.])
        """
        return features.At(cast("Variable", self))

    @property
    def tag(self) -> SimpleNamespace:
        """What programs attach to a variable, as Theano's `x.tag.test_value`; nothing here reads it.

        >>> from scanopt import tensor as T
        >>> x = T.dvector("x")
        >>> x.tag.test_value = [1.0, 2.0]
        >>> x.tag.test_value
        [1.0, 2.0]
        """
        kept: SimpleNamespace = self.__dict__.setdefault("_tag", SimpleNamespace())
        return kept

    def clone(self, name: str | None = None) -> Any:
        """A new variable of the same type, computed from nothing."""
        return self.type(name or cast("Variable", self).name)

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return self.type.itemsize

    @property
    def nbytes(self) -> Any:
        """Bytes of all elements: symbolic, as the lengths are."""
        return cast("Variable", self).size * self.type.itemsize

    def item(self, *index: Any) -> Any:
        """One element as a symbolic number: the only one, the one at a place in the flattened array, or at an index.

        Without arguments raises ValueError unless there is exactly one (in the run, if lengths are not known before).

        >>> from scanopt import interpret, tensor as T
        >>> x = T.constant([[1.0, 2.0], [3.0, 4.0]])
        >>> [float(interpret(v)) for v in (x[:1, :1].item(), x.item(2), x.item(0, 1))]
        [1.0, 3.0, 2.0]
        """
        x = cast("Variable", self)
        if not index:
            return x.reshape(())
        if len(index) > 1 or isinstance(index[0], tuple):
            return x[index[0] if len(index) == 1 else index]
        return x.ravel()[index[0]]

    def compress(self, condition: Any, axis: int | None = None) -> Any:
        """The entries along axis (all, flattened, if None) for which a vector of conditions holds."""
        return function_named("compress")(condition, self, axis)

    @property
    def device(self) -> str:
        """Always "cpu": which device a function runs on is chosen when it is compiled."""
        return "cpu"

    def to_device(self, device: Any, /, *, stream: Any = None) -> Any:
        """The array itself, on "cpu".  Raises ValueError for another device."""
        if device != "cpu" or stream is not None:
            raise ValueError(
                f"{self!r} is symbolic: compile with scanopt.function(..., backend='cupy') to run on one; to_device "
                f"takes 'cpu' alone, found {device!r}"
            )
        return self

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        """The functions of the array API standard: `scanopt.array.standard`.  Raises ValueError for other versions."""
        return features.namespace(api_version)
