"""An extension of griffe, which reads the source for the reference: docstrings become markdown, options `**options`."""

from __future__ import annotations

from typing import Any

import griffe

from tools.pages.class_options import CLASSES
from tools.pages.entries import as_markdown


class MarkdownDocstrings(griffe.Extension):
    """Rewrites the docstring of every object that mkdocstrings reads, and the signature of those that take options."""

    def on_object(self, *, obj: Any, **_: Any) -> None:
        """Replace the text of the object's docstring, and leave out the type of its options, which have a table."""
        if obj.is_function:
            for parameter in obj.parameters:
                if "Unpack[" in str(parameter.annotation):
                    parameter.annotation = None
        if obj.docstring is not None:
            obj.docstring.value = as_markdown(obj.docstring.value)
            if obj.is_class and obj.name in CLASSES:
                options = f'<div class="entries" markdown="1">\n\n{CLASSES[obj.name]()}\n\n</div>'
                obj.docstring.value += f"\n\nOptions, the common ones first:\n\n{options}"
