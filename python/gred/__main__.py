"""`python -m gred` runs the ladder; `--help` lists the other commands."""

import sys

from gred.cli.command import main

if __name__ == "__main__":
    sys.exit(main())
