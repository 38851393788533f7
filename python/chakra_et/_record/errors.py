"""The error of a recording, and its warnings."""
import sys
import warnings


class RecordError(RuntimeError):
    """A recording that cannot begin, or that is not complete. The text names the remedy."""


class RecordWarning(UserWarning):
    """A part of the job that the recording lacks."""


def warn(text):
    warnings.warn(text, RecordWarning, stacklevel=3)


def note(text):
    print(f"chakra_et.record: {text}", file=sys.stderr, flush=True)
