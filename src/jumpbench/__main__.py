"""``python -m jumpbench`` is the ``jumpbench`` command."""

import sys

from jumpbench.cli import main

sys.exit(main())
