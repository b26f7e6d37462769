#!/usr/bin/env bash
# Run the tests: reproduce/run_tests.sh [pytest arguments]
# Without arguments all but the long ones (-m long), in as many processes as there are processors,
# at most eight; one that has nothing left takes over what another has not begun.
set -u
. "$(dirname "${BASH_SOURCE[0]}")/environment.sh"
environment test,docs,notebooks || exit # tests build the documentation and run notebooks
cd "$root" || exit
unset PYTHONDONTWRITEBYTECODE # or every process that a test starts compiles all modules anew
[ $# -gt 0 ] && exec "$venv/bin/python" -m pytest "$@"
exec "$venv/bin/python" -m pytest -m "not long" -n logical --maxprocesses 8 --dist worksteal
