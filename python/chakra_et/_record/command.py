"""Finds and runs the command `chakra`: beside the package, beside the interpreter, else on PATH."""
import os
import shutil
import subprocess
import sys
import sysconfig

from .errors import RecordError


def find_command(named=None):
    """The path of the command. CHAKRA_COMMAND of the environment comes before the places where it is installed."""
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    places = [named, os.environ.get("CHAKRA_COMMAND"), os.path.join(package, "bin", "chakra"),
              os.path.join(sysconfig.get_path("scripts"), "chakra"),
              os.path.join(os.path.dirname(sys.executable), "chakra"), shutil.which("chakra")]
    for place in places[:1] if named else places:
        if place and os.access(place, os.X_OK) and not os.path.isdir(place):
            return os.path.abspath(place)
    if named:
        raise RecordError(f"'{named}' is no program that you may run")
    raise RecordError("the command `chakra` was not found beside the package or on PATH; install it, or set CHAKRA_COMMAND to its path")


def run(command, arguments, private, silent):
    """Run the command with its temporary files in `private`. `silent`: an error names its tag only, since its text may hold labels."""
    done = subprocess.run([command, *arguments], capture_output=True, text=True, errors="replace",
                          env=dict(os.environ, TMPDIR=private), check=False)
    if done.returncode == 0:
        return done.stdout
    text = (done.stderr or done.stdout).strip()
    if silent:
        tag = text[text.rfind("[") + 1:text.rfind("]")] if text.endswith("]") else ""
        known = tag.replace(".", "").replace("_", "").isalnum() and len(tag) < 60
        text = f"{tag if known else 'its message is hidden'}; record with level=0 in a private folder to see the message"
    raise RecordError(f"chakra {arguments[0]} failed with exit status {done.returncode}: {text[-2000:]}")
