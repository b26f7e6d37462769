#!/usr/bin/env bash
# Ten minutes on a GPU: agreement with the CPU, throughput, one run of a paper's scale; the report
# then shows it. reproduce/gpu_check.sh [SLUG/TABLE ...] [device=cpu] [scale=SCALE]
set -u
. "$(dirname "${BASH_SOURCE[0]}")/environment.sh"
environment "" || exit
exec "$venv/bin/jumpbench" gpu "$@"
