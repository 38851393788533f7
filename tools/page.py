"""A page of the docs that a tool makes: written anew, or compared with what comes out."""
import argparse
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def write_or_check(name, doc, make):
    """Writes docs/reference/NAME from make(chakra, data); with --check, exits with 1 where the page differs. Skips without test data."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True)
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    data = os.environ.get("CHAKRA_TEST_DATA", os.path.join(ROOT, "..", "shared", "data"))
    if not os.path.isdir(data):
        print(f"no test data at {data}: skipped")
        return
    text = make(os.path.join(os.path.abspath(args.bin), "chakra"), data)
    path = os.path.join(ROOT, "docs", "reference", name)
    if not args.check:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    elif not os.path.exists(path) or open(path, encoding="utf-8").read() != text:
        sys.exit(f"docs/reference/{name} does not say what comes out; run ./dev table and look at the difference")
