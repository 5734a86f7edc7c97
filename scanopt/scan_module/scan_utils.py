"""`theano.scan_module.scan_utils`: helpers for programs that look into loops."""

from scanopt.loops.rebuild import clone
from scanopt.loops.scan_args import ScanArgs
from scanopt.loops.scan_info import ScanInfo
from scanopt.loops.scan_lists import scan_args
from scanopt.loops.until import until

__all__ = ["ScanArgs", "ScanInfo", "clone", "scan_args", "until"]
