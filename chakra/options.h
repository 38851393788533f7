// The options of the verbs of chakra.h: a struct for each verb, whose members are the options of the command.
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
enum class From : uint8_t { traces, csv };
enum class Pick : uint8_t { all, classes, outliers };
enum class Only : uint8_t { all, comm, compute, device };
enum class Start : uint8_t { recorded, together };
enum class Method : uint8_t { medoids, facility };

/// How recordings become traces: `chakra link`.
struct LinkOptions {
  /// Trace to write; for several ranks, the folder for trace.<rank>.et
  std::string output = {};
  /// Rank number, if the files have none or a wrong one. 0 to 1073741824.
  std::optional<int64_t> rank = {};
  /// Link only the ProfilerSteps A to B, inclusive
  std::string steps = {};
  /// Estimate launch latency and dispatch gap from these ProfilerSteps only. The other steps then serve to judge the
  /// estimates.
  std::string fit_steps = {};
  /// Iteration of a Kineto trace to link, from 0. For a Kineto trace of many iterations with a host trace of one.
  /// Default: the iteration of median length. 0 to 1073741824.
  std::optional<int64_t> iteration = {};
  /// Recording of each rank to link, from 0 in the order of names. For a folder with several recordings of a rank,
  /// which a schedule with repeat or chakra_et.record() left. 0 to 1073741824.
  std::optional<int64_t> cycle = {};
  /// Process to link, of a database with several processes. For exports of Nsight Systems and databases of rocprofv3.
  /// Default: each process that used a device is a rank, and the output is a folder. 0 or more.
  std::optional<int64_t> process = {};
  /// Skip damaged records, and keep the intact records of truncated files. The report lists each lost record.
  bool salvage = false;
  /// Exit with 1 if the self-check error exceeds P percent in either direction. The self-check simulates the linked
  /// graph with recorded transfers, and compares the total with the measured time. The result is written in either
  /// case. 0 to 1e+06.
  std::optional<double> max_error = {};
  /// Explain each edge of this node, instead of printing the report. 0 or more.
  std::optional<int64_t> explain = {};
};

/// A training step to generate: `chakra gen step`.
struct StepOptions {
  /// The folder to write the job to
  std::string output = {};
  /// Start from a known model and its ranks (chakra list presets). {tiny,llama3-8b,llama3-70b,llama3-405b,gpt3-175b}.
  std::string preset = {};
  /// A known model (chakra list models), or a config.json
  std::string model = {};
  /// Layers of the model. 1 to 65536.
  std::optional<int64_t> layers = {};
  /// Width of the model. 1 to 1048576.
  std::optional<int64_t> hidden = {};
  /// Inner width of the MLP. 1 to 1048576.
  std::optional<int64_t> ffn = {};
  /// Attention heads. 1 to 1048576.
  std::optional<int64_t> heads = {};
  /// Heads of keys and values; 0: as many as heads. 0 to 1048576.
  std::optional<int64_t> kv_heads = {};
  /// Width of a head; 0: hidden / heads. 0 to 1048576.
  std::optional<int64_t> head_dim = {};
  /// Vocabulary size. 1 to 268435456.
  std::optional<int64_t> vocab = {};
  /// Tokens of a sequence; 0: the model's. 0 to 268435456.
  std::optional<int64_t> sequence = {};
  /// Micro-batches of a step, per pipeline. 1 to 1048576.
  std::optional<int64_t> micro_batches = {};
  /// Sequences per micro-batch. 1 to 1048576.
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
  /// ZeRO stage: shard optimizer (1), also gradients (2), also parameters (3); 0: off. 0 to 3.
  std::optional<int64_t> zero = {};
  /// Data-parallel ranks that shard among themselves, a divisor of --dp; 0: all. 0 to 1048576.
  std::optional<int64_t> zero_ranks = {};
  /// Random seed for --expert-skew: which experts are popular. 0 to 268435456.
  std::optional<int64_t> seed = {};
  /// Bytes of a parameter or an activation. 1 to 16.
  std::optional<int64_t> bytes_per_element = {};
  /// Train adapters of this rank (LoRA) and freeze the model; 0: train the model. 0 to 1048576.
  std::optional<int64_t> lora_rank = {};
  /// Bytes of a gradient element. 1 to 16.
  std::optional<int64_t> gradient_bytes = {};
  /// Sequence parallelism: shard tokens between tensor-parallel parts
  std::optional<bool> sequence_parallel = {};
  /// Keep gathered inputs of matrix multiplications for the backward pass
  std::optional<bool> keep_gathered = {};
  /// Fused attention: attention scores stay out of device memory
  std::optional<bool> fused_attention = {};
  /// Overlap collectives with independent computation
  std::optional<bool> overlap = {};
  /// Add adapters of --lora-rank to MLPs, not only to attention
  std::optional<bool> lora_mlp = {};
  /// Clip gradients by norm
  std::optional<bool> clip = {};
  /// Include embedding, head and loss
  std::optional<bool> ends = {};
  /// Include the model's multi-token prediction layers (DeepSeek-V3)
  bool mtp = false;
  /// Gated MLP with two input matrices (SwiGLU), else one (GELU)
  std::optional<bool> gated = {};
  /// Causal attention: tokens attend only to earlier tokens
  std::optional<bool> causal = {};
  /// Pipeline schedule (chakra list schedules). {gpipe,1f1b,interleaved,zb-h1,dualpipe}.
  std::string schedule = {};
  /// How context-parallel ranks exchange keys and values
  std::optional<Context> context = {};
  /// Activation recomputation in the backward pass
  std::optional<Recompute> recompute = {};
  /// Optimizer (chakra list optimizers). Default: adamw. {adamw,adamw-bf16,adamw-8bit,sgd,sgd-momentum,muon}.
  std::string optimizer = {};
  /// Data type of parameters and activations. Default: bf16.
  std::optional<Dtype> dtype = {};
  /// Use 8-bit inputs for the matrix multiplications of layers. All other data keep --bytes-per-element.
  bool fp8 = false;
  /// Order of rank numbers, adjacent ranks first: tp-cp-ep-dp-pp, ...
  std::string order = {};
  /// Zipf exponent of expert popularity; 0: uniform. The r-th most popular expert is chosen in proportion to 1 / r^X. 0
  /// to 10.
  std::optional<double> expert_skew = {};
  /// Storage tier from which the first stage reads micro-batches
  std::string data_tier = {};
  /// Bytes of a sequence in --data-tier; 0: 4 per token. 0 or more.
  int64_t sample_bytes = 0;
  /// Storage tier for the checkpoint after the step. A checkpoint holds the parameters and the optimizer state.
  std::string checkpoint_tier = {};
  /// Write the previous step's checkpoint in the background of this step. The optimizer waits until the checkpoint is
  /// written.
  bool checkpoint_behind = false;
  /// Storage tier from which each rank restores its state at the start
  std::string restart_tier = {};
  /// Device to compute on: a name of 'chakra list devices', or a file. Nodes get the durations that 'chakra sim
  /// --device' computes.
  std::string device = {};
  /// Software stack: a name of 'chakra list stacks', or a file (default: kernels). The stack determines memory use,
  /// host times and, with --device, the durations of attention and elementwise kernels.
  std::string stack = {};
  /// When the host synchronizes with the device. messages: after messages from other stages. passes: also after the
  /// last computation of each forward and backward pass. parts: after the last computation of each part of a pass. The
  /// host is modelled only if the device file has host-us.
  std::optional<HostWaits> host_waits = {};
  /// Peak rate of the device in TFLOP/s. 0 or more.
  std::optional<double> device_peak_tflops = {};
  /// Peak rate for matrix multiplications with 8-bit inputs, in TFLOP/s. Default: twice the rate of
  /// --device-peak-tflops. 0 or more.
  std::optional<double> device_fp8_tflops = {};
  /// Memory bandwidth of the device in GB/s (10^9 bytes per second). 0 or more.
  std::optional<double> device_mem_gb_per_s = {};
  /// Share of the peak rate that kernels reach. 0 to 1.
  std::optional<double> efficiency = {};
  /// Memory of the device in GiB, for --stats. Default: the memory of --device, else 79.2. 0 or more.
  std::optional<double> device_memory_gib = {};
  /// Print parameters, FLOPs, communication and memory. With --stats, -o is optional.
  bool stats = false;
  /// Write step.<rank>.et for every rank, instead of one trace per class
  bool all_ranks = false;
};

/// A serving step to generate: `chakra gen serve`.
struct ServeOptions {
  /// The folder to write the job to
  std::string output = {};
  /// A known model (chakra list models), or a config.json
  std::string model = {};
  /// Prompt lengths in tokens; one number applies to all of --batch. With --prompts false: context lengths at the first
  /// step. Default: 1024.
  std::vector<int64_t> contexts = {};
  /// Layers of the model. 1 to 65536.
  std::optional<int64_t> layers = {};
  /// Width of the model. 1 to 1048576.
  std::optional<int64_t> hidden = {};
  /// Inner width of the MLP. 1 to 1048576.
  std::optional<int64_t> ffn = {};
  /// Attention heads. 1 to 1048576.
  std::optional<int64_t> heads = {};
  /// Heads of keys and values; 0: as many as heads. 0 to 1048576.
  std::optional<int64_t> kv_heads = {};
  /// Width of a head; 0: hidden / heads. 0 to 1048576.
  std::optional<int64_t> head_dim = {};
  /// Vocabulary size. 1 to 268435456.
  std::optional<int64_t> vocab = {};
  /// Tensor-parallel ranks. 1 to 1048576.
  std::optional<int64_t> tp = {};
  /// Pipeline stages. 1 to 1048576.
  std::optional<int64_t> pp = {};
  /// Replicas, each with a separate batch. 1 to 1048576.
  std::optional<int64_t> dp = {};
  /// Expert-parallel replicas, a divisor of --dp. 1 to 1048576.
  std::optional<int64_t> ep = {};
  /// Tensor-parallel ranks of a separate prefill pool. 0 to 1048576.
  std::optional<int64_t> prefill_tp = {};
  /// Pipeline stages of a separate prefill pool. 0 to 1048576.
  std::optional<int64_t> prefill_pp = {};
  /// Replicas of a separate prefill pool. 0 to 1048576.
  std::optional<int64_t> prefill_dp = {};
  /// Expert-parallel replicas of a separate prefill pool. 0 to 1048576.
  std::optional<int64_t> prefill_ep = {};
  /// Sequences per replica; 0: as many as --contexts. 0 to 1048576.
  std::optional<int64_t> batch = {};
  /// Prompt tokens per prefill chunk; 0: the whole prompt. 0 to 268435456.
  std::optional<int64_t> chunk = {};
  /// Decode steps; each adds a token to every sequence. 0 to 1048576.
  std::optional<int64_t> steps = {};
  /// Bytes of a parameter or an activation. 1 to 16.
  std::optional<int64_t> bytes_per_element = {};
  /// Bytes of a number in the KV cache; 0: as --bytes-per-element. 0 to 16.
  std::optional<int64_t> kv_bytes_per_element = {};
  /// Start with the prefill of --contexts; else the cache holds the contexts
  std::optional<bool> prompts = {};
  /// Cache latents in latent attention; else keys and values of all heads
  std::optional<bool> absorbed = {};
  /// Compute logits of all prompt tokens, not only of the last
  std::optional<bool> all_logits = {};
  /// Overlap collectives with independent computation
  std::optional<bool> overlap = {};
  /// One matrix multiplication for Q, K and V, and one for gate and up
  std::optional<bool> merged_products = {};
  /// Gated MLP with two input matrices (SwiGLU), else one (GELU)
  std::optional<bool> gated = {};
  /// Causal attention: tokens attend only to earlier tokens
  std::optional<bool> causal = {};
  /// Storage tier for a share of the KV cache. Each layer fetches its share, and evicts new entries.
  std::string kv_tier = {};
  /// Share of the KV cache in --kv-tier, above 0 to 1. Default: the whole cache. 0 to 1.
  std::optional<double> kv_tier_share = {};
  /// Store layer weights in 8 bits, and multiply with 8-bit inputs. All other data keep --bytes-per-element.
  bool fp8 = false;
  /// Device to compute on: a name of 'chakra list devices', or a file. Nodes get the durations that 'chakra sim
  /// --device' computes.
  std::string device = {};
  /// Software stack: a name of 'chakra list stacks', or a file (default: kernels). The stack determines memory use,
  /// host times and, with --device, the durations of attention and elementwise kernels.
  std::string stack = {};
  /// Peak rate of the device in TFLOP/s. 0 or more.
  std::optional<double> device_peak_tflops = {};
  /// Peak rate for matrix multiplications with 8-bit inputs, in TFLOP/s. Default: twice the rate of
  /// --device-peak-tflops. 0 or more.
  std::optional<double> device_fp8_tflops = {};
  /// Memory bandwidth of the device in GB/s (10^9 bytes per second). 0 or more.
  std::optional<double> device_mem_gb_per_s = {};
  /// Share of the peak rate that kernels reach. 0 to 1.
  std::optional<double> efficiency = {};
  /// Memory of the device in GiB, for --stats. Default: the memory of --device, else 79.2. 0 or more.
  std::optional<double> device_memory_gib = {};
  /// Print parameters, FLOPs, communication and memory. With --stats, -o is optional.
  bool stats = false;
  /// Write serve.<rank>.et for every rank, instead of one trace per class
  bool all_ranks = false;
};

/// Named test cases to generate: `chakra gen cases`.
struct CasesOptions {
  /// Folder for <case>.<rank>.et
  std::string output = {};
  /// Number of ranks. 1 to 1048576.
  int64_t num_npus = 1;
  /// Time of a computation in us. 0 or more.
  int64_t default_runtime = 5;
  /// Bytes of a load, store or message. 0 or more.
  uint64_t default_tensor_size = 1024;
  /// Bytes of a collective. 0 or more.
  uint64_t default_comm_size = 65536;
};

/// A network to generate from a blueprint: `chakra gen network`.
struct BlueprintOptions {
  /// Blueprint to build (chakra list blueprints)
  std::string blueprint = {};
  /// InfraGraph file to write
  std::string output = {};
  /// Parameter, or bandwidth or latency of a link. Keys are the parameters of the blueprint, and bandwidth.LINK (GB/s
  /// of 10^9 bytes) and latency.LINK (ns) for all links of that name. You can give it several times.
  std::vector<std::string> set = {};
};

/// A workload of another tool: `chakra import`.
struct ImportOptions {
  /// Prefix of PREFIX.<rank>.et; or a folder, for trace.<rank>.et
  std::string output = {};
  /// Write a folder with one trace per class of identical ranks (ranks.json)
  bool classes = false;
  /// Format of the file (default: detected from the contents). {text,flexflow,msccl,feeder-json,linked-json,torch,xla}.
  std::string from = {};
  /// text, torch: ranks in each dimension, innermost first: 8,8. 1 or more.
  std::vector<int64_t> dims = {};
  /// text, torch: number of ranks (default: as in --dims or the file). 1 or more.
  int64_t num_npus = 0;
  /// text: training iterations. 1 or more.
  int64_t num_passes = 1;
  /// text, flexflow: time unit of the file. Default: us for ASTRA-sim text, ns for SimAI and ms for FlexFlow.
  /// {ns,us,ms,s}.
  std::string time_unit = {};
  /// msccl: bytes of the collective. 1 or more.
  uint64_t coll_size = 1048576;
  /// msccl: time of each reduction and copy, such as 7us
  std::string default_simulated_run_time = "0us";
};

/// Which ranks a job has.
struct EditOptions {
  /// Only these ranks, for example 0:8 (the first eight) or 0,2,5
  std::string ranks = {};
  /// Expand the job to N ranks; ranks without a trace copy RANK. RANK defaults to the lowest rank that has a trace.
  std::string expand = {};
};

/// Rules and proofs over a job: `chakra check`.
struct CheckOptions {
  /// Process groups, name -> ranks (JSON)
  std::string groups = {};
  /// Expand the job to N ranks; ranks without a trace copy RANK. RANK defaults to the lowest rank that has a trace.
  std::string expand = {};
};

/// The system that a job runs on: `chakra sim`.
struct SimulateOptions {
  /// The network (YAML): topology, npus_count, bandwidth, latency, .... Bandwidth is in GB/s of 2^30 bytes and latency
  /// in ns; docs/reference/formats has all keys.
  std::string network = {};
  /// System of a rank (JSON): roofline-enabled, peak-perf, local-mem-bw, ...
  std::string system = {};
  /// With --compat: the remote memory (JSON)
  std::string memory = {};
  /// Process groups, name -> ranks (JSON)
  std::string groups = {};
  /// Only these ranks, for example 0:8 (the first eight) or 0,2,5
  std::string ranks = {};
  /// Expand the job to N ranks; ranks without a trace copy RANK. RANK defaults to the lowest rank that has a trace.
  std::string expand = {};
  /// Skip the checks of 'chakra check'
  bool no_check = false;
  /// Follow the rules of another simulator to the nanosecond
  Compat compat = Compat::native;
  /// With --compat: model or ignore contention for links
  Backend backend = Backend::congestion_unaware;
  /// With --compat: queues for chunks in each dimension. 1 to 1024.
  int64_t num_queues_per_dim = 1;
  /// With --compat: send data only after the receiver requests it
  bool rendezvous_protocol = false;
  /// With --compat: factor of the endpoint delay. 0 to 1e+09.
  double injection_scale = 1;
  /// Contention model (default: auto). closed: price each collective alone, by formula. fluid: share links fairly
  /// (max-min). packet: store and forward packets. auto: fluid if concurrent transfers share links and fluid takes at
  /// most 10 s of processor time, else closed.
  std::optional<Congestion> congestion = {};
  /// Packet size; 0: one packet per message. 0 to 1073741824.
  std::optional<int64_t> packet_bytes = {};
  /// Algorithms for collectives: rules, or a file (chakra list collectives). A rule names an operation, sizes and an
  /// algorithm: "allreduce: 0-64KiB tree, 64KiB- ring". An algorithm may be an MSCCL file: "allreduce: ring.xml".
  std::string collectives = {};
  /// Routing policy: spread, ecmp, single, adaptive or valiant. All policies except valiant use shortest routes. ecmp
  /// takes parameters: ecmp,channels=N,seed=N.
  std::string routing = {};
  /// Duration of communication once all ranks have arrived (default: simulated). simulated: by the network model.
  /// recorded: as measured, for a recorded job.
  std::optional<Transfers> transfers = {};
  /// Delay nodes whose name matches PATTERN by TIME (ps, ns, us, ms, s). In PATTERN, * stands for any text and ? for
  /// any character. Without RANK:, nodes of all ranks are delayed. The result shows the effect on the total. A recorded
  /// job keeps its recorded transfers without --transfers simulated. You can give it several times.
  std::vector<std::string> delay = {};
  /// Start all ranks of a recorded job at the same time
  bool align_starts = false;
  /// Simulate every rank, instead of one for each set of identical ranks
  bool no_fold = false;
  /// Find problems that cost time, by simulating again without each. A suspect takes one or two further simulations,
  /// all together at most ten.
  bool diagnose = false;
  /// Device to compute on: a name of 'chakra list devices', or a file. Measured times are scaled to the device.
  std::string device = {};
  /// Software stack on --device: a name of 'chakra list stacks', or a file. Default: kernels.
  std::string stack = {};
  /// Device of the recording; overrides the device named in the traces
  std::string from_device = {};
  /// Scale device work that the recording lacks, or keep its time. Scaling applies to another device and to the speed
  /// of a rank.
  Unrecorded unrecorded = Unrecorded::scale;
  /// Exit with 1 if the self-check error exceeds P percent in either direction. The self-check simulates the linked
  /// graph with recorded transfers, and compares the total with the measured time. The result is written in either
  /// case. 0 to 1e+06.
  std::optional<double> max_error = {};
  /// With --compat: print ASTRA-sim's output lines
  bool astra_output = false;
  /// Write a timeline for https://ui.perfetto.dev; .pftrace is smaller
  std::string timeline = {};
};

/// What to change: `chakra whatif`.
struct WhatIfOptions {
  /// The network of the unchanged job. Without it, transfers of the unchanged job keep their recorded durations.
  std::string from_network = {};
  /// System of a rank of the unchanged job (JSON), as for 'chakra sim'
  std::string system = {};
  /// Process groups, name -> ranks (JSON)
  std::string groups = {};
  /// Only these ranks, for example 0:8 (the first eight) or 0,2,5
  std::string ranks = {};
  /// Move the job to this network
  std::string network = {};
  /// Device to compute on: a name of 'chakra list devices', or a file. Measured times are scaled to the device.
  std::string device = {};
  /// Software stack on --device: a name of 'chakra list stacks', or a file. Default: kernels.
  std::string stack = {};
  /// Device of the recording; overrides the device named in the traces
  std::string from_device = {};
  /// Scale device work that the recording lacks, or keep its time. Scaling applies to another device and to the speed
  /// of a rank.
  Unrecorded unrecorded = Unrecorded::scale;
  /// N tensor-parallel ranks; generated jobs only. Regenerates the job with N and otherwise the same options; the
  /// number of ranks changes. Expert-tensor parallelism follows --tp unless the job was generated with --etp.
  std::vector<std::string> tp = {};
  /// N pipeline stages; generated jobs only. Regenerates the job with N and otherwise the same options; the number of
  /// ranks and the layers per stage change.
  std::vector<std::string> pp = {};
  /// N data-parallel replicas; PATTERN names the groups (default: role dp). Unedited generated jobs: Regenerates the
  /// job with N: each replica keeps its batch; placement and optimizer shards change. Other jobs: Each replica keeps
  /// its batch, and each rank its work, even with a sharded optimizer; the total size of gathered and scattered data
  /// stays; uneven all-to-alls become even; recorded transfers of these groups scale with (n-1)/n for n members.
  std::vector<std::string> dp = {};
  /// N micro-batches of unchanged size per step; generated jobs only. Unedited generated jobs: Regenerates the job with
  /// N. The number of samples grows with N; to split the samples of M micro-batches into N, add --batch M/N as a
  /// number. Other jobs: Passes follow the job's schedule. An additional micro-batch takes as long as one in the
  /// middle. Work done once per step (gradient reductions, optimizer) stays. The number of samples grows with N.
  std::vector<std::string> micro_batches = {};
  /// Multiply the batch by X; PATTERN names groups that move parameters. Unedited generated jobs: Regenerates the job
  /// with X times its micro-batch size (gen step) or batch (gen serve), where that is a whole number and no PATTERN is
  /// given. Other jobs: Without PATTERN, the roles of groups decide. Computation, copies, messages, all-to-alls, and
  /// collectives of groups that exchange activations scale with X. The optimizer (recognized by its name or its
  /// callers), other collectives and host time stay. In generated jobs, the bytes of weight matrices stay.
  std::vector<std::string> batch = {};
  /// Multiply the rate of the link between A and B by X, in both directions. Collective algorithms are selected for the
  /// network with the slow link.
  std::vector<std::string> slow_link = {};
  /// Remove the link between A and B, in both directions. Messages take the shortest remaining routes, without a delay
  /// for rerouting.
  std::vector<std::string> fail_link = {};
  /// Allow or forbid communication during computation of a rank. Unedited generated jobs: Regenerates the job with that
  /// value of --overlap, which is for collectives. Other jobs: off: computation that starts before all members arrive
  /// finishes before the transfer; other computation starts after the transfer. on: nodes that follow communication
  /// only by the order of a stream or thread do not wait for its result; the predicted time is a lower bound.
  std::vector<std::string> overlap = {};
  /// Multiply the time of nodes of a kind by X. Only durations of this kind change: host time and launches stay, and
  /// waiting times follow.
  std::vector<std::string> scale = {};
  /// Multiply the time of nodes whose name matches PATTERN by X. In PATTERN, * stands for any text and ? for any
  /// character. Otherwise as --scale. For an operation of the CPU, only self time scales, without the operations that
  /// it calls.
  std::vector<std::string> scale_node = {};
  /// Remove nodes of a kind, and the waits between ranks there. Dependents of a removed node wait for its dependencies
  /// instead. The calls that launched the node stay.
  std::vector<std::string> remove = {};
  /// Compute X times as fast on this rank (0.5: half as fast). Applies to computation only. Lags, communication and, on
  /// a rank with a device, host time stay.
  std::vector<std::string> speed = {};
  /// Randomize the time of each node of a kind (chakra list distributions). The time of each node is multiplied by a
  /// random factor. The answer has quantiles of the total over the runs. You can give it several times.
  std::vector<std::string> jitter = {};
  /// Number of runs with --jitter. 1 to 1000000.
  int64_t repeat = 100;
  /// Random seed for --jitter. 0 or more.
  uint64_t seed = 1;
  /// Rank the savings from 10 % less of each kind of time. Without any change, this is the default.
  bool sensitivity = false;
};

/// What to analyze: `chakra analyze`.
struct AnalyzeOptions {
  /// Run only these analyses (chakra list analyses). Separate several names with commas.
  /// {diagnosis,critical_path,time,bytes,imbalance,memory,stragglers,kernels,operators,launches,queues,bandwidth,work,idle,copies,shapes,modules,sequences,steps}.
  std::vector<std::string> only = {};
  /// Process groups, name -> ranks (JSON)
  std::string groups = {};
  /// Device operations to include, by the time of their launch. all: launched at any time. steps: launched before the
  /// last ProfilerStep ends. before-last-step: launched before the last ProfilerStep begins.
  Launched launched = Launched::all;
  /// Draw the worst imbalance of collective sizes across ranks
  std::string svg = {};
};

/// How to query the tables of a job: `chakra query`.
struct QueryOptions {
  /// Run a ready query (chakra list queries)
  std::string named = {};
  /// Value of the parameter :NAME of the query. The value is a whole number, a number, or else a text. A value is never
  /// part of the statement. You can give it several times.
  std::vector<std::string> param = {};
  /// Stop the query after this time. Reading and analyses count neither. 0.001 to 1e+06.
  double limit_seconds = 60;
  /// Memory of the query in MiB, without the traces. 1 to 1000000.
  int64_t limit_memory = 1024;
  /// Simulate the job on this network (YAML), for the tables sim_*. Bandwidth is in GB/s of 2^30 bytes and latency in
  /// ns; docs/reference/formats has all keys.
  std::string network = {};
  /// System of a rank (JSON): roofline-enabled, peak-perf, local-mem-bw, ...
  std::string system = {};
  /// With --compat: the remote memory (JSON)
  std::string memory = {};
  /// Only these ranks, for example 0:8 (the first eight) or 0,2,5
  std::string ranks = {};
  /// Expand the job to N ranks; ranks without a trace copy RANK. RANK defaults to the lowest rank that has a trace.
  std::string expand = {};
  /// Skip the checks of 'chakra check'
  bool no_check = false;
  /// Follow the rules of another simulator to the nanosecond
  Compat compat = Compat::native;
  /// With --compat: model or ignore contention for links
  Backend backend = Backend::congestion_unaware;
  /// With --compat: queues for chunks in each dimension. 1 to 1024.
  int64_t num_queues_per_dim = 1;
  /// With --compat: send data only after the receiver requests it
  bool rendezvous_protocol = false;
  /// With --compat: factor of the endpoint delay. 0 to 1e+09.
  double injection_scale = 1;
  /// Contention model (default: auto). closed: price each collective alone, by formula. fluid: share links fairly
  /// (max-min). packet: store and forward packets. auto: fluid if concurrent transfers share links and fluid takes at
  /// most 10 s of processor time, else closed.
  std::optional<Congestion> congestion = {};
  /// Packet size; 0: one packet per message. 0 to 1073741824.
  std::optional<int64_t> packet_bytes = {};
  /// Algorithms for collectives: rules, or a file (chakra list collectives). A rule names an operation, sizes and an
  /// algorithm: "allreduce: 0-64KiB tree, 64KiB- ring". An algorithm may be an MSCCL file: "allreduce: ring.xml".
  std::string collectives = {};
  /// Routing policy: spread, ecmp, single, adaptive or valiant. All policies except valiant use shortest routes. ecmp
  /// takes parameters: ecmp,channels=N,seed=N.
  std::string routing = {};
  /// Duration of communication once all ranks have arrived (default: simulated). simulated: by the network model.
  /// recorded: as measured, for a recorded job.
  std::optional<Transfers> transfers = {};
  /// Delay nodes whose name matches PATTERN by TIME (ps, ns, us, ms, s). In PATTERN, * stands for any text and ? for
  /// any character. Without RANK:, nodes of all ranks are delayed. The result shows the effect on the total. A recorded
  /// job keeps its recorded transfers without --transfers simulated. You can give it several times.
  std::vector<std::string> delay = {};
  /// Start all ranks of a recorded job at the same time
  bool align_starts = false;
  /// Simulate every rank, instead of one for each set of identical ranks
  bool no_fold = false;
  /// Device to compute on: a name of 'chakra list devices', or a file. Measured times are scaled to the device.
  std::string device = {};
  /// Software stack on --device: a name of 'chakra list stacks', or a file. Default: kernels.
  std::string stack = {};
  /// Device of the recording; overrides the device named in the traces
  std::string from_device = {};
  /// Scale device work that the recording lacks, or keep its time. Scaling applies to another device and to the speed
  /// of a rank.
  Unrecorded unrecorded = Unrecorded::scale;
};

/// What a page about a job shows: `chakra report`.
struct ReportOptions {
  /// Compare with this job. With --network, both jobs are simulated with the same options.
  std::string against = {};
  /// Simulate also on this network: the other job, or the same job
  std::string against_network = {};
  /// Add a timeline of all operations to the page. Of a simulated job by classes, a timeline of one rank of each class.
  /// At most 2,000,000 operations.
  bool timeline = false;
  /// Write all tables also to this workbook, each on a sheet
  std::string xlsx = {};
  /// Process groups, name -> ranks (JSON)
  std::string groups = {};
  /// Device operations to include, by the time of their launch. all: launched at any time. steps: launched before the
  /// last ProfilerStep ends. before-last-step: launched before the last ProfilerStep begins.
  Launched launched = Launched::all;
  /// Simulate the job on this network (YAML), instead of analyzing it. Bandwidth is in GB/s of 2^30 bytes and latency
  /// in ns; docs/reference/formats has all keys.
  std::string network = {};
  /// System of a rank (JSON): roofline-enabled, peak-perf, local-mem-bw, ...
  std::string system = {};
  /// With --compat: the remote memory (JSON)
  std::string memory = {};
  /// Only these ranks, for example 0:8 (the first eight) or 0,2,5
  std::string ranks = {};
  /// Expand the job to N ranks; ranks without a trace copy RANK. RANK defaults to the lowest rank that has a trace.
  std::string expand = {};
  /// Skip the checks of 'chakra check'
  bool no_check = false;
  /// Follow the rules of another simulator to the nanosecond
  Compat compat = Compat::native;
  /// With --compat: model or ignore contention for links
  Backend backend = Backend::congestion_unaware;
  /// With --compat: queues for chunks in each dimension. 1 to 1024.
  int64_t num_queues_per_dim = 1;
  /// With --compat: send data only after the receiver requests it
  bool rendezvous_protocol = false;
  /// With --compat: factor of the endpoint delay. 0 to 1e+09.
  double injection_scale = 1;
  /// Contention model (default: auto). closed: price each collective alone, by formula. fluid: share links fairly
  /// (max-min). packet: store and forward packets. auto: fluid if concurrent transfers share links and fluid takes at
  /// most 10 s of processor time, else closed.
  std::optional<Congestion> congestion = {};
  /// Packet size; 0: one packet per message. 0 to 1073741824.
  std::optional<int64_t> packet_bytes = {};
  /// Algorithms for collectives: rules, or a file (chakra list collectives). A rule names an operation, sizes and an
  /// algorithm: "allreduce: 0-64KiB tree, 64KiB- ring". An algorithm may be an MSCCL file: "allreduce: ring.xml".
  std::string collectives = {};
  /// Routing policy: spread, ecmp, single, adaptive or valiant. All policies except valiant use shortest routes. ecmp
  /// takes parameters: ecmp,channels=N,seed=N.
  std::string routing = {};
  /// Duration of communication once all ranks have arrived (default: simulated). simulated: by the network model.
  /// recorded: as measured, for a recorded job.
  std::optional<Transfers> transfers = {};
  /// Delay nodes whose name matches PATTERN by TIME (ps, ns, us, ms, s). In PATTERN, * stands for any text and ? for
  /// any character. Without RANK:, nodes of all ranks are delayed. The result shows the effect on the total. A recorded
  /// job keeps its recorded transfers without --transfers simulated. You can give it several times.
  std::vector<std::string> delay = {};
  /// Start all ranks of a recorded job at the same time
  bool align_starts = false;
  /// Simulate every rank, instead of one for each set of identical ranks
  bool no_fold = false;
  /// Device to compute on: a name of 'chakra list devices', or a file. Measured times are scaled to the device.
  std::string device = {};
  /// Software stack on --device: a name of 'chakra list stacks', or a file. Default: kernels.
  std::string stack = {};
  /// Device of the recording; overrides the device named in the traces
  std::string from_device = {};
  /// Scale device work that the recording lacks, or keep its time. Scaling applies to another device and to the speed
  /// of a rank.
  Unrecorded unrecorded = Unrecorded::scale;
};

/// A timeline or a figure of a job: `chakra view`.
struct ViewOptions {
  /// Output format, if the extension does not select it. {timeline,perfetto,dot,graphml,svg,pdf,png}.
  std::string to = {};
  /// Kind of PATH, if its extension does not show it
  std::optional<From> from = {};
  /// Only this rank; a graph shows one rank. 0 to 1073741824.
  std::optional<int64_t> rank = {};
  /// Only these ranks, for example 0:8 (the first eight) or 0,2,5
  std::string ranks = {};
  /// Ranks of a timeline: all, one of each class, or outliers
  Pick pick = Pick::all;
  /// Only nodes of a kind, with dependencies through hidden nodes
  Only only = Only::all;
  /// Only the neighbourhood of the node with this id
  std::optional<uint64_t> focus = {};
  /// Largest distance from --focus, in edges. 0 to 1000000.
  int64_t hops = 2;
  /// Draw one box for many nodes: by lane, caller and repetition
  bool group = false;
  /// Largest number of boxes with --group. 2 to 1000.
  uint64_t boxes = 30;
  /// CSV: number of ranks; a higher rank is an error. 1 to 1073741824.
  int64_t num_npus = 0;
  /// CSV: ticks per second, such as 1.5GHz; MHz without unit. Default: a tick is a nanosecond (1GHz).
  std::string npu_frequency = {};
};

/// How to run a job for real: `chakra replay`.
struct RunOptions {
  /// Process groups, name -> ranks (JSON)
  std::string groups = {};
  /// Back end that carries out communication (chakra list replay). {null,fabric,mpi,nccl}.
  std::string backend = "null";
  /// Option of the back end (chakra list replay). You can give it several times.
  std::vector<std::string> backend_option = {};
  /// Substitute for computation (chakra list replay). {none,sleep,spin,torch,work}.
  std::string compute = "sleep";
  /// Option of the substitute (chakra list replay). You can give it several times.
  std::vector<std::string> compute_option = {};
  /// Multiply the recorded time of computation by X. With --compute work, FLOPs and bytes are multiplied by X. 0 to
  /// 1e+06.
  double scale_compute = 1;
  /// Run loads and stores as reads and writes of files in this folder. Without it, --compute also replaces loads and
  /// stores.
  std::string files = {};
  /// With --files: use of the page cache (chakra list replay). {cached,synced,direct}.
  std::string file_cache = "cached";
  /// With --files: placement of loads and stores (chakra list replay). {in-order,random}.
  std::string file_order = "in-order";
  /// Start ranks as far apart as recorded, or together
  Start start = Start::recorded;
  /// Run operations on known data, and check the results. The exit code is 4 if an operation gives a wrong result.
  bool verify = false;
  /// Skip the checks of 'chakra check'
  bool no_check = false;
  /// Exit with 4 after this time without data transfer or computation. The error lists the ranks that each rank waits
  /// for. The limit also applies to ranks that never connect. 0.1 to 1e+06.
  double timeout = 8;
  /// Run this process as rank R of --ranks, and read only its trace. Without it, and without a launcher (mpirun, srun,
  /// torchrun), this process runs all ranks. 0 to 2147483647.
  std::optional<int64_t> rank = {};
  /// With --rank: number of ranks. 1 to 2147483647.
  std::optional<int64_t> ranks = {};
  /// Meeting point of ranks: host:port of rank 0, or the path of a socket. A socket works on one machine; its path must
  /// contain a slash.
  std::string rendezvous = {};
  /// Run the first N ranks of the job. The other ranks leave their groups, and data for them is left out. 1 to
  /// 2147483647.
  int64_t shrink = 0;
  /// Shrink the job to the number of ranks of --ranks or the launcher
  bool auto_shrink = false;
  /// Run N ranks, a multiple of the M recorded ranks. Rank R repeats rank R mod M. Groups of all ranks grow, others are
  /// copied. 1 to 2147483647.
  int64_t expand = 0;
  /// Print the plan without running the job
  bool dry_run = false;
  /// Run only the ProfilerSteps A to B, inclusive
  std::string steps = {};
  /// Only nodes of this name and their callees
  std::string subgraph = {};
  /// Communicate only with these operations: all_reduce, send, .... Separate names with commas. The name 'none'
  /// disables communication, so that a rank needs no partners.
  std::vector<std::string> allow_ops = {};
  /// Communicate only in these process groups. Separate names with commas.
  std::vector<std::string> only_groups = {};
  /// Skip communication of fewer than N bytes. 0 or more.
  int64_t min_size = -1;
  /// Skip communication of more than N bytes. 0 or more.
  int64_t max_size = -1;
  /// Number of warm-up runs. 0 to 1000000.
  int64_t warmup_iter = 0;
  /// Number of measured runs. 1 to 1000000.
  int64_t num_replays = 1;
  /// Compare the times with the recorded times. The output has the tables of 'chakra diff --timing'.
  bool compare = false;
  /// Write the traces with the times of the last run as PREFIX.<rank>.et
  std::string output = {};
  /// Write a timeline for https://ui.perfetto.dev. In file names, {rank} stands for the rank of a process. Under a
  /// launcher, each rank needs a separate file.
  std::string timeline = {};
  /// Write the flows between ranks, without running the job. Each flow lists the flows that it depends on. The file is
  /// CSV, or JSON if its name ends in .json.
  std::string flows = {};
  /// With --flows: network for which algorithms are selected. Default: all ranks at one switch.
  std::string network = {};
  /// With --flows: algorithms (chakra list collectives)
  std::string collectives = {};
};

/// How to compare two jobs: `chakra diff`.
struct DiffOptions {
  /// Exit with 1 if a difference exceeds P percent in either direction. 0 to 1e+06.
  std::optional<double> threshold = {};
  /// Smallest share of the total time, in percent, that --threshold considers. 0 to 100.
  double least_share = 1;
  /// Exit with 1 if a step of B is more than P percent longer, such as 3%. If the lengths of steps vary, the limit is
  /// at least twice their spread. The result also has the change of the diagnosis (docs/explanation/diagnosis.md). 0 to
  /// 1e+06.
  std::optional<double> fail_over = {};
  /// Print the change of the step and of the diagnosis as Markdown
  bool markdown = false;
  /// Compare the measured times of two runs of the same job
  bool timing = false;
};

/// The form of a written job.
struct WriteOptions {
  /// Output format (default: from the name of the output). One of json, jsonl, et, or text (ASTRA-sim 1.0, SimAI). Of a
  /// network file: network (devices and links) or infragraph.
  std::string to = {};
};

/// Formats of a conversion: `chakra convert`.
struct ConvertOptions {
  /// File to write; for several ranks, a prefix or a folder. A name that ends in .gz or .zst selects compression.
  std::string output = {};
  /// Input format (default: detected from the contents). One of json, jsonl, eg, et, or a format of 'chakra import'.
  std::string from = {};
  /// Output format (default: from the name of the output). One of json, jsonl, et, or text (ASTRA-sim 1.0, SimAI). Of a
  /// network file: network (devices and links) or infragraph.
  std::string to = {};
};

/// How to write a container: `chakra pack`.
struct PackOptions {
  /// Container to write
  std::string output = {};
  /// Add the ranks to an existing container; its blocks stay unchanged
  bool append = false;
  /// Show the bytes of each rank, and the bytes read to load a rank
  bool stats = false;
  /// Nodes per packed group. Larger groups compress better; smaller groups are faster to search. 1 to 16777216.
  int64_t group = 128;
};

/// Parts of a container to extract: `chakra unpack`.
struct UnpackOptions {
  /// Folder for trace.<rank>.et
  std::string output = {};
  /// Only these ranks. 0 or more.
  std::vector<int64_t> ranks = {};
  /// Only these nodes of each rank: first node (from 0) and count
  std::string nodes = {};
  /// Format: et, json or jsonl; append .gz or .zst to compress the files
  std::string to = "et";
};

/// How to choose the jobs that represent a fleet: `chakra select`.
struct SelectOptions {
  /// Number of jobs to choose. 1 to 1000000.
  int64_t count = 12;
  /// What a good choice is. medoids: the mean distance to the nearest chosen job is small. facility: similar jobs count
  /// most, and distant jobs hardly count.
  Method method = Method::medoids;
  /// Draw the fleet, with the chosen jobs
  std::string svg = {};
};

/// Where the results of a sweep go: `chakra sweep`.
struct SweepOptions {
  /// Folder for the results of points. A later sweep into this folder takes the results of equal points from there.
  std::string output = {};
  /// Do part I of N of the work; the other parts run elsewhere. All parts share the output folder. Without this option,
  /// a call does all the work that is left.
  std::string shard = {};
  /// Draw the first two objectives, with the Pareto front
  std::string svg = {};
};

/// Recordings of many jobs to link: `chakra fleet link`.
struct FleetLinkOptions {
  /// Folder for the results, which all processes share. A later call with the same arguments continues the work.
  std::string output = {};
  /// Do part I of N of the work; the other parts run elsewhere. All parts share the output folder. Without this option,
  /// a call does all the work that is left.
  std::string shard = {};
  /// Seconds to wait for tasks of other shards without progress. Without waiting, a call ends when all other tasks of
  /// its shard are finished. 0 to 1000000.
  int64_t wait = 0;
  /// Memory for tasks that run together (default: 80 % of the free memory). The estimates are rules of thumb: the
  /// unpacked bytes of the input files, times 4 for analyses.
  std::string memory = {};
  /// Write the work list only. The work list names the jobs, and the ranks of large ones. A new work list takes new and
  /// changed files; finished tasks of unchanged jobs stay finished.
  bool plan = false;
  /// Run failed tasks again. Without this option, a later call runs tasks again that could not read or write a file,
  /// and no other failed tasks.
  bool again = false;
  /// Link only the ProfilerSteps A to B, inclusive
  std::string steps = {};
  /// Estimate launch latency and dispatch gap from these ProfilerSteps only. The other steps then serve to judge the
  /// estimates.
  std::string fit_steps = {};
  /// Iteration of a Kineto trace to link, from 0. For a Kineto trace of many iterations with a host trace of one.
  /// Default: the iteration of median length. 0 to 1073741824.
  std::optional<int64_t> iteration = {};
  /// Recording of each rank to link, from 0 in the order of names. For a folder with several recordings of a rank,
  /// which a schedule with repeat or chakra_et.record() left. 0 to 1073741824.
  std::optional<int64_t> cycle = {};
  /// Skip damaged records, and keep the intact records of truncated files. The report lists each lost record.
  bool salvage = false;
  /// Link the ranks of jobs with more ranks than this as tasks. Jobs with dumps of a flight recorder and profiles of
  /// XLA are one task. 1 to 1073741824.
  int64_t split = 64;
};

/// Many jobs to analyze: `chakra fleet analyze`.
struct FleetAnalyzeOptions {
  /// Folder for the results, which all processes share. A later call with the same arguments continues the work.
  std::string output = {};
  /// Do part I of N of the work; the other parts run elsewhere. All parts share the output folder. Without this option,
  /// a call does all the work that is left.
  std::string shard = {};
  /// Seconds to wait for tasks of other shards without progress. Without waiting, a call ends when all other tasks of
  /// its shard are finished. 0 to 1000000.
  int64_t wait = 0;
  /// Memory for tasks that run together (default: 80 % of the free memory). The estimates are rules of thumb: the
  /// unpacked bytes of the input files, times 4 for analyses.
  std::string memory = {};
  /// Write the work list only. The work list names the jobs, and the ranks of large ones. A new work list takes new and
  /// changed files; finished tasks of unchanged jobs stay finished.
  bool plan = false;
  /// Run failed tasks again. Without this option, a later call runs tasks again that could not read or write a file,
  /// and no other failed tasks.
  bool again = false;
  /// Run only these analyses (chakra list analyses). Separate several names with commas.
  /// {diagnosis,critical_path,time,bytes,imbalance,memory,stragglers,kernels,operators,launches,queues,bandwidth,work,idle,copies,shapes,modules,sequences,steps}.
  std::vector<std::string> only = {};
  /// Device operations to include, by the time of their launch. all: launched at any time. steps: launched before the
  /// last ProfilerStep ends. before-last-step: launched before the last ProfilerStep begins.
  Launched launched = Launched::all;
};

/// A fleet to report on: `chakra fleet merge`.
struct FleetMergeOptions {
  /// Folder of a fleet
  std::string output = {};
};

/// How to judge a shared copy of a job: `chakra certify`.
struct CertifyOptions {
  /// Certificate to write: FILE.json, FILE.html, or a name for both. A certificate has no names, sizes or attributes of
  /// the original, and can be shared.
  std::string output = {};
  /// Jobs, or a folder of jobs, among which the copy must not stand out. The attacks use these jobs as candidates. The
  /// original and the copy are left out. You can give it several times.
  std::vector<std::string> among = {};
  /// Level that the copy claims (default: by the mark of 'chakra obfuscate'). 1: names and ids; 2: also sizes; 3: also
  /// structure. 0 to 3.
  std::optional<int64_t> level = {};
  /// Show nodes of both jobs; never part of the certificate
  bool examples = false;
  /// Compare a certificate with the copy, without the original
  bool check = false;
};

/// How to hide the names and ids of a job: `chakra obfuscate`.
struct ObfuscateOptions {
  /// File of the key. Equal names have equal hidden names in all jobs that are hidden with this key. Keep the key
  /// secret.
  std::string key = {};
  /// Folder for the job, without other files
  std::string output = {};
  /// Make the key; a file is never replaced
  bool new_key = false;
  /// Hide 1: names and ids; 2: also sizes and shapes; 3: also layers, stages, experts. From level 2 on, a simulation
  /// takes a similar time, not the same. 'chakra certify' measures the difference. Level 3 keeps the last stages of a
  /// pipeline, with their ranks. What stays visible is a warning. 1 to 3.
  int64_t level = 1;
  /// Jobs, or a folder of jobs, among which the job must not stand out. From --level 2 on. A size becomes that of a
  /// cell, and each cell holds sizes of at least 5 of these jobs, with 4 different values. Default: cells of widths of
  /// published models. You can give it several times.
  std::vector<std::string> among = {};
  /// Width of the model, from --level 2 on. Default: estimated from shapes and sizes. 1 to 1000000.
  int64_t width = 0;
  /// Layers of the model, for --level 3. Default: equal parts of the operations. 1 to 1000000.
  int64_t layers = 0;
  /// Restore the names of a hidden job
  bool reveal = false;
  /// Sealed file of the names. Default: DIR.names; with --reveal, JOB.names. Only the key opens the file.
  std::string names = {};
};

/// What to diagnose: `chakra doctor`.
struct DoctorOptions {
  /// Truncate a damaged container after its last index. The container keeps all data from before the interrupted
  /// append.
  bool repair = false;
  /// List names, paths, hosts and other texts of the files that may be secrets. All texts count that are not PyTorch's
  /// own names. The exit code is 0.
  bool secrets = false;
  /// Show the location of each 'chakra replay' plugin, or how to build it
  bool plugins = false;
};

/// Measured kernels, and the device file to make of them: `chakra calibrate device`.
struct CalibrateDeviceOptions {
  /// Tables of measured kernels (CSV), linked traces, or folders of traces. Tables may have chakra's format or that of
  /// aiconfigurator, Vidur, NeuSight or Liger-Kernel, and may be compressed.
  std::vector<std::string> from = {};
  /// Device file to write
  std::string output = {};
  /// Measured device: a name of 'chakra list devices', or a file. Default: the device named in the tables.
  std::string device = {};
};

/// Measured collectives, and the network file to make of them: `chakra calibrate network`.
struct CalibrateNetworkOptions {
  /// Logs of nccl-tests or rccl-tests, or tables (CSV); may be compressed
  std::vector<std::string> from = {};
  /// Network file to write
  std::string output = {};
  /// Held-out measurements to judge the fit
  std::vector<std::string> judge = {};
  /// Use only table rows with this value, such as sku=h100_dgx. Applies to tables that have the column. You can give it
  /// several times.
  std::vector<std::string> where = {};
  /// Collective of the logs, if they do not name it
  std::string operation = {};
  /// Size of the network to write: ranks, or GPUs,NODES. Default: the measured sizes. You can give it several times. 1
  /// to 16777216.
  std::vector<int64_t> npus = {};
};

/// Gives a member of an options struct the value that a text stands for, as the command does: set(options, "network",
/// file); of a list it adds to it. Errors: cli.usage for a name that no member has, with the nearest one, and for
/// a value that it does not take.
CHAKRA_API Result<void> set(LinkOptions& options, std::string_view name, const std::string& text);
CHAKRA_API Result<void> set(StepOptions& options, std::string_view name, const std::string& text);
CHAKRA_API Result<void> set(ServeOptions& options, std::string_view name, const std::string& text);
CHAKRA_API Result<void> set(CasesOptions& options, std::string_view name, const std::string& text);
CHAKRA_API Result<void> set(BlueprintOptions& options, std::string_view name, const std::string& text);
CHAKRA_API Result<void> set(ImportOptions& options, std::string_view name, const std::string& text);
CHAKRA_API Result<void> set(EditOptions& options, std::string_view name, const std::string& text);
CHAKRA_API Result<void> set(CheckOptions& options, std::string_view name, const std::string& text);
CHAKRA_API Result<void> set(SimulateOptions& options, std::string_view name, const std::string& text);
CHAKRA_API Result<void> set(WhatIfOptions& options, std::string_view name, const std::string& text);
CHAKRA_API Result<void> set(AnalyzeOptions& options, std::string_view name, const std::string& text);
CHAKRA_API Result<void> set(QueryOptions& options, std::string_view name, const std::string& text);
CHAKRA_API Result<void> set(ReportOptions& options, std::string_view name, const std::string& text);
CHAKRA_API Result<void> set(ViewOptions& options, std::string_view name, const std::string& text);
CHAKRA_API Result<void> set(RunOptions& options, std::string_view name, const std::string& text);
CHAKRA_API Result<void> set(DiffOptions& options, std::string_view name, const std::string& text);
CHAKRA_API Result<void> set(WriteOptions& options, std::string_view name, const std::string& text);
CHAKRA_API Result<void> set(ConvertOptions& options, std::string_view name, const std::string& text);
CHAKRA_API Result<void> set(PackOptions& options, std::string_view name, const std::string& text);
CHAKRA_API Result<void> set(UnpackOptions& options, std::string_view name, const std::string& text);
CHAKRA_API Result<void> set(SelectOptions& options, std::string_view name, const std::string& text);
CHAKRA_API Result<void> set(SweepOptions& options, std::string_view name, const std::string& text);
CHAKRA_API Result<void> set(FleetLinkOptions& options, std::string_view name, const std::string& text);
CHAKRA_API Result<void> set(FleetAnalyzeOptions& options, std::string_view name, const std::string& text);
CHAKRA_API Result<void> set(FleetMergeOptions& options, std::string_view name, const std::string& text);
CHAKRA_API Result<void> set(CertifyOptions& options, std::string_view name, const std::string& text);
CHAKRA_API Result<void> set(ObfuscateOptions& options, std::string_view name, const std::string& text);
CHAKRA_API Result<void> set(DoctorOptions& options, std::string_view name, const std::string& text);
CHAKRA_API Result<void> set(CalibrateDeviceOptions& options, std::string_view name, const std::string& text);
CHAKRA_API Result<void> set(CalibrateNetworkOptions& options, std::string_view name, const std::string& text);

}  // namespace v1
}  // namespace chakra
