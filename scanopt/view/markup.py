"""Text for XML and HTML: nothing a user writes can end a tag, open one, or break the document."""

from __future__ import annotations

import html
import re

__all__ = ["escape"]

_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def escape(text: str) -> str:
    """The text with markup and quotes escaped; characters that XML forbids become `�`.

    >>> escape('<a href="x">' + chr(0))
    '&lt;a href=&quot;x&quot;&gt;�'
    """
    return html.escape(_FORBIDDEN.sub("\ufffd", text))
