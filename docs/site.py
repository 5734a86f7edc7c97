"""What MkDocs does with pages of docs/ that GitHub does not: links to files outside of it become their names."""

import re
from typing import Any

_OUTSIDE = re.compile(r"\[([^\]]+)\]\(\.\./[^)]*\)")


def on_page_markdown(markdown: str, **kwargs: Any) -> str:
    """The text of a page, before it becomes HTML."""
    return _OUTSIDE.sub(r"\1", markdown)
