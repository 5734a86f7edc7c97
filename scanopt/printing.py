"""Names of Theano's module `printing`."""

from scanopt.loops.telling import Print
from scanopt.view.text import dprint
from scanopt.view.text import dprint as debugprint

__all__ = ["Print", "debugprint", "dprint"]
