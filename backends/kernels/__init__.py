"""Loops as kernels: one C function that runs all steps of a loop, beside the array steps of the same loop.

The way of a loop: its operators become nodes (`nodes`), their axes lengths (`sizes`), the nodes stages (`stages`), and
these a kernel (`lower`) in the language of `ir`, which `print_c` writes.  `compilers` and `cache` make a shared object
of the text, and `runtime` calls it from the generated Python source.
"""
