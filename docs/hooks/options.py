"""Keeps options such as `--set` on one line when the pages are built: browsers would break them after a hyphen."""

import re
from typing import Any

CODE = re.compile(r"(?<!<pre>)<code>[^<]*</code>")
OPTION = re.compile(r"(?<![\w-])--?[a-z][\w-]*")


def on_page_content(page: str, /, **_: Any) -> str:
    """Mark the options in code within a line; blocks of code scroll instead."""
    return CODE.sub(lambda code: OPTION.sub(r'<span class="option">\g<0></span>', code[0]), page)
