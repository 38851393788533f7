"""The error of a recording, and its warnings."""
import sys
import warnings


class RecordError(RuntimeError):
    """A recording that cannot begin, or that is not complete. The text names the remedy."""


class RecordWarning(UserWarning):
    """A part of the job that the recording lacks."""


def warn(text):
    """Warn without the path of the script, which a log must not have with level=1."""
    warnings.warn_explicit(text, RecordWarning, "chakra_et.record", 0)


def note(text):
    print(f"chakra_et.record: {text}", file=sys.stderr, flush=True)
