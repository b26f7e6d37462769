# Sourced by run_table.sh and run_tests.sh: makes the virtual environment once, and nothing after.
# JUMPBENCH_VENV: where it lives (default .venv in the checkout). PYTHON: what makes it.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
venv=${JUMPBENCH_VENV:-$root/.venv}
case $venv in /*) ;; *) venv=$PWD/$venv ;; esac # run_tests.sh goes to another folder

# environment EXTRAS: install the checkout with these extras unless that is done already.
environment() {
  local extras=$1 stamp
  stamp=$venv/.jumpbench-$(cat "$root/pyproject.toml" "$root/constraints.txt" | cksum | tr -c '0-9\n' -)-$extras
  [ -f "$stamp" ] && return 0
  mkdir -p "$venv" || { echo "error: cannot write $venv; set JUMPBENCH_VENV to another folder" >&2; return 2; }
  (
    flock 9 # a second call waits for the first one's installation
    [ -f "$stamp" ] && exit 0
    python=${PYTHON:-python3}
    "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null ||
      { echo "error: Python 3.11 or later is needed; set PYTHON to one" >&2; exit 2; }
    echo "installing jumpbench into $venv (once; torch is a few gigabytes)" >&2
    [ -x "$venv/bin/pip" ] || "$python" -m venv "$venv" || exit 2
    "$venv/bin/pip" install --quiet --disable-pip-version-check \
      -c "$root/constraints.txt" -e "$root${extras:+[$extras]}" ||
      { echo "error: the installation into $venv failed; call again to retry" >&2; exit 2; }
    touch "$stamp"
  ) 9>"$venv/.jumpbench-lock"
}

# matrix_products [CPUINFO]: with JUMPBENCH_AVX512=1, MKL, which is inside torch, takes its path with
# AVX-512 on AMD's processors too. It asks a function whether they are Intel's; this one says yes.
matrix_products() {
  local cpuinfo=${1:-/proc/cpuinfo} answer=$venv/mkl_avx512.so
  [ "${JUMPBENCH_AVX512:-}" = 1 ] || return 0
  if ! grep -q AuthenticAMD "$cpuinfo" || ! grep -qw avx512f "$cpuinfo"; then
    echo "JUMPBENCH_AVX512=1 changes nothing: this is no AMD processor with AVX-512" >&2
    return 0
  fi
  if [ ! -f "$answer" ]; then
    echo 'int mkl_serv_intel_cpu_true(void) { return 1; } int mkl_serv_intel_cpu(void) { return 1; }' |
      ${CC:-cc} -shared -fPIC -x c - -o "$answer.$$" && mv "$answer.$$" "$answer" ||
      { echo "error: JUMPBENCH_AVX512=1 needs a C compiler; set CC to one" >&2; return 2; }
  fi
  export LD_PRELOAD=$answer${LD_PRELOAD:+:$LD_PRELOAD}
}
