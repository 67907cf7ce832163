"""`python -m choral.verifier release.choral`: the verifier as it is installed."""

from choral.verifier.command import run

run()
