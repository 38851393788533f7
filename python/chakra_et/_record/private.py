"""A private folder in memory for raw recordings, which must not reach a disk: mode 0700, on tmpfs, removed at exit and by the next start."""
import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import stat

from .errors import RecordError, warn

NEEDED = 256 << 20  # bytes for each rank of the host


def mounts():
    """(mount point, type) of each mounted file system, the longest first."""
    with open("/proc/self/mountinfo", encoding="utf-8", errors="replace") as file:
        rows = [line.split() for line in file]
    found = [(row[4].replace("\\040", " "), row[row.index("-") + 1]) for row in rows if "-" in row]
    return sorted(found, key=lambda row: len(row[0]), reverse=True)


def is_in_memory(folder):
    real = os.path.realpath(folder)
    for point, kind in mounts():
        if real == point or real.startswith(point.rstrip("/") + "/"):
            return kind in ("tmpfs", "ramfs")
    return False


def swap_is_on():
    try:
        with open("/proc/swaps", encoding="utf-8") as file:
            return len(file.readlines()) > 1
    except OSError:
        return False


def choose_place(named, needed):
    """The first folder in memory with enough room, else an error that names each and why it was left out."""
    reasons = []
    for place in [named] if named else ["/dev/shm", os.environ.get("XDG_RUNTIME_DIR", "")]:
        if not place:
            continue
        if not os.path.isdir(place) or not os.access(place, os.W_OK):
            reasons.append(f"'{place}' is no folder that you may write to")
        elif not is_in_memory(place):
            reasons.append(f"'{place}' is not on tmpfs")
        else:
            state = os.statvfs(place)
            free = state.f_bavail * state.f_frsize
            if free >= needed:
                return place
            reasons.append(f"'{place}' has {free >> 20} MiB free")
    raise RecordError(f"level=1 keeps raw recordings in memory alone, and needs tmpfs with {needed >> 20} MiB free: {'; '.join(reasons)}. "
                      "Enlarge /dev/shm (docker run --shm-size 8g), name a place (private=, --private), or state a smaller need "
                      "(private_bytes=, --private-bytes)")


def started(pid):
    """When a process started, in ticks since the start of the system; None if it has ended."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] == "Z" else fields[19]


def is_alive(owner):
    pid, _, start = owner.removeprefix("owner.").partition(".")
    return started(pid) == start


@contextlib.contextmanager
def locked(folder):
    handle = os.open(os.path.join(folder, "lock"), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


class PrivateFolder:
    """Shared by the ranks of a job on this host. Each rank leaves `done.PART.RANK` there; the last one links."""

    def __init__(self, out, named=None, needed=NEEDED, ranks=1):
        place = choose_place(named, needed * ranks)
        if swap_is_on():
            warn("swap is on: the system may write the memory of the private folder to disk; swapoff -a prevents it")
        self.root = os.path.join(place, f"chakra_et-{os.getuid()}")
        with contextlib.suppress(FileExistsError):
            os.mkdir(self.root, 0o700)
        state = os.lstat(self.root)
        if not stat.S_ISDIR(state.st_mode) or state.st_uid != os.getuid() or state.st_mode & 0o077:
            raise RecordError(f"'{self.root}' exists and is not a folder that only you can read; remove it")
        job = [os.path.abspath(out), *(os.environ.get(name, "") for name in ("MASTER_PORT", "TORCHELASTIC_RUN_ID", "SLURM_JOB_ID"))]
        key = hashlib.sha256("\0".join(job).encode()).hexdigest()[:24]
        self.path = os.path.join(self.root, key)
        self.owner = f"owner.{os.getpid()}.{started(os.getpid())}"
        with locked(self.root):
            self._remove_left()
            os.makedirs(self.path, 0o700, exist_ok=True)
            with open(os.path.join(self.path, self.owner), "w", encoding="ascii"):
                pass

    def _remove_left(self):
        """Remove folders of processes that ended without leaving."""
        for name in os.listdir(self.root):
            folder = os.path.join(self.root, name)
            if os.path.isdir(folder) and not any(is_alive(entry) for entry in os.listdir(folder) if entry.startswith("owner.")):
                shutil.rmtree(folder, ignore_errors=True)

    def done(self, part, rank, files, manifest):
        """Move a process' raw files, {name: path}, into the folder of the part, and return how many processes are there."""
        folder = os.path.join(self.path, f"part{part}")
        with locked(self.root):
            os.makedirs(folder, 0o700, exist_ok=True)
            for name, path in files.items():
                os.replace(path, os.path.join(folder, name))
            with open(os.path.join(self.path, f"done.{part}.{rank}"), "w", encoding="utf-8") as file:
                json.dump(manifest, file)
            return len(self._ranks(part))

    def _ranks(self, part):
        return sorted(int(name.split(".")[2]) for name in os.listdir(self.path) if name.startswith(f"done.{part}."))

    def take(self, part):
        """(folder with the raw files of the ranks, their manifests); the caller removes the folder. None if it was taken."""
        folder = os.path.join(self.path, f"part{part}")
        taken = os.path.join(self.path, f"taken{part}")
        with locked(self.root):
            if not os.path.isdir(folder):
                return None
            os.rename(folder, taken)
            manifests = []
            for rank in self._ranks(part):
                with open(os.path.join(self.path, f"done.{part}.{rank}"), encoding="utf-8") as file:
                    manifests.append(json.load(file))
            return taken, manifests

    def leave(self):
        """Return the parts that no rank linked, if this is the last rank; remove() follows."""
        with locked(self.root):
            if not os.path.isdir(self.path):
                return []
            with contextlib.suppress(FileNotFoundError):
                os.remove(os.path.join(self.path, self.owner))
            entries = os.listdir(self.path)
            if any(is_alive(name) for name in entries if name.startswith("owner.")):
                return []
            with open(os.path.join(self.path, self.owner), "w", encoding="ascii"):
                pass  # until remove(), so that no start takes it for left
            return sorted(int(name.removeprefix("part")) for name in entries if name.startswith("part"))

    def remove(self):
        """Remove the folder unless another rank uses it."""
        with locked(self.root):
            if not os.path.isdir(self.path):
                return
            others = [name for name in os.listdir(self.path) if name.startswith("owner.") and name != self.owner]
            if any(is_alive(name) for name in others):
                with contextlib.suppress(FileNotFoundError):
                    os.remove(os.path.join(self.path, self.owner))
            else:
                shutil.rmtree(self.path, ignore_errors=True)
