"""The documentation site: docs/*.md and the docstrings, as plain pages that need no network.

Without scripts only the search is missing.
"""
