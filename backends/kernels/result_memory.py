"""Allocates large results at the beginning of a cache line, so that no vector register of a row spans two lines.

NumPy's own memory for large arrays begins 16 bytes into a line.  A state that is read back from a row that was just
stored would then wait for two lines, which takes up to half of the time of a step.

NumPy allocates by a *handler* (NEP 49).  Ours is set while the results of a call are made, unless the user has set
one.  It frees and resizes by C's own functions, so that arrays may grow and be freed at any time.
"""

from __future__ import annotations

import ctypes
import sys

from scanopt.backends.kernels.numpy_table import entry_of

__all__ = ["LARGE", "TEXT", "handlers", "large_pages"]

LARGE = 1 << 12
"""The least bytes of a large result."""

_HUGE = 1 << 22
"""The least bytes for which NumPy asks the system for large pages."""

TEXT = f"""\
typedef struct {{
    char name[127];
    unsigned char version;
    void *context, *(*new)(void *, unsigned long), *(*zeros)(void *, unsigned long, unsigned long);
    void *(*resize)(void *, void *, unsigned long), (*end)(void *, void *, unsigned long);
}} Handler;
extern void *calloc(unsigned long, unsigned long), *realloc(void *, unsigned long);
extern int posix_memalign(void **, unsigned long, unsigned long), madvise(void *, unsigned long, int);
extern Object *PyCapsule_New(void *, const char *, void *);

static int large_pages;

static void *new_memory(void *context, unsigned long size)
{{
    void *found = 0;
    if (posix_memalign(&found, 64, size ? size : 1)) return 0;
    if (size >= {_HUGE} && large_pages) {{
        unsigned long skipped = 4096 - (unsigned long)found % 4096;
        madvise((char *)found + skipped, size - skipped, 14);
    }}
    return found;
}}
static void *zero_memory(void *context, unsigned long count, unsigned long size) {{ return calloc(count, size); }}
static void *resized_memory(void *context, void *old, unsigned long size) {{ return realloc(old, size); }}
static void end_memory(void *context, void *old, unsigned long size) {{ free(old); }}

static Handler lines = {{"lines_of_the_cache", 1, 0, new_memory, zero_memory, resized_memory, end_memory}};
typedef Object *setter(Object *);

static void end_lines(setter *set, Object *before)
{{
    Object *ours = set(before);
    if (ours) Py_DecRef(ours);
    else PyErr_Clear();
    Py_DecRef(before);
}}

/* The handler to restore with `set`; 0 where none was set, because the user has one or something failed. */
static Object *begin_lines(setter *set, Object *usual, int64 pages)
{{
    static Object *ours;
    if (!(ours = ours ? ours : PyCapsule_New(&lines, "mem_handler", 0))) {{ PyErr_Clear(); return 0; }}
    large_pages = pages;
    Object *before = set(ours);
    if (!before) {{ PyErr_Clear(); return 0; }}
    if (before == usual) return before;
    end_lines(set, before);
    return 0;
}}
"""


def handlers(large: bool) -> tuple[int, int]:
    """The addresses of PyDataMem_SetHandler and of NumPy's own handler; zeros where not needed or not found."""
    set_handler, own = entry_of(304), entry_of(306)
    found = ctypes.c_void_p.from_address(own).value if large and set_handler and own else None
    return (set_handler, found) if found else (0, 0)


def large_pages() -> bool:
    """Whether NumPy asks for large pages."""
    asks = getattr(sys.modules.get("numpy._core._multiarray_umath"), "_get_madvise_hugepage", None)
    return asks is None or bool(asks())
