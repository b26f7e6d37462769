#!/usr/bin/env bash
# Run the tests: reproduce/run_tests.sh [all | pytest arguments]
# Without arguments the quick ones: all formulas, samplers, networks and metrics, and the engine on
# toys. With "all" the slow ones too: all tables, launches (whose packages it installs), documents.
# The long ones (-m long) are in neither. There are as many processes as processors, at most eight;
# one that has nothing left takes over what another has not begun.
set -u
. "$(dirname "${BASH_SOURCE[0]}")/environment.sh"
extras=test,docs,notebooks # tests build the documentation and run notebooks
[ "$*" = all ] && extras=$extras,ray,slurm,dashboard,tensorboard,solvers
environment "$extras" || exit
cd "$root" || exit
unset PYTHONDONTWRITEBYTECODE # or every process that a test starts compiles all modules anew
case "$*" in
  "") chosen="not slow and not long" ;;
  all) chosen="not long" ;;
  *) exec "$venv/bin/python" -m pytest "$@" ;;
esac
exec "$venv/bin/python" -m pytest -m "$chosen" -n logical --maxprocesses 8 --dist worksteal
