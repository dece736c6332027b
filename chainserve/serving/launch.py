"""Become another program that dies with its parent: `python -m chainserve.serving.launch PARENT_PID COMMAND ...`.

The kernel kills this process when the one that started it is gone, however that ended; the request outlives exec.
"""

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def main(arguments: list[str]) -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != int(arguments[0]):  # it died before the kernel knew
        raise SystemExit(1)
    os.execv(arguments[1], arguments[1:])  # noqa: S606 no shell: the supervisor built this command


if __name__ == "__main__":
    main(sys.argv[1:])
