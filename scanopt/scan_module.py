"""The documents' name for the home of `until`: `theano.scan_module.until`."""

from scanopt.loops.until import until

__all__ = ["until"]
