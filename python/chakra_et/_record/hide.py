"""level=1: a linked trace with the names, paths and labels of the allow-list alone.

An allow-list, never a deny-list: a member, a name or a word that it lacks does not pass. Names outside it become `label.1`,
`kernel.gemm.2`, `group.3`: equal names of a job get equal numbers on each rank, in the order of their first use. Times, sizes,
shapes, the dependencies and the kinds of operations stay, so a simulation of the trace takes the same time to the picosecond.
"""
import json
import re

from chakra_et import _chakra

from .errors import RecordError

# Numeric members of a node and of the metadata.
NUMBERS = {
    "is_cpu_op", "ts_ns", "dur_ns", "dep_kinds", "dep_lag_ns", "part_of", "pid", "tid", "device", "stream", "correlation",
    "call_late_ns", "call_dur_ns", "inside_dur_ns", "annotation", "comm_type", "comm_size", "comm_seq", "comm_in_bytes",
    "comm_out_bytes", "comm_root", "comm_src", "comm_dst", "comm_tag", "comm_priority", "comm_request", "comm_wait", "num_ops",
    "tensor_size", "weight_bytes", "rf_id", "fw_parent", "seq_id", "scope", "fw_tid", "start_ts", "finish_ts", "linked_iteration",
    "rank_start_ns", "clock_drift_ppb", "rank", "chakra_nodes"}
# Members whose text consists of numbers and of words of the list.
WORDS = {"comm_dtype", "comm_in_split", "comm_out_split", "input_strides", "output_strides", "shapes", "op_dtype", "kernel_backend"}
# Members whose whole text must have a form.
FORMS = {"source": r"(host \d+)?( ?device @\d+)?", "schema": r"[\d.]+(-chakra[\d.]+)?", "kernel_file": r"",
         "device_name": r"(NVIDIA|AMD|Intel)( [A-Z]+[0-9]*[A-Z]*| \d+GB| HBM\d?e?| PCIe| Instinct| GeForce| Tesla| RTX| Max| \d+)*"}

DAY_US = 86_400_000_000
CHUNK = re.compile(r"[^\s\[\](),']+")
KERNEL_CLASSES = ("gemm", "conv", "attention", "flash", "softmax", "layer_norm", "rms_norm", "batch_norm", "norm", "elementwise",
                  "reduce", "embedding", "index", "sort", "scan", "topk", "copy", "cat", "dropout", "adam", "loss", "rope", "triton")
BACKENDS = re.compile(r"(((cpu|cuda|xpu|mtia):)?(gloo|nccl|rccl|mpi|ucc|xccl|undefined|custom|fake|cuda:gloo),?)*")
ROLES = re.compile(r"(default_pg|undefined|world|dp|fsdp|shard|replicate|replica|ddp|tp|cp|ep|etp|edp|pp|sp|mesh|hsdp|dp_shard|dp_replicate|"
                   r"mesh_(dp|fsdp|tp|cp|ep|pp|dp_shard|dp_replicate|shard|replicate))")


def is_public(text, word=False):
    """The list of the library (chakra/recording/public_names.txt), which is ASCII. word: a number may also pass."""
    return text.isascii() and (_chakra.is_public_word(text) if word else _chakra.is_public_name(text))


class Hider:
    """Hides a job. One object serves all of its ranks, so that a name has one number."""

    def __init__(self):
        self.numbers, self.groups = {}, {}
        self.hidden = {"names": 0, "members": 0, "words": 0}
        self.zero_us = None  # where the times of all ranks begin: no date

    def _numbered(self, kind, text):
        self.hidden["names"] += 1
        known = self.numbers.setdefault(kind, {})
        return f"{kind}.{known.setdefault(text, len(known) + 1)}"

    def name(self, name, on_device=False):
        if is_public(name):
            return name
        if on_device:
            low = name.lower()
            found = next((word for word in KERNEL_CLASSES if word in low), "")
            return self._numbered(f"kernel.{found}" if found else "kernel", name)
        return self._numbered("label", name)

    def group(self, name):
        """Numbers that PyTorch gives to groups stay."""
        if re.fullmatch(r"\d{0,9}", name):
            return name
        return self.groups.setdefault(name, f"group.{len(self.groups) + 1}")

    def words(self, text):
        """A list as Python prints it: numbers stay outside of quotes, words if the list has them."""
        made, last, quoted = [], 0, False
        for found in CHUNK.finditer(text):
            between = text[last:found.start()]
            quoted ^= between.count("'") % 2 == 1
            word = found[0]
            if not is_public(word, word=not quoted):
                self.hidden["words"] += 1
                word = "?"
            made += [re.sub(r"[^\s\[\](),']", "", between), word]
            last = found.end()
        made.append(text[last:])
        return "".join(made)

    def _groups_of(self, text):
        rows = []
        for row in json.loads(text):
            described, backend = str(row.get("pg_desc", "")), str(row.get("backend_config", ""))
            kept = {"pg_name": self.group(str(row.get("pg_name", "")))}
            if ROLES.fullmatch(described):
                kept["pg_desc"] = described
            kept["backend_config"] = backend if BACKENDS.fullmatch(backend) else ""
            kept["ranks"] = [int(rank) for rank in row.get("ranks", [])]
            kept["group_size"] = int(row.get("group_size", 0))
            rows.append(kept)
        return json.dumps(rows)

    def _member(self, member):
        """The member as it may stay, None if it may not."""
        name = member.get("name", "")
        kinds = [key for key in member if key != "name"]
        if len(kinds) > 1 or (kinds and kinds[0] == "docString"):
            return None
        value = member.get("stringVal")
        if name in NUMBERS:
            if kinds and kinds[0] in ("stringVal", "bytesVal", "stringList", "bytesList"):
                return None
            return {**member, kinds[0]: self._undated(member[kinds[0]], 1000)} if name == "ts_ns" and kinds else member
        if kinds != ["stringVal"]:
            return None
        if name in WORDS:
            return {"name": name, "stringVal": self.words(value)}
        if name in FORMS:
            return member if re.fullmatch(FORMS[name], value) else None
        if name == "pg_name":
            return {"name": name, "stringVal": self.group(value)}
        if name == "process_groups":
            return {"name": name, "stringVal": self._groups_of(value)}
        return None

    def _undated(self, time, unit):
        """A start in `unit` per microsecond, without its date. The first start is a day after the zero, which no other rank precedes."""
        number = int(time)
        if self.zero_us is None:
            self.zero_us = max(0, number // unit - DAY_US)
        if number and number < self.zero_us * unit:
            raise RecordError("the recordings of the ranks lie more than a day apart")
        return str(number - self.zero_us * unit if number else 0)

    def _members(self, members):
        kept = [found for found in map(self._member, members) if found]
        self.hidden["members"] += len(members) - len(kept)
        return kept

    def metadata(self, record):
        kept = {key: record[key] for key in ("chakraTrace", "chakraNodes", "version") if key in record}
        if not re.fullmatch(r"[\d.]*", kept.get("version", "")):
            del kept["version"]
        return {**kept, "attr": self._members(record.get("attr", []))}

    def node(self, record):
        kept = {key: record[key] for key in ("id", "name", "type", "ctrlDeps", "dataDeps", "startTimeMicros", "durationMicros") if key in record}
        on_device = any(member.get("name") == "is_cpu_op" and member.get("boolVal") is False for member in record.get("attr", []))
        if "startTimeMicros" in kept:
            kept["startTimeMicros"] = self._undated(kept["startTimeMicros"], 1)
        if kept.get("name"):
            kept["name"] = self.name(kept["name"], on_device)
        for side in ("inputs", "outputs"):
            if side in record:
                empty = kept.get("type") == "METADATA_NODE"  # the arguments are descriptions of groups
                kept[side] = {key: "[]" if empty else self.words(record[side][key]) for key in ("values", "shapes", "types") if key in record[side]}
        kept["attr"] = self._members(record.get("attr", []))
        return kept

    def file(self, source, target):
        """Hide the trace of one rank, in the form jsonl: metadata, then a node a line."""
        with open(source, encoding="utf-8", errors="replace") as lines, open(target, "w", encoding="utf-8") as made:
            for number, line in enumerate(lines):
                record = json.loads(line)
                made.write(json.dumps(self.node(record) if number else self.metadata(record), separators=(",", ":")) + "\n")
