#!/usr/bin/env bash
# Makes everything the other scripts need, once: .venv, locked dependencies, the engine, the search index.
# Run again it only looks at stamps. An interrupted run is finished by the next one; two at once take turns.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly state=var/setup
readonly needed_mb=3000 # .venv, pip's temporary files, the weights and the engine

say() { printf 'set-up: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

main() {
  [[ $(uname -sm) == "Linux x86_64" ]] || die "Linux on x86-64 is needed, this is $(uname -sm)"
  up_to_date && return
  mkdir -p "$state" 2>/dev/null || die "cannot write to $PWD/$state"
  exec 9>"$state/lock"
  flock --nonblock 9 || { say "waiting for another set-up"; flock 9; }
  step packages "$(packages_key)" .venv/bin/chainserve install_packages
  step engine "$(engine_key)" engines/cpu/engine.json build_engine
  step index "$(index_key)" var/index build_index
}

# step NAME KEY RESULT COMMAND: run COMMAND unless RESULT exists and was made for the same KEY.
step() {
  is_done "$1" "$2" "$3" && return
  "$4"
  printf '%s\n' "$2" >"$state/$1.stamp.new"
  mv "$state/$1.stamp.new" "$state/$1.stamp"
}

is_done() { [[ -e $3 && -f $state/$1.stamp && $(<"$state/$1.stamp") == "$2" ]]; }

up_to_date() {
  is_done packages "$(packages_key)" .venv/bin/chainserve && .venv/bin/python -c '' 2>/dev/null &&
    is_done engine "$(engine_key)" engines/cpu/engine.json && is_done index "$(index_key)" var/index
}

packages_key() { cat requirements/cpu.txt pyproject.toml | sha256sum | cut -c1-64; }
engine_key() { cat build/chainserve_build/*.py requirements/cpu.txt | sha256sum | cut -c1-64; }
index_key() { find corpus build/chainserve_build chainserve/context -type f -not -name '*.pyc' -exec sha256sum {} + | sort | sha256sum | cut -c1-64; }

install_packages() {
  local python
  python=$(find_python)
  enough_space
  if ! same_python "$python"; then
    say "making .venv with $("$python" --version)"
    "$python" -m venv --clear .venv >"$state/venv.log" 2>&1 ||
      die "cannot make .venv: $(reason "$state/venv.log") (on Debian: apt-get install python3-venv)"
  fi
  pip_install "locked packages" --require-hashes --requirement requirements/cpu.txt
  pip_install "chainserve" --no-build-isolation --editable .
}

# The first Python 3.11 or 3.12 that has the shared library which Triton's stub links.
find_python() {
  local candidate missing=""
  for candidate in ${CHAINSERVE_PYTHON:+"$CHAINSERVE_PYTHON"} {/usr/bin/,}python3.11 {/usr/bin/,}python3.12 python3; do
    "$candidate" -c 'import sys; sys.exit(sys.version_info[:2] not in ((3, 11), (3, 12)))' 2>/dev/null || continue
    if missing=$(has_libpython "$candidate"); then
      command -v "$candidate"
      return
    fi
  done
  [[ -z $missing ]] || die "$missing"
  die "Python 3.11 or 3.12 is needed, found $(python3 --version 2>/dev/null || echo none): set CHAINSERVE_PYTHON to one"
}

has_libpython() {
  PYTHONPATH=$PWD "$1" -B - <<'PYTHON'
from chainserve.errors import NotFound
from chainserve.serving.libpython import find_libpython
try:
    find_libpython()
except NotFound as error:
    raise SystemExit(print(error) or 1)
PYTHON
}

same_python() {
  local version='import sys; print(*sys.version_info[:2])'
  [[ $(.venv/bin/python -c "$version" 2>/dev/null) == $("$1" -c "$version") ]] && .venv/bin/python -m pip --version >/dev/null 2>&1
}

enough_space() {
  [[ -x .venv/bin/chainserve ]] && return
  local free_mb
  free_mb=$(df --output=avail --block-size=1M . | tail -1 | tr -d " ")
  ((free_mb >= needed_mb)) || die "the disk is too full: $needed_mb MB are needed in $PWD, $free_mb MB are free"
}

# pip_install WHAT ARGUMENTS...
pip_install() {
  local what=$1 log=$state/pip.log
  shift
  say "installing $what"
  .venv/bin/python -m pip install --no-deps --no-input --disable-pip-version-check --progress-bar off "$@" 2>&1 |
    tee "$log" | show_packages || die "cannot install $what: $(reason "$log") [log: $PWD/$log]"
}

# One line that counts, on a terminal; nothing where nobody watches.
show_packages() {
  local line count=0
  while IFS= read -r line; do
    [[ $line == Collecting* && -t 2 ]] || continue
    count=$((count + 1))
    printf '\r\033[K  %d %s' "$count" "$(cut -d' ' -f2 <<<"$line")" >&2
  done
  if ((count)); then printf '\r\033[K' >&2; fi
}

build_engine() {
  say "building the CPU engine"
  .venv/bin/chainserve-build engine --profile cpu >&2
}

build_index() {
  say "building the search index"
  .venv/bin/chainserve-build index >&2
}

# The one line of a log that says what went wrong.
reason() {
  if grep -q "No space left on device" "$1"; then
    echo "the disk is full"
  elif grep -qE "NewConnectionError|Max retries|name resolution|Network is unreachable|timed out|ProxyError" "$1"; then
    echo "no network: the package index cannot be reached"
  else
    { grep -E "^ERROR|Error" "$1" || tail -1 "$1"; } | head -1
  fi
}

main
