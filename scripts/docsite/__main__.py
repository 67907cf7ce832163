"""`python -m docsite build/site`."""

import sys
from pathlib import Path

from docsite.build import build

if __name__ == "__main__":
    target = Path(sys.argv[1] if len(sys.argv) > 1 else "build/site")
    pages = build(Path(__file__).parents[2] / "docs", target)
    sys.stdout.write(f"{len(pages)} pages: open {target / 'index.html'}\n")
