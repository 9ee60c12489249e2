"""The command `merino`, also as `python -m merino`."""

import sys

from engine.__main__ import main

if __name__ == "__main__":
    sys.exit(main())
