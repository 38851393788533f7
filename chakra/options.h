// What the verbs of chakra.h may be asked for: a struct for each, whose members are the options of the command.
// MADE from the table of options (chakra/facade/testing/public_options.cpp); do not edit.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chakra/base/result.h"

namespace chakra {
inline namespace v1 {

enum class Context : uint8_t { ring, gather, all_to_all };
enum class Recompute : uint8_t { none, selective, per_operator, full };
enum class Dtype : uint8_t { bf16, fp16, fp32 };
enum class HostWaits : uint8_t { messages, passes, parts };
enum class Compat : uint8_t { native, astra_sim };
enum class Backend : uint8_t { congestion_unaware, congestion_aware };
enum class Congestion : uint8_t { closed, fluid, packet, auto_ };
enum class Transfers : uint8_t { recorded, simulated };
enum class Unrecorded : uint8_t { scale, keep };
enum class Launched : uint8_t { all, steps, before_last_step };
enum class Only : uint8_t { all, comm, compute, device };
enum class Start : uint8_t { recorded, together };

/// How recordings become traces: `chakra link`.
struct LinkOptions {
  /// The trace to write; of folders the folder for trace.<rank>.et
  std::string output = {};
  /// The rank, where the files do not say it or say it wrongly. 0 to 1073741824.
  std::optional<int64_t> rank = {};
  /// Link only the ProfilerSteps A to B, both included
  std::string steps = {};
  /// Estimate launch latency and dispatch gap from these ProfilerSteps only. The other steps then judge the estimates.
  std::string fit_steps = {};
  /// Which iteration of a Kineto trace to link, from 0. For a Kineto trace of many iterations beside a host trace of
  /// one. Without it, the iteration of median length is linked. 0 to 1073741824.
  std::optional<int64_t> iteration = {};
  /// Which Kineto trace of each rank to link, from 0 in the order of names. For a folder where a schedule with repeat
  /// left several of each rank. 0 to 1073741824.
  std::optional<int64_t> cycle = {};
  /// Leave damaged records out, and keep the whole records of cut files. The report names each lost record.
  bool salvage = false;
  /// Exit with 1 if the self-check is off by more than P percent, up or down. The self-check runs the recorded job on
  /// its own graph with its recorded transfers, and compares the time with the measured one. The result is written all
  /// the same. 0 to 1e+06.
  std::optional<double> max_error = {};
  /// Instead of the report, why each edge of this node is there. 0 or more.
  std::optional<int64_t> explain = {};
};

/// A training step to generate: `chakra gen step`.
struct StepOptions {
  /// Begin with a known model and its ranks (chakra list presets). {tiny,llama3-8b,llama3-70b,llama3-405b,gpt3-175b}.
  std::string preset = {};
  /// A known model (chakra list models), or a config.json
  std::string model = {};
  /// Layers of the model. 1 to 65536.
  std::optional<int64_t> layers = {};
  /// Width of the model. 1 to 1048576.
  std::optional<int64_t> hidden = {};
  /// Width of the MLP between its matrices. 1 to 1048576.
  std::optional<int64_t> ffn = {};
  /// Attention heads. 1 to 1048576.
  std::optional<int64_t> heads = {};
  /// Heads of keys and values; 0: as many as heads. 0 to 1048576.
  std::optional<int64_t> kv_heads = {};
  /// Width of a head; 0: hidden / heads. 0 to 1048576.
  std::optional<int64_t> head_dim = {};
  /// Different tokens. 1 to 268435456.
  std::optional<int64_t> vocab = {};
  /// Tokens of a sequence; 0: the model's. 0 to 268435456.
  std::optional<int64_t> sequence = {};
  /// Micro-batches of a step, per pipeline. 1 to 1048576.
  std::optional<int64_t> micro_batches = {};
  /// Sequences of a micro-batch. 1 to 1048576.
  std::optional<int64_t> micro_batch_size = {};
  /// Tensor-parallel ranks. 1 to 1048576.
  std::optional<int64_t> tp = {};
  /// Context-parallel ranks. 1 to 1048576.
  std::optional<int64_t> cp = {};
  /// Pipeline stages. 1 to 1048576.
  std::optional<int64_t> pp = {};
  /// Data-parallel ranks. 1 to 1048576.
  std::optional<int64_t> dp = {};
  /// Expert-parallel ranks. 1 to 1048576.
  std::optional<int64_t> ep = {};
  /// Tensor-parallel ranks of an expert; 0: as --tp. 0 to 1048576.
  std::optional<int64_t> etp = {};
  /// Virtual stages of each pipeline stage. 1 to 1048576.
  std::optional<int64_t> virtual_stages = {};
  /// Share out over dp: 0 nothing, 1 optimizer, 2 also gradients, 3 also parameters. 0 to 3.
  std::optional<int64_t> zero = {};
  /// Data-parallel ranks that share out among them, a divisor of --dp; 0: all. 0 to 1048576.
  std::optional<int64_t> zero_ranks = {};
  /// Of --expert-skew: which experts are popular. 0 to 268435456.
  std::optional<int64_t> seed = {};
  /// Bytes of a parameter or an activation. 1 to 16.
  std::optional<int64_t> bytes_per_element = {};
  /// Train adapters of this rank (LoRA) and freeze the model; 0: train the model. 0 to 1048576.
  std::optional<int64_t> lora_rank = {};
  /// Bytes of an element of a gradient. 1 to 16.
  std::optional<int64_t> gradient_bytes = {};
  /// Between the tensor-parallel parts a rank has a share of the tokens
  std::optional<bool> sequence_parallel = {};
  /// What is gathered for a product is kept for backward, not gathered again
  std::optional<bool> keep_gathered = {};
  /// The scores of attention never reach memory
  std::optional<bool> fused_attention = {};
  /// Computations run beside collectives that they need not
  std::optional<bool> overlap = {};
  /// Adapters of --lora-rank also in MLPs, not only in attention
  std::optional<bool> lora_mlp = {};
  /// Scale the gradients by their norm
  std::optional<bool> clip = {};
  /// With embedding, head and loss
  std::optional<bool> ends = {};
  /// With the model's layers of multi-token prediction (DeepSeek-V3)
  bool mtp = false;
  /// The MLP has two matrices in (SwiGLU), else one (GELU)
  std::optional<bool> gated = {};
  /// Attention looks back only
  std::optional<bool> causal = {};
  /// Schedule of pipeline stages (chakra list schedules). {gpipe,1f1b,interleaved,zb-h1,dualpipe}.
  std::string schedule = {};
  /// How context-parallel ranks share keys and values
  std::optional<Context> context = {};
  /// What backward computes again, not to keep it
  std::optional<Recompute> recompute = {};
  /// What updates the parameters (chakra list optimizers). Without it, adamw.
  /// {adamw,adamw-bf16,adamw-8bit,sgd,sgd-momentum,muon}.
  std::string optimizer = {};
  /// The type of parameters and activations. Without it, bf16.
  std::optional<Dtype> dtype = {};
  /// Products of the layers read their inputs in 8 bits. All else keeps --bytes-per-element.
  bool fp8 = false;
  /// Order of ranks, neighbours first: tp-cp-ep-dp-pp, tp-pp-dp, ...
  std::string order = {};
  /// Zipf's exponent of the popularity of experts; 0: all alike. The r-th most popular expert is chosen as often as 1 /
  /// r^X. 0 to 10.
  std::optional<double> expert_skew = {};
  /// The tier of storage that the first stage reads micro-batches from
  std::string data_tier = {};
  /// Bytes of a sequence there; 0: 4 a token. 0 or more.
  int64_t sample_bytes = 0;
  /// The tier that a checkpoint is written to after the step. A checkpoint has parameters and the state of the
  /// optimizer.
  std::string checkpoint_tier = {};
  /// Write the checkpoint before, beside this step. It is written until the optimizer changes the parameters.
  bool checkpoint_behind = false;
  /// The tier that each rank first reads what it holds from
  std::string restart_tier = {};
  /// The device that computes: a name of 'chakra list devices', or a file. Nodes take the times that 'chakra sim
  /// --device' gives them.
  std::string device = {};
  /// Its software: a name of 'chakra list stacks', or a file (kernels). It decides what the job keeps in memory, what
  /// the host takes and, with --device, how long attention and elementwise operations take.
  std::string stack = {};
  /// What the host of --device waits for. messages: messages of other stages. passes: also the last computation of each
  /// forward and backward pass. parts: of each part of them. A host is there where the device file has host-us.
  std::optional<HostWaits> host_waits = {};
  /// Peak of a device, in 10^12 operations per second. 0 or more.
  std::optional<double> device_peak_tflops = {};
  /// Its peak for products with 8-bit inputs, likewise. Without it, twice the other peak. 0 or more.
  std::optional<double> device_fp8_tflops = {};
  /// Bandwidth of its memory, in 10^9 bytes per second. 0 or more.
  std::optional<double> device_mem_gb_per_s = {};
  /// The share of the peak that is reached. 0 to 1.
  std::optional<double> efficiency = {};
  /// Its memory, for --stats, in GiB. Without it, that of --device, else 80. 0 or more.
  std::optional<double> device_memory_gib = {};
};

/// A serving step to generate: `chakra gen serve`.
struct ServeOptions {
  /// A known model (chakra list models), or a config.json
  std::string model = {};
  /// Tokens of the prompts; one number for all of --batch. With --prompts false, tokens of the contexts of the first
  /// step. Without it, 1024.
  std::vector<int64_t> contexts = {};
  /// Layers of the model. 1 to 65536.
  std::optional<int64_t> layers = {};
  /// Width of the model. 1 to 1048576.
  std::optional<int64_t> hidden = {};
  /// Width of the MLP between its matrices. 1 to 1048576.
  std::optional<int64_t> ffn = {};
  /// Attention heads. 1 to 1048576.
  std::optional<int64_t> heads = {};
  /// Heads of keys and values; 0: as many as heads. 0 to 1048576.
  std::optional<int64_t> kv_heads = {};
  /// Width of a head; 0: hidden / heads. 0 to 1048576.
  std::optional<int64_t> head_dim = {};
  /// Different tokens. 1 to 268435456.
  std::optional<int64_t> vocab = {};
  /// Tensor-parallel ranks. 1 to 1048576.
  std::optional<int64_t> tp = {};
  /// Pipeline stages. 1 to 1048576.
  std::optional<int64_t> pp = {};
  /// Replicas, each with a batch of its own. 1 to 1048576.
  std::optional<int64_t> dp = {};
  /// Replicas that share out the experts, a divisor of --dp. 1 to 1048576.
  std::optional<int64_t> ep = {};
  /// Prefill has ranks of its own: tensor-parallel ones. 0 to 1048576.
  std::optional<int64_t> prefill_tp = {};
  /// Likewise, pipeline stages. 0 to 1048576.
  std::optional<int64_t> prefill_pp = {};
  /// Likewise, replicas. 0 to 1048576.
  std::optional<int64_t> prefill_dp = {};
  /// Likewise, replicas that share out the experts. 0 to 1048576.
  std::optional<int64_t> prefill_ep = {};
  /// Sequences of a replica; 0: as many as --contexts has. 0 to 1048576.
  std::optional<int64_t> batch = {};
  /// Tokens of a prompt that prefill takes at once; 0: all. 0 to 268435456.
  std::optional<int64_t> chunk = {};
  /// Steps of decode; each adds a token to every sequence. 0 to 1048576.
  std::optional<int64_t> steps = {};
  /// Bytes of a parameter or an activation. 1 to 16.
  std::optional<int64_t> bytes_per_element = {};
  /// Bytes of a number in the cache; 0: as --bytes-per-element. 0 to 16.
  std::optional<int64_t> kv_bytes_per_element = {};
  /// Begin with the prefill of --contexts; else they are in the cache
  std::optional<bool> prompts = {};
  /// Latent attention keeps latents; else keys and values of all heads
  std::optional<bool> absorbed = {};
  /// Of all tokens of a prompt, not only of the last one
  std::optional<bool> all_logits = {};
  /// Computations run beside collectives that they need not
  std::optional<bool> overlap = {};
  /// Queries, keys and values are one product, gate and up another
  std::optional<bool> merged_products = {};
  /// The MLP has two matrices in (SwiGLU), else one (GELU)
  std::optional<bool> gated = {};
  /// Attention looks back only
  std::optional<bool> causal = {};
  /// A tier of storage that has a share of the cache. Each layer fetches its share, and evicts what is new.
  std::string kv_tier = {};
  /// The share, above 0 to 1. Without it, all of the cache. 0 to 1.
  std::optional<double> kv_tier_share = {};
  /// Matrices of the layers lie in 8 bits, and their products read 8 bits. All else keeps --bytes-per-element.
  bool fp8 = false;
  /// The device that computes: a name of 'chakra list devices', or a file. Nodes take the times that 'chakra sim
  /// --device' gives them.
  std::string device = {};
  /// Its software: a name of 'chakra list stacks', or a file (kernels). It decides what the job keeps in memory, what
  /// the host takes and, with --device, how long attention and elementwise operations take.
  std::string stack = {};
  /// Peak of a device, in 10^12 operations per second. 0 or more.
  std::optional<double> device_peak_tflops = {};
  /// Its peak for products with 8-bit inputs, likewise. Without it, twice the other peak. 0 or more.
  std::optional<double> device_fp8_tflops = {};
  /// Bandwidth of its memory, in 10^9 bytes per second. 0 or more.
  std::optional<double> device_mem_gb_per_s = {};
  /// The share of the peak that is reached. 0 to 1.
  std::optional<double> efficiency = {};
  /// Its memory, for --stats, in GiB. Without it, that of --device, else 80. 0 or more.
  std::optional<double> device_memory_gib = {};
};

/// Which ranks a job has.
struct EditOptions {
  /// Only these ranks, for example 0:8 (the first eight) or 0,2,5
  std::string ranks = {};
  /// Make a job of N ranks: those without a trace are copies of RANK. Without RANK, they are copies of the lowest rank
  /// that has a trace.
  std::string expand = {};
};

/// Rules and proofs over a job: `chakra check`.
struct CheckOptions {
  /// Process groups, name -> ranks (JSON)
  std::string groups = {};
  /// Make a job of N ranks: those without a trace are copies of RANK. Without RANK, they are copies of the lowest rank
  /// that has a trace.
  std::string expand = {};
};

/// The system that a job runs on: `chakra sim`.
struct SimulateOptions {
  /// The network (YAML): topology, npus_count, bandwidth, latency, .... Bandwidth is in GB/s of 2^30 bytes and latency
  /// in ns; docs/reference/formats has all keys.
  std::string network = {};
  /// What a rank can do (JSON): roofline-enabled, peak-perf, local-mem-bw, ...
  std::string system = {};
  /// With --compat: the remote memory (JSON)
  std::string memory = {};
  /// Process groups, name -> ranks (JSON)
  std::string groups = {};
  /// Only these ranks, for example 0:8 (the first eight) or 0,2,5
  std::string ranks = {};
  /// Make a job of N ranks: those without a trace are copies of RANK. Without RANK, they are copies of the lowest rank
  /// that has a trace.
  std::string expand = {};
  /// Run also what 'chakra check' says cannot run
  bool no_check = false;
  /// Follow the rules of another simulator to the nanosecond
  Compat compat = Compat::native;
  /// With --compat: whether messages compete for links
  Backend backend = Backend::congestion_unaware;
  /// With --compat: queues for chunks in each dimension. 1 to 1024.
  int64_t num_queues_per_dim = 1;
  /// With --compat: data leaves when the receiver has asked for it
  bool rendezvous_protocol = false;
  /// With --compat: factor of the endpoint delay. 0 to 1e+09.
  double injection_scale = 1;
  /// How messages share links (default: auto). closed prices every collective alone. fluid shares links fairly
  /// (max-min). packet stores and forwards. auto takes fluid where links are shared at the same time and that takes up
  /// to 10 s, else closed.
  std::optional<Congestion> congestion = {};
  /// Size of a packet; 0: a message is one packet. 0 to 1073741824.
  std::optional<int64_t> packet_bytes = {};
  /// Algorithms of collectives: rules, or a file (chakra list collectives). A rule names an operation, sizes and an
  /// algorithm: "allreduce: 0-64KiB tree, 64KiB- ring". An algorithm may be an MSCCL file: "allreduce: ring.xml".
  std::string collectives = {};
  /// Routes of messages: spread, ecmp, single, adaptive or valiant. All of them choose among shortest routes, but
  /// valiant. ecmp takes numbers: ecmp,channels=N,seed=N.
  std::string routing = {};
  /// How long communication takes once all have come (default: simulated). simulated: as the network says. recorded: as
  /// the recording says, in a recorded job.
  std::optional<Transfers> transfers = {};
  /// Delay nodes whose name matches PATTERN by TIME (ps, ns, us, ms, s). In PATTERN, * stands for any text and ? for
  /// any character. Without RANK:, nodes of all ranks are delayed. The result says how the total changes. A recorded
  /// job keeps its recorded transfers unless --transfers says otherwise. You can give it several times.
  std::vector<std::string> delay = {};
  /// Let all ranks of a recorded job begin at the same time
  bool align_starts = false;
  /// Simulate every rank, also those that nothing tells apart
  bool no_fold = false;
  /// The device to compute on: a name of 'chakra list devices', or a file. Measured times are scaled to it.
  std::string device = {};
  /// The software on the device: a name of 'chakra list stacks', or a file. Without it, the stack is 'kernels'.
  std::string stack = {};
  /// The device that the recording was made on, whatever the traces say
  std::string from_device = {};
  /// Whether device work that the recording lacks is scaled, or keeps its time. Scaling counts both another device and
  /// the speed of a rank.
  Unrecorded unrecorded = Unrecorded::scale;
  /// Exit with 1 if the self-check is off by more than P percent, up or down. The self-check runs the recorded job on
  /// its own graph with its recorded transfers, and compares the time with the measured one. The result is written all
  /// the same. 0 to 1e+06.
  std::optional<double> max_error = {};
};

/// What to change: `chakra whatif`.
struct WhatIfOptions {
  /// The network of the unchanged job. Without it, transfers of the unchanged job take as long as they were recorded
  /// to.
  std::string from_network = {};
  /// What a rank of the unchanged job can do (JSON), as for 'chakra sim'
  std::string system = {};
  /// Process groups, name -> ranks (JSON)
  std::string groups = {};
  /// Only these ranks, for example 0:8 (the first eight) or 0,2,5
  std::string ranks = {};
  /// The job on this network
  std::string network = {};
  /// The device to compute on: a name of 'chakra list devices', or a file. Measured times are scaled to it.
  std::string device = {};
  /// The software on the device: a name of 'chakra list stacks', or a file. Without it, the stack is 'kernels'.
  std::string stack = {};
  /// The device that the recording was made on, whatever the traces say
  std::string from_device = {};
  /// Whether device work that the recording lacks is scaled, or keeps its time. Scaling counts both another device and
  /// the speed of a rank.
  Unrecorded unrecorded = Unrecorded::scale;
  /// N tensor-parallel ranks; only of generated jobs. The job becomes the one that is generated with N, all other
  /// options as they were: it has more or fewer ranks. Expert-tensor parallelism follows where it was not given.
  std::vector<std::string> tp = {};
  /// N pipeline stages; only of generated jobs. The job becomes the one that is generated with N, all other options as
  /// they were: it has more or fewer ranks, and each stage fewer or more layers.
  std::vector<std::string> pp = {};
  /// N data-parallel replicas; PATTERN names their groups (default: those of role dp). Each replica keeps its batch. A
  /// generated job becomes the one that is generated with N: its placement, and what each rank has of the optimizer. In
  /// other jobs each rank keeps its work, also that of a sharded optimizer; what all gather together stays as large;
  /// recorded transfers of these groups take time in proportion to (n-1)/n of n members.
  std::vector<std::string> dp = {};
  /// A step of N micro-batches, each as large as before; only of generated jobs. Passes follow the job's schedule. A
  /// further micro-batch takes what those take that are neither first nor last; what is done once a step (sums of
  /// gradients, the optimizer) stays. The step has N micro-batches' samples: for the samples of M in N parts add
  /// --batch M/N as a number.
  std::vector<std::string> micro_batches = {};
  /// Each replica has X times its batch; PATTERN names groups that move parameters. Without PATTERN, the roles of
  /// groups decide. Computation and copies take time in proportion to it, but those of the optimizer (by its name, or
  /// its callers'); so do messages, and collectives of groups whose role is to share activations. Collectives of other
  /// roles move parameters and stay. In generated jobs what reads matrices reads them once. Host time stays.
  std::vector<std::string> batch = {};
  /// The link between two devices of the network has X of its rate, both ways. Collectives choose their algorithm for
  /// the network with the slow link.
  std::vector<std::string> slow_link = {};
  /// The link between two devices of the network is gone, both ways. Messages take the shortest routes that are left;
  /// no time goes by until they are found.
  std::vector<std::string> fail_link = {};
  /// Whether communication runs beside the computation of a rank. off: what a rank computed before all who take part
  /// had come is done before the transfer, the rest after it. on: what waits for communication by the order of a stream
  /// or thread alone does not need its result: a lower bound.
  std::vector<std::string> overlap = {};
  /// Nodes of a kind take X of their time. The nodes stay what they are. Host time and launches are not scaled along;
  /// waiting follows.
  std::vector<std::string> scale = {};
  /// Nodes whose name matches PATTERN take X of their time. In PATTERN, * stands for any text and ? for any character.
  /// As scale. Of an operation of the CPU its own time counts, not that of what it calls.
  std::vector<std::string> scale_node = {};
  /// Nodes of a kind take no time, and no rank waits for another at them. What waited for such a node waits for what it
  /// waited for. The calls that launched it stay.
  std::vector<std::string> remove = {};
  /// The rank computes X times as fast (0.5: half as fast). Computation alone: host time on a rank that has a device,
  /// lags and communication stay.
  std::vector<std::string> speed = {};
  /// Draw times of a kind anew for each node (chakra list distributions). A node takes a random part or multiple of its
  /// time. The answer has quantiles of the total over the runs. You can give it several times.
  std::vector<std::string> jitter = {};
  /// Runs with jitter. 1 to 1000000.
  int64_t repeat = 100;
  /// Seed of the draws of --jitter. 0 or more.
  uint64_t seed = 1;
  /// Say what 10 % less of each kind of time would save. It is the answer where you ask for no change.
  bool sensitivity = false;
};

/// What to analyze: `chakra analyze`.
struct AnalyzeOptions {
  /// Run only these analyses (chakra list analyses). Separate several names with commas.
  /// {critical_path,time,bytes,imbalance,memory,stragglers,kernels,operators,launches,queues,bandwidth,work,idle,copies,shapes,modules,sequences}.
  std::vector<std::string> only = {};
  /// Process groups, name -> ranks (JSON)
  std::string groups = {};
  /// Which device operations count, by their launch. all: those of all of the trace. steps: until the last ProfilerStep
  /// ends. before-last-step: before it begins.
  Launched launched = Launched::all;
};

/// A timeline or a figure of a job: `chakra view`.
struct ViewOptions {
  /// The form, where the ending does not say it. {timeline,dot,graphml,svg,pdf,png}.
  std::string to = {};
  /// Only this rank; a graph is drawn of one. 0 to 1073741824.
  std::optional<int64_t> rank = {};
  /// Only these ranks, for example 0:8 (the first eight) or 0,2,5
  std::string ranks = {};
  /// Only nodes of a kind, and who waits for whom through the rest
  Only only = Only::all;
  /// Only what is near the node of this id
  std::optional<uint64_t> focus = {};
  /// How many edges away from --focus. 0 to 1000000.
  int64_t hops = 2;
  /// Draw a box for many nodes: by lane, by caller, repetitions as one
  bool group = false;
  /// Draw at most N boxes with --group. 2 to 1000.
  uint64_t boxes = 30;
};

/// How to run a job for real: `chakra replay`.
struct RunOptions {
  /// Process groups, name -> ranks (JSON)
  std::string groups = {};
  /// What carries out communication (chakra list replay). {null,fabric,mpi,nccl}.
  std::string backend = "null";
  /// An option of the back end (chakra list replay). You can give it several times.
  std::vector<std::string> backend_option = {};
  /// What stands for computation (chakra list replay). {none,sleep,spin,torch,work}.
  std::string compute = "sleep";
  /// An option of the computation (chakra list replay). You can give it several times.
  std::vector<std::string> compute_option = {};
  /// Computation takes X times its recorded time. With --compute work, it does X times its operations and bytes. 0 to
  /// 1e+06.
  double scale_compute = 1;
  /// Carry out loads and stores as reads and writes of files in this folder. Without it, they take what --compute says.
  std::string files = {};
  /// With --files: what the page cache may do (chakra list replay). {cached,synced,direct}.
  std::string file_cache = "cached";
  /// With --files: where loads and stores lie (chakra list replay). {in-order,random}.
  std::string file_order = "in-order";
  /// Whether ranks begin as far apart as recorded, or together
  Start start = Start::recorded;
  /// Give operations known data, and compare what comes out. The exit code is 4 where an operation does not leave what
  /// it promises.
  bool verify = false;
  /// Run also what 'chakra check' says cannot run
  bool no_check = false;
  /// End with 4 when nothing moves and no rank computes for so long. The error says who waits for whom. It also ends
  /// the wait for ranks that do not come. 0.1 to 1e+06.
  double timeout = 8;
  /// This process is rank R of --ranks, and reads only its trace. Without it, and without a launcher (mpirun, srun,
  /// torchrun), this process runs all ranks. 0 to 2147483647.
  std::optional<int64_t> rank = {};
  /// With --rank: how many ranks there are. 1 to 2147483647.
  std::optional<int64_t> ranks = {};
  /// Where ranks meet: host:port of rank 0, or the path of a socket. A socket is for one machine, and its path has a /
  /// in it.
  std::string rendezvous = {};
  /// Run the first N ranks of the job. The others leave their groups, and what they would get is left out. 1 to
  /// 2147483647.
  int64_t shrink = 0;
  /// Run as many of the first ranks as --ranks or the launcher says
  bool auto_shrink = false;
  /// Run N ranks, a multiple of M that were recorded. Rank R does what rank R mod M did. Groups of all ranks grow,
  /// others are copied. 1 to 2147483647.
  int64_t expand = 0;
  /// Say what would run, and run nothing
  bool dry_run = false;
  /// Only these training steps, by the numbers in ProfilerStep#N
  std::string steps = {};
  /// Only nodes of this name, and what they call
  std::string subgraph = {};
  /// Communicate only by these operations: all_reduce, send, .... Separate names with commas. none: by none, so that
  /// partners are not needed.
  std::vector<std::string> allow_ops = {};
  /// Communicate only in these process groups. Separate names with commas.
  std::vector<std::string> only_groups = {};
  /// Communicate only what has N bytes or more. 0 or more.
  int64_t min_size = -1;
  /// Communicate only what has N bytes or fewer. 0 or more.
  int64_t max_size = -1;
  /// Run it N times before it counts. 0 to 1000000.
  int64_t warmup_iter = 0;
  /// Run it N times. 1 to 1000000.
  int64_t num_replays = 1;
  /// Say how alike the times are to the recorded ones. The tables are those of 'chakra diff --timing'.
  bool compare = false;
};

/// How to compare two jobs: `chakra diff`.
struct DiffOptions {
  /// Exit with 1 if something differs by more than P percent, up or down. 0 to 1e+06.
  std::optional<double> threshold = {};
  /// Smallest share of all time, in percent, that counts for --threshold. 0 to 100.
  double least_share = 1;
};

/// The form of a written job: `chakra convert`.
struct WriteOptions {
  /// Form of the output; else its name says it. One of json, jsonl, et, or text (ASTRA-sim 1.0, SimAI).
  std::string to = {};
};

/// Measured kernels, and the device file to make of them: `chakra calibrate device`.
struct CalibrateDeviceOptions {
  /// Tables of measured kernels (CSV), linked traces, or folders of traces. Tables have our own form, or that of
  /// aiconfigurator, Vidur, NeuSight or Liger-Kernel. They may be packed.
  std::vector<std::string> from = {};
  /// The device file to write
  std::string output = {};
  /// The measured device: a name of 'chakra list devices', or a file. Without it, the tables say it.
  std::string device = {};
};

/// Measured collectives, and the network file to make of them: `chakra calibrate network`.
struct CalibrateNetworkOptions {
  /// Logs of nccl-tests or rccl-tests, or tables (CSV); also packed
  std::vector<std::string> from = {};
  /// The network file to write
  std::string output = {};
  /// Other measurements, which judge the fit and do not enter it
  std::vector<std::string> judge = {};
  /// Rows of tables that count, such as sku=h100_dgx. For tables that have the column. You can give it several times.
  std::vector<std::string> where = {};
  /// The collective of the logs, where they do not say it
  std::string operation = {};
  /// Of the network to write: ranks, or GPUs,NODES. Without it, as many as were measured. You can give it several
  /// times. 1 to 16777216.
  std::vector<int64_t> npus = {};
};

/// Gives a member of an options struct the value that a text stands for, as the command does: set(options, "network",
/// file); of a list it adds to it. Errors: cli.usage for a name that no member has, with the nearest one, and for
/// a value that it does not take.
CHAKRA_API Result<void> set(LinkOptions& options, std::string_view name, const std::string& text);
CHAKRA_API Result<void> set(StepOptions& options, std::string_view name, const std::string& text);
CHAKRA_API Result<void> set(ServeOptions& options, std::string_view name, const std::string& text);
CHAKRA_API Result<void> set(EditOptions& options, std::string_view name, const std::string& text);
CHAKRA_API Result<void> set(CheckOptions& options, std::string_view name, const std::string& text);
CHAKRA_API Result<void> set(SimulateOptions& options, std::string_view name, const std::string& text);
CHAKRA_API Result<void> set(WhatIfOptions& options, std::string_view name, const std::string& text);
CHAKRA_API Result<void> set(AnalyzeOptions& options, std::string_view name, const std::string& text);
CHAKRA_API Result<void> set(ViewOptions& options, std::string_view name, const std::string& text);
CHAKRA_API Result<void> set(RunOptions& options, std::string_view name, const std::string& text);
CHAKRA_API Result<void> set(DiffOptions& options, std::string_view name, const std::string& text);
CHAKRA_API Result<void> set(WriteOptions& options, std::string_view name, const std::string& text);
CHAKRA_API Result<void> set(CalibrateDeviceOptions& options, std::string_view name, const std::string& text);
CHAKRA_API Result<void> set(CalibrateNetworkOptions& options, std::string_view name, const std::string& text);

}  // namespace v1
}  // namespace chakra
