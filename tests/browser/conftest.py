"""All modules share one browser and one built site; every module has a studio of its own."""

import pytest
from browsing import ROOT, browser, studio, visit
from docsite.build import build

__all__ = ["browser", "site", "studio", "visit"]


@pytest.fixture(scope="package")
def site(tmp_path_factory):
    """The built site, opened as files: that is how it is kept and used without a network."""
    target = tmp_path_factory.mktemp("site")
    build(ROOT / "docs", target)
    return target
