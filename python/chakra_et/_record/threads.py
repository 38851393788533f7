"""Waits until no other thread can still be inside of a callback that has been switched off."""
import os
import threading
import time

ASK_EVERY = 0.01  # seconds
INSIDE_TICKS = 5  # of processor time (10 ms each): a callback takes less than a millisecond of it
INSIDE_SLEEPS = 10  # a callback sleeps only for a lock that another thread has
PAUSE = 0.1       # seconds, where the system does not list threads


def states():
    """Return thread -> (whether it sleeps, ticks of processor time, times that it went to sleep) of the other threads."""
    found, own = {}, str(threading.get_native_id())
    try:
        for thread in os.listdir("/proc/self/task"):
            if thread == own:
                continue
            try:
                with open(f"/proc/self/task/{thread}/stat", "rb") as file:
                    fields = file.read().rpartition(b")")[2].split()
                with open(f"/proc/self/task/{thread}/status", "rb") as file:
                    sleeps = file.read().partition(b"\nvoluntary_ctxt_switches:")[2].split()[0]
            except OSError:
                continue  # it has ended
            found[thread] = (fields[0] == b"S", int(fields[11]) + int(fields[12]), int(sleeps))
    except OSError:
        return None
    return found


def wait_until_outside(seconds=5.0):
    """Wait until each other thread sleeps, or has run or slept more than a callback does. Return whether all of them do.

    A thread that was switched out inside of the callback neither sleeps nor runs; a thread that sleeps there waits for the lock of
    one that does not sleep. So two looks with the same sleepers, which did not run between, prove that all have left.
    """
    first = before = states()
    if first is None:
        time.sleep(PAUSE)
        return True
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(ASK_EVERY)
        now = states()
        if now is not None and all(thread not in first or _has_left(first[thread], before.get(thread), state) for thread, state in now.items()):
            return True
        before = now or before
    return False


def _has_left(first, before, now):
    return now[1] - first[1] >= INSIDE_TICKS or now[2] - first[2] >= INSIDE_SLEEPS or now[0] and now == before
