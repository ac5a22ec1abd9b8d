"""The command ``python -m qsim_ex``, which does the same as ``qsim-ex``."""

import sys

from qsim_ex.cli import main

if __name__ == "__main__":
    sys.exit(main())
