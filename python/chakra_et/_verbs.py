"""The verbs: their options are those of the command.

MADE from the table of options (chakra/facade/testing/public_options.cpp); do not edit.
"""
from __future__ import annotations

import os

from . import _chakra
from ._base import Answer, BaseJob, given, path_of, paths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Literal

    from ._models import Models

    Text = str | os.PathLike[str]
    Texts = Sequence[Text | float] | Text | float
    Numbers = Sequence[int] | int
    Progress = Callable[[float], bool | None] | None


class Job(BaseJob):
    """The traces of all ranks of a job. Several threads may use one job.

    The first verb that needs the traces reads them; later verbs reuse them. progress(share) receives the completed
    share of the work, 0 to 1, several times a second. Return False to stop: the verb then raises Error with code
    130. Ctrl-C stops a verb, too. Other Python threads run during a verb.
    """

    def check(self, *, groups: Text | None = None, expand: Text | None = None,
            progress: Progress = None) -> Answer:
        """Rules and proofs over a job: `chakra check`.

        Errors: chakra_et.Error, tag cli.usage for options that are out of range or do not go together, and those of
        the command.

        groups: Process groups, name -> ranks (JSON).
        expand: Expand the job to N ranks; ranks without a trace copy RANK. RANK defaults to the lowest rank that
            has a trace.
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
            align_starts: bool = False, no_fold: bool = False, diagnose: bool = False, device: Text | None = None,
            stack: Text | None = None, from_device: Text | None = None,
            unrecorded: Literal["scale", "keep"] = "scale", max_error: float | None = None,
            astra_output: bool = False, timeline: Text | None = None, models: Models | None = None,
            progress: Progress = None) -> Answer:
        """The system that a job runs on: `chakra sim`.

        models: your models of durations, in place of the built-in ones.

        Errors: chakra_et.Error, tag cli.usage for options that are out of range or do not go together, and those of
        the command.

        network: The network (YAML): topology, npus_count, bandwidth, latency, .... Bandwidth is in GB/s of 2^30
            bytes and latency in ns; docs/reference/formats has all keys.
        system: System of a rank (JSON): roofline-enabled, peak-perf, local-mem-bw, ...
        memory: With compat: the remote memory (JSON).
        groups: Process groups, name -> ranks (JSON).
        ranks: Only these ranks, for example 0:8 (the first eight) or 0,2,5.
        expand: Expand the job to N ranks; ranks without a trace copy RANK. RANK defaults to the lowest rank that
            has a trace.
        no_check: Skip the checks of 'chakra check'.
        compat: Follow the rules of another simulator to the nanosecond.
        backend: With compat: model or ignore contention for links.
        num_queues_per_dim: With compat: queues for chunks in each dimension. 1 to 1024.
        rendezvous_protocol: With compat: send data only after the receiver requests it.
        injection_scale: With compat: factor of the endpoint delay. 0 to 1e+09.
        congestion: Contention model (default: auto). closed: price each collective alone, by formula. fluid: share
            links fairly (max-min). packet: store and forward packets. auto: fluid if concurrent transfers share links
            and fluid takes at most 10 s of processor time, else closed.
        packet_bytes: Packet size; 0: one packet per message. 0 to 1073741824.
        collectives: Algorithms for collectives: rules, or a file (chakra list collectives). A rule names an
            operation, sizes and an algorithm: "allreduce: 0-64KiB tree, 64KiB- ring". An algorithm may be an MSCCL
            file: "allreduce: ring.xml".
        routing: Routing policy: spread, ecmp, single, adaptive or valiant. All policies except valiant use shortest
            routes. ecmp takes parameters: ecmp,channels=N,seed=N.
        transfers: Duration of communication once all ranks have arrived (default: simulated). simulated: by the
            network model. recorded: as measured, for a recorded job.
        delay: Delay nodes whose name matches PATTERN by TIME (ps, ns, us, ms, s). In PATTERN, * stands for any text
            and ? for any character. Without RANK:, nodes of all ranks are delayed. The result shows the effect on the
            total. A recorded job keeps its recorded transfers without transfers simulated. You can give it several
            times.
        align_starts: Start all ranks of a recorded job at the same time.
        no_fold: Simulate every rank, instead of one for each set of identical ranks.
        diagnose: Find problems that cost time, by simulating again without each. A suspect takes one or two further
            simulations, all together at most ten.
        device: Device to compute on: a name of 'chakra list devices', or a file. Measured times are scaled to the
            device.
        stack: Software stack on device: a name of 'chakra list stacks', or a file. Default: kernels.
        from_device: Device of the recording; overrides the device named in the traces.
        unrecorded: Scale device work that the recording lacks, or keep its time. Scaling applies to another device
            and to the speed of a rank.
        max_error: Exit with 1 if the self-check error exceeds P percent in either direction. The self-check
            simulates the linked graph with recorded transfers, and compares the total with the measured time. The
            result is written in either case. 0 to 1e+06.
        astra_output: With compat: print ASTRA-sim's output lines.
        timeline: Write a timeline for https://ui.perfetto.dev; .pftrace is smaller.
        """
        return Answer(self._simulate(given(locals(), ("delay",)), progress, models))

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

        Errors: chakra_et.Error, tag cli.usage for options that are out of range or do not go together, and those of
        the command.

        from_network: The network of the unchanged job. Without it, transfers of the unchanged job keep their
            recorded durations.
        system: System of a rank of the unchanged job (JSON), as for 'chakra sim'.
        groups: Process groups, name -> ranks (JSON).
        ranks: Only these ranks, for example 0:8 (the first eight) or 0,2,5.
        network: Move the job to this network.
        device: Device to compute on: a name of 'chakra list devices', or a file. Measured times are scaled to the
            device.
        stack: Software stack on device: a name of 'chakra list stacks', or a file. Default: kernels.
        from_device: Device of the recording; overrides the device named in the traces.
        unrecorded: Scale device work that the recording lacks, or keep its time. Scaling applies to another device
            and to the speed of a rank.
        tp: N tensor-parallel ranks; generated jobs only. Regenerates the job with N and otherwise the same options;
            the number of ranks changes. Expert-tensor parallelism follows tp unless the job was generated with etp.
        pp: N pipeline stages; generated jobs only. Regenerates the job with N and otherwise the same options; the
            number of ranks and the layers per stage change.
        dp: N data-parallel replicas; PATTERN names the groups (default: role dp). Unedited generated jobs:
            Regenerates the job with N: each replica keeps its batch; placement and optimizer shards change. Other jobs:
            Each replica keeps its batch, and each rank its work, even with a sharded optimizer; the total size of
            gathered and scattered data stays; uneven all-to-alls become even; recorded transfers of these groups scale
            with (n-1)/n for n members.
        micro_batches: N micro-batches of unchanged size per step; generated jobs only. Unedited generated jobs:
            Regenerates the job with N. The number of samples grows with N; to split the samples of M micro-batches into
            N, add batch M/N as a number. Other jobs: Passes follow the job's schedule. An additional micro-batch takes
            as long as one in the middle. Work done once per step (gradient reductions, optimizer) stays. The number of
            samples grows with N.
        batch: Multiply the batch by X; PATTERN names groups that move parameters. Unedited generated jobs:
            Regenerates the job with X times its micro-batch size (gen step) or batch (gen serve), where that is a whole
            number and no PATTERN is given. Other jobs: Without PATTERN, the roles of groups decide. Computation,
            copies, messages, all-to-alls, and collectives of groups that exchange activations scale with X. The
            optimizer (recognized by its name or its callers), other collectives and host time stay. In generated jobs,
            the bytes of weight matrices stay.
        slow_link: Multiply the rate of the link between A and B by X, in both directions. Collective algorithms are
            selected for the network with the slow link.
        fail_link: Remove the link between A and B, in both directions. Messages take the shortest remaining routes,
            without a delay for rerouting.
        overlap: Allow or forbid communication during computation of a rank. Unedited generated jobs: Regenerates
            the job with that value of overlap, which is for collectives. Other jobs: off: computation that starts
            before all members arrive finishes before the transfer; other computation starts after the transfer. on:
            nodes that follow communication only by the order of a stream or thread do not wait for its result; the
            predicted time is a lower bound.
        scale: Multiply the time of nodes of a kind by X. Only durations of this kind change: host time and launches
            stay, and waiting times follow.
        scale_node: Multiply the time of nodes whose name matches PATTERN by X. In PATTERN, * stands for any text
            and ? for any character. Otherwise as scale. For an operation of the CPU, only self time scales, without the
            operations that it calls.
        remove: Remove nodes of a kind, and the waits between ranks there. Dependents of a removed node wait for its
            dependencies instead. The calls that launched the node stay.
        speed: Compute X times as fast on this rank (0.5: half as fast). Applies to computation only. Lags,
            communication and, on a rank with a device, host time stay.
        jitter: Randomize the time of each node of a kind (chakra list distributions). The time of each node is
            multiplied by a random factor. The answer has quantiles of the total over the runs. You can give it several
            times.
        repeat: Number of runs with jitter. 1 to 1000000.
        seed: Random seed for jitter. 0 or more.
        sensitivity: Rank the savings from 10 % less of each kind of time. Without any change, this is the default.
        """
        return Answer(self._what_if(given(locals(), ("tp", "pp", "dp", "micro_batches", "batch", "slow_link", "fail_link", "overlap", "scale", "scale_node", "remove", "speed", "jitter",)), progress))

    def analyze(self, *, only: Texts | None = None, groups: Text | None = None,
            launched: Literal["all", "steps", "before-last-step"] = "all", svg: Text | None = None,
            progress: Progress = None) -> Answer:
        """What to analyze: `chakra analyze`.

        Errors: chakra_et.Error, tag cli.usage for options that are out of range or do not go together, and those of
        the command.

        only: Run only these analyses (chakra list analyses). Separate several names with commas.
            {diagnosis,critical_path,time,bytes,imbalance,memory,stragglers,kernels,operators,launches,queues,bandwidth,work,idle,copies,shapes,modules,sequences,steps}.
        groups: Process groups, name -> ranks (JSON).
        launched: Device operations to include, by the time of their launch. all: launched at any time. steps:
            launched before the last ProfilerStep ends. before-last-step: launched before the last ProfilerStep begins.
        svg: Draw the worst imbalance of collective sizes across ranks.
        """
        return Answer(self._analyze(given(locals(), ("only",)), progress))

    def query(self, sql: str = "", *, named: Text | None = None, param: Texts | None = None,
            limit_seconds: float = 60, limit_memory: int = 1024, network: Text | None = None,
            system: Text | None = None, memory: Text | None = None, ranks: Text | None = None,
            expand: Text | None = None, no_check: bool = False, compat: Literal["native", "astra-sim"] = "native",
            backend: Literal["congestion_unaware", "congestion_aware"] = "congestion_unaware",
            num_queues_per_dim: int = 1, rendezvous_protocol: bool = False, injection_scale: float = 1,
            congestion: Literal["closed", "fluid", "packet", "auto"] | None = None, packet_bytes: int | None = None,
            collectives: Text | None = None, routing: Text | None = None,
            transfers: Literal["recorded", "simulated"] | None = None, delay: Texts | None = None,
            align_starts: bool = False, no_fold: bool = False, device: Text | None = None,
            stack: Text | None = None, from_device: Text | None = None,
            unrecorded: Literal["scale", "keep"] = "scale", progress: Progress = None) -> Answer:
        """How to query the tables of a job: `chakra query`.

        sql: one SELECT; list('sql') has the tables. The rows are the table 'rows' of the answer.

        Errors: chakra_et.Error, tag cli.usage for options that are out of range or do not go together, and those of
        the command.

        named: Run a ready query (chakra list queries).
        param: Value of the parameter :NAME of the query. The value is a whole number, a number, or else a text. A
            value is never part of the statement. You can give it several times.
        limit_seconds: Stop the query after this time. Reading and analyses count neither. 0.001 to 1e+06.
        limit_memory: Memory of the query in MiB, without the traces. 1 to 1000000.
        network: Simulate the job on this network (YAML), for the tables sim_*. Bandwidth is in GB/s of 2^30 bytes
            and latency in ns; docs/reference/formats has all keys.
        system: System of a rank (JSON): roofline-enabled, peak-perf, local-mem-bw, ...
        memory: With compat: the remote memory (JSON).
        ranks: Only these ranks, for example 0:8 (the first eight) or 0,2,5.
        expand: Expand the job to N ranks; ranks without a trace copy RANK. RANK defaults to the lowest rank that
            has a trace.
        no_check: Skip the checks of 'chakra check'.
        compat: Follow the rules of another simulator to the nanosecond.
        backend: With compat: model or ignore contention for links.
        num_queues_per_dim: With compat: queues for chunks in each dimension. 1 to 1024.
        rendezvous_protocol: With compat: send data only after the receiver requests it.
        injection_scale: With compat: factor of the endpoint delay. 0 to 1e+09.
        congestion: Contention model (default: auto). closed: price each collective alone, by formula. fluid: share
            links fairly (max-min). packet: store and forward packets. auto: fluid if concurrent transfers share links
            and fluid takes at most 10 s of processor time, else closed.
        packet_bytes: Packet size; 0: one packet per message. 0 to 1073741824.
        collectives: Algorithms for collectives: rules, or a file (chakra list collectives). A rule names an
            operation, sizes and an algorithm: "allreduce: 0-64KiB tree, 64KiB- ring". An algorithm may be an MSCCL
            file: "allreduce: ring.xml".
        routing: Routing policy: spread, ecmp, single, adaptive or valiant. All policies except valiant use shortest
            routes. ecmp takes parameters: ecmp,channels=N,seed=N.
        transfers: Duration of communication once all ranks have arrived (default: simulated). simulated: by the
            network model. recorded: as measured, for a recorded job.
        delay: Delay nodes whose name matches PATTERN by TIME (ps, ns, us, ms, s). In PATTERN, * stands for any text
            and ? for any character. Without RANK:, nodes of all ranks are delayed. The result shows the effect on the
            total. A recorded job keeps its recorded transfers without transfers simulated. You can give it several
            times.
        align_starts: Start all ranks of a recorded job at the same time.
        no_fold: Simulate every rank, instead of one for each set of identical ranks.
        device: Device to compute on: a name of 'chakra list devices', or a file. Measured times are scaled to the
            device.
        stack: Software stack on device: a name of 'chakra list stacks', or a file. Default: kernels.
        from_device: Device of the recording; overrides the device named in the traces.
        unrecorded: Scale device work that the recording lacks, or keep its time. Scaling applies to another device
            and to the speed of a rank.
        """
        return Answer(self._query(sql, given(locals(), ("param", "delay",)), progress))

    def report(self, path: Text, *, against: Text | None = None, against_network: Text | None = None,
            timeline: bool = False, xlsx: Text | None = None, groups: Text | None = None,
            launched: Literal["all", "steps", "before-last-step"] = "all", network: Text | None = None,
            system: Text | None = None, memory: Text | None = None, ranks: Text | None = None,
            expand: Text | None = None, no_check: bool = False, compat: Literal["native", "astra-sim"] = "native",
            backend: Literal["congestion_unaware", "congestion_aware"] = "congestion_unaware",
            num_queues_per_dim: int = 1, rendezvous_protocol: bool = False, injection_scale: float = 1,
            congestion: Literal["closed", "fluid", "packet", "auto"] | None = None, packet_bytes: int | None = None,
            collectives: Text | None = None, routing: Text | None = None,
            transfers: Literal["recorded", "simulated"] | None = None, delay: Texts | None = None,
            align_starts: bool = False, no_fold: bool = False, device: Text | None = None,
            stack: Text | None = None, from_device: Text | None = None,
            unrecorded: Literal["scale", "keep"] = "scale", progress: Progress = None) -> Answer:
        """What a page about a job shows: `chakra report`.

        path: the page, one HTML file.

        Errors: chakra_et.Error, tag cli.usage for options that are out of range or do not go together, and those of
        the command.

        against: Compare with this job. With network, both jobs are simulated with the same options.
        against_network: Simulate also on this network: the other job, or the same job.
        timeline: Add a timeline of all operations to the page. Of a simulated job by classes, a timeline of one
            rank of each class. At most 2,000,000 operations.
        xlsx: Write all tables also to this workbook, each on a sheet.
        groups: Process groups, name -> ranks (JSON).
        launched: Device operations to include, by the time of their launch. all: launched at any time. steps:
            launched before the last ProfilerStep ends. before-last-step: launched before the last ProfilerStep begins.
        network: Simulate the job on this network (YAML), instead of analyzing it. Bandwidth is in GB/s of 2^30
            bytes and latency in ns; docs/reference/formats has all keys.
        system: System of a rank (JSON): roofline-enabled, peak-perf, local-mem-bw, ...
        memory: With compat: the remote memory (JSON).
        ranks: Only these ranks, for example 0:8 (the first eight) or 0,2,5.
        expand: Expand the job to N ranks; ranks without a trace copy RANK. RANK defaults to the lowest rank that
            has a trace.
        no_check: Skip the checks of 'chakra check'.
        compat: Follow the rules of another simulator to the nanosecond.
        backend: With compat: model or ignore contention for links.
        num_queues_per_dim: With compat: queues for chunks in each dimension. 1 to 1024.
        rendezvous_protocol: With compat: send data only after the receiver requests it.
        injection_scale: With compat: factor of the endpoint delay. 0 to 1e+09.
        congestion: Contention model (default: auto). closed: price each collective alone, by formula. fluid: share
            links fairly (max-min). packet: store and forward packets. auto: fluid if concurrent transfers share links
            and fluid takes at most 10 s of processor time, else closed.
        packet_bytes: Packet size; 0: one packet per message. 0 to 1073741824.
        collectives: Algorithms for collectives: rules, or a file (chakra list collectives). A rule names an
            operation, sizes and an algorithm: "allreduce: 0-64KiB tree, 64KiB- ring". An algorithm may be an MSCCL
            file: "allreduce: ring.xml".
        routing: Routing policy: spread, ecmp, single, adaptive or valiant. All policies except valiant use shortest
            routes. ecmp takes parameters: ecmp,channels=N,seed=N.
        transfers: Duration of communication once all ranks have arrived (default: simulated). simulated: by the
            network model. recorded: as measured, for a recorded job.
        delay: Delay nodes whose name matches PATTERN by TIME (ps, ns, us, ms, s). In PATTERN, * stands for any text
            and ? for any character. Without RANK:, nodes of all ranks are delayed. The result shows the effect on the
            total. A recorded job keeps its recorded transfers without transfers simulated. You can give it several
            times.
        align_starts: Start all ranks of a recorded job at the same time.
        no_fold: Simulate every rank, instead of one for each set of identical ranks.
        device: Device to compute on: a name of 'chakra list devices', or a file. Measured times are scaled to the
            device.
        stack: Software stack on device: a name of 'chakra list stacks', or a file. Default: kernels.
        from_device: Device of the recording; overrides the device named in the traces.
        unrecorded: Scale device work that the recording lacks, or keep its time. Scaling applies to another device
            and to the speed of a rank.
        """
        return Answer(self._report(path_of(path), given(locals(), ("delay",)), progress))

    def view(self, path: Text, *, to: Text | None = None, from_: Literal["traces", "csv"] | None = None,
            rank: int | None = None, ranks: Text | None = None, pick: Literal["all", "classes", "outliers"] = "all",
            only: Literal["all", "comm", "compute", "device"] = "all", focus: int | None = None, hops: int = 2,
            group: bool = False, boxes: int = 30, num_npus: int | None = None, npu_frequency: Text | None = None,
            progress: Progress = None) -> Answer:
        """A timeline or a figure of a job: `chakra view`.

        path: the file. FILE.json is a timeline for https://ui.perfetto.dev; .dot, .graphml, .svg, .pdf and .png are
        graphs of one rank.

        Errors: chakra_et.Error, tag cli.usage for options that are out of range or do not go together, and those of
        the command.

        to: Output format, if the extension does not select it. {timeline,perfetto,dot,graphml,svg,pdf,png}.
        from_: Kind of PATH, if its extension does not show it.
        rank: Only this rank; a graph shows one rank. 0 to 1073741824.
        ranks: Only these ranks, for example 0:8 (the first eight) or 0,2,5.
        pick: Ranks of a timeline: all, one of each class, or outliers.
        only: Only nodes of a kind, with dependencies through hidden nodes.
        focus: Only the neighbourhood of the node with this id.
        hops: Largest distance from focus, in edges. 0 to 1000000.
        group: Draw one box for many nodes: by lane, caller and repetition.
        boxes: Largest number of boxes with group. 2 to 1000.
        num_npus: CSV: number of ranks; a higher rank is an error. 1 to 1073741824.
        npu_frequency: CSV: ticks per second, such as 1.5GHz; MHz without unit. Default: a tick is a nanosecond
            (1GHz).
        """
        return Answer(self._view(path_of(path), given(locals()), progress))

    def run(self, *, groups: Text | None = None, backend: Text = "null",
            backend_option: Texts | None = None, compute: Text = "sleep", compute_option: Texts | None = None,
            scale_compute: float = 1, files: Text | None = None, file_cache: Text = "cached",
            file_order: Text = "in-order", start: Literal["recorded", "together"] = "recorded",
            verify: bool = False, no_check: bool = False, timeout: float = 8, rank: int | None = None,
            ranks: int | None = None, rendezvous: Text | None = None, shrink: int | None = None,
            auto_shrink: bool = False, expand: int | None = None, dry_run: bool = False,
            steps: str | int | None = None, subgraph: Text | None = None, allow_ops: Texts | None = None,
            only_groups: Texts | None = None, min_size: int | None = None, max_size: int | None = None,
            warmup_iter: int = 0, num_replays: int = 1, compare: bool = False, output: Text | None = None,
            timeline: Text | None = None, flows: Text | None = None, network: Text | None = None,
            collectives: Text | None = None, progress: Progress = None) -> Answer:
        """How to run a job for real: `chakra replay`.

        Errors: chakra_et.Error, tag cli.usage for options that are out of range or do not go together, and those of
        the command.

        groups: Process groups, name -> ranks (JSON).
        backend: Back end that carries out communication (chakra list replay). {null,fabric,mpi,nccl}.
        backend_option: Option of the back end (chakra list replay). You can give it several times.
        compute: Substitute for computation (chakra list replay). {none,sleep,spin,torch,work}.
        compute_option: Option of the substitute (chakra list replay). You can give it several times.
        scale_compute: Multiply the recorded time of computation by X. With compute work, FLOPs and bytes are
            multiplied by X. 0 to 1e+06.
        files: Run loads and stores as reads and writes of files in this folder. Without it, compute also replaces
            loads and stores.
        file_cache: With files: use of the page cache (chakra list replay). {cached,synced,direct}.
        file_order: With files: placement of loads and stores (chakra list replay). {in-order,random}.
        start: Start ranks as far apart as recorded, or together.
        verify: Run operations on known data, and check the results. The exit code is 4 if an operation gives a
            wrong result.
        no_check: Skip the checks of 'chakra check'.
        timeout: Exit with 4 after this time without data transfer or computation. The error lists the ranks that
            each rank waits for. The limit also applies to ranks that never connect. 0.1 to 1e+06.
        rank: Run this process as rank R of ranks, and read only its trace. Without it, and without a launcher
            (mpirun, srun, torchrun), this process runs all ranks. 0 to 2147483647.
        ranks: With rank: number of ranks. 1 to 2147483647.
        rendezvous: Meeting point of ranks: host:port of rank 0, or the path of a socket. A socket works on one
            machine; its path must contain a slash.
        shrink: Run the first N ranks of the job. The other ranks leave their groups, and data for them is left out.
            1 to 2147483647.
        auto_shrink: Shrink the job to the number of ranks of ranks or the launcher.
        expand: Run N ranks, a multiple of the M recorded ranks. Rank R repeats rank R mod M. Groups of all ranks
            grow, others are copied. 1 to 2147483647.
        dry_run: Print the plan without running the job.
        steps: Run only the ProfilerSteps A to B, inclusive.
        subgraph: Only nodes of this name and their callees.
        allow_ops: Communicate only with these operations: all_reduce, send, .... Separate names with commas. The
            name 'none' disables communication, so that a rank needs no partners.
        only_groups: Communicate only in these process groups. Separate names with commas.
        min_size: Skip communication of fewer than N bytes. 0 or more.
        max_size: Skip communication of more than N bytes. 0 or more.
        warmup_iter: Number of warm-up runs. 0 to 1000000.
        num_replays: Number of measured runs. 1 to 1000000.
        compare: Compare the times with the recorded times. The output has the tables of 'chakra diff --timing'.
        output: Write the traces with the times of the last run as PREFIX.<rank>.et.
        timeline: Write a timeline for https://ui.perfetto.dev. In file names, {rank} stands for the rank of a
            process. Under a launcher, each rank needs a separate file.
        flows: Write the flows between ranks, without running the job. Each flow lists the flows that it depends on.
            The file is CSV, or JSON if its name ends in .json.
        network: With flows: network for which algorithms are selected. Default: all ranks at one switch.
        collectives: With flows: algorithms (chakra list collectives).
        """
        return Answer(self._run(given(locals(), ("backend_option", "compute_option", "allow_ops", "only_groups",)), progress))

    def diff(self, other: Job, *, threshold: float | None = None, least_share: float = 1,
            fail_over: float | None = None, markdown: bool = False, timing: bool = False,
            progress: Progress = None) -> Answer:
        """How to compare two jobs: `chakra diff`.

        Errors: chakra_et.Error, tag cli.usage for options that are out of range or do not go together, and those of
        the command.

        threshold: Exit with 1 if a difference exceeds P percent in either direction. 0 to 1e+06.
        least_share: Smallest share of the total time, in percent, that threshold considers. 0 to 100.
        fail_over: Exit with 1 if a step of B is more than P percent longer, such as 3%. If the lengths of steps
            vary, the limit is at least twice their spread. The result also has the change of the diagnosis
            (docs/explanation/diagnosis.md). 0 to 1e+06.
        markdown: Print the change of the step and of the diagnosis as Markdown.
        timing: Compare the measured times of two runs of the same job.
        """
        return Answer(self._diff(other, given(locals()), progress))

    def edit(self, *, ranks: Text | None = None, expand: Text | None = None,
            progress: Progress = None) -> Job:
        """Which ranks a job has.

        The job itself does not change. Job.made has the findings.

        Errors: chakra_et.Error, tag cli.usage for options that are out of range or do not go together, and those of
        the command.

        ranks: Only these ranks, for example 0:8 (the first eight) or 0,2,5.
        expand: Expand the job to N ranks; ranks without a trace copy RANK. RANK defaults to the lowest rank that
            has a trace.
        """
        return Job(self._edit(given(locals()), progress))

    def write(self, path: Text, *, to: Text | None = None, progress: Progress = None) -> Answer:
        """The form of a written job.

        path: FILE.chakra is a container, PREFIX stands for PREFIX.<rank>.et, and FOLDER/ for trace.<rank>.et in the
        folder.

        Errors: chakra_et.Error, tag cli.usage for options that are out of range or do not go together, and those of
        the command.

        to: Output format (default: from the name of the output). One of json, jsonl, et, or text (ASTRA-sim 1.0,
            SimAI). Of a network file: network (devices and links) or infragraph.
        """
        return Answer(self._write(path_of(path), given(locals()), progress))


class generate:
    """`chakra gen`."""

    @staticmethod
    def step(*, output: Text | None = None, preset: Text | None = None, model: Text | None = None,
            layers: int | None = None, hidden: int | None = None, ffn: int | None = None, heads: int | None = None,
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
            device_memory_gib: float | None = None, stats: bool = False, all_ranks: bool = False,
            progress: Progress = None) -> Job:
        """A training step to generate: `chakra gen step`.

        Job.made has the numbers of the job.

        Errors: chakra_et.Error, tag cli.usage for options that are out of range or do not go together, and those of
        the command.

        output: The folder to write the job to.
        preset: Start from a known model and its ranks (chakra list presets).
            {tiny,llama3-8b,llama3-70b,llama3-405b,gpt3-175b}.
        model: A known model (chakra list models), or a config.json.
        layers: Layers of the model. 1 to 65536.
        hidden: Width of the model. 1 to 1048576.
        ffn: Inner width of the MLP. 1 to 1048576.
        heads: Attention heads. 1 to 1048576.
        kv_heads: Heads of keys and values; 0: as many as heads. 0 to 1048576.
        head_dim: Width of a head; 0: hidden / heads. 0 to 1048576.
        vocab: Vocabulary size. 1 to 268435456.
        sequence: Tokens of a sequence; 0: the model's. 0 to 268435456.
        micro_batches: Micro-batches of a step, per pipeline. 1 to 1048576.
        micro_batch_size: Sequences per micro-batch. 1 to 1048576.
        tp: Tensor-parallel ranks. 1 to 1048576.
        cp: Context-parallel ranks. 1 to 1048576.
        pp: Pipeline stages. 1 to 1048576.
        dp: Data-parallel ranks. 1 to 1048576.
        ep: Expert-parallel ranks. 1 to 1048576.
        etp: Tensor-parallel ranks of an expert; 0: as tp. 0 to 1048576.
        virtual_stages: Virtual stages of each pipeline stage. 1 to 1048576.
        zero: ZeRO stage: shard optimizer (1), also gradients (2), also parameters (3); 0: off. 0 to 3.
        zero_ranks: Data-parallel ranks that shard among themselves, a divisor of dp; 0: all. 0 to 1048576.
        seed: Random seed for expert_skew: which experts are popular. 0 to 268435456.
        bytes_per_element: Bytes of a parameter or an activation. 1 to 16.
        lora_rank: Train adapters of this rank (LoRA) and freeze the model; 0: train the model. 0 to 1048576.
        gradient_bytes: Bytes of a gradient element. 1 to 16.
        sequence_parallel: Sequence parallelism: shard tokens between tensor-parallel parts.
        keep_gathered: Keep gathered inputs of matrix multiplications for the backward pass.
        fused_attention: Fused attention: attention scores stay out of device memory.
        overlap: Overlap collectives with independent computation.
        lora_mlp: Add adapters of lora_rank to MLPs, not only to attention.
        clip: Clip gradients by norm.
        ends: Include embedding, head and loss.
        mtp: Include the model's multi-token prediction layers (DeepSeek-V3).
        gated: Gated MLP with two input matrices (SwiGLU), else one (GELU).
        causal: Causal attention: tokens attend only to earlier tokens.
        schedule: Pipeline schedule (chakra list schedules). {gpipe,1f1b,interleaved,zb-h1,dualpipe}.
        context: How context-parallel ranks exchange keys and values.
        recompute: Activation recomputation in the backward pass.
        optimizer: Optimizer (chakra list optimizers). Default: adamw.
            {adamw,adamw-bf16,adamw-8bit,sgd,sgd-momentum,muon}.
        dtype: Data type of parameters and activations. Default: bf16.
        fp8: Use 8-bit inputs for the matrix multiplications of layers. All other data keep bytes_per_element.
        order: Order of rank numbers, adjacent ranks first: tp-cp-ep-dp-pp, ...
        expert_skew: Zipf exponent of expert popularity; 0: uniform. The r-th most popular expert is chosen in
            proportion to 1 / r^X. 0 to 10.
        data_tier: Storage tier from which the first stage reads micro-batches.
        sample_bytes: Bytes of a sequence in data_tier; 0: 4 per token. 0 or more.
        checkpoint_tier: Storage tier for the checkpoint after the step. A checkpoint holds the parameters and the
            optimizer state.
        checkpoint_behind: Write the previous step's checkpoint in the background of this step. The optimizer waits
            until the checkpoint is written.
        restart_tier: Storage tier from which each rank restores its state at the start.
        device: Device to compute on: a name of 'chakra list devices', or a file. Nodes get the durations that
            'chakra sim --device' computes.
        stack: Software stack: a name of 'chakra list stacks', or a file (default: kernels). The stack determines
            memory use, host times and, with device, the durations of attention and elementwise kernels.
        host_waits: When the host synchronizes with the device. messages: after messages from other stages. passes:
            also after the last computation of each forward and backward pass. parts: after the last computation of each
            part of a pass. The host is modelled only if the device file has host-us.
        device_peak_tflops: Peak rate of the device in TFLOP/s. 0 or more.
        device_fp8_tflops: Peak rate for matrix multiplications with 8-bit inputs, in TFLOP/s. Default: twice the
            rate of device_peak_tflops. 0 or more.
        device_mem_gb_per_s: Memory bandwidth of the device in GB/s (10^9 bytes per second). 0 or more.
        efficiency: Share of the peak rate that kernels reach. 0 to 1.
        device_memory_gib: Memory of the device in GiB, for stats. Default: the memory of device, else 79.2. 0 or more.
        stats: Print parameters, FLOPs, communication and memory. With stats, -o is optional.
        all_ranks: Write step.<rank>.et for every rank, instead of one trace per class.
        """
        return Job(_chakra.generate_step(given(locals()), progress))

    @staticmethod
    def serve(*, output: Text | None = None, model: Text | None = None, contexts: Numbers | None = None,
            layers: int | None = None, hidden: int | None = None, ffn: int | None = None, heads: int | None = None,
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
            device_memory_gib: float | None = None, stats: bool = False, all_ranks: bool = False,
            progress: Progress = None) -> Job:
        """A serving step to generate: `chakra gen serve`.

        Job.made has the numbers of the job.

        Errors: chakra_et.Error, tag cli.usage for options that are out of range or do not go together, and those of
        the command.

        output: The folder to write the job to.
        model: A known model (chakra list models), or a config.json.
        contexts: Prompt lengths in tokens; one number applies to all of batch. With prompts false: context lengths
            at the first step. Default: 1024.
        layers: Layers of the model. 1 to 65536.
        hidden: Width of the model. 1 to 1048576.
        ffn: Inner width of the MLP. 1 to 1048576.
        heads: Attention heads. 1 to 1048576.
        kv_heads: Heads of keys and values; 0: as many as heads. 0 to 1048576.
        head_dim: Width of a head; 0: hidden / heads. 0 to 1048576.
        vocab: Vocabulary size. 1 to 268435456.
        tp: Tensor-parallel ranks. 1 to 1048576.
        pp: Pipeline stages. 1 to 1048576.
        dp: Replicas, each with a separate batch. 1 to 1048576.
        ep: Expert-parallel replicas, a divisor of dp. 1 to 1048576.
        prefill_tp: Tensor-parallel ranks of a separate prefill pool. 0 to 1048576.
        prefill_pp: Pipeline stages of a separate prefill pool. 0 to 1048576.
        prefill_dp: Replicas of a separate prefill pool. 0 to 1048576.
        prefill_ep: Expert-parallel replicas of a separate prefill pool. 0 to 1048576.
        batch: Sequences per replica; 0: as many as contexts. 0 to 1048576.
        chunk: Prompt tokens per prefill chunk; 0: the whole prompt. 0 to 268435456.
        steps: Decode steps; each adds a token to every sequence. 0 to 1048576.
        bytes_per_element: Bytes of a parameter or an activation. 1 to 16.
        kv_bytes_per_element: Bytes of a number in the KV cache; 0: as bytes_per_element. 0 to 16.
        prompts: Start with the prefill of contexts; else the cache holds the contexts.
        absorbed: Cache latents in latent attention; else keys and values of all heads.
        all_logits: Compute logits of all prompt tokens, not only of the last.
        overlap: Overlap collectives with independent computation.
        merged_products: One matrix multiplication for Q, K and V, and one for gate and up.
        gated: Gated MLP with two input matrices (SwiGLU), else one (GELU).
        causal: Causal attention: tokens attend only to earlier tokens.
        kv_tier: Storage tier for a share of the KV cache. Each layer fetches its share, and evicts new entries.
        kv_tier_share: Share of the KV cache in kv_tier, above 0 to 1. Default: the whole cache. 0 to 1.
        fp8: Store layer weights in 8 bits, and multiply with 8-bit inputs. All other data keep bytes_per_element.
        device: Device to compute on: a name of 'chakra list devices', or a file. Nodes get the durations that
            'chakra sim --device' computes.
        stack: Software stack: a name of 'chakra list stacks', or a file (default: kernels). The stack determines
            memory use, host times and, with device, the durations of attention and elementwise kernels.
        device_peak_tflops: Peak rate of the device in TFLOP/s. 0 or more.
        device_fp8_tflops: Peak rate for matrix multiplications with 8-bit inputs, in TFLOP/s. Default: twice the
            rate of device_peak_tflops. 0 or more.
        device_mem_gb_per_s: Memory bandwidth of the device in GB/s (10^9 bytes per second). 0 or more.
        efficiency: Share of the peak rate that kernels reach. 0 to 1.
        device_memory_gib: Memory of the device in GiB, for stats. Default: the memory of device, else 79.2. 0 or more.
        stats: Print parameters, FLOPs, communication and memory. With stats, -o is optional.
        all_ranks: Write serve.<rank>.et for every rank, instead of one trace per class.
        """
        return Job(_chakra.generate_serve(given(locals(), ("contexts",)), progress))

    @staticmethod
    def cases(*, output: Text, num_npus: int = 1, default_runtime: int = 5, default_tensor_size: int = 1024,
            default_comm_size: int = 65536, progress: Progress = None) -> Answer:
        """Named test cases to generate: `chakra gen cases`.

        Errors: chakra_et.Error, tag cli.usage for options that are out of range or do not go together, and those of
        the command.

        output: Folder for <case>.<rank>.et.
        num_npus: Number of ranks. 1 to 1048576.
        default_runtime: Time of a computation in us. 0 or more.
        default_tensor_size: Bytes of a load, store or message. 0 or more.
        default_comm_size: Bytes of a collective. 0 or more.
        """
        return Answer(_chakra.generate_cases(given(locals()), progress))

    @staticmethod
    def network(*, blueprint: Text, output: Text, set: Texts | None = None,
            progress: Progress = None) -> Answer:
        """A network to generate from a blueprint: `chakra gen network`.

        Errors: chakra_et.Error, tag cli.usage for options that are out of range or do not go together, and those of
        the command.

        blueprint: Blueprint to build (chakra list blueprints).
        output: InfraGraph file to write.
        set: Parameter, or bandwidth or latency of a link. Keys are the parameters of the blueprint, and
            bandwidth.LINK (GB/s of 10^9 bytes) and latency.LINK (ns) for all links of that name. You can give it
            several times.
        """
        return Answer(_chakra.generate_network(given(locals(), ("set",)), progress))


class calibrate:
    """`chakra calibrate`."""

    @staticmethod
    def device(*, from_: Texts, output: Text, device: Text | None = None) -> Answer:
        """Measured kernels, and the device file to make of them: `chakra calibrate device`.

        Errors: chakra_et.Error, tag cli.usage for options that are out of range or do not go together, and those of
        the command.

        from_: Tables of measured kernels (CSV), linked traces, or folders of traces. Tables may have chakra's
            format or that of aiconfigurator, Vidur, NeuSight or Liger-Kernel, and may be compressed.
        output: Device file to write.
        device: Measured device: a name of 'chakra list devices', or a file. Default: the device named in the
            tables.
        """
        return Answer(_chakra.calibrate_device(given(locals(), ("from_",))))

    @staticmethod
    def network(*, from_: Texts, output: Text, judge: Texts | None = None, where: Texts | None = None,
            operation: Text | None = None, npus: Numbers | None = None) -> Answer:
        """Measured collectives, and the network file to make of them: `chakra calibrate network`.

        Errors: chakra_et.Error, tag cli.usage for options that are out of range or do not go together, and those of
        the command.

        from_: Logs of nccl-tests or rccl-tests, or tables (CSV); may be compressed.
        output: Network file to write.
        judge: Held-out measurements to judge the fit.
        where: Use only table rows with this value, such as sku=h100_dgx. Applies to tables that have the column.
            You can give it several times.
        operation: Collective of the logs, if they do not name it.
        npus: Size of the network to write: ranks, or GPUs,NODES. Default: the measured sizes. You can give it
            several times. 1 to 16777216.
        """
        return Answer(_chakra.calibrate_network(given(locals(), ("from_", "judge", "where", "npus",))))


class fleet:
    """`chakra fleet`."""

    @staticmethod
    def link(path: Sequence[Text] | Text, *, output: Text | None = None, shard: str | int | None = None,
            wait: int = 0, memory: str | int | None = None, plan: bool = False, again: bool = False,
            steps: str | int | None = None, fit_steps: str | int | None = None, iteration: int | None = None,
            cycle: int | None = None, salvage: bool = False, split: int = 64, progress: Progress = None) -> Answer:
        """Recordings of many jobs to link: `chakra fleet link`.

        path: folders with the recordings of a job, and folders of such folders.

        Errors: chakra_et.Error, tag cli.usage for options that are out of range or do not go together, and those of
        the command.

        output: Folder for the results, which all processes share. A later call with the same arguments continues
            the work.
        shard: Do part I of N of the work; the other parts run elsewhere. All parts share the output folder. Without
            this option, a call does all the work that is left.
        wait: Seconds to wait for tasks of other shards without progress. Without waiting, a call ends when all
            other tasks of its shard are finished. 0 to 1000000.
        memory: Memory for tasks that run together (default: 80 % of the free memory). The estimates are rules of
            thumb: the unpacked bytes of the input files, times 4 for analyses.
        plan: Write the work list only. The work list names the jobs, and the ranks of large ones. A new work list
            takes new and changed files; finished tasks of unchanged jobs stay finished.
        again: Run failed tasks again. Without this option, a later call runs tasks again that could not read or
            write a file, and no other failed tasks.
        steps: Link only the ProfilerSteps A to B, inclusive.
        fit_steps: Estimate launch latency and dispatch gap from these ProfilerSteps only. The other steps then
            serve to judge the estimates.
        iteration: Iteration of a Kineto trace to link, from 0. For a Kineto trace of many iterations with a host
            trace of one. Default: the iteration of median length. 0 to 1073741824.
        cycle: Recording of each rank to link, from 0 in the order of names. For a folder with several recordings of
            a rank, which a schedule with repeat or chakra_et.record() left. 0 to 1073741824.
        salvage: Skip damaged records, and keep the intact records of truncated files. The report lists each lost
            record.
        split: Link the ranks of jobs with more ranks than this as tasks. Jobs with dumps of a flight recorder and
            profiles of XLA are one task. 1 to 1073741824.
        """
        return Answer(_chakra.fleet_link(paths(path), given(locals()), progress))

    @staticmethod
    def analyze(path: Sequence[Text] | Text, *, output: Text, shard: str | int | None = None, wait: int = 0,
            memory: str | int | None = None, plan: bool = False, again: bool = False, only: Texts | None = None,
            launched: Literal["all", "steps", "before-last-step"] = "all", progress: Progress = None) -> Answer:
        """Many jobs to analyze: `chakra fleet analyze`.

        path: jobs, and folders of jobs.

        Errors: chakra_et.Error, tag cli.usage for options that are out of range or do not go together, and those of
        the command.

        output: Folder for the results, which all processes share. A later call with the same arguments continues
            the work.
        shard: Do part I of N of the work; the other parts run elsewhere. All parts share the output folder. Without
            this option, a call does all the work that is left.
        wait: Seconds to wait for tasks of other shards without progress. Without waiting, a call ends when all
            other tasks of its shard are finished. 0 to 1000000.
        memory: Memory for tasks that run together (default: 80 % of the free memory). The estimates are rules of
            thumb: the unpacked bytes of the input files, times 4 for analyses.
        plan: Write the work list only. The work list names the jobs, and the ranks of large ones. A new work list
            takes new and changed files; finished tasks of unchanged jobs stay finished.
        again: Run failed tasks again. Without this option, a later call runs tasks again that could not read or
            write a file, and no other failed tasks.
        only: Run only these analyses (chakra list analyses). Separate several names with commas.
            {diagnosis,critical_path,time,bytes,imbalance,memory,stragglers,kernels,operators,launches,queues,bandwidth,work,idle,copies,shapes,modules,sequences,steps}.
        launched: Device operations to include, by the time of their launch. all: launched at any time. steps:
            launched before the last ProfilerStep ends. before-last-step: launched before the last ProfilerStep begins.
        """
        return Answer(_chakra.fleet_analyze(paths(path), given(locals(), ("only",)), progress))

    @staticmethod
    def merge(*, output: Text, progress: Progress = None) -> Answer:
        """A fleet to report on: `chakra fleet merge`.

        Errors: chakra_et.Error, tag cli.usage for options that are out of range or do not go together, and those of
        the command.

        output: Folder of a fleet.
        """
        return Answer(_chakra.fleet_merge(given(locals()), progress))


def link(recordings: Sequence[Text] | Text, *, output: Text | None = None, rank: int | None = None,
        steps: str | int | None = None, fit_steps: str | int | None = None, iteration: int | None = None,
        cycle: int | None = None, process: int | None = None, salvage: bool = False, max_error: float | None = None,
        explain: int | None = None, progress: Progress = None) -> Job:
    """How recordings become traces: `chakra link`.

    recordings: the host trace, the device trace or both of one rank, or folders with the recordings of a job. Without
    output, traces stay in memory. Job.made has the numbers.

    Errors: chakra_et.Error, tag cli.usage for options that are out of range or do not go together, and those of
    the command.

    output: Trace to write; for several ranks, the folder for trace.<rank>.et.
    rank: Rank number, if the files have none or a wrong one. 0 to 1073741824.
    steps: Link only the ProfilerSteps A to B, inclusive.
    fit_steps: Estimate launch latency and dispatch gap from these ProfilerSteps only. The other steps then serve to
        judge the estimates.
    iteration: Iteration of a Kineto trace to link, from 0. For a Kineto trace of many iterations with a host trace
        of one. Default: the iteration of median length. 0 to 1073741824.
    cycle: Recording of each rank to link, from 0 in the order of names. For a folder with several recordings of a
        rank, which a schedule with repeat or chakra_et.record() left. 0 to 1073741824.
    process: Process to link, of a database with several processes. For exports of Nsight Systems and databases of
        rocprofv3. Default: each process that used a device is a rank, and the output is a folder. 0 or more.
    salvage: Skip damaged records, and keep the intact records of truncated files. The report lists each lost
        record.
    max_error: Exit with 1 if the self-check error exceeds P percent in either direction. The self-check simulates
        the linked graph with recorded transfers, and compares the total with the measured time. The result is written
        in either case. 0 to 1e+06.
    explain: Explain each edge of this node, instead of printing the report. 0 or more.
    """
    return Job(_chakra.link(paths(recordings), given(locals()), progress))


def import_workload(path: Text, *, output: Text, classes: bool = False, from_: Text | None = None,
        dims: Numbers | None = None, num_npus: int | None = None, num_passes: int = 1,
        time_unit: Text | None = None, coll_size: int = 1048576, default_simulated_run_time: str | int = "0us",
        progress: Progress = None) -> Job:
    """A workload of another tool: `chakra import`.

    path: the workload of another tool. Job.made has the numbers.

    Errors: chakra_et.Error, tag cli.usage for options that are out of range or do not go together, and those of
    the command.

    output: Prefix of PREFIX.<rank>.et; or a folder, for trace.<rank>.et.
    classes: Write a folder with one trace per class of identical ranks (ranks.json).
    from_: Format of the file (default: detected from the contents).
        {text,flexflow,msccl,feeder-json,linked-json,torch,xla}.
    dims: text, torch: ranks in each dimension, innermost first: 8,8. 1 or more.
    num_npus: text, torch: number of ranks (default: as in dims or the file). 1 or more.
    num_passes: text: training iterations. 1 or more.
    time_unit: text, flexflow: time unit of the file. Default: us for ASTRA-sim text, ns for SimAI and ms for
        FlexFlow. {ns,us,ms,s}.
    coll_size: msccl: bytes of the collective. 1 or more.
    default_simulated_run_time: msccl: time of each reduction and copy, such as 7us.
    """
    return Job(_chakra.import_workload(path_of(path), given(locals(), ("dims",)), progress))


def convert(path: Sequence[Text] | Text, *, output: Text, from_: Text | None = None, to: Text | None = None,
        progress: Progress = None) -> Answer:
    """Formats of a conversion: `chakra convert`.

    path: jobs, which together are one job, or one file of another tool.

    Errors: chakra_et.Error, tag cli.usage for options that are out of range or do not go together, and those of
    the command.

    output: File to write; for several ranks, a prefix or a folder. A name that ends in .gz or .zst selects
        compression.
    from_: Input format (default: detected from the contents). One of json, jsonl, eg, et, or a format of 'chakra
        import'.
    to: Output format (default: from the name of the output). One of json, jsonl, et, or text (ASTRA-sim 1.0,
        SimAI). Of a network file: network (devices and links) or infragraph.
    """
    return Answer(_chakra.convert(paths(path), given(locals()), progress))


def pack(path: Sequence[Text] | Text, *, output: Text | None = None, append: bool = False,
        stats: bool = False, group: int = 128, progress: Progress = None) -> Answer:
    """How to write a container: `chakra pack`.

    path: jobs; with stats alone, a container.

    Errors: chakra_et.Error, tag cli.usage for options that are out of range or do not go together, and those of
    the command.

    output: Container to write.
    append: Add the ranks to an existing container; its blocks stay unchanged.
    stats: Show the bytes of each rank, and the bytes read to load a rank.
    group: Nodes per packed group. Larger groups compress better; smaller groups are faster to search. 1 to 16777216.
    """
    return Answer(_chakra.pack(paths(path), given(locals()), progress))


def unpack(path: Text, *, output: Text, ranks: Numbers | None = None, nodes: Text | None = None,
        to: Text = "et", progress: Progress = None) -> Answer:
    """Parts of a container to extract: `chakra unpack`.

    path: the container.

    Errors: chakra_et.Error, tag cli.usage for options that are out of range or do not go together, and those of
    the command.

    output: Folder for trace.<rank>.et.
    ranks: Only these ranks. 0 or more.
    nodes: Only these nodes of each rank: first node (from 0) and count.
    to: Format: et, json or jsonl; append .gz or .zst to compress the files.
    """
    return Answer(_chakra.unpack(path_of(path), given(locals(), ("ranks",)), progress))


def select(path: Sequence[Text] | Text, *, count: int = 12,
        method: Literal["medoids", "facility"] = "medoids", svg: Text | None = None,
        progress: Progress = None) -> Answer:
    """How to choose the jobs that represent a fleet: `chakra select`.

    path: jobs, and folders of jobs.

    Errors: chakra_et.Error, tag cli.usage for options that are out of range or do not go together, and those of
    the command.

    count: Number of jobs to choose. 1 to 1000000.
    method: What a good choice is. medoids: the mean distance to the nearest chosen job is small. facility: similar
        jobs count most, and distant jobs hardly count.
    svg: Draw the fleet, with the chosen jobs.
    """
    return Answer(_chakra.select(paths(path), given(locals()), progress))


def sweep(path: Text, *, output: Text, shard: str | int | None = None, svg: Text | None = None,
        progress: Progress = None) -> Answer:
    """Where the results of a sweep go: `chakra sweep`.

    path: the file that describes the space of options.

    Errors: chakra_et.Error, tag cli.usage for options that are out of range or do not go together, and those of
    the command.

    output: Folder for the results of points. A later sweep into this folder takes the results of equal points from
        there.
    shard: Do part I of N of the work; the other parts run elsewhere. All parts share the output folder. Without
        this option, a call does all the work that is left.
    svg: Draw the first two objectives, with the Pareto front.
    """
    return Answer(_chakra.sweep(path_of(path), given(locals()), progress))


def obfuscate(path: Text, *, key: Text, output: Text, new_key: bool = False, level: int = 1,
        among: Texts | None = None, width: int | None = None, layers: int | None = None, reveal: bool = False,
        names: Text | None = None, progress: Progress = None) -> Answer:
    """How to hide the names and ids of a job: `chakra obfuscate`.

    path: the job; with reveal, a hidden job.

    Errors: chakra_et.Error, tag cli.usage for options that are out of range or do not go together, and those of
    the command.

    key: File of the key. Equal names have equal hidden names in all jobs that are hidden with this key. Keep the
        key secret.
    output: Folder for the job, without other files.
    new_key: Make the key; a file is never replaced.
    level: Hide 1: names and ids; 2: also sizes and shapes; 3: also layers, stages, experts. From level 2 on, a
        simulation takes a similar time, not the same. 'chakra certify' measures the difference. Level 3 keeps the last
        stages of a pipeline, with their ranks. What stays visible is a warning. 1 to 3.
    among: Jobs, or a folder of jobs, among which the job must not stand out. From level 2 on. A size becomes that
        of a cell, and each cell holds sizes of at least 5 of these jobs, with 4 different values. Default: cells of
        widths of published models. You can give it several times.
    width: Width of the model, from level 2 on. Default: estimated from shapes and sizes. 1 to 1000000.
    layers: Layers of the model, for level 3. Default: equal parts of the operations. 1 to 1000000.
    reveal: Restore the names of a hidden job.
    names: Sealed file of the names. Default: DIR.names; with reveal, JOB.names. Only the key opens the file.
    """
    return Answer(_chakra.obfuscate(path_of(path), given(locals(), ("among",)), progress))


def certify(original: Text, shared: Text, *, output: Text | None = None, among: Texts | None = None,
        level: int | None = None, examples: bool = False, check: bool = False, progress: Progress = None) -> Answer:
    """How to judge a shared copy of a job: `chakra certify`.

    original: the job; with check, a certificate. shared: the copy.

    Errors: chakra_et.Error, tag cli.usage for options that are out of range or do not go together, and those of
    the command.

    output: Certificate to write: FILE.json, FILE.html, or a name for both. A certificate has no names, sizes or
        attributes of the original, and can be shared.
    among: Jobs, or a folder of jobs, among which the copy must not stand out. The attacks use these jobs as
        candidates. The original and the copy are left out. You can give it several times.
    level: Level that the copy claims (default: by the mark of 'chakra obfuscate'). 1: names and ids; 2: also sizes;
        3: also structure. 0 to 3.
    examples: Show nodes of both jobs; never part of the certificate.
    check: Compare a certificate with the copy, without the original.
    """
    return Answer(_chakra.certify(path_of(original), path_of(shared), given(locals(), ("among",)), progress))


def doctor(path: Text = "", *, repair: bool = False, secrets: bool = False, plugins: bool = False,
        progress: Progress = None) -> Answer:
    """What to diagnose: `chakra doctor`.

    path: a file or a folder; without a path, the installation.

    Errors: chakra_et.Error, tag cli.usage for options that are out of range or do not go together, and those of
    the command.

    repair: Truncate a damaged container after its last index. The container keeps all data from before the
        interrupted append.
    secrets: List names, paths, hosts and other texts of the files that may be secrets. All texts count that are not
        PyTorch's own names. The exit code is 0.
    plugins: Show the location of each 'chakra replay' plugin, or how to build it.
    """
    return Answer(_chakra.doctor(path_of(path), given(locals()), progress))
