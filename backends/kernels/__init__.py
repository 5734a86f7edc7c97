"""Loops as kernels: one C function runs all steps of a loop; the array steps of the same loop are the fallback.

A loop is compiled in stages: its operators become nodes (`nodes`), their axes become lengths (`sizes`), the nodes are
grouped into stages (`stages`) and lowered (`lower`) to the kernel language of `ir`, which `print_c` prints.
`compilers` and `cache` turn the text into a shared object, and `runtime` calls it from the generated Python source.
"""
