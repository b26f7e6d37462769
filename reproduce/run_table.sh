#!/usr/bin/env bash
# Regenerate a table: reproduce/run_table.sh SLUG/TABLE [key=value ...]   (see jumpbench --help)
set -u
. "$(dirname "${BASH_SOURCE[0]}")/environment.sh"
extras=
for word in "$@"; do
  case $word in
    launcher=ray) extras=ray ;;
    launcher=slurm) extras=slurm ;;
  esac
done
environment "$extras" && matrix_products || exit
exec "$venv/bin/jumpbench" table "$@"
