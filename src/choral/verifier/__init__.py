"""The verifier: it reads the text of a release file and recomputes every claim, or names the first that fails.

Parts with one job each, on the standard library alone: nothing of the rest of choral is imported. `scripts/join_verifier.py`
joins them into `alone/verifier.py`, the one file that people copy; choral itself imports the parts.

Comes in: the text of a release file. Goes out: what was checked, or the first claim that fails.
Imports: the standard library.
"""

from pathlib import Path

JOINED = Path(__file__).parent / "alone" / "verifier.py"
"""The one file that people copy."""
