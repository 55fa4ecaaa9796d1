"""`python -m sluice`: the same as the console script."""

from __future__ import annotations

import sys

from sluice.cli import main

if __name__ == "__main__":
    sys.exit(main())
