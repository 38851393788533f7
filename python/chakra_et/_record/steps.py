"""Which steps to record, and where a step of an unchanged script ends."""
import gc
import time
import types
from collections import deque
from functools import wraps

from .errors import RecordError

KEPT = 20  # durations of steps outside of recordings


def parse_steps(steps):
    """Ranges [(first, end), ...] in order: from range(10, 13), "10:13", "10:13,50:53", or a list of either; None: the whole block."""
    if steps is None:
        return None
    if isinstance(steps, (str, range)):
        steps = steps.split(",") if isinstance(steps, str) else [steps]
    if not isinstance(steps, (list, tuple)):
        raise RecordError(f"steps={steps!r} is neither a range, nor a text such as 10:13, nor a list of them")
    ranges = []
    for part in steps:
        if isinstance(part, range):
            if part.step != 1:
                raise RecordError(f"steps must follow each other: {part} has the stride {part.step}")
            first, end = part.start, part.stop
        else:
            texts = str(part).split(":")
            if len(texts) != 2 or not all(text.strip().isascii() and text.strip().isdigit() for text in texts):
                raise RecordError(f"'{part}' is not a range of steps; write FIRST:END, such as 10:13 for the steps 10, 11 and 12")
            first, end = (int(text) for text in texts)
        if first < 0 or end <= first:
            raise RecordError(f"{first}:{end} holds no step; 10:13 holds the steps 10, 11 and 12")
        if ranges and first < ranges[-1][1]:
            raise RecordError(f"the steps {first}:{end} must come after the steps {ranges[-1][0]}:{ranges[-1][1]}")
        ranges.append((first, end))
    if not ranges:
        raise RecordError("steps names no step")
    return ranges


class Clock:
    """Durations of steps, without the time that the recorder takes between them."""

    def __init__(self):
        self.plain, self.recorded, self.begun = deque(maxlen=KEPT), [], time.perf_counter()

    def end(self, recorded, counts):
        """A step ends. `recorded`: it was recorded; `counts`: neither the first step nor a warm-up step."""
        took = time.perf_counter() - self.begun
        if recorded:
            self.recorded.append(took)
        elif counts:
            self.plain.append(took)

    def begin(self):
        self.begun = time.perf_counter()


class OptimizerWatch:
    """Calls `ended` when a training step ends: after the outermost step() of an optimizer, outside of its record_function.

    PyTorch runs a post hook inside of the optimizer's record_function, where a ProfilerStep can neither end nor begin. So the method
    of each optimizer is wrapped; the post hook finds optimizers that were not, such as those restored by pickle.
    """

    def __init__(self, ended):
        self.ended, self.depth, self.leader, self.others = ended, 0, None, {}
        self.handle = self.original = None

    def start(self):
        import torch
        from torch.optim.optimizer import register_optimizer_step_post_hook
        optimizer = torch.optim.Optimizer
        kinds = {}  # type -> whether it is an optimizer
        for found in gc.get_objects():
            kind = type(found)
            if kind not in kinds:
                kinds[kind] = issubclass(kind, optimizer)
            if kinds[kind]:
                self._wrap(found)
        watch, original = self, optimizer.__init__

        @wraps(original)
        def init(self, *arguments, **options):
            original(self, *arguments, **options)
            watch._wrap(self)

        self.original = original
        optimizer.__init__ = init
        self.handle = register_optimizer_step_post_hook(self._post)

    def stop(self):
        import torch
        torch.optim.Optimizer.__init__ = self.original
        self.handle.remove()
        self.ended = lambda: None  # wrapped methods stay and do nothing more

    def _wrap(self, optimizer):
        if "_chakra_watch" in vars(optimizer):
            vars(optimizer)["_chakra_watch"][0] = self
            return
        inner, holder = optimizer.step, [self]

        @wraps(inner)
        def step(self, *arguments, **options):
            watch = holder[0]
            watch.depth += 1
            try:
                result = inner(*arguments, **options)
            finally:
                watch.depth -= 1
            if watch.depth == 0:
                watch._count(self)
            return result

        step._torchdynamo_disable = True  # torch.compile runs it as it is
        optimizer._chakra_watch = holder
        optimizer.step = types.MethodType(step, optimizer)

    def _post(self, optimizer, *_):
        if self.depth == 0:
            self._wrap(optimizer)
            self._count(optimizer)

    def _count(self, optimizer):
        """One optimizer of several leads; one that steps twice between two steps of the leader takes the lead."""
        number = id(optimizer)
        if self.leader is None:
            self.leader = number
        if number != self.leader:
            self.others[number] = self.others.get(number, 0) + 1
            if self.others[number] < 2:
                return
            self.leader = number
        self.others.clear()
        self.ended()
