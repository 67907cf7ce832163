"""Every module has one browser and one studio; a module that needs another kind has its own."""

from browsing import browser, studio, visit

__all__ = ["browser", "studio", "visit"]
