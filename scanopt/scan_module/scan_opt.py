"""`theano.scan_module.scan_opt`: the documents' optimizations of loops, by the ruleset that does the same here."""

__all__ = ["OPTIMIZATIONS"]

OPTIMIZATIONS = {
    "remove_constants_and_unused_inputs_scan": "remove_constants_and_unused_inputs",
    "PushOutNonSeqScan": "push_out_non_seq",
    "PushOutSeqScan": "push_out_seq",
    "PushOutScanOutput": "push_out_output",
    "PushOutDot1": "push_out_dot1",
    "ScanInplaceOptimizer": "inplace",
    "ScanSaveMem": "save_mem",
    "ScanMerge": "merge",
    "scan_merge_inouts": "merge_inouts",
}
"""The documents' name of an optimization -> our ruleset, for `exclude` of `function` or a `Mode`.

`one_step_scan` is none: `scan` itself makes no loop of one step known beforehand.
"""
