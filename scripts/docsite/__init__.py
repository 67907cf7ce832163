"""The documentation site: docs/*.md and the docstrings, as plain pages that need no network and no scripts."""
