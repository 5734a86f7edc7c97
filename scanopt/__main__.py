"""`python -m scanopt`: the same as the command `scanopt`."""

import sys

from scanopt.cli import main

if __name__ == "__main__":
    sys.exit(main())
