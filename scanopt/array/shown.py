"""Safe display of names and texts from users and files: on one line, with nothing hidden in them.

Characters that move the cursor, start a new line, reverse the direction of reading or are invisible are shown
as escapes, as in `repr`, wherever a name is shown; the name itself stays as it is.
"""

from __future__ import annotations

import re

__all__ = ["quoted", "shown"]

# Characters that Python counts as printable but that have no width, or look like a space.
_BLANK = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)


def shown(text: str) -> str:
    r"""A text on one line; invisible characters are escaped, quotes and backslashes stay.

    >>> shown("tanh'"), shown("x\x1b[31m\n")
    ("tanh'", 'x\\x1b[31m\\n')
    """
    if text.isprintable() and (text.isascii() or not _BLANK.search(text)):
        return text
    return "".join(c if c.isprintable() and not _BLANK.match(c) else ascii(c)[1:-1] for c in text)


def quoted(text: str) -> str:
    """As `shown`, in quotes.

    >>> quoted("x")
    "'x'"
    """
    return shown(repr(text))
