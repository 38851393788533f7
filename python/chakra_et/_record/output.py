"""The files of a recording: their names, whether they are whole, and the manifest."""
import contextlib
import gzip
import hashlib
import json
import os
import re
import shutil
import socket

from .errors import RecordError

OWN = re.compile(r"^(host|device|profile|manifest|trace)\.(\d+)\.(json|json\.gz|xplane\.pb|xplane\.pb\.gz|et)$")


def folder_of(out):
    """The absolute path of the output folder. Errors: RecordError for a path that PyTorch cannot write to."""
    path = os.path.abspath(os.fsdecode(out))
    if "\0" in path or any("\ud800" <= character <= "\udfff" for character in path):
        raise RecordError(f"{path!r} is not a path in UTF-8, as profilers need it")
    return path


def host_id():
    """Equal for the ranks of one host, and no help to find its name: hashed with a secret of the running system."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            secret = file.read().strip()
    except OSError:
        secret = str(os.stat("/").st_ctime_ns)
    return hashlib.sha256(f"{secret} {socket.gethostname()}".encode()).hexdigest()[:16]


def part_folder(out, part):
    """The first recording of a process lies in the folder itself, each later one in a folder below."""
    return out if part == 0 else os.path.join(out, f"part{part}")


def refuse_earlier(out, rank, world, overwrite):
    """A folder holds the ranks of one job. Files of ranks that this job lacks, or of this rank, come from another one."""
    for folder, folders, names in os.walk(out) if os.path.isdir(out) else ():
        folders[:] = [name for name in folders if re.fullmatch(r"part\d+", name)]
        for name in names:
            found = OWN.match(name)
            if not found or rank < int(found[2]) < world or int(found[2]) < rank:
                continue
            if not overwrite:
                raise RecordError(f"'{os.path.join(folder, name)}' is of an earlier recording; choose another folder, or overwrite it "
                                  "(overwrite=True, --overwrite)")
            os.remove(os.path.join(folder, name))


def check_whole(path, kind, framework="PyTorch"):
    """Frameworks report neither an export that failed nor a full disk: the file is then empty, or ends in the middle."""
    size = os.path.getsize(path) if os.path.exists(path) else 0
    if size == 0:
        raise RecordError(f"{framework} wrote 0 bytes of the {kind} trace; see its messages above, and whether the file system of "
                          "the output folder is full")
    if not path.endswith(".json"):
        return size
    with open(path, "rb") as file:
        file.seek(max(0, size - 64))
        if not file.read().rstrip().endswith(b"}"):
            raise RecordError(f"the {kind} trace ends in the middle after {size:,} bytes; is the file system full?")
    return size


def publish(source, target, compress):
    """Move a file to its place under its name only when it is complete."""
    name = target + (".gz" if compress else "")
    part = os.path.join(os.path.dirname(name), "." + os.path.basename(name))
    try:
        with open(source, "rb") as plain, open(part, "wb") as raw:
            if compress:
                with gzip.GzipFile("", "wb", 4, raw, mtime=0) as packed:
                    shutil.copyfileobj(plain, packed, 1 << 20)
            else:
                shutil.copyfileobj(plain, raw, 1 << 20)
        os.replace(part, name)
    except BaseException:
        with contextlib.suppress(OSError):
            os.remove(part)
        raise
    os.remove(source)
    return os.path.basename(name)


def write_manifest(folder, manifest):
    """The first key, and the two blanks, let `chakra link` leave the file out without a note."""
    path = os.path.join(folder, f"manifest.{manifest['rank']}.json")
    with open(path + ".part", "w", encoding="utf-8") as file:
        json.dump({"ranks": manifest["ranks"], **manifest}, file, indent=2)
        file.write("\n")
    os.replace(path + ".part", path)


# What a manifest keeps with level=1: numbers, and texts that this package, the framework or the vendor of the device writes.
SHARED = {"ranks", "rank", "format", "level", "part", "steps", "observed", "asked", "complete", "counted_by", "host", "options", "overhead",
          "lacks", "failed"}
SHARED_VERSIONS = {"python": r"[\d.]+", "torch": r"[\d.]+", "jax": r"[\d.]+", "jaxlib": r"[\d.]+", "cuda": r"[\d.]+", "hip": r"[\d.]+",
                   "nccl": r"[\d.]+", "machine": r"x86_64|aarch64|ppc64le", "device": r"(NVIDIA|AMD|Intel)[ A-Za-z0-9()-]{0,40}"}


def shared_manifest(manifest):
    """The manifest with level=1."""
    kept = {key: value for key, value in manifest.items() if key in SHARED}
    kept["versions"] = {}
    for key, pattern in SHARED_VERSIONS.items():
        text = str(manifest["versions"].get(key, "")).split("+")[0]
        if re.fullmatch(pattern, text):
            kept["versions"][key] = text
    kept["groups"] = [{"ranks": group["ranks"]} for group in manifest["groups"]]
    kept["failed"] = bool(manifest.get("failed"))
    return kept
