"""``python -m qsim_ex`` is ``qsim-ex``."""

import sys

from qsim_ex.cli import main

if __name__ == "__main__":
    sys.exit(main())
