#!/usr/bin/env bash
# Run the tests: reproduce/run_tests.sh [pytest arguments]
# Without arguments, all but the long ones (-m long): the slow ones in a second process beside the
# quick ones.
set -u
. "$(dirname "${BASH_SOURCE[0]}")/environment.sh"
environment test,docs || exit # the documentation is built by one of them
cd "$root" || exit
[ $# -gt 0 ] && exec "$venv/bin/python" -m pytest "$@"
slow=$(mktemp)
trap 'kill "$beside" 2>/dev/null; rm -f "$slow"' EXIT
"$venv/bin/python" -m pytest -m slow -p no:cacheprovider >"$slow" 2>&1 &
beside=$!
"$venv/bin/python" -m pytest -m "not slow and not long"
quick=$?
wait "$beside"
late=$?
cat "$slow"
[ "$quick" -eq 0 ] || echo "the quick tests failed (exit $quick)"
[ "$late" -eq 0 ] || echo "the slow tests failed (exit $late)"
[ "$quick" -eq 0 ] && [ "$late" -eq 0 ]
