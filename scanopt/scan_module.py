"""The documents' names for the home of `until` and `scan_args`: `theano.scan_module`."""

from scanopt.loops.scan_args import scan_args
from scanopt.loops.until import until

__all__ = ["scan_args", "until"]
