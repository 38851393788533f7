// The subcommands, as rows.
#include "chakra/cli/cli.h"
#include "chakra/cli/rows.h"

namespace chakra::cli {

constexpr CommandRow kCommandRows[] = {
    {"link", "Link PyTorch recordings into traces, checked against the measured time",
     "chakra link host.0.json.gz device.0.json.gz -o trace.0.et     # one rank\n"
     "chakra link recordings/ -o traces/ --json report.json         # a whole job\n"
     "chakra link kineto.json -o trace.0.et                         # a Kineto trace alone",
     link_syntax, true, true},
    {"check", "Check each trace, and the traces of a job against each other", "chakra check traces/", check_syntax,
     true, true},
    {"sim", "Simulate a job on a described system",
     "chakra sim traces/ --network examples/networks/ethernet_10g.yml --timeline sim.json", sim_syntax, true, true},
    {"whatif", "Predict the effect of a change with its error, or rank possible savings",
     "chakra whatif traces/                                         # rank possible savings\n"
     "chakra whatif traces/ --scale all_reduce=0.5 --speed 3=0.8    # several changes at once\n"
     "chakra whatif traces/ --device H100-SXM --json answer.json",
     whatif_syntax, true, true},
    {"view", "Write a timeline for ui.perfetto.dev, or an image of a trace's graph",
     "chakra view traces/ -o timeline.json                          # a timeline\n"
     "chakra view trace.0.et -o graph.graphml                       # the graph, every node and edge\n"
     "chakra view trace.0.et --group -o graph.svg                   # as a few dozen boxes, by Graphviz\n"
     "chakra view trace.0.et --focus 8000 --hops 3 -o graph.pdf     # the neighbourhood of a node\n"
     "chakra view astra_sim.csv --npu-frequency 1.5GHz -o sim.json  # issue and callback lines",
     view_syntax, true, true},
    {"import", "Import workloads of other tools: ASTRA-sim text, FlexFlow, MSCCL, ...",
     "chakra import MLP_HybridParallel_Data_Model.txt -o mlp --dims 8,8", import_syntax},
    {"analyze", "Report bottlenecks, overlap, traffic and stragglers",
     "chakra analyze traces/ --json analysis.json                   # every analysis\n"
     "chakra analyze trace.0.et --only critical_path,time           # two of the analyses\n"
     "chakra analyze traces/ --only imbalance --svg imbalance.svg   # as an image",
     analyze_syntax, true, true},
    {"query", "Run SQL over the nodes, collectives and analyses of a job",
     "chakra query traces/ \"select name, count(*), sum(dur_ps) from nodes group by name\"\n"
     "chakra query traces/ --named kernels --param count=5 --csv kernels\n"
     "chakra query traces/ \"select id, name from nodes where rank = :r\" --param r=3 --all rows\n"
     "chakra query traces/                                          # statements from standard input",
     query_syntax, true, true},
    {"diff", "Compare two jobs, and check the differences against a threshold",
     "chakra diff before/ after/\n"
     "chakra diff before.0.et after.0.et --threshold 5              # in percent; exits with 1 beyond it",
     diff_syntax, true, true},
    {"gen", "Generate the traces of a described workload",
     "chakra gen step --preset llama3-405b --dp 1024 -o job         # 131,072 ranks in 16 classes\n"
     "chakra gen step --preset tiny --all-ranks -o traces           # every rank's file\n"
     "chakra gen serve --model llama3-70b --tp 8 --batch 16 -o job  # prefill, a step of decode\n"
     "chakra gen network fat-tree -o net.json --set ports=16        # a network by its blueprint\n"
     "chakra gen cases -o cases/ --num-npus 2                       # the named test cases",
     gen_syntax, false},
    {"replay", "Run a job for real, on the wall clock",
     "chakra replay job/                                            # all ranks in one process\n"
     "chakra replay job/ --compute none --dry-run                   # print the plan\n"
     "chakra replay job/ --rank 3 --ranks 8 --rendezvous node0:4000 # one of eight processes",
     replay_syntax},
    {"calibrate", "Fit devices and networks to measured times",
     "chakra calibrate device --from gemm.csv.gz --device H100-SXM -o h100.json\n"
     "chakra calibrate network --from all_reduce.log -o net.yml\n"
     "chakra sim job/ --network net.yml --device h100.json",
     calibrate_syntax, true, true},
    {"info", "Summarize traces", "chakra info traces/trace.0.et", info_syntax, true, true},
    {"convert", "Convert traces to another format, without loss",
     "chakra convert trace.0.et -o trace.0.json\n"
     "chakra convert traces/ -o lines --to jsonl     # lines.0.jsonl, lines.1.jsonl, ...\n"
     "chakra convert net.yml -o net.json --to infragraph",
     convert_syntax, true, true},
    {"pack", "Put all ranks of a job into one indexed file",
     "chakra pack traces/ -o job.chakra --stats\n"
     "chakra pack more/ -o job.chakra --append                # further ranks\n"
     "chakra sim job.chakra --network net.yml                 # every command reads it like a folder",
     pack_syntax, true, true},
    {"unpack", "Extract the ranks of a container into files",
     "chakra unpack job.chakra -o traces\n"
     "chakra unpack job.chakra -o some --ranks 3,7 --nodes 5000:100",
     unpack_syntax, true, true},
    {"report", "Write a page about a job: bottlenecks, overlap, traffic, stragglers and findings",
     "chakra report traces/ -o report.html", report_syntax, true, true},
    {"select", "Choose the jobs that represent a fleet",
     "chakra select fleet/ -k 12\n"
     "chakra select jobs/a jobs/b.chakra more/ -k 2 --svg fleet.svg --json chosen.json",
     select_syntax, true, true},
    {"sweep", "Simulate a job for many options: best points, Pareto front, effects",
     "chakra sweep sweep.yml -o swept                               # again: only unfinished points run\n"
     "chakra sweep sweep.yml -o swept --csv swept --svg front.svg",
     sweep_syntax, true, true},
    {"fleet", "Link or analyze many jobs, on one machine or many",
     "chakra fleet link recordings/ -o linked                       # again: only unfinished tasks run\n"
     "chakra fleet link recordings/ -o linked --shard 3/16          # one of 16 processes\n"
     "chakra fleet merge -o linked",
     fleet_syntax, true, true},
    {"obfuscate", "Hide the names and ids of a job, to share the job",
     "chakra obfuscate job --key my.key --new-key -o shared\n"
     "chakra obfuscate shared --key my.key --reveal -o mine",
     obfuscate_syntax, true, true},
    {"certify", "Judge a copy of a job before you share the copy",
     "chakra certify job shared --among fleet/ -o certificate       # certificate.json and .html\n"
     "chakra certify job shared --examples                          # nodes before and after\n"
     "chakra certify --check certificate.json shared",
     certify_syntax, true, true},
    {"list", "List algorithms, checks, formats and more", "chakra list topologies", list_syntax, false},
    {"doctor", "Diagnose the installation or a folder of files",
     "chakra doctor                # the installation\n"
     "chakra doctor recordings/    # the files, the missing files, the next command\n"
     "chakra doctor --secrets recordings/  # what the files reveal\n"
     "chakra doctor --repair job.chakra    # after an interrupted append\n"
     "chakra doctor --plugins      # plugins of replay: where they are, how to build them",
     doctor_syntax},
    {"completion", "Print a script that completes the command line in your shell",
     "chakra completion bash > ~/.local/share/bash-completion/completions/chakra\n"
     "chakra completion fish > ~/.config/fish/completions/chakra.fish",
     completion_syntax, false},
    {"manual", "Print the manual page of a subcommand, or write all pages",
     "chakra manual sim | man -l -\n"
     "chakra manual -o ~/.local/share/man",
     manual_syntax, false},
};
constinit const std::span<const CommandRow> kCommands = kCommandRows;

}  // namespace chakra::cli
