"""The verbs: their options are those of the command.

MADE from the table of options (chakra/facade/testing/public_options.cpp); do not edit.
"""
from __future__ import annotations

import os

from . import _chakra
from ._base import Answer, BaseJob, given, paths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Literal

    Text = str | os.PathLike[str]
    Texts = Sequence[Text | float] | Text | float
    Numbers = Sequence[int] | int
    Progress = Callable[[float], bool | None] | None


class Job(BaseJob):
    """The traces of all ranks of a job; several threads may use one.

    A verb reads the traces when it first needs them, and later verbs reuse them. progress(share) is called with the
    share of the work that is done, 0 to 1; where it returns False, the verb ends with an Error, code 130. Other
    threads of Python run meanwhile.
    """

    def check(self, *, groups: Text | None = None, expand: Text | None = None,
            progress: Progress = None) -> Answer:
        """Rules and proofs over a job: `chakra check`.

        It asks progress, and looks for Ctrl-C, before and after the work.

        Errors: chakra_et.Error, tag cli.usage for options that are out of range or do not go together, and those of
        the command.

        groups: Process groups, name -> ranks (JSON).
        expand: Make a job of N ranks: those without a trace are copies of RANK. Without RANK, they are copies of
            the lowest rank that has a trace.
        """
        return Answer(self._check(given(locals()), progress))

    def simulate(self, *, network: Text, system: Text | None = None, memory: Text | None = None,
            groups: Text | None = None, ranks: Text | None = None, expand: Text | None = None,
            no_check: bool = False, compat: Literal["native", "astra-sim"] = "native",
            backend: Literal["congestion_unaware", "congestion_aware"] = "congestion_unaware",
            num_queues_per_dim: int = 1, rendezvous_protocol: bool = False, injection_scale: float = 1,
            congestion: Literal["closed", "fluid", "packet", "auto"] | None = None, packet_bytes: int | None = None,
            collectives: Text | None = None, routing: Text | None = None,
            transfers: Literal["recorded", "simulated"] | None = None, delay: Texts | None = None,
            align_starts: bool = False, no_fold: bool = False, device: Text | None = None,
            stack: Text | None = None, from_device: Text | None = None,
            unrecorded: Literal["scale", "keep"] = "scale", max_error: float | None = None,
            progress: Progress = None) -> Answer:
        """The system that a job runs on: `chakra sim`.

        It asks progress, and looks for Ctrl-C, while it runs.

        Errors: chakra_et.Error, tag cli.usage for options that are out of range or do not go together, and those of
        the command.

        network: The network (YAML): topology, npus_count, bandwidth, latency, .... Bandwidth is in GB/s of 2^30
            bytes and latency in ns; docs/reference/formats has all keys.
        system: What a rank can do (JSON): roofline-enabled, peak-perf, local-mem-bw, ...
        memory: With compat: the remote memory (JSON).
        groups: Process groups, name -> ranks (JSON).
        ranks: Only these ranks, for example 0:8 (the first eight) or 0,2,5.
        expand: Make a job of N ranks: those without a trace are copies of RANK. Without RANK, they are copies of
            the lowest rank that has a trace.
        no_check: Run also what 'chakra check' says cannot run.
        compat: Follow the rules of another simulator to the nanosecond.
        backend: With compat: whether messages compete for links.
        num_queues_per_dim: With compat: queues for chunks in each dimension. 1 to 1024.
        rendezvous_protocol: With compat: data leaves when the receiver has asked for it.
        injection_scale: With compat: factor of the endpoint delay. 0 to 1e+09.
        congestion: How messages share links (default: auto). closed prices every collective alone. fluid shares
            links fairly (max-min). packet stores and forwards. auto takes fluid where links are shared at the same time
            and that takes up to 10 s, else closed.
        packet_bytes: Size of a packet; 0: a message is one packet. 0 to 1073741824.
        collectives: Algorithms of collectives: rules, or a file (chakra list collectives). A rule names an
            operation, sizes and an algorithm: "allreduce: 0-64KiB tree, 64KiB- ring". An algorithm may be an MSCCL
            file: "allreduce: ring.xml".
        routing: Routes of messages: spread, ecmp, single, adaptive or valiant. All of them choose among shortest
            routes, but valiant. ecmp takes numbers: ecmp,channels=N,seed=N.
        transfers: How long communication takes once all have come (default: simulated). simulated: as the network
            says. recorded: as the recording says, in a recorded job.
        delay: Delay nodes whose name matches PATTERN by TIME (ps, ns, us, ms, s). In PATTERN, * stands for any text
            and ? for any character. Without RANK:, nodes of all ranks are delayed. The result says how the total
            changes. A recorded job keeps its recorded transfers unless transfers says otherwise. You can give it
            several times.
        align_starts: Let all ranks of a recorded job begin at the same time.
        no_fold: Simulate every rank, also those that nothing tells apart.
        device: The device to compute on: a name of 'chakra list devices', or a file. Measured times are scaled to
            it.
        stack: The software on the device: a name of 'chakra list stacks', or a file. Without it, the stack is
            'kernels'.
        from_device: The device that the recording was made on, whatever the traces say.
        unrecorded: Whether device work that the recording lacks is scaled, or keeps its time. Scaling counts both
            another device and the speed of a rank.
        max_error: Exit with 1 if the self-check is off by more than P percent, up or down. The self-check runs the
            recorded job on its own graph with its recorded transfers, and compares the time with the measured one. The
            result is written all the same. 0 to 1e+06.
        """
        return Answer(self._simulate(given(locals(), ("delay",)), progress))

    def what_if(self, *, from_network: Text | None = None, system: Text | None = None,
            groups: Text | None = None, ranks: Text | None = None, network: Text | None = None,
            device: Text | None = None, stack: Text | None = None, from_device: Text | None = None,
            unrecorded: Literal["scale", "keep"] = "scale", tp: Texts | None = None, pp: Texts | None = None,
            dp: Texts | None = None, micro_batches: Texts | None = None, batch: Texts | None = None,
            slow_link: Texts | None = None, fail_link: Texts | None = None, overlap: Texts | None = None,
            scale: Texts | None = None, scale_node: Texts | None = None, remove: Texts | None = None,
            speed: Texts | None = None, jitter: Texts | None = None, repeat: int = 100, seed: int = 1,
            sensitivity: bool = False, progress: Progress = None) -> Answer:
        """What to change: `chakra whatif`.

        It asks progress, and looks for Ctrl-C, before and after the work.

        Errors: chakra_et.Error, tag cli.usage for options that are out of range or do not go together, and those of
        the command.

        from_network: The network of the unchanged job. Without it, transfers of the unchanged job take as long as
            they were recorded to.
        system: What a rank of the unchanged job can do (JSON), as for 'chakra sim'.
        groups: Process groups, name -> ranks (JSON).
        ranks: Only these ranks, for example 0:8 (the first eight) or 0,2,5.
        network: The job on this network.
        device: The device to compute on: a name of 'chakra list devices', or a file. Measured times are scaled to
            it.
        stack: The software on the device: a name of 'chakra list stacks', or a file. Without it, the stack is
            'kernels'.
        from_device: The device that the recording was made on, whatever the traces say.
        unrecorded: Whether device work that the recording lacks is scaled, or keeps its time. Scaling counts both
            another device and the speed of a rank.
        tp: N tensor-parallel ranks; only of generated jobs. The job becomes the one that is generated with N, all
            other options as they were: it has more or fewer ranks. Expert-tensor parallelism follows where it was not
            given.
        pp: N pipeline stages; only of generated jobs. The job becomes the one that is generated with N, all other
            options as they were: it has more or fewer ranks, and each stage fewer or more layers.
        dp: N data-parallel replicas; PATTERN names their groups (default: those of role dp). Each replica keeps its
            batch. A generated job becomes the one that is generated with N: its placement, and what each rank has of
            the optimizer. In other jobs each rank keeps its work, also that of a sharded optimizer; what all gather
            together stays as large; recorded transfers of these groups take time in proportion to (n-1)/n of n members.
        micro_batches: A step of N micro-batches, each as large as before; only of generated jobs. Passes follow the
            job's schedule. A further micro-batch takes what those take that are neither first nor last; what is done
            once a step (sums of gradients, the optimizer) stays. The step has N micro-batches' samples: for the samples
            of M in N parts add batch M/N as a number.
        batch: Each replica has X times its batch; PATTERN names groups that move parameters. Without PATTERN, the
            roles of groups decide. Computation and copies take time in proportion to it, but those of the optimizer (by
            its name, or its callers'); so do messages, and collectives of groups whose role is to share activations.
            Collectives of other roles move parameters and stay. In generated jobs what reads matrices reads them once.
            Host time stays.
        slow_link: The link between two devices of the network has X of its rate, both ways. Collectives choose
            their algorithm for the network with the slow link.
        fail_link: The link between two devices of the network is gone, both ways. Messages take the shortest routes
            that are left; no time goes by until they are found.
        overlap: Whether communication runs beside the computation of a rank. off: what a rank computed before all
            who take part had come is done before the transfer, the rest after it. on: what waits for communication by
            the order of a stream or thread alone does not need its result: a lower bound.
        scale: Nodes of a kind take X of their time. The nodes stay what they are. Host time and launches are not
            scaled along; waiting follows.
        scale_node: Nodes whose name matches PATTERN take X of their time. In PATTERN, * stands for any text and ?
            for any character. As scale. Of an operation of the CPU its own time counts, not that of what it calls.
        remove: Nodes of a kind take no time, and no rank waits for another at them. What waited for such a node
            waits for what it waited for. The calls that launched it stay.
        speed: The rank computes X times as fast (0.5: half as fast). Computation alone: host time on a rank that
            has a device, lags and communication stay.
        jitter: Draw times of a kind anew for each node (chakra list distributions). A node takes a random part or
            multiple of its time. The answer has quantiles of the total over the runs. You can give it several times.
        repeat: Runs with jitter. 1 to 1000000.
        seed: Seed of the draws of jitter. 0 or more.
        sensitivity: Say what 10 % less of each kind of time would save. It is the answer where you ask for no
            change.
        """
        return Answer(self._what_if(given(locals(), ("tp", "pp", "dp", "micro_batches", "batch", "slow_link", "fail_link", "overlap", "scale", "scale_node", "remove", "speed", "jitter",)), progress))

    def analyze(self, *, only: Texts | None = None, groups: Text | None = None,
            launched: Literal["all", "steps", "before-last-step"] = "all", progress: Progress = None) -> Answer:
        """What to analyze: `chakra analyze`.

        It asks progress, and looks for Ctrl-C, before and after the work.

        Errors: chakra_et.Error, tag cli.usage for options that are out of range or do not go together, and those of
        the command.

        only: Run only these analyses (chakra list analyses). Separate several names with commas.
            {critical_path,time,bytes,imbalance,memory,stragglers,kernels,operators,launches,queues,bandwidth,work,idle,copies,shapes,modules,sequences}.
        groups: Process groups, name -> ranks (JSON).
        launched: Which device operations count, by their launch. all: those of all of the trace. steps: until the
            last ProfilerStep ends. before-last-step: before it begins.
        """
        return Answer(self._analyze(given(locals(), ("only",)), progress))

    def run(self, *, groups: Text | None = None, backend: Text = "null",
            backend_option: Texts | None = None, compute: Text = "sleep", compute_option: Texts | None = None,
            scale_compute: float = 1, files: Text | None = None, file_cache: Text = "cached",
            file_order: Text = "in-order", start: Literal["recorded", "together"] = "recorded",
            verify: bool = False, no_check: bool = False, timeout: float = 8, rank: int | None = None,
            ranks: int | None = None, rendezvous: Text | None = None, shrink: int | None = None,
            auto_shrink: bool = False, expand: int | None = None, dry_run: bool = False, steps: Text | None = None,
            subgraph: Text | None = None, allow_ops: Texts | None = None, only_groups: Texts | None = None,
            min_size: int | None = None, max_size: int | None = None, warmup_iter: int = 0, num_replays: int = 1,
            compare: bool = False, progress: Progress = None) -> Answer:
        """How to run a job for real: `chakra replay`.

        It asks progress, and looks for Ctrl-C, before and after the work.

        Errors: chakra_et.Error, tag cli.usage for options that are out of range or do not go together, and those of
        the command.

        groups: Process groups, name -> ranks (JSON).
        backend: What carries out communication (chakra list replay). {null,fabric,mpi,nccl}.
        backend_option: An option of the back end (chakra list replay). You can give it several times.
        compute: What stands for computation (chakra list replay). {none,sleep,spin,torch,work}.
        compute_option: An option of the computation (chakra list replay). You can give it several times.
        scale_compute: Computation takes X times its recorded time. With compute work, it does X times its
            operations and bytes. 0 to 1e+06.
        files: Carry out loads and stores as reads and writes of files in this folder. Without it, they take what
            compute says.
        file_cache: With files: what the page cache may do (chakra list replay). {cached,synced,direct}.
        file_order: With files: where loads and stores lie (chakra list replay). {in-order,random}.
        start: Whether ranks begin as far apart as recorded, or together.
        verify: Give operations known data, and compare what comes out. The exit code is 4 where an operation does
            not leave what it promises.
        no_check: Run also what 'chakra check' says cannot run.
        timeout: End with 4 when nothing moves and no rank computes for so long. The error says who waits for whom.
            It also ends the wait for ranks that do not come. 0.1 to 1e+06.
        rank: This process is rank R of ranks, and reads only its trace. Without it, and without a launcher (mpirun,
            srun, torchrun), this process runs all ranks. 0 to 2147483647.
        ranks: With rank: how many ranks there are. 1 to 2147483647.
        rendezvous: Where ranks meet: host:port of rank 0, or the path of a socket. A socket is for one machine, and
            its path has a / in it.
        shrink: Run the first N ranks of the job. The others leave their groups, and what they would get is left
            out. 1 to 2147483647.
        auto_shrink: Run as many of the first ranks as ranks or the launcher says.
        expand: Run N ranks, a multiple of M that were recorded. Rank R does what rank R mod M did. Groups of all
            ranks grow, others are copied. 1 to 2147483647.
        dry_run: Say what would run, and run nothing.
        steps: Only these training steps, by the numbers in ProfilerStep#N.
        subgraph: Only nodes of this name, and what they call.
        allow_ops: Communicate only by these operations: all_reduce, send, .... Separate names with commas. none: by
            none, so that partners are not needed.
        only_groups: Communicate only in these process groups. Separate names with commas.
        min_size: Communicate only what has N bytes or more. 0 or more.
        max_size: Communicate only what has N bytes or fewer. 0 or more.
        warmup_iter: Run it N times before it counts. 0 to 1000000.
        num_replays: Run it N times. 1 to 1000000.
        compare: Say how alike the times are to the recorded ones. The tables are those of 'chakra diff --timing'.
        """
        return Answer(self._run(given(locals(), ("backend_option", "compute_option", "allow_ops", "only_groups",)), progress))

    def diff(self, other: Job, *, threshold: float | None = None, least_share: float = 1,
            progress: Progress = None) -> Answer:
        """How to compare two jobs: `chakra diff`.

        It asks progress, and looks for Ctrl-C, before and after the work.

        Errors: chakra_et.Error, tag cli.usage for options that are out of range or do not go together, and those of
        the command.

        threshold: Exit with 1 if something differs by more than P percent, up or down. 0 to 1e+06.
        least_share: Smallest share of all time, in percent, that counts for threshold. 0 to 100.
        """
        return Answer(self._diff(other, given(locals()), progress))

    def edit(self, *, ranks: Text | None = None, expand: Text | None = None,
            progress: Progress = None) -> Job:
        """Which ranks a job has.

        The job itself stays. Job.made has the findings.

        Errors: chakra_et.Error, tag cli.usage for options that are out of range or do not go together, and those of
        the command.

        ranks: Only these ranks, for example 0:8 (the first eight) or 0,2,5.
        expand: Make a job of N ranks: those without a trace are copies of RANK. Without RANK, they are copies of
            the lowest rank that has a trace.
        """
        return Job(self._edit(given(locals()), progress))

    def write(self, path: Text, *, to: Text | None = None, progress: Progress = None) -> Answer:
        """The form of a written job: `chakra convert`.

        A path that ends in .chakra becomes a container, another one PREFIX.<rank>.et, and a folder (it ends in /)
        trace.<rank>.et.

        Errors: chakra_et.Error, tag cli.usage for options that are out of range or do not go together, and those of
        the command.

        to: Form of the output; else its name says it. One of json, jsonl, et, or text (ASTRA-sim 1.0, SimAI).
        """
        return Answer(self._write(os.fspath(path), given(locals()), progress))


class generate:
    """`chakra gen`."""

    @staticmethod
    def step(*, preset: Text | None = None, model: Text | None = None, layers: int | None = None,
            hidden: int | None = None, ffn: int | None = None, heads: int | None = None,
            kv_heads: int | None = None, head_dim: int | None = None, vocab: int | None = None,
            sequence: int | None = None, micro_batches: int | None = None, micro_batch_size: int | None = None,
            tp: int | None = None, cp: int | None = None, pp: int | None = None, dp: int | None = None,
            ep: int | None = None, etp: int | None = None, virtual_stages: int | None = None,
            zero: int | None = None, zero_ranks: int | None = None, seed: int | None = None,
            bytes_per_element: int | None = None, lora_rank: int | None = None, gradient_bytes: int | None = None,
            sequence_parallel: bool | None = None, keep_gathered: bool | None = None,
            fused_attention: bool | None = None, overlap: bool | None = None, lora_mlp: bool | None = None,
            clip: bool | None = None, ends: bool | None = None, mtp: bool = False, gated: bool | None = None,
            causal: bool | None = None, schedule: Text | None = None,
            context: Literal["ring", "gather", "all-to-all"] | None = None,
            recompute: Literal["none", "selective", "per-operator", "full"] | None = None,
            optimizer: Text | None = None, dtype: Literal["bf16", "fp16", "fp32"] | None = None, fp8: bool = False,
            order: Text | None = None, expert_skew: float | None = None, data_tier: Text | None = None,
            sample_bytes: int = 0, checkpoint_tier: Text | None = None, checkpoint_behind: bool = False,
            restart_tier: Text | None = None, device: Text | None = None, stack: Text | None = None,
            host_waits: Literal["messages", "passes", "parts"] | None = None,
            device_peak_tflops: float | None = None, device_fp8_tflops: float | None = None,
            device_mem_gb_per_s: float | None = None, efficiency: float | None = None,
            device_memory_gib: float | None = None, progress: Progress = None) -> Job:
        """A training step to generate: `chakra gen step`.

        Job.made has its numbers.

        Errors: chakra_et.Error, tag cli.usage for options that are out of range or do not go together, and those of
        the command.

        preset: Begin with a known model and its ranks (chakra list presets).
            {tiny,llama3-8b,llama3-70b,llama3-405b,gpt3-175b}.
        model: A known model (chakra list models), or a config.json.
        layers: Layers of the model. 1 to 65536.
        hidden: Width of the model. 1 to 1048576.
        ffn: Width of the MLP between its matrices. 1 to 1048576.
        heads: Attention heads. 1 to 1048576.
        kv_heads: Heads of keys and values; 0: as many as heads. 0 to 1048576.
        head_dim: Width of a head; 0: hidden / heads. 0 to 1048576.
        vocab: Different tokens. 1 to 268435456.
        sequence: Tokens of a sequence; 0: the model's. 0 to 268435456.
        micro_batches: Micro-batches of a step, per pipeline. 1 to 1048576.
        micro_batch_size: Sequences of a micro-batch. 1 to 1048576.
        tp: Tensor-parallel ranks. 1 to 1048576.
        cp: Context-parallel ranks. 1 to 1048576.
        pp: Pipeline stages. 1 to 1048576.
        dp: Data-parallel ranks. 1 to 1048576.
        ep: Expert-parallel ranks. 1 to 1048576.
        etp: Tensor-parallel ranks of an expert; 0: as tp. 0 to 1048576.
        virtual_stages: Virtual stages of each pipeline stage. 1 to 1048576.
        zero: Share out over dp: 0 nothing, 1 optimizer, 2 also gradients, 3 also parameters. 0 to 3.
        zero_ranks: Data-parallel ranks that share out among them, a divisor of dp; 0: all. 0 to 1048576.
        seed: Of expert_skew: which experts are popular. 0 to 268435456.
        bytes_per_element: Bytes of a parameter or an activation. 1 to 16.
        lora_rank: Train adapters of this rank (LoRA) and freeze the model; 0: train the model. 0 to 1048576.
        gradient_bytes: Bytes of an element of a gradient. 1 to 16.
        sequence_parallel: Between the tensor-parallel parts a rank has a share of the tokens.
        keep_gathered: What is gathered for a product is kept for backward, not gathered again.
        fused_attention: The scores of attention never reach memory.
        overlap: Computations run beside collectives that they need not.
        lora_mlp: Adapters of lora_rank also in MLPs, not only in attention.
        clip: Scale the gradients by their norm.
        ends: With embedding, head and loss.
        mtp: With the model's layers of multi-token prediction (DeepSeek-V3).
        gated: The MLP has two matrices in (SwiGLU), else one (GELU).
        causal: Attention looks back only.
        schedule: Schedule of pipeline stages (chakra list schedules). {gpipe,1f1b,interleaved,zb-h1,dualpipe}.
        context: How context-parallel ranks share keys and values.
        recompute: What backward computes again, not to keep it.
        optimizer: What updates the parameters (chakra list optimizers). Without it, adamw.
            {adamw,adamw-bf16,adamw-8bit,sgd,sgd-momentum,muon}.
        dtype: The type of parameters and activations. Without it, bf16.
        fp8: Products of the layers read their inputs in 8 bits. All else keeps bytes_per_element.
        order: Order of ranks, neighbours first: tp-cp-ep-dp-pp, tp-pp-dp, ...
        expert_skew: Zipf's exponent of the popularity of experts; 0: all alike. The r-th most popular expert is
            chosen as often as 1 / r^X. 0 to 10.
        data_tier: The tier of storage that the first stage reads micro-batches from.
        sample_bytes: Bytes of a sequence there; 0: 4 a token. 0 or more.
        checkpoint_tier: The tier that a checkpoint is written to after the step. A checkpoint has parameters and
            the state of the optimizer.
        checkpoint_behind: Write the checkpoint before, beside this step. It is written until the optimizer changes
            the parameters.
        restart_tier: The tier that each rank first reads what it holds from.
        device: The device that computes: a name of 'chakra list devices', or a file. Nodes take the times that
            'chakra sim --device' gives them.
        stack: Its software: a name of 'chakra list stacks', or a file (kernels). It decides what the job keeps in
            memory, what the host takes and, with device, how long attention and elementwise operations take.
        host_waits: What the host of device waits for. messages: messages of other stages. passes: also the last
            computation of each forward and backward pass. parts: of each part of them. A host is there where the device
            file has host-us.
        device_peak_tflops: Peak of a device, in 10^12 operations per second. 0 or more.
        device_fp8_tflops: Its peak for products with 8-bit inputs, likewise. Without it, twice the other peak. 0 or
            more.
        device_mem_gb_per_s: Bandwidth of its memory, in 10^9 bytes per second. 0 or more.
        efficiency: The share of the peak that is reached. 0 to 1.
        device_memory_gib: Its memory, for stats, in GiB. Without it, that of device, else 80. 0 or more.
        """
        return Job(_chakra.generate_step(given(locals()), progress))

    @staticmethod
    def serve(*, model: Text | None = None, contexts: Numbers | None = None, layers: int | None = None,
            hidden: int | None = None, ffn: int | None = None, heads: int | None = None,
            kv_heads: int | None = None, head_dim: int | None = None, vocab: int | None = None,
            tp: int | None = None, pp: int | None = None, dp: int | None = None, ep: int | None = None,
            prefill_tp: int | None = None, prefill_pp: int | None = None, prefill_dp: int | None = None,
            prefill_ep: int | None = None, batch: int | None = None, chunk: int | None = None,
            steps: int | None = None, bytes_per_element: int | None = None, kv_bytes_per_element: int | None = None,
            prompts: bool | None = None, absorbed: bool | None = None, all_logits: bool | None = None,
            overlap: bool | None = None, merged_products: bool | None = None, gated: bool | None = None,
            causal: bool | None = None, kv_tier: Text | None = None, kv_tier_share: float | None = None,
            fp8: bool = False, device: Text | None = None, stack: Text | None = None,
            device_peak_tflops: float | None = None, device_fp8_tflops: float | None = None,
            device_mem_gb_per_s: float | None = None, efficiency: float | None = None,
            device_memory_gib: float | None = None, progress: Progress = None) -> Job:
        """A serving step to generate: `chakra gen serve`.

        Job.made has its numbers.

        Errors: chakra_et.Error, tag cli.usage for options that are out of range or do not go together, and those of
        the command.

        model: A known model (chakra list models), or a config.json.
        contexts: Tokens of the prompts; one number for all of batch. With prompts false, tokens of the contexts of
            the first step. Without it, 1024.
        layers: Layers of the model. 1 to 65536.
        hidden: Width of the model. 1 to 1048576.
        ffn: Width of the MLP between its matrices. 1 to 1048576.
        heads: Attention heads. 1 to 1048576.
        kv_heads: Heads of keys and values; 0: as many as heads. 0 to 1048576.
        head_dim: Width of a head; 0: hidden / heads. 0 to 1048576.
        vocab: Different tokens. 1 to 268435456.
        tp: Tensor-parallel ranks. 1 to 1048576.
        pp: Pipeline stages. 1 to 1048576.
        dp: Replicas, each with a batch of its own. 1 to 1048576.
        ep: Replicas that share out the experts, a divisor of dp. 1 to 1048576.
        prefill_tp: Prefill has ranks of its own: tensor-parallel ones. 0 to 1048576.
        prefill_pp: Likewise, pipeline stages. 0 to 1048576.
        prefill_dp: Likewise, replicas. 0 to 1048576.
        prefill_ep: Likewise, replicas that share out the experts. 0 to 1048576.
        batch: Sequences of a replica; 0: as many as contexts has. 0 to 1048576.
        chunk: Tokens of a prompt that prefill takes at once; 0: all. 0 to 268435456.
        steps: Steps of decode; each adds a token to every sequence. 0 to 1048576.
        bytes_per_element: Bytes of a parameter or an activation. 1 to 16.
        kv_bytes_per_element: Bytes of a number in the cache; 0: as bytes_per_element. 0 to 16.
        prompts: Begin with the prefill of contexts; else they are in the cache.
        absorbed: Latent attention keeps latents; else keys and values of all heads.
        all_logits: Of all tokens of a prompt, not only of the last one.
        overlap: Computations run beside collectives that they need not.
        merged_products: Queries, keys and values are one product, gate and up another.
        gated: The MLP has two matrices in (SwiGLU), else one (GELU).
        causal: Attention looks back only.
        kv_tier: A tier of storage that has a share of the cache. Each layer fetches its share, and evicts what is
            new.
        kv_tier_share: The share, above 0 to 1. Without it, all of the cache. 0 to 1.
        fp8: Matrices of the layers lie in 8 bits, and their products read 8 bits. All else keeps bytes_per_element.
        device: The device that computes: a name of 'chakra list devices', or a file. Nodes take the times that
            'chakra sim --device' gives them.
        stack: Its software: a name of 'chakra list stacks', or a file (kernels). It decides what the job keeps in
            memory, what the host takes and, with device, how long attention and elementwise operations take.
        device_peak_tflops: Peak of a device, in 10^12 operations per second. 0 or more.
        device_fp8_tflops: Its peak for products with 8-bit inputs, likewise. Without it, twice the other peak. 0 or
            more.
        device_mem_gb_per_s: Bandwidth of its memory, in 10^9 bytes per second. 0 or more.
        efficiency: The share of the peak that is reached. 0 to 1.
        device_memory_gib: Its memory, for stats, in GiB. Without it, that of device, else 80. 0 or more.
        """
        return Job(_chakra.generate_serve(given(locals(), ("contexts",)), progress))


class calibrate:
    """`chakra calibrate`."""

    @staticmethod
    def device(*, from_: Texts, output: Text, device: Text | None = None) -> Answer:
        """Measured kernels, and the device file to make of them: `chakra calibrate device`.

        Errors: chakra_et.Error, tag cli.usage for options that are out of range or do not go together, and those of
        the command.

        from_: Tables of measured kernels (CSV), linked traces, or folders of traces. Tables have our own form, or
            that of aiconfigurator, Vidur, NeuSight or Liger-Kernel. They may be packed.
        output: The device file to write.
        device: The measured device: a name of 'chakra list devices', or a file. Without it, the tables say it.
        """
        return Answer(_chakra.calibrate_device(given(locals(), ("from_",))))

    @staticmethod
    def network(*, from_: Texts, output: Text, judge: Texts | None = None, where: Texts | None = None,
            operation: Text | None = None, npus: Numbers | None = None) -> Answer:
        """Measured collectives, and the network file to make of them: `chakra calibrate network`.

        Errors: chakra_et.Error, tag cli.usage for options that are out of range or do not go together, and those of
        the command.

        from_: Logs of nccl-tests or rccl-tests, or tables (CSV); also packed.
        output: The network file to write.
        judge: Other measurements, which judge the fit and do not enter it.
        where: Rows of tables that count, such as sku=h100_dgx. For tables that have the column. You can give it
            several times.
        operation: The collective of the logs, where they do not say it.
        npus: Of the network to write: ranks, or GPUs,NODES. Without it, as many as were measured. You can give it
            several times. 1 to 16777216.
        """
        return Answer(_chakra.calibrate_network(given(locals(), ("from_", "judge", "where", "npus",))))


def link(recordings: Sequence[Text] | Text, *, output: Text | None = None, rank: int | None = None,
        steps: str | int | None = None, fit_steps: str | int | None = None, iteration: int | None = None,
        cycle: int | None = None, salvage: bool = False, max_error: float | None = None, explain: int | None = None,
        progress: Progress = None) -> Job:
    """How recordings become traces: `chakra link`.

    recordings: of one rank (host and device trace, in any order, or one of them), or folders with those of a job.
    Without output, traces stay in memory. Job.made has the numbers.

    Errors: chakra_et.Error, tag cli.usage for options that are out of range or do not go together, and those of
    the command.

    output: The trace to write; of folders the folder for trace.<rank>.et.
    rank: The rank, where the files do not say it or say it wrongly. 0 to 1073741824.
    steps: Link only the ProfilerSteps A to B, both included.
    fit_steps: Estimate launch latency and dispatch gap from these ProfilerSteps only. The other steps then judge
        the estimates.
    iteration: Which iteration of a Kineto trace to link, from 0. For a Kineto trace of many iterations beside a
        host trace of one. Without it, the iteration of median length is linked. 0 to 1073741824.
    cycle: Which Kineto trace of each rank to link, from 0 in the order of names. For a folder where a schedule with
        repeat left several of each rank. 0 to 1073741824.
    salvage: Leave damaged records out, and keep the whole records of cut files. The report names each lost record.
    max_error: Exit with 1 if the self-check is off by more than P percent, up or down. The self-check runs the
        recorded job on its own graph with its recorded transfers, and compares the time with the measured one. The
        result is written all the same. 0 to 1e+06.
    explain: Instead of the report, why each edge of this node is there. 0 or more.
    """
    return Job(_chakra.link(paths(recordings), given(locals()), progress))
