"""`python -m gred`: climbs the ladder; `sweep`, `versus` and `counters` do more with it."""

import sys

from gred.cli.command import main

if __name__ == "__main__":
    sys.exit(main())
