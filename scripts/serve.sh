#!/usr/bin/env bash
# Serve until Ctrl-C, then let running requests finish. Options are those of `chainserve serve`.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
"$root/scripts/setup.sh"
exec "$root/.venv/bin/chainserve" serve "$@"
