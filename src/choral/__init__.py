"""choral: hear the choir, never a voice.

Random maps from sensitive data to a public code that tells as much as possible about a chosen feature and exactly
nothing about any single protected value.
"""

from __future__ import annotations

from importlib import import_module

from choral.version import __version__

TYPE_CHECKING = False
"""As `typing` has it, which takes longer to load than all of this; an interrupt that comes meanwhile is a traceback."""

_HOME = {
    "Joint": "choral.describe.joint",
    "Exchangeable": "choral.describe.exchangeable",
    "Sensors": "choral.describe.sensors",
    "bsc": "choral.describe.channels",
    "bec": "choral.describe.channels",
    "examples": "choral.describe",
    "MarkovChain": "choral.describe.markov",
    "pose": "choral.problem.pose",
    "windows": "choral.problem.pose",
    "disclose": "choral.design.disclose",
    "self_disclose": "choral.design.disclose",
    "load": "choral.release.file",
    "Disclosure": "choral.design.result",
    "bounds": "choral.design.outlook",
    "plan": "choral.design.outlook",
    "capacity_curve": "choral.theory.capacity",
    "extreme_points": "choral.design.outlook",
    "hypergraph": "choral.design.outlook",
    "self_bounds": "choral.design.outlook",
    "self_disclosure_curve": "choral.theory.self_disclosure",
    "entropy_rate": "choral.theory.entropy_rate",
    "entropy_rate_curve": "choral.theory.entropy_rate",
    "sufficient_statistic": "choral.theory.sufficient",
    "tradeoff": "choral.theory.many_samples",
    "backbone": "choral.theory.synergy",
    "decompose": "choral.theory.synergy",
    "fit": "choral.release.fit",
    "fit_after": "choral.release.second",
    "audit": "choral.auditing.audit",
    "Release": "choral.release.file",
    "load_release": "choral.release.file",
    "Card": "choral.release.card",
    "spark": "choral.draw",
    "errors": "choral",
    "schemes": "choral",
}

__all__ = ["__version__", *sorted(_HOME)]

if TYPE_CHECKING:
    from typing import Any

    from choral import errors as errors
    from choral import schemes as schemes
    from choral.auditing.audit import audit as audit
    from choral.describe import examples as examples
    from choral.describe.channels import bec as bec
    from choral.describe.channels import bsc as bsc
    from choral.describe.exchangeable import Exchangeable as Exchangeable
    from choral.describe.joint import Joint as Joint
    from choral.describe.markov import MarkovChain as MarkovChain
    from choral.describe.sensors import Sensors as Sensors
    from choral.design.disclose import disclose as disclose
    from choral.design.disclose import self_disclose as self_disclose
    from choral.design.outlook import bounds as bounds
    from choral.design.outlook import extreme_points as extreme_points
    from choral.design.outlook import hypergraph as hypergraph
    from choral.design.outlook import plan as plan
    from choral.design.outlook import self_bounds as self_bounds
    from choral.design.result import Disclosure as Disclosure
    from choral.draw import spark as spark
    from choral.problem.pose import pose as pose
    from choral.problem.pose import windows as windows
    from choral.release.card import Card as Card
    from choral.release.file import Release as Release
    from choral.release.file import load as load
    from choral.release.file import load_release as load_release
    from choral.release.fit import fit as fit
    from choral.release.second import fit_after as fit_after
    from choral.theory.capacity import capacity_curve as capacity_curve
    from choral.theory.entropy_rate import entropy_rate as entropy_rate
    from choral.theory.entropy_rate import entropy_rate_curve as entropy_rate_curve
    from choral.theory.many_samples import tradeoff as tradeoff
    from choral.theory.self_disclosure import self_disclosure_curve as self_disclosure_curve
    from choral.theory.sufficient import sufficient_statistic as sufficient_statistic
    from choral.theory.synergy import backbone as backbone
    from choral.theory.synergy import decompose as decompose


def __getattr__(name: str) -> Any:
    """Load the rooms when they are first entered, so that `import choral` is quick."""
    if name not in _HOME:
        raise AttributeError(f"module 'choral' has no attribute '{name}'")
    home = _HOME[name]
    if name in ("examples", "errors", "schemes", "spark"):
        return import_module(f"{home}.{name}")
    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return __all__
