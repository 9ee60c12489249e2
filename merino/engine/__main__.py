"""`python -m engine` in a checkout: the same as `python -m merino`."""

# ruff: noqa: E402 (before anything else is loaded, Ctrl-C is to end the process without a word)
from merino.core.common.interrupt import end_at_once_from_here

end_at_once_from_here()

import sys

from merino.__main__ import main

if __name__ == "__main__":
    sys.exit(main())
