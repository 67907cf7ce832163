"""scikit-learn: columns in, one private code out; and somebody's own model, whose decisions become private.

Comes in: arrays and frames, and a model. Goes out: codes, decisions, and the release behind them.
Imports: all rooms up to draw.
"""

from choral.sklearn.codes import Disclosure, PrivateCodes
from choral.sklearn.decision import PrivateDecision

__all__ = ["Disclosure", "PrivateCodes", "PrivateDecision"]
