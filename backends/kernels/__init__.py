"""Loops as kernels: one C function runs all steps of a loop; the array steps of the same loop are the fallback.

A loop goes through three forms.  Its steps, rewritten where needed, are read as *nodes* (`body`, `reading`, `nodes`),
and their axes become lengths (`sizes`).  The nodes are grouped into *stages* (`stages`) and lowered (`lower`, `frames`,
`emit`) to *statements* of the kernel language (`ir`), which `print_c` prints.  Passes work on each of these forms; the
docstring of a pass says on which, and when it is right.  `compilers` and `cache` turn the text into a shared object,
and `runtime` calls it from the generated Python source.
"""
