"""``python -m rita_demo COMMAND``."""

import sys

from rita_demo.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
