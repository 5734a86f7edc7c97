"""Operator table entries of ufuncs for comparison and logic, bits and integers; none has a gradient."""

from __future__ import annotations

from typing import Any

from scanopt.array.derivatives import no_gradient
from scanopt.array.operators.arithmetic import ASSOCIATIVE, INT, NIL
from scanopt.array.ufuncs import binary, unary

__all__: list[str] = []

_ALL = {"b": True, "i": -1}


def _two(name: str, *names: str, **more: Any) -> None:
    binary(name, *names, gradient=no_gradient, **more)


def _one(name: str, *names: str, **more: Any) -> None:
    unary(name, *names, gradient=no_gradient, **more)


# comparison and logic
_two("less", "lt")
_two("less_equal", "le")
_two("greater", "gt")
_two("greater_equal", "ge")
_two("equal", "eq", commutative=True)
_two("not_equal", "neq", commutative=True)
_two("logical_and", identity={"b": True}, left_identity={"b": True}, annihilator={"b": False},
     idempotent=True, **ASSOCIATIVE)  # fmt: skip
_two("logical_or", identity={"b": False}, left_identity={"b": False}, annihilator={"b": True},
     idempotent=True, **ASSOCIATIVE)  # fmt: skip
_two("logical_xor", identity={"b": False}, left_identity={"b": False}, self_inverse={"b": False},
     **ASSOCIATIVE)  # fmt: skip
_one("logical_not", involution=True)
# bits and integers
_two("bitwise_and", "and_", identity=_ALL, left_identity=_ALL, annihilator=NIL,
     idempotent=True, **ASSOCIATIVE)  # fmt: skip
_two("bitwise_or", "or_", identity=NIL, left_identity=NIL, annihilator=_ALL,
     idempotent=True, **ASSOCIATIVE)  # fmt: skip
_two("bitwise_xor", "xor", identity=NIL, left_identity=NIL, self_inverse=NIL,
     inverse="bitwise_xor", **ASSOCIATIVE)  # fmt: skip
_one("invert", "bitwise_not", "bitwise_invert", involution=True)
_two("left_shift", "bitwise_left_shift", identity=INT)
_two("right_shift", "bitwise_right_shift", identity=INT)
_one("bitwise_count")
_two("gcd", cost="division", commutative=True)
_two("lcm", cost="division", commutative=True)
