"""Output of a program while it runs: checks that raise, and values that are printed.

Statements (`check`, `debug_print`) belong to the step, branch or function that is being traced: none of its results is
available before they ran.  Functions of a value (`Assert`, `Print`) belong to that value.
"""

from __future__ import annotations

from collections.abc import Sequence
from string import Formatter
from typing import Any

import numpy as np

from scanopt.array.constants import as_variable
from scanopt.array.registry import FUNCTIONS
from scanopt.array.variable import Variable
from scanopt.loops.effects import ATTRIBUTES, CheckError, after, assert_true, printed, shows
from scanopt.loops.location import user_location
from scanopt.loops.site import Site, show
from scanopt.loops.tracing import pending

__all__ = ["Assert", "CheckError", "Print", "check", "debug_print"]


def _text(site: Site, message: Any) -> str:
    if not isinstance(message, str):
        raise site.error(TypeError, f"the message must be a string, found {show(message)}")
    return message


def _holds(site: Site, condition: Any) -> Variable:
    """Whether all entries of a condition are true, a bool scalar."""
    v = site.array(condition, "the condition")
    if v.dtype != "bool":
        v = FUNCTIONS["neq"](v, 0)
    return FUNCTIONS["all"](v) if v.ndim else v


def _asked(site: Site, done: Variable, instead: str) -> None:
    """Make `done` part of the function being traced.  Raises TypeError if none is; instead: what to write then."""
    asked = pending()
    if asked is None:
        raise site.error(
            TypeError,
            f"{site.function} of symbolic arrays belongs in a step of a loop or in a function that is traced, and this "
            f"is neither: write {instead}, and use that x",
        )
    asked.append(done)


def check(condition: Any, message: str, value: Any = None) -> Any:
    """Raise CheckError (an AssertionError) with this message, and the number of the step, where a condition is false.

    condition: truth values, all of which must hold.  value: an array that the check belongs to, which is returned.
    Without a value the check belongs to the step, branch or function that is being traced, and runs if any of its
    results is computed; outside of these a symbolic condition is an error.  No law drops a check while the value is
    used; a check whose condition is known to hold costs nothing.
    Raises TypeError for a condition that is not an array.

    >>> import numpy as np
    >>> from scanopt import CheckError, interpret, loop, tensor as T
    >>> def step(total, x):
    ...     check(x >= 0, "no negative numbers")
    ...     return total + x, None
    >>> total, _ = loop(step, 0.0, T.constant([1.0, 2.0, -4.0]))
    >>> try:
    ...     interpret(total)
    ... except CheckError as error:
    ...     print(error)
    no negative numbers (at step 2)

    Source: PyTensor's `Assert`; `jax.experimental.checkify.check`.
    """
    site = Site("check", user_location())
    text = _text(site, message)
    if value is None and pending() is None and not isinstance(condition, Variable):
        if not np.all(condition):
            raise CheckError(text)
        return None
    ok = assert_true(_holds(site, condition), text)
    if value is not None:
        return after(site.array(value, "the value"), [ok])
    _asked(site, ok, "x = check(condition, message, x)")
    return None


class Assert:
    """`Assert(msg)(x, *conditions)`: x, or CheckError (an AssertionError) where a condition is false.

    msg: what the error says.  x: an array of any shape.  conditions: truth values, or arrays of them.

    >>> from scanopt import function, tensor as T
    >>> x = T.dscalar("x")
    >>> f = function([x], Assert("x must not be negative")(x, x >= 0))
    >>> f(2.0)
    array(2.)

    Source: PyTensor's `Assert`, Theano's `theano.tensor.opt.Assert`.
    """

    def __init__(self, msg: str = "Theano Assert failed!") -> None:
        self.msg = _text(Site("Assert", user_location()), msg)

    def __call__(self, value: Any, *conds: Any) -> Variable:
        """value, available once all conditions are found to hold."""
        site = Site("Assert", user_location())
        if not conds:
            raise site.error(TypeError, "Assert needs a condition: write Assert(message)(x, condition)")
        return after(site.array(value, "the value"), [assert_true(_holds(site, c), self.msg) for c in conds])


class Print:
    """`Print(message, attrs)(x)`: x, which is printed wherever it is computed, in loops at each step.

    message: printed before each value.  attrs: what is printed: "__str__", "shape", "dtype", "ndim", "size", "min",
        "max", "mean", "sum", "std", "var", "all", "any".
    An x that nothing uses is neither computed nor printed.  Laws may compute it earlier or later among other values,
    but as often as written; what is computed again (by `scan_checkpoints`) is printed again.
    Raises TypeError, ValueError for an invalid message or invalid attributes.

    >>> from scanopt import function, tensor as T
    >>> x = T.dvector("x")
    >>> f = function([x], Print("x", ["__str__", "shape"])(x) * 2)
    >>> f([1.0, 2.0])
    x __str__ = [1. 2.]
    x shape = (2,)
    array([2., 4.])

    Source: Theano's `theano.printing.Print`.
    """

    def __init__(self, message: str = "", attrs: Sequence[str] = ("__str__",)) -> None:
        site = Site("Print", user_location())
        self.message, self.attrs = _text(site, message), tuple(attrs) if isinstance(attrs, list | tuple) else attrs
        if not isinstance(self.attrs, tuple) or not self.attrs or any(a not in ATTRIBUTES for a in self.attrs):
            raise site.error(ValueError, f"attrs must be a list of {', '.join(ATTRIBUTES)}; found {show(attrs)}")

    def __call__(self, x: Any) -> Variable:
        """x, available once it is printed."""
        v = Site("Print", user_location()).array(x, "what is printed")
        return after(v, [printed(self.message, [v], self.attrs)])


def _numbered(site: Site, fmt: str, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[str, list[Any]]:
    """The text with its fields numbered, and the list of the arguments that fill them.  Raises ValueError."""
    try:
        places = list(Formatter().parse(fmt))
    except ValueError as error:
        raise site.error(ValueError, f"the text {fmt!r} is not a format: {error}") from None
    out, used, nth = "", list[Any](), 0
    for before, name, form, conversion in places:
        out += before.replace("{", "{{").replace("}", "}}")
        if name is None:
            continue
        if name == "":
            name, nth = str(nth), nth + 1
        known = name in kwargs or (name.isdigit() and int(name) < len(args))
        if not known or conversion or "{" in (form or ""):
            raise site.error(
                ValueError,
                f"the text {fmt!r} has a place for {name!r}: write {{}}, {{0}} or {{name}}, perhaps with a format as "
                f"{{:.3f}}, and an array for each; there are {len(args)} and {', '.join(kwargs) or 'none by name'}",
            )
        out += f"{{{len(used)}{':' + form if form else ''}}}"
        used.append(kwargs[name] if name in kwargs else args[int(name)])
    return out, used


def debug_print(fmt: str, *args: Any, **kwargs: Any) -> None:
    """Print values each time that the step, branch or function being traced runs.

    fmt: text with places {}, {0}, {name}, perhaps with a format as {:.3f}.  args, kwargs: arrays for them.
    It prints if any result of the step, branch or function is computed; the order among several prints is free.  A
    loop that prints remains a loop as written.  If nothing is being traced and all arguments are arrays, it prints at
    once.  Raises ValueError for a text that does not fit, TypeError for symbolic arrays if nothing is being traced.

    >>> from scanopt import jit
    >>> @jit
    ... def f(x):
    ...     debug_print("x is {x:.2f}", x=x)
    ...     return 2 * x
    >>> f(3.0)
    x is 3.00
    array(6.)

    Source: `jax.debug.print`.
    """
    site = Site("debug_print", user_location())
    text, values = _numbered(site, _text(site, fmt), args, kwargs)
    if pending() is None and not any(isinstance(x, Variable) for x in values):
        print(fmt.format(*args, **kwargs))
        return
    if not shows(text):
        raise site.error(ValueError, f"the text {fmt!r} must be one line")
    arrays = [as_variable(x) for x in values] or [as_variable(0)]  # an argument puts it into its loop
    _asked(site, printed(text, arrays), f"x = Print({fmt!r})(x)")
