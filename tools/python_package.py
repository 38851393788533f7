#!/usr/bin/env python3
"""Makes the Python package chakra-et: `import chakra_et`, the command, and the library that both are.

    python_package.py wheel --build DIR [--out dist]      a wheel for other systems, of a build: with the shared libraries that it needs
    python_package.py backends [--out dist]               wheels of nanobind-backend for each Python, for installing without a network
    python_package.py needs                               packages of PyPI that compile the extension of a wheel
    python_package.py sdist [--out dist]                  the sources, which pip builds
    python_package.py folder --build DIR --to FOLDER      the package alone, over the libraries in DIR: for tests with sanitizers
    python_package.py licences --bundle DIR --to FOLDER   licence texts of the shared libraries in DIR, and of headers that are compiled in

pyproject.toml names this file as the build backend: what pip builds of the sources is for that system, and brings no libraries.
"""
import argparse
import base64
import gzip
import hashlib
import io
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import zipfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# Where each program looks for libchakra.so, and for the libraries beside it.
RPATH = {"chakra": "$ORIGIN/../lib/chakra",
         "_chakra.abi3.so": "$ORIGIN/../../../chakra:$ORIGIN/../../../../lib/chakra"}
# Of split mode: the extension is for every Python, and what differs between them is in the package nanobind-backend.
NANOBIND, BACKEND, PYTHONS = "nanobind==3.1.0", "nanobind-backend==1.0.0", ("3.10", "3.11", "3.12", "3.13", "3.14")
# What no wheel has a use for: the recording for `--compute torch`, whose plugin is missing, the page of the library, and pictures.
WITHOUT = {"gpt2_host", "cpp_api.md", "pictures"}
# What manylinux_2_35 has (Ubuntu 22.04): the newest versions of symbols, and the libraries that are not bundled.
NEWEST = {"GLIBC": (2, 35), "GLIBCXX": (3, 4, 30), "CXXABI": (1, 3, 13), "GCC": (12, 0, 0)}
OF_SYSTEM = re.compile(r"(lib(c|m|dl|rt|pthread|gcc_s|stdc\+\+)|ld-linux-.*)\.so\.\d+$")
HEADERS = ("libcli11-dev", "libflatbuffers-dev", "libprotozero-dev")  # Debian's packages of headers that are compiled in
TOO_OLD = 315532800  # 1980, before which zip files know no time


def output_of(*command, **options):
    return subprocess.run([str(part) for part in command], check=True, text=True, stdout=subprocess.PIPE, **options).stdout


def read(path, mode="r"):
    with open(path, mode, encoding=None if "b" in mode else "utf-8") as file:
        return file.read()


def version():
    return re.search(r"^project\(chakra VERSION ([0-9.]+)", read(os.path.join(ROOT, "CMakeLists.txt")), re.M)[1]


def names():
    """The other names of the command, from the table that gives them their meaning."""
    return re.findall(r'^    \{"(chakra_[a-z_]+)",', read(os.path.join(ROOT, "chakra", "cli", "names.cpp")), re.M)


def launcher(name):
    """As doctor::launcher_of(), by which `chakra doctor` knows it."""
    return f'#!/bin/sh\nexec "${{0%/*}}/chakra" {name} "$@"\n'


def metadata():
    return (f"Metadata-Version: 2.1\nName: chakra-et\nVersion: {version()}\n"
            "Summary: Link, check, simulate and replay Chakra execution traces: a library and a command\n"
            f"License: Apache-2.0\nRequires-Python: >=3.10\nRequires-Dist: {BACKEND.replace('==', '>=')},<2\n"
            "Classifier: License :: OSI Approved :: Apache Software License\nClassifier: Operating System :: POSIX :: Linux\n"
            "Description-Content-Type: text/markdown\n\n" + read(os.path.join(ROOT, "README.md")))


# ---- shared libraries ------------------------------------------------------------------------------------------------


def is_program(path):
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


def dynamic(path):
    """(key, value) of a program's dynamic section: NEEDED, SONAME, RPATH, ..."""
    return re.findall(r"^\s+([A-Z]+)\s+(\S+)$", output_of("objdump", "-p", path).split("Version References")[0], re.M)


def too_new(path):
    """Versions of symbols that NEWEST has not."""
    used = set(re.findall(r"\b(GLIBC|GLIBCXX|CXXABI|GCC)_(\d[\d.]*)\b", output_of("objdump", "-T", path)))
    return sorted(f"{kind}_{number}" for kind, number in used if tuple(map(int, number.split("."))) > NEWEST[kind])


def bundled(folder):
    """name that programs ask for -> file, of the shared libraries in a folder that has links to them."""
    found = {}
    for entry in sorted(os.listdir(folder)):
        path = os.path.realpath(os.path.join(folder, entry))
        if os.path.isfile(path) and is_program(path):
            found[dict(dynamic(path)).get("SONAME", entry)] = path
    return found


def check_programs(programs, libraries):
    """What would keep the command and the extension from running on another system."""
    problems = []
    for path in [*programs, *libraries.values()]:
        rpath = RPATH.get(os.path.basename(path))
        problems += [f"{os.path.basename(path)} needs {symbol}, which manylinux_2_35 has not" for symbol in too_new(path)]
        for key, value in dynamic(path):
            if key == "NEEDED" and value not in libraries and not OF_SYSTEM.match(value):
                problems.append(f"{os.path.basename(path)} needs {value}, which is not bundled")
            if key == "RUNPATH" or (key == "RPATH" and value != rpath):
                problems.append(f"{os.path.basename(path)} has {key} {value}")
        if rpath and ("RPATH", rpath) not in dynamic(path):
            problems.append(f"{os.path.basename(path)} has not RPATH {rpath}")
    return problems


def licences(libraries):
    """file name -> text: Debian's record of the licence of each package that a library or compiled-in header is of."""
    packages = set(HEADERS)
    for name in libraries:
        if name.startswith("libchakra."):
            continue
        try:
            packages.add(output_of("dpkg-query", "--search", f"*/{name}").split(":")[0])
        except (OSError, subprocess.CalledProcessError):
            sys.exit(f"python_package: {name} is of no Debian package, so its licence is unknown")
    notices = read(os.path.join(ROOT, "THIRD_PARTY_NOTICES.md"))
    for package in packages:
        if not any(package.startswith(row) for row in re.findall(r"^\|[^|]*\| `([\w.+-]+)` \|", notices, re.M)):
            sys.exit(f"python_package: THIRD_PARTY_NOTICES.md has no row for {package}")
    return {f"{package}.txt": read(f"/usr/share/doc/{package}/copyright", "rb") for package in sorted(packages)}


# ---- the extension ---------------------------------------------------------------------------------------------------


def sanitizer_of(library):
    """LD_PRELOAD for Python and a library with the address sanitizer, else None: the sanitizer, and the exceptions that it intercepts."""
    name = next((value for key, value in dynamic(library) if key == "NEEDED" and value.startswith("libasan.")), None)
    return " ".join(output_of("g++", f"-print-file-name={each}").strip() for each in (name, "libstdc++.so.6")) if name else None


def build_extension(build):
    """The folder with the extension over the libchakra.so of a build, and with its stub. It wants nanobind in this Python."""
    try:
        nanobind = output_of(sys.executable, "-m", "nanobind", "--cmake_dir", stderr=subprocess.DEVNULL).strip()
    except subprocess.CalledProcessError:
        sys.exit(f"python_package: this Python lacks nanobind; ./dev wheel installs it, or: pip install {NANOBIND} {BACKEND}")
    folder, library = os.path.join(build, "python"), os.path.join(os.path.abspath(build), "lib")
    sanitizer = sanitizer_of(f"{library}/libchakra.so")
    output_of("cmake", "-S", os.path.join(ROOT, "python"), "-B", folder, "-G", "Ninja", f"-DPython_EXECUTABLE={sys.executable}",
              f"-Dnanobind_DIR={nanobind}", f"-DCHAKRA_LIBRARY={library}/libchakra.so",
              *(["-DCMAKE_CXX_FLAGS=-fsanitize=address -g1"] if sanitizer else []))
    output_of("cmake", "--build", folder)
    loaded = {"LD_PRELOAD": sanitizer, "ASAN_OPTIONS": "detect_leaks=0"} if sanitizer else {}
    output_of(sys.executable, "-m", "nanobind.stubgen", "-q", "-P", "-i", folder, "-m", "_chakra", "-o", os.path.join(folder, "_chakra.pyi"),
              env={**os.environ, "LD_LIBRARY_PATH": library, **loaded})
    return folder


def package_files(build):
    """name in the wheel -> (bytes, whether it is run), of the package chakra_et."""
    source, built = os.path.join(ROOT, "python", "chakra_et"), build_extension(build)
    places = {os.path.relpath(os.path.join(folder, name), source): os.path.join(folder, name)
              for folder, _, names in sorted(os.walk(source)) for name in sorted(names) if name.endswith((".py", ".typed", ".txt"))}
    places |= {name: os.path.join(built, name) for name in ("_chakra.abi3.so", "_chakra.pyi")}
    return {f"chakra_et/{name}": (read(path, "rb"), path.endswith(".so")) for name, path in places.items()}


def download_backends(out, pythons=PYTHONS):
    for python in pythons:
        output_of(sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary=:all:",
                  "--python-version", python, "--platform", f"manylinux_2_28_{platform.machine()}", "--dest", out, BACKEND)


# ---- the wheel -------------------------------------------------------------------------------------------------------


def write_wheel(path, tag, files):
    """files: name in the wheel -> (bytes, whether it is run)."""
    info = f"chakra_et-{version()}.dist-info"
    files[f"{info}/METADATA"] = (metadata().encode(), False)
    files[f"{info}/WHEEL"] = (f"Wheel-Version: 1.0\nGenerator: chakra\nRoot-Is-Purelib: false\nTag: {tag}\n".encode(), False)
    record = "".join(f"{name},sha256={base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b'=').decode()},{len(data)}\n"
                     for name, (data, _) in sorted(files.items()))
    files[f"{info}/RECORD"] = (f"{record}{info}/RECORD,,\n".encode(), False)
    with zipfile.ZipFile(path + ".part", "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, (data, is_run) in sorted(files.items(), key=lambda item: (item[0].startswith(info), item[0])):
            entry = zipfile.ZipInfo(name)  # of 1980: the same files make the same wheel
            entry.external_attr = (0o100755 if is_run else 0o100644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data, compresslevel=9)  # a ZipInfo does not take that of the archive
    os.replace(path + ".part", path)


def make_wheel(build, out, portable):
    """Writes a wheel of what a build installs, and says its name. portable: with its libraries, checked for other systems."""
    data, files = f"chakra_et-{version()}.data", {}
    info = f"chakra_et-{version()}.dist-info/licenses"
    files.update(package_files(build))
    for text in ("LICENSE", "THIRD_PARTY_NOTICES.md"):
        files[f"{info}/{text}"] = (read(os.path.join(ROOT, text), "rb"), False)
    with tempfile.TemporaryDirectory() as prefix:
        for component in ("command", "bundle") if portable else ("command",):
            output_of("cmake", "--install", build, "--prefix", prefix, "--strip", "--component", component)
        command = os.path.join(prefix, "bin", "chakra")
        files[f"{data}/scripts/chakra"] = (read(command, "rb"), True)
        for name in names():
            files[f"{data}/scripts/{name}"] = (launcher(name).encode(), True)
        for folder, folders, entries in os.walk(os.path.join(prefix, "share")):
            folders[:] = [name for name in folders if name not in WITHOUT]
            for entry in sorted(set(entries) - set(WITHOUT)):
                path = os.path.join(folder, entry)
                files[f"{data}/data/{os.path.relpath(path, prefix)}"] = (read(path, "rb"), False)
        tag = f"cp310-abi3-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"
        libraries = bundled(os.path.join(prefix, "lib", "chakra"))
        for name, path in libraries.items():
            files[f"{data}/data/lib/chakra/{name}"] = (read(path, "rb"), True)
        if portable:
            extension = os.path.join(build, "python", "_chakra.abi3.so")
            if problems := check_programs([command, extension], libraries):
                sys.exit("python_package: this wheel would not run elsewhere; build it on Debian 12\n  " + "\n  ".join(problems))
            for name, text in licences(libraries).items():
                files[f"{info}/{name}"] = (text, False)
            tag = f"cp310-abi3-manylinux_2_35_{platform.machine()}"
    name = f"chakra_et-{version()}-{tag}.whl"
    os.makedirs(out, exist_ok=True)
    write_wheel(os.path.join(out, name), tag, files)
    return name


# ---- the sources -----------------------------------------------------------------------------------------------------


def sources():
    """Files below ROOT: those that git knows, or, in unpacked sources, all."""
    if os.path.exists(os.path.join(ROOT, ".git")):
        listed = output_of("git", "ls-files", "--cached", "--others", "--exclude-standard", cwd=ROOT).splitlines()
        return sorted(path for path in listed if os.path.isfile(os.path.join(ROOT, path)))
    found = []
    for folder, folders, entries in os.walk(ROOT):
        folders[:] = [name for name in folders if name not in ("build", "dist", "__pycache__")]
        found += [os.path.relpath(os.path.join(folder, entry), ROOT) for entry in entries]
    return sorted(path for path in found if path != "PKG-INFO")


def build_sdist(sdist_directory, config_settings=None):  # PEP 517
    base = f"chakra_et-{version()}"
    name = f"{base}.tar.gz"
    os.makedirs(sdist_directory, exist_ok=True)
    with open(os.path.join(sdist_directory, name), "wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=0) as packed, \
            tarfile.open(mode="w", fileobj=packed, format=tarfile.PAX_FORMAT) as archive:
        for path in [*sources(), "PKG-INFO"]:
            data = metadata().encode() if path == "PKG-INFO" else read(os.path.join(ROOT, path), "rb")
            entry = tarfile.TarInfo(f"{base}/{path}")
            entry.size, entry.mtime = len(data), TOO_OLD
            entry.mode = 0o755 if path != "PKG-INFO" and os.access(os.path.join(ROOT, path), os.X_OK) else 0o644
            archive.addfile(entry, io.BytesIO(data))
    return name


def get_requires_for_build_wheel(config_settings=None):  # PEP 517
    needs = [NANOBIND, BACKEND]
    try:
        found = tuple(map(int, re.search(r"(\d+)\.(\d+)", output_of("cmake", "--version")).groups()))
    except (OSError, subprocess.CalledProcessError):
        found = (0, 0)
    if found < (3, 25):
        needs.append("cmake>=3.25")
    if not shutil.which("ninja"):
        needs.append("ninja")
    return needs


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):  # PEP 517
    with tempfile.TemporaryDirectory() as build:
        subprocess.run(["cmake", "-S", ROOT, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DBUILD_TESTING=OFF",
                        "-DCHAKRA_UNITY=45000"], check=True)
        subprocess.run(["cmake", "--build", build, "--target", "chakra"], check=True)
        return make_wheel(build, wheel_directory, portable=False)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    wheel, sdist, texts, backends, folder, _ = map(verbs.add_parser, ("wheel", "sdist", "licences", "backends", "folder", "needs"))
    wheel.add_argument("--build", required=True)
    folder.add_argument("--build", required=True)
    folder.add_argument("--to", required=True)
    for verb in (wheel, sdist, backends):
        verb.add_argument("--out", default=os.path.join(ROOT, "dist"))
    texts.add_argument("--bundle", required=True)
    texts.add_argument("--to", required=True)
    options = parser.parse_args()
    if options.verb == "licences":
        os.makedirs(options.to, exist_ok=True)
        for name, text in licences(bundled(options.bundle)).items():
            with open(os.path.join(options.to, name), "wb") as file:
                file.write(text)
        return
    if options.verb == "folder":
        for name, (data, _) in package_files(options.build).items():
            path = os.path.join(options.to, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as file:
                file.write(data)
        return print(sanitizer_of(os.path.join(options.build, "lib", "libchakra.so")) or "")
    if options.verb == "needs":
        return print(NANOBIND, BACKEND)
    if options.verb == "backends":
        return download_backends(options.out)
    name = build_sdist(options.out) if options.verb == "sdist" else make_wheel(options.build, options.out, portable=True)
    path = os.path.join(options.out, name)
    print(f"{os.path.relpath(path)}: {os.path.getsize(path) / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
