"""`python -m gred`: climbs the ladder; with `sweep` over sizes, with `versus` beside others."""

import sys

from gred.cli.command import main

if __name__ == "__main__":
    sys.exit(main())
