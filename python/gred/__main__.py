"""`python -m gred`: climbs the ladder; `python -m gred sweep`: measures it over sizes."""

import sys

from gred.cli.command import main

if __name__ == "__main__":
    sys.exit(main())
