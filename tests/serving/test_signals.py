import os
import signal
import subprocess
import threading

import pytest

from chainserve.serving.signals import caught_signals


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_that_asks_to_stop_is_waited_for(number: signal.Signals) -> None:
    before = signal.signal(number, signal.SIG_DFL)
    with caught_signals() as signals:
        os.kill(os.getpid(), number)
        assert signals.wait(5)
        assert not signals.wait(0)
    assert signal.signal(number, before) is signal.SIG_DFL


def test_it_reaches_us_also_through_another_thread() -> None:
    """The kernel may give a process's signal to any thread, and numerical libraries start some at import."""
    release = threading.Event()
    other = threading.Thread(target=release.wait)
    other.start()
    with caught_signals() as signals:
        signal.pthread_kill(other.ident or 0, signal.SIGTERM)
        assert signals.wait(5)
    release.set()
    other.join()


def test_the_end_of_a_child_wakes_without_asking_to_stop() -> None:
    with caught_signals() as signals, subprocess.Popen(["true"]) as child:
        assert not signals.wait(30)
        child.wait()


def test_what_was_ignored_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with caught_signals() as signals:
        os.kill(os.getpid(), signal.SIGHUP)
        assert not signals.wait(0.05)
    signal.signal(signal.SIGHUP, before)
