"""POT's network simplex method without the rest of the package.

`import ot` loads scikit-learn, pandas and SciPy's statistics for other methods, which takes seconds of every command that
needs this one alone. So the two modules that hold it are loaded beneath bare packages, and what was put up for that is
taken away again: whoever imports `ot` later gets all of it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

PACKAGE, WITHIN, METHOD = "ot", "ot.lp", "ot.lp._network_simplex"


@cache
def network_simplex() -> Callable[..., Any]:
    """`ot.emd`; from the whole package where that is loaded already, or keeps the method elsewhere."""
    spec = find_spec(PACKAGE)
    if PACKAGE not in sys.modules and spec is not None and spec.origin is not None:
        before = set(sys.modules)
        try:
            for name, folder in ((PACKAGE, Path(spec.origin).parent), (WITHIN, Path(spec.origin).parent / "lp")):
                bare = sys.modules[name] = ModuleType(name)
                bare.__path__ = [str(folder)]
            method: Callable[..., Any] = import_module(METHOD).emd
            return method
        except (ImportError, AttributeError):
            pass  # another version of the package: all of it, below
        finally:
            for name in set(sys.modules) - before:
                if name == PACKAGE or name.startswith(f"{PACKAGE}."):
                    del sys.modules[name]
    whole: Callable[..., Any] = import_module(PACKAGE).emd
    return whole
