"""An extension of griffe, which reads the source for the reference: docstrings become markdown."""

from __future__ import annotations

from typing import Any

import griffe

from tools.pages.entries import as_markdown


class MarkdownDocstrings(griffe.Extension):
    """Rewrites the docstring of every object that mkdocstrings reads."""

    def on_object(self, *, obj: Any, **_: Any) -> None:
        """Replace the text of the object's docstring."""
        if obj.docstring is not None:
            obj.docstring.value = as_markdown(obj.docstring.value)
