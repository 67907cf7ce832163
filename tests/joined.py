"""The verifier as people copy it: the joined file as a module of its own, apart from the parts that choral imports."""

from __future__ import annotations

from importlib.util import module_from_spec, spec_from_file_location
from types import ModuleType

from choral.verifier import JOINED


def _loaded() -> ModuleType:
    spec = spec_from_file_location("verifier_alone", JOINED)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


verifier = _loaded()
