"""NumPy's functions and methods that have no symbolic form, and what to write in their place."""

from __future__ import annotations

__all__ = ["INSTEAD", "INSTEAD_OF_METHODS", "OF_ARGUMENTS", "OF_METHODS", "OWN"]

_ON_RESULTS = "call it on the result of the compiled function"
_NEW_ARRAY = "symbolic arrays are never changed in place: write "

INSTEAD: dict[str, str] = {
    **dict.fromkeys(
        ("save", "savez", "savez_compressed", "savetxt", "array2string", "array_repr", "array_str", "packbits",
         "unpackbits"),
        _ON_RESULTS,
    ),
    **dict.fromkeys(("busday_count", "busday_offset", "is_busday", "datetime_as_string", "isnat"),
                    "symbolic arrays hold numbers only, no dates"),
    "copyto": _NEW_ARRAY + "T.where(mask, src, dst), T.full(shape, value) or dst[...].set(src)",
    "put": _NEW_ARRAY + "x[indices].set(values)",
    "place": _NEW_ARRAY + "T.where(mask, values, x), or x[mask].set(values)",
    "putmask": _NEW_ARRAY + "T.where(mask, values, x)",
    "put_along_axis": _NEW_ARRAY + "x = T.put_along_axis(x, indices, values, axis)",
    "fill_diagonal": _NEW_ARRAY + "x = T.fill_diagonal(x, value)",
    "may_share_memory": "symbolic arrays have no memory",
    "shares_memory": "symbolic arrays have no memory",
    "min_scalar_type": "it depends on the value: use x.dtype",
    "einsum_path": "T.einsum looks for an order by itself",
}  # fmt: skip
"""By the name of a NumPy function: what to use in its place, if there is something."""

OWN = "call the Python function that it was made of, or write it with NumPy's functions"
"""What to use in place of a ufunc that somebody made of a Python function."""

OF_METHODS: dict[str, str] = {
    "reduce": "use scanopt.reduce(f, x, initial)",
    "accumulate": "use scanopt.scan",
    "reduceat": "use it on the parts x[i:j]",
    "at": _NEW_ARRAY + "x[indices].inc(values) or x[indices].set(values)",
}
"""By the name of a method of ufuncs: what to use in its place."""

OF_ARGUMENTS: dict[str, str] = {
    "out": "use what it returns",
    "where": "write it with T.where",
    "initial": "put it beside the array, or combine it with the result",
    "dtype": "write a cast around it",
}
"""By the name of an argument of NumPy's functions: what to write instead."""

_RESULT = "call it on the result of the compiled function, or on x.eval({...})"
_SORTED = "symbolic arrays are never changed in place: write y = "
_MEMORY = "it has no memory before the function runs, and after that the executor decides how arrays lie in it"

INSTEAD_OF_METHODS: dict[str, str] = {
    **dict.fromkeys(("tolist", "tobytes", "tofile", "dump", "dumps"), _RESULT),
    **dict.fromkeys(("base", "ctypes", "data", "flags", "strides", "setflags"), _MEMORY),
    **dict.fromkeys(("byteswap", "newbyteorder", "getfield", "setfield"), "it has no bytes before the function runs"),
    "get_test_value": "there are no test values: x.eval({...}) takes the values of the inputs",
    "itemset": _NEW_ARRAY + "y = x[index].set(value)",
    "put": _NEW_ARRAY + "y = x.at[indices].set(values), of x.ravel() for places in the flattened array",
    "resize": _NEW_ARRAY + "y = x.reshape(shape), or T.resize(x, shape)",
    "partition": _SORTED + "T.partition(x, kth), or T.sort(x)",
    "transfer": "function(..., backend='cupy') runs on a GPU; nothing is moved by hand",
    "view": "write x.astype(dtype) for the same numbers in another dtype; the bytes are not read as others",
}  # fmt: skip
"""By the name of a method or attribute of numpy.ndarray: what to write in its place."""
