"""The documentation site: its generated tables, its links, and its snippets."""
