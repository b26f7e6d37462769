#!/usr/bin/env bash
# Regenerate a table: reproduce/run_table.sh SLUG/TABLE [key=value ...]   (see jumpbench --help)
set -u
. "$(dirname "${BASH_SOURCE[0]}")/environment.sh"
environment "" || exit
exec "$venv/bin/jumpbench" table "$@"
