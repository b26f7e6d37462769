#!/usr/bin/env bash
# Run the tests: reproduce/run_tests.sh [pytest arguments]
set -u
. "$(dirname "${BASH_SOURCE[0]}")/environment.sh"
environment test || exit
cd "$root" && exec "$venv/bin/python" -m pytest "$@"
