"""Every option of every verb, through Python and through the command: equal answers to the byte, or equal errors."""
import inspect
import re
import subprocess

import chakra_et
import pytest
from conftest import COMMAND, RECORDED

# Texts cannot be made up: one for each option that takes one. The others follow from the signature.
TEXTS = {"to": "dot",
    "network": "net.yml", "from_network": "net.yml", "system": "system.json", "memory": "memory.json", "groups": "groups.json",
    "ranks": "0:2", "expand": "2", "collectives": "allreduce: ring", "routing": "ecmp", "delay": ["*=1us", "0:*=2us"],
    "device": "H100-SXM", "stack": "kernels", "from_device": "A100-SXM-80GB", "tp": [1], "pp": [1], "dp": [4], "micro_batches": [4],
    "batch": ["2"], "slow_link": ["0-16=0.5"], "fail_link": ["0-16"], "overlap": ["off"], "scale": ["compute=0.5"],
    "scale_node": ["*=0.5"], "remove": ["host"], "speed": ["0=0.5"], "jitter": ["compute=normal:0.1"], "only": ["time"],
    "backend": "null", "backend_option": ["a=b"], "compute": "none", "compute_option": ["a=b"], "files": "none",
    "file_cache": "cached", "file_order": "random", "rendezvous": "none", "steps": "4:5", "fit_steps": "3:4",
    "subgraph": "no such node", "allow_ops": ["all_reduce"], "only_groups": ["0"], "preset": "tiny", "model": "llama3-8b", "schedule": "1f1b",
    "optimizer": "adamw", "order": "tp-cp-ep-dp-pp", "data_tier": "disk", "checkpoint_tier": "disk", "restart_tier": "disk",
    "kv_tier": "disk", "timeline": "timeline.json", "svg": "sizes.svg", "nodes": "0:2", "npu_frequency": "1GHz", "dims": [2],
    "time_unit": "us", "default_simulated_run_time": "7us", "judge": ["collectives.csv"], "where": ["ranks=4"], "operation": "all_reduce", "contexts": [64],
    "set": ["hosts=3"], "key": "my.key", "names": "shared.names", "named": "types", "param": ["a=b"], "among": ["tiny"], "shard": "1/2",
    "against": "linked", "against_network": "net.yml", "xlsx": "report.xlsx",
}
COMPAT = {"compat": "astra-sim", "system": "system.json"}
NEEDS = {  # what an option goes together with
    "num_queues_per_dim": COMPAT, "rendezvous_protocol": COMPAT, "injection_scale": COMPAT,
    "backend": COMPAT, "memory": COMPAT, "compat": {"system": "system.json"}, "packet_bytes": {"congestion": "packet"},
    "stack": {"device": "H100-SXM"}, "from_device": {"device": "H100-SXM"}, "repeat": {"jitter": ["compute=normal:0.1"]},
    "seed": {"jitter": ["compute=normal:0.1"]}, "checkpoint_behind": {"checkpoint_tier": "disk"}, "sample_bytes": {"data_tier": "disk"},
    "kv_tier_share": {"kv_tier": "disk"}, "among": {"level": 2}, "width": {"level": 2},
}
NUMBERS = {"npus": [4], "layers": 16, "explain": 0, "hidden": 1024, "heads": 8, "micro_batches": 8, "max_error": 50.0,
           "packet_bytes": 65536}
VERBS = {  # function -> command, arguments of the command, arguments and options of the function
    "check": (["check"], ["linked"], {}),
    "simulate": (["sim"], ["linked"], {"network": "net2.yml"}),
    "what_if": (["whatif"], ["tiny"], {"from_network": "net.yml"}),
    "analyze": (["analyze"], ["linked"], {}),
    "query": (["query"], ["linked", "select n.rank, count(*) as nodes, max(s.finish_ps) as finish_ps, :a as a "
                          "from nodes as n join sim_ranks as s on s.rank = n.rank group by n.rank"], {"param": ["a=b"], "network": "net2.yml"}),
    "report": (["report"], ["linked", "-o", "report.html"], {"network": "net2.yml"}),
    "view": (["view"], ["linked", "-o", "drawn.dot"], {"rank": 0}),
    "run": (["replay"], ["linked"], {"dry_run": True}),
    "diff": (["diff"], ["linked", "linked"], {}),
    "step": (["gen", "step"], ["--stats"], {"preset": "tiny"}),
    "serve": (["gen", "serve"], ["--stats"], {"model": "llama3-8b", "contexts": [64]}),
    "device": (["calibrate", "device"], [], {"from_": ["kernels.csv"], "output": "made.json"}),
    "network": (["calibrate", "network"], [], {"from_": ["collectives.csv"], "output": "made.yml"}),
    "link": (["link"], [RECORDED], {"output": "out"}),
    "cases": (["gen", "cases"], [], {"output": "cases"}),
    "blueprint": (["gen", "network"], ["clos"], {"output": "infrastructure.json"}),
    "import_workload": (["import"], ["work.txt"], {"output": "work", "num_npus": 2}),
    "convert": (["convert"], ["linked"], {"output": "converted", "to": "json"}),
    "pack": (["pack"], ["linked"], {"output": "packed.chakra", "stats": True}),
    "unpack": (["unpack"], ["packed.chakra"], {"output": "unpacked"}),
    "select": (["select"], ["linked"], {"count": 1}),
    "sweep": (["sweep"], ["sweep.yml"], {"output": "swept"}),
    "fleet_link": (["fleet", "link"], ["recordings"], {"output": "fleet"}),
    "fleet_analyze": (["fleet", "analyze"], ["linked"], {"output": "analyzed"}),
    "fleet_merge": (["fleet", "merge"], [], {"output": "fleet"}),
    "certify": (["certify"], ["linked", "hidden"], {}),
    "obfuscate": (["obfuscate"], ["linked"], {"key": "my.key", "output": "shared"}),
    "doctor": (["doctor"], ["linked"], {}),
}


ARGUMENTS = {("obfuscate", "reveal"): ["hidden"], ("certify", "check"): ["certificate.json", "hidden"]}  # of an option that takes another input


def function_of(verb):
    if verb == "blueprint":
        return chakra_et.generate.network
    if verb.startswith("fleet_"):
        return getattr(chakra_et.fleet, verb.removeprefix("fleet_"))
    for scope in (chakra_et.Job, chakra_et.calibrate, chakra_et.generate, chakra_et):
        if verb in vars(scope):
            return getattr(scope, verb)
    raise KeyError(verb)


def by_python(verb, arguments, options):
    function = function_of(verb)
    try:
        if verb in ("step", "serve"):
            return function(**options).made.to_json()
        if verb == "link":
            return function(arguments, **options).made.to_json()
        if verb in ("report", "view"):
            return function(chakra_et.open(arguments[0]), arguments[2], **options).to_json()
        if verb == "query":
            return function(chakra_et.open(arguments[0]), arguments[1], **options).to_json()
        if verb == "certify":
            return function(*arguments, **options).to_json()
        if verb in ("device", "network", "cases", "fleet_merge"):
            return function(**options).to_json()
        if verb == "blueprint":
            return function(blueprint=arguments[0], **options).to_json()
        if verb == "import_workload":
            return function(arguments[0], **options).made.to_json()
        if verb in ("convert", "pack", "unpack", "doctor", "select", "sweep", "obfuscate", "fleet_link", "fleet_analyze"):
            return function(arguments[0], **options).to_json()
        return function(*map(chakra_et.open, arguments), **options).to_json()
    except chakra_et.Error as error:
        return error


def by_command(verb, arguments, options):
    words = VERBS[verb][0]
    flags = []
    for name, value in options.items():
        for item in value if isinstance(value, list) else [value]:
            text = str(item).lower() if isinstance(item, bool) else str(item)
            flags.append(f"--{name.rstrip('_').replace('_', '-')}={text}")
    done = subprocess.run([COMMAND, *words, *arguments, *flags, "--json", "answer.json"], text=True, capture_output=True)
    with open("answer.json", encoding="utf-8") as file:
        return done.returncode, done.stderr, file.read()


def values_of(name, annotation):
    if name in NUMBERS:
        return [NUMBERS[name]]
    if literal := re.search(r"Literal\[(.*?)\]", annotation):
        return re.findall(r'"([^"]*)"', literal[1])
    if annotation.startswith("bool"):
        return [True]
    if annotation.startswith("int"):
        return [2]
    if annotation.startswith("float"):
        return [0.5]
    return [TEXTS[name]]  # a new option: give it a text


def cases():
    for verb in VERBS:
        yield verb, "", None
        for name, parameter in inspect.signature(function_of(verb)).parameters.items():
            if parameter.kind is not parameter.KEYWORD_ONLY or name in ("progress", "models"):
                continue
            if name in ("from_", "output", "flows", "blueprint"):  # of each call; flows have no JSON
                continue
            for value in values_of(name, parameter.annotation):
                yield verb, name, value


ANSWERED, REFUSED = [], []


@pytest.mark.parametrize("verb,name,value", list(cases()))
def test_equals_the_command(verb, name, value):
    open("answer.json", "w").close()
    needs = {key: item for key, item in NEEDS.get(name, {}).items() if key in inspect.signature(function_of(verb)).parameters}
    options = {**VERBS[verb][2], **needs, **({name: value} if name else {})}
    arguments = ARGUMENTS.get((verb, name), VERBS[verb][1])
    made, (code, errors, json) = by_python(verb, arguments, options), by_command(verb, arguments, options)
    if isinstance(made, chakra_et.Error):
        REFUSED.append((verb, name, str(made)))
        print(REFUSED[-1])
        assert code == made.code, (made, errors)
        assert made.text in errors
    else:
        ANSWERED.append((verb, name))
        assert code == ('"holds": false' in json), errors  # a claim of a certificate fails
        assert made == json


def test_most_are_answered():
    assert len(ANSWERED) > 4 * len(REFUSED) > 0
