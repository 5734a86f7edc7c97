"""Facts about products with numbers: out of which products numbers are moved.  They steer and claim nothing."""

from __future__ import annotations

from scanopt.calculus.condition import Body, Rules, hint, query, when
from scanopt.calculus.terms import Int, Value, numeric
from scanopt.facts.lists import held_constant
from scanopt.facts.values import moderate, over_one

__all__ = ["differ", "least_multiple", "made_of_constants", "made_of_numbers", "no_number", "varying_product"]


@hint
def made_of_constants(v: Value, *, a: Value, x: Value) -> Rules:
    """v is a constant, one that loops hold, or a product of such; `numeric` says so, and what else products are."""
    yield when(v.is_(x * a)).then(numeric(v).gets(0), numeric(x).gets(0), numeric(a).gets(0))
    yield when(v.is_(x * a), over_one(a)).then(numeric(v).gets(1))
    yield when(held_constant(v)).then(made_of_constants(v), numeric(v).gets(2))
    yield when(v.is_(x * a), made_of_constants(x), made_of_constants(a)).then(made_of_constants(v), numeric(v).gets(2))
    yield when(v.is_(x - -x)).then(numeric(v).gets(1))


@hint
def made_of_numbers(v: Value, *, a: Value, x: Value) -> Rules:
    """v is a number or a product of numbers."""
    yield when(moderate(v)).then(made_of_numbers(v), numeric(v).gets(3))
    yield when(v.is_(x * a), made_of_numbers(x), made_of_numbers(a)).then(made_of_numbers(v), numeric(v).gets(3))


@query
def varying_product(v: Value, *, k: Int) -> Body:
    """v is a product, and not known to be made of constants alone.

    Constants are folded; to take them apart again would make new ones without end: 2 = (0.5 * 2) * 2 = 0.5 * 4.
    """
    return k.is_(numeric(v)), k < 2


@query
def no_number(v: Value, *, k: Int) -> Body:
    """v is a factor of a product, and not known to be a number.

    Numbers come together; to move one past the other would make new products without end:
    (x * 0.5) * 2 = (x * 2) * 0.5, which is x.
    """
    return k.is_(numeric(v)), k < 3


@query
def least_multiple(x: Value) -> Body:
    """x is a factor of a product, and not known to be something times a number greater than one.

    Numbers leave products with the least of the multiples of a value, of which the others are products, too.  To take
    what is the half of its double for a half would make new ones without end: x + y = (2x + 2y) * 0.5.
    """
    return (numeric(x).is_(0),)


@query
def differ(x: Value, y: Value) -> Body:
    """x is not known to be y."""
    return (x.differs_from(y),)
