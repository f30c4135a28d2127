"""`python -m oneiro_vault` is the command `oneiro`."""

from __future__ import annotations

import sys

from oneiro_vault.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
