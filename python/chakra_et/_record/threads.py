"""Waits until no other thread can still be inside of a callback that has been switched off."""
import os
import threading
import time

ASK_EVERY = 0.01  # seconds
INSIDE_TICKS = 5  # of processor time (10 ms each): a callback takes less than a millisecond of it
PAUSE = 0.1       # seconds, where the system does not list threads


def states():
    """Return thread -> (whether it sleeps, ticks of processor time, times that it began to run) of the other threads."""
    found, own = {}, str(threading.get_native_id())
    try:
        for thread in os.listdir("/proc/self/task"):
            if thread == own:
                continue
            try:
                with open(f"/proc/self/task/{thread}/stat", "rb") as file:
                    fields = file.read().rpartition(b")")[2].split()
                with open(f"/proc/self/task/{thread}/schedstat", "rb") as file:
                    runs = file.read().split()[2]
            except OSError:
                continue  # it has ended
            found[thread] = (fields[0] == b"S", int(fields[11]) + int(fields[12]), int(runs))
    except OSError:
        return None
    return found


def wait_until_outside(seconds=5.0):
    """Wait until each other thread sleeps, or has run for longer than a callback takes. Return whether all of them do.

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
        if now is not None and all(thread not in first or ticks - first[thread][1] >= INSIDE_TICKS or (sleeps and before.get(thread) == now[thread])
                                   for thread, (sleeps, ticks, _) in now.items()):
            return True
        before = now or before
    return False
