"""What a law is: a table of all combinations, or a model of samples from which they would follow."""

from __future__ import annotations

from typing import TypeAlias

from choral.describe.compact import Exchangeable, Sensors
from choral.describe.joint import Joint

Law: TypeAlias = "Joint | Exchangeable | Sensors"
