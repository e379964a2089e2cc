"""`python -m gred`: climbs the ladder; `--help` names the other jobs."""

import sys

from gred.cli.command import main

if __name__ == "__main__":
    sys.exit(main())
