#!/usr/bin/env bash
# demo.sh "question" [options of `chainserve ask`]: start a server, stream an answer, draw its timeline, stop the server.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

question=${1:-What is the capital of France?}
shift $(($# > 0))
server="" log=""

main() {
  scripts/setup.sh
  local ports
  read -ra ports < <(free_ports)
  log=$(mktemp)
  trap stop_server EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM HUP
  start_server "${ports[@]}"
  printf '\n> %s\n\n' "$question"
  .venv/bin/chainserve ask "$question" --url "127.0.0.1:${ports[1]}" --trace "$@"
}

free_ports() {
  .venv/bin/python - <<'PYTHON'
import socket
sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(3)]
print(*(each.getsockname()[1] for each in sockets))
PYTHON
}

start_server() {
  echo "starting the server ..." >&2
  .venv/bin/chainserve serve --http-port "$1" --grpc-port "$2" --metrics-port "$3" >"$log" 2>&1 &
  server=$!
  until grep -q ": ready on " "$log"; do
    kill -0 "$server" 2>/dev/null || failed
    sleep 0.2
  done
}

failed() {
  tail -1 "$log" >&2
  exit 1
}

stop_server() {
  [[ -z $server ]] || kill -TERM "$server" 2>/dev/null || true
  wait
  rm -f "$log"
}

main "$@"
