"""chakra_et.record: what is recorded links completely, and what must stay secret does."""
import gzip
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys

import launch
import pytest
from chakra_et._record import output, private, steps, threads
from chakra_et._record.command import find_command
from chakra_et.record import RecordError, record

torch = pytest.importorskip("torch")
CHAKRA = find_command()
VERSION = tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2])
TWO_RANKS = ["ddp", "made_inside", "manual", "two_optimizers", "scheduler", "whole", "fsdp", "pipeline", "compile", "loader", "forks", "exception",
             "inside_operator", "early", "cycles", "blocks", "hidden", "full", "refusals", "before", "before_pipeline",
             "before_compile", "before_fsdp", "before_sizes"]
if VERSION >= (2, 6):  # before, Kineto lacks what Gloo's threads run: 9 % of the operators of this job
    TWO_RANKS.append("before_fsdp1")
FOUR_RANKS = ["ddp", "pipeline", "groups"]
STEPS = {"ddp": [3, 4, 5], "made_inside": [0, 1], "manual": [2, 3], "two_optimizers": [2, 3], "scheduler": [1, 2], "whole": [0, 1],
         "fsdp": [2, 3], "pipeline": [2, 3], "compile": [3, 4], "loader": [2, 3], "forks": [1, 2], "exception": [1, 2],
         "inside_operator": [1, 2], "early": [2, 3], "groups": [2, 3], "before": [3, 4, 5], "before_pipeline": [2, 3],
         "before_compile": [3, 4], "before_fsdp": [2, 3], "before_fsdp1": [2, 3], "before_sizes": [3, 4, 5]}
NETWORK = "topology: [Ring]\nnpus_count: [2]\nbandwidth: [50.0]\nlatency: [500.0]\n"


def chakra(*words):
    done = subprocess.run([CHAKRA, *map(str, words)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def jobs(base, names, world):
    def start(attempt):
        folder = base / str(attempt)
        (folder / "earlier").mkdir(parents=True)
        for rank in range(world):
            (folder / "earlier" / f"host.{rank}.json").touch()
        launch.ranks([os.path.join(launch.HERE, "jobs.py"), str(folder), *names], world, NAMED="")
        return folder

    folder = launch.again(start)
    with open(folder / "facts.0.json", encoding="utf-8") as file:
        return folder, json.load(file)


@pytest.fixture(scope="session")
def two(tmp_path_factory):
    return jobs(tmp_path_factory.mktemp("two"), TWO_RANKS, 2)


@pytest.fixture(scope="session")
def four(tmp_path_factory):
    return jobs(tmp_path_factory.mktemp("four"), FOUR_RANKS, 4)


def linked(folder, traces, world, *options):
    """Link a folder; each rank must be complete, and the traces without a finding. Return the result of each rank."""
    report = traces / "link.json"
    traces.mkdir()
    chakra("link", folder, "-o", traces / "t", "--json", report, *options)
    with open(report, encoding="utf-8") as file:
        result = json.load(file)
    assert [rank["rank"] for rank in result["ranks"]] == list(range(world))
    for rank in result["ranks"]:
        # PyTorch's two observers do not end at one moment; before 2.6, Kineto lacks what Gloo's threads run.
        missing = rank["host_ops"] - rank["matched_host_ops"]
        assert rank["host_ops"] > 0 and missing <= (1 if VERSION >= (2, 6) else 0.03 * rank["host_ops"]), rank
        assert abs(rank["self_check_error"]) < 0.01, rank
    text = chakra("check", traces / "t")
    assert "nothing found" in text or VERSION < (2, 6) and "check.duration.missing" in text and "warning" not in text
    return result["ranks"]


def manifest(folder, rank):
    with open(folder / f"manifest.{rank}.json", encoding="utf-8") as file:
        return json.load(file)


def recorded_steps(folder, rank):
    with gzip.open(folder / f"device.{rank}.json.gz", "rt", encoding="utf-8", errors="replace") as file:
        return sorted({int(number) for number in re.findall(r'"ProfilerStep#(\d+)"', file.read())})


@pytest.mark.parametrize("name", [name for name in TWO_RANKS if name in STEPS])
def test_two_ranks_link_completely(two, tmp_path, name):
    folder = two[0] / name
    ranks = linked(folder, tmp_path / "traces", 2)
    if name.startswith("before"):
        assert ranks[0]["iteration"] == ranks[1]["iteration"] < len(STEPS[name]) and all(rank["matched_by"] == "names" for rank in ranks)
    for rank in range(2):
        told = manifest(folder, rank)
        assert (told["rank"], told["ranks"], told["level"]) == (rank, 2, 0)
        assert told["steps"] == STEPS[name]
        assert set(STEPS[name]) <= set(recorded_steps(folder, rank)) <= {*STEPS[name], STEPS[name][-1] + 1}
        assert told["observed"] == ([STEPS[name][0] - 1] if name.startswith("before") else STEPS[name])
        assert told["counted_by"] == ("step" if name == "manual" else "optimizer")
        assert told["complete"] == (name not in ("exception", "inside_operator", "early"))
        assert {file["name"] for file in told["files"].values()} <= set(os.listdir(folder))
        assert socket.gethostname() not in (folder / f"manifest.{rank}.json").read_text(encoding="utf-8")


def test_steps_of_the_same_sizes_are_linked(two, tmp_path):
    """The work of a step is that of its sizes, whichever step the host trace has."""
    work = {}
    for iteration in (None, "0", "1", "2"):
        ranks = linked(two[0] / "before_sizes", tmp_path / str(iteration), 2, *(["--iteration", iteration] if iteration else []))
        for rank in ranks:
            assert any(finding["tag"] == "pytorch.match.shapes" for finding in rank["findings"]) == (iteration in ("0", "2"))
            assert iteration or rank["iteration"] == 1
        work[iteration] = ranks[0]["work"]["operations"]
    assert work[None] == work["1"] < work["0"] < work["2"]


def test_compiled_code_is_recorded(two):
    with gzip.open(two[0] / "compile" / "device.0.json.gz", "rt", encoding="utf-8", errors="replace") as file:
        text = file.read()
    assert '"CompiledFunctionBackward"' in text
    assert '"AddmmBackward0"' not in text


@pytest.mark.parametrize("name", FOUR_RANKS)
def test_four_ranks_link_completely(four, tmp_path, name):
    linked(four[0] / name, tmp_path / "traces", 4)
    assert [manifest(four[0] / name, rank)["host"] for rank in range(4)] == [manifest(four[0] / name, 0)["host"]] * 4
    if name == "groups":
        described = [sorted(group["ranks"]) for group in manifest(four[0] / name, 3)["groups"]]
        assert sorted(described) == [[0, 1, 2, 3], [1, 3], [2, 3]]


@pytest.mark.parametrize("name, second", [("cycles", [5, 6]), ("blocks", [1, 2])])
def test_later_recordings_lie_in_parts(two, tmp_path, name, second):
    folder = two[0] / name
    assert manifest(folder, 0)["steps"] == [1, 2]
    assert manifest(folder / "part1", 1)["steps"] == second
    linked(folder / "part1", tmp_path / "part", 2)
    for cycle, wanted in ((0, folder), (1, folder / "part1")):
        ranks = linked(folder, tmp_path / str(cycle), 2, "--cycle", str(cycle))
        for rank in ranks:
            assert {os.path.dirname(rank[kind]) for kind in ("host", "device")} == {str(wanted)}


def test_exceptions_come_through(two):
    assert two[1]["exception"] == "'of the script'"
    assert two[1]["inside_operator"] == "of backward"
    assert manifest(two[0] / "exception", 0)["failed"] == "KeyError"
    assert any("the block ended at step 4" in text for text in two[1]["early"])


def test_hidden_recordings_lie_in_parts(two):
    folder = two[0] / "hidden"
    assert two[1]["hidden"] == "'of the script'"
    for part, steps_wanted, complete in ((folder, [1, 2], True), (folder / "part1", [5, 6], False)):
        assert {"trace.0.et", "trace.1.et", "manifest.0.json", "manifest.1.json"} <= set(os.listdir(part)) <= {
            "trace.0.et", "trace.1.et", "manifest.0.json", "manifest.1.json", "part1"}
        told = manifest(part, 1)
        assert (told["steps"], told["complete"], told["failed"], told["level"]) == (steps_wanted, complete, not complete, 1)
        assert not found_in(part, ["hush", "keyerror", socket.gethostname().lower()])
        assert "2 ranks" in chakra("check", part / "trace")
        assert "nothing found" in chakra("check", part / "trace")


def test_a_failed_export_does_not_end_the_job(two):
    text, count = two[1]["full"]
    assert "0 bytes of the device trace" in text
    assert count == 7
    assert os.listdir(two[0] / "full") == []


def test_a_step_is_counted_once(two):
    assert two[1]["two_optimizers"] == 5
    assert two[1]["scheduler"] == 4


def test_late_process_groups_are_named(tmp_path):
    """In a process of its own, since torch.distributed is global."""
    def start(attempt):
        launch.ranks([os.path.join(launch.HERE, "late_group.py"), str(tmp_path / f"out{attempt}")], 1)
        return tmp_path / f"out{attempt}"

    assert manifest(launch.again(start), 0)["lacks"][-1] == "process groups that were made after the recording began"


def test_refusals(two):
    found = two[1]["refusals"]
    for name, part in {"too_late": "ended at step 1", "nested": "open already", "profiled": "a profiler runs", "again": "earlier recording",
                       "empty": "holds no step", "text": "FIRST:END", "stride": "stride", "order": "must come after", "level": "level=2",
                       "before_first": "begin at step 1", "before_next": "begin at step 4", "before_whole": "begin at step 1",
                       "observe": "observe='after'", "framework": "framework='none'", "no_memory": "not on tmpfs", "small_memory": "MiB free"}.items():
        assert part in found[name], name
    assert not [name for _, _, names in os.walk(two[0]) for name in names if name.startswith(".")]


def test_unchanged_script_under_torchrun(tmp_path):
    def start(attempt):
        words = ["-m", "torch.distributed.run", "--nproc-per-node", "2", "--master-port", str(launch.free_port()), "-m", "chakra_et.record",
                 "--steps", "2:4", "-o", str(tmp_path / f"out{attempt}"), "--", os.path.join(launch.HERE, "plain_script.py"), "6"]
        done = subprocess.run([sys.executable, *words], capture_output=True, text=True, env=launch.environment(), timeout=400, check=False)
        if text := launch.crash(done.stderr):
            raise launch.TorchCrash(text)
        return done, tmp_path / f"out{attempt}"

    done, out = launch.again(start)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("arguments ['6'] plain_script.py") == 2
    linked(out, tmp_path / "traces", 2)
    assert "steps 2 to 3 of 2 ranks" in done.stderr
    assert "process groups" not in done.stderr  # the warm-up begins before init_process_group, the recording after it
    if VERSION < (2, 7):
        assert "does not record operators of threads" in done.stderr


# ---- the end of PyTorch's observer -------------------------------------------------------------------------

def test_a_thread_inside_of_the_observer_is_waited_for(monkeypatch):
    """Looks at the threads 7 and 8: (sleeps, ticks of processor time, times that it went to sleep)."""
    asleep, switched_out = (True, 100, 5), (False, 100, 5)
    for looks, outside in ([[{"7": asleep, "8": asleep}], True], [[{"7": asleep, "8": switched_out}], False], [[{}], True], [[None], True],
                           [[{"7": switched_out}, {"7": (False, 104, 5)}, {"7": (False, 105, 5)}], True],  # it ran for long
                           [[{"7": (False, 100, number)} for number in range(20)], True],  # a thread that polls
                           [[{"7": (True, 100, number)} for number in range(10)] + [{"7": (False, 100, 9)}], False],
                           [[{"7": switched_out}, {"7": (True, 100, 6)}, {"7": (True, 100, 6)}], True],
                           [[{"7": switched_out}, {"9": switched_out}], True]):  # one ended; a new one comes too late to be inside
        left = iter(looks)
        last = looks[-1]
        monkeypatch.setattr(threads, "states", lambda left=left, last=last: next(left, last))
        assert threads.wait_until_outside(0.2) == outside, looks


def test_a_thread_that_computes_is_not_waited_for_long():
    process = subprocess.run([sys.executable, "-c", "import threading, time; from chakra_et._record.threads import states, wait_until_outside\n"
                              "threading.Thread(target=lambda: [None for _ in iter(int, 1)], daemon=True).start()\nassert len(states()) == 1\n"
                              "begun = time.monotonic(); assert wait_until_outside(60); print(time.monotonic() - begun); import os; os._exit(0)"],
                             capture_output=True, text=True, env=launch.environment(), timeout=100, check=False)
    assert process.returncode == 0, process.stderr
    assert float(process.stdout) >= 0.04


@pytest.mark.parametrize("text, found", [
    ('Fatal Python error: Segmentation fault\n\nThread 0x1 (most recent call first):\n  File "/a/job.py", line 1 in f\n\n'
     'Current thread 0x2 (most recent call first):\n  File "/a/site-packages/torch/profiler/profiler.py", line 895 in unregister_callback\n', True),
    ("Fatal Python error: Segmentation fault\n\nCurrent thread 0x2 (most recent call first):\n  <no Python frame>\n", True),
    ('Fatal Python error: Segmentation fault\n\nCurrent thread 0x2 (most recent call first):\n'
     '  File "/a/chakra_et/_record/torch_side.py", line 121 in finish_observer\n', True),
    ('Fatal Python error: Segmentation fault\n\nCurrent thread 0x2 (most recent call first):\n  File "/a/chakra_et/record.py", line 5 in f\n', False),
    ("AssertionError: 1 != 2\n", False)])
def test_only_a_crash_inside_of_pytorch_starts_a_job_again(text, found):
    assert bool(launch.crash(text)) == found
    ended = subprocess.run([sys.executable, "-c", "import os; os.abort()"], capture_output=True, text=True, env=launch.environment(), check=False)
    assert "Fatal Python error: Aborted" in ended.stderr and launch.crash(ended.stderr) is None


# ---- secrets -----------------------------------------------------------------------------------------------

SECRETS = [f"hush{number:02d}{'qvxzjk'[number % 6]}wq" for number in range(50)]
# Which of them a recording as it is has; the others are those of the surroundings, which PyTorch happens not to write.
FOUND_AS_IT_IS = 28


def contents(path):
    data = path.read_bytes()
    return gzip.decompress(data) if path.name.endswith(".gz") else data


def found_in(folder, secrets):
    found = set()
    for path in folder.rglob("*"):
        if path.is_file():
            data = contents(path).lower() + str(path.relative_to(folder)).lower().encode()
            found |= {secret for secret in secrets if secret.encode() in data}
    return found


@pytest.fixture(scope="session")
def secret(tmp_path_factory):
    return launch.again(lambda attempt: record_secrets(tmp_path_factory.mktemp(f"secret{attempt}")))


def record_secrets(base):
    script = base / SECRETS[0] / f"{SECRETS[1]}.py"
    script.parent.mkdir()
    shutil.copy(os.path.join(launch.HERE, "secrets_job.py"), script)
    for name in ("home", "temporary", "out"):
        (base / name).mkdir()
    renamed = ["unshare", "--uts", "sh", "-c", f'hostname {SECRETS[5]}; exec "$@"', "sh"]
    if subprocess.run([*renamed, "true"], capture_output=True, check=False).returncode:
        renamed = []
    printed = launch.ranks([str(script), str(base / "out"), ",".join(SECRETS)], 2, prefix=renamed, USER=SECRETS[4], LOGNAME=SECRETS[36],
                           HOME=str(base / "home"), TMPDIR=str(base / "temporary"), SECRET_TOKEN=SECRETS[2], **{SECRETS[3]: SECRETS[6]})
    return base, printed


def test_planted_secrets_are_in_no_file(secret, tmp_path):
    base, printed = secret
    control = found_in(base / "out" / "plain", SECRETS)
    assert len(control) >= FOUND_AS_IT_IS, sorted(set(SECRETS) - control)
    for folder in ("out/hidden", "home", "temporary"):
        assert not found_in(base / folder, SECRETS), folder
    own = [line for text in printed for line in text.splitlines() if "chakra" in line.lower()]  # PyTorch prints more
    assert own and not [line for line in own for one in SECRETS if one in line]
    text = chakra("check", base / "out" / "hidden")  # notes: operators of the thread that PyTorch before 2.7 gives no time
    assert "warning" not in text and "error" not in text
    chakra("convert", base / "out" / "hidden", "-o", tmp_path / "lines", "--to", "jsonl")
    assert not found_in(tmp_path, SECRETS)  # also in a form whose texts lie side by side


def test_the_private_folder_is_removed(secret):
    root = f"/dev/shm/chakra_et-{os.getuid()}"
    assert os.stat(root).st_mode & 0o777 == 0o700
    assert [name for name in os.listdir(root) if name != "lock"] == []


def test_hiding_keeps_the_time(two, tmp_path):
    """The simulated time of a hidden job is equal to the picosecond, on recorded and on simulated transfers."""
    linked(two[0] / "ddp", tmp_path / "traces", 2)
    shutil.copytree(tmp_path / "traces" / "t", tmp_path / "a")
    chakra("obfuscate", tmp_path / "a", "--key", tmp_path / "key", "--new-key", "-o", tmp_path / "b")
    (tmp_path / "network.yml").write_text(NETWORK, encoding="utf-8")
    for transfers in ("recorded", "simulated"):
        times = []
        for name in "ab":
            chakra("sim", tmp_path / name, "--network", tmp_path / "network.yml", "--transfers", transfers, "--json", tmp_path / "sim.json")
            times.append(json.loads((tmp_path / "sim.json").read_text(encoding="utf-8"))["makespan_ps"])
        assert times[0] == times[1] > 0


# ---- parts without a job -----------------------------------------------------------------------------------

def test_folders_of_killed_processes_are_removed(tmp_path):
    program = ("import os, sys, time\nfrom chakra_et._record.private import PrivateFolder\nfolder = PrivateFolder(sys.argv[1], needed=1)\n"
               "open(os.path.join(folder.path, 'raw'), 'w').write('hush')\nprint(folder.path, flush=True)\ntime.sleep(60)\n")
    killed = subprocess.Popen([sys.executable, "-c", program, str(tmp_path / "a")], stdout=subprocess.PIPE, text=True, env=launch.environment())
    left = killed.stdout.readline().strip()
    assert os.listdir(left)
    beside = private.PrivateFolder(str(tmp_path / "b"), needed=1)
    assert os.path.exists(left), "the process lives"
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    after = private.PrivateFolder(str(tmp_path / "c"), needed=1)
    assert not os.path.exists(left)
    assert os.path.exists(beside.path)
    for folder in (beside, after):
        folder.leave()
        folder.remove()
        assert not os.path.exists(folder.path)


def test_empty_and_cut_exports_are_errors(tmp_path):
    path = tmp_path / "device.json"
    with pytest.raises(RecordError, match="0 bytes"):
        output.check_whole(str(path), "device")
    path.write_text("")
    with pytest.raises(RecordError, match="0 bytes"):
        output.check_whole(str(path), "device")
    path.write_text('{"traceEvents": [{}')
    path.write_text('{"traceEvents": [1, ')
    with pytest.raises(RecordError, match="ends in the middle"):
        output.check_whole(str(path), "device")
    path.write_text('{"traceEvents": []}\n')
    assert output.check_whole(str(path), "device") == 20


def test_an_export_of_nothing_fails_the_recording(tmp_path, monkeypatch):
    monkeypatch.setattr(torch.profiler.profile, "export_chrome_trace", lambda self, path: open(path, "w").close())
    with pytest.raises(RecordError, match="0 bytes of the device trace"), record(tmp_path / "out", quiet=True):
        torch.ones(3).sum()
    with pytest.raises(KeyError), record(tmp_path / "again", quiet=True):
        torch.ones(3).sum()
        raise KeyError("comes first")


def test_an_earlier_recording_is_kept_unless_overwritten(tmp_path):
    for number in range(2):
        with record(tmp_path / str(number), quiet=True):
            torch.ones(3).sum()
    shutil.copytree(tmp_path / "0", tmp_path / "2")
    with pytest.raises(RecordError, match="earlier recording"), record(tmp_path / "2", quiet=True):
        pass
    (tmp_path / "2" / "host.7.json.gz").touch()  # of a larger job
    with record(tmp_path / "2", quiet=True, overwrite=True):
        torch.ones(3).sum()
    assert sorted(os.listdir(tmp_path / "2")) == ["device.0.json.gz", "host.0.json.gz", "manifest.0.json"]


@pytest.mark.parametrize("given, wanted", [(range(10, 13), [(10, 13)]), ("10:13", [(10, 13)]), ("1:2,5:9", [(1, 2), (5, 9)]),
                                           ([range(2), "4:5"], [(0, 2), (4, 5)]), (None, None)])
def test_steps(given, wanted):
    assert steps.parse_steps(given) == wanted


def small_job(out, steps=4, **options):
    """A job of one process; returns its recorder, after the block."""
    net = torch.nn.Linear(4, 4)
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    with record(out, range(1, 3), warmup=0, quiet=True, **options) as recorder:
        for _ in range(steps):
            net(torch.ones(2, 4)).sum().backward()
            optimizer.step()
    return recorder


def test_a_recorder_serves_one_block(tmp_path):
    recorder = small_job(tmp_path / "a")
    recorder.step()  # of a loop that goes on behind the block
    record(tmp_path / "b").step()
    with record(tmp_path / "whole", quiet=True) as whole:
        torch.ones(2).sum()
    whole.step()
    assert not torch.autograd._profiler_enabled()
    with pytest.raises(RecordError, match="one block"), recorder:
        pass
    small_job(tmp_path / "c")
    for name in ("a", "c"):
        assert sorted(os.listdir(tmp_path / name)) == ["device.0.json.gz", "host.0.json.gz", "manifest.0.json"]


def test_a_folder_that_vanishes_does_not_spoil_the_next_recording(tmp_path):
    net = torch.nn.Linear(4, 4)
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    with pytest.raises(RecordError, match="cannot be written"), record(tmp_path / "a", range(2, 3), warmup=0, quiet=True):
        shutil.rmtree(tmp_path / "a")
        for _ in range(4):
            optimizer.step()
    small_job(tmp_path / "b")
    assert "manifest.0.json" in os.listdir(tmp_path / "b")


@pytest.mark.parametrize("level", [0, 1])
def test_a_child_that_leaves_the_block_touches_no_file(tmp_path, level):
    script = tmp_path / "script.py"
    script.write_text(f"""
import os, torch
from chakra_et.record import record
net = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(net.parameters(), 0.1)
child = None
try:
    with record({str(tmp_path / "out")!r}, range(1, 3), warmup=0, level={level}):
        for number in range(4):
            net(torch.ones(2, 4)).sum().backward()
            optimizer.step()
            if number == 1:
                child = os.fork()
                if child == 0:
                    raise KeyboardInterrupt
                assert os.waitpid(child, 0)[1] == 0
except KeyboardInterrupt:
    os._exit(0)
except BaseException:
    os._exit(1)
""", encoding="utf-8")
    done = subprocess.run([sys.executable, str(script)], env=launch.environment(), capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert sorted(os.listdir(tmp_path / "out")) == (["manifest.0.json", "trace.0.et"] if level else
                                                    ["device.0.json.gz", "host.0.json.gz", "manifest.0.json"])


@pytest.mark.parametrize("options", [{"rank": -1}, {"rank": "0"}, {"rank": 1 << 70}, {"steps": 5}, {"steps": b"1:2"}, {"steps": "\u00b9:\u00b2"},
                                     {"out": "a\0b"}, {"out": "a\udc80"}])
def test_arguments_that_no_recording_can_have(options):
    with pytest.raises(RecordError):
        record(**{"out": "unused", **options})


def test_a_command_that_is_named_has_no_substitute():
    with pytest.raises(RecordError, match="no program"):
        record("unused", level=1, command="/nowhere/chakra")


def test_a_full_disk_leaves_no_part(tmp_path, monkeypatch):
    source = tmp_path / "raw"
    source.write_bytes(b"{}")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(output.shutil, "copyfileobj", full)
    for compress in (True, False):
        with pytest.raises(OSError, match="space"):
            output.publish(str(source), str(tmp_path / "host.0.json"), compress)
    assert os.listdir(tmp_path) == ["raw"]


def test_hidden_times_have_no_date(tmp_path):
    small_job(tmp_path / "out", level=1)
    chakra("convert", tmp_path / "out", "-o", tmp_path / "lines", "--to", "jsonl")
    lines = [line for path in tmp_path.glob("lines*") for line in path.read_text(encoding="utf-8").splitlines()]
    day_us = 86_400_000_000
    starts = [int(text) for line in lines for text in re.findall(r'"startTimeMicros":"(\d+)"', line)]
    fine = [int(text) for line in lines for text in re.findall(r'"ts_ns","int64Val":"(\d+)"', line)]
    assert starts and fine and max(starts) < 2 * day_us and max(fine) < 2000 * day_us
    assert abs(max(starts) * 1000 - max(fine)) < 10**9
