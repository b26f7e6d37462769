"""``python -m jumpbench`` is the ``jumpbench`` command."""

import sys

from jumpbench.cli.main import main

sys.exit(main())
