"""Builds the wheel of the package: its sources and the shared library `libkingpost.so`.

The library is `KINGPOST_LIBRARY`, a shared or static library, if that is set. Otherwise Cargo builds it from the
sources around this folder.
"""

import base64
import hashlib
import os
import re
import subprocess
import sysconfig
import tempfile
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
CRATE = HERE.parent
NAME = "kingpost"


def version():
    """Returns the version of the header."""
    header = (CRATE / "include" / "kingpost.h").read_text()
    return re.search(r'KINGPOST_VERSION_STRING "(.*)"', header).group(1)


def library(folder):
    """Returns the path of a shared library, which is linked into `folder` if necessary."""
    given = os.environ.get("KINGPOST_LIBRARY")
    if given and not Path(given).is_file():
        raise SystemExit(f"KINGPOST_LIBRARY: there is no file {given}")
    if given and not given.endswith(".a"):
        return Path(given)
    static = Path(given) if given else build()
    subprocess.run(["sh", CRATE / "install.sh", static, folder], check=True)
    return Path(folder) / "lib" / f"libkingpost.so.{version()}"


def build():
    """Builds the static library with Cargo and returns its path."""
    root = CRATE.parent.parent
    command = ["cargo", "build", "--release", "--package", "kingpost-capi"]
    subprocess.run(command, cwd=root, check=True)
    target = os.environ.get("CARGO_TARGET_DIR", root / "target")
    return Path(target) / "release" / "libkingpost_capi.a"


def metadata():
    """Returns the metadata of the package."""
    return (
        f"Metadata-Version: 2.1\nName: {NAME}\nVersion: {version()}\n"
        "Summary: The compiler back end Kingpost: compile, run and compare register allocators\n"
        "License: Apache-2.0 WITH LLVM-exception\nRequires-Python: >=3.8\n"
    )


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """Writes the wheel and returns its name (PEP 517)."""
    platform = re.sub(r"[-.]", "_", sysconfig.get_platform())
    tag = f"py3-none-{platform}"
    info = f"{NAME}-{version()}.dist-info"
    wheel = f"{NAME}-{version()}-{tag}.whl"
    with tempfile.TemporaryDirectory() as folder:
        files = {f"{NAME}/{path.name}": path.read_bytes() for path in sorted((HERE / NAME).glob("*.py"))}
        files[f"{NAME}/libkingpost.so"] = library(folder).read_bytes()
        files[f"{info}/METADATA"] = metadata().encode()
        files[f"{info}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: kingpost\nRoot-Is-Purelib: false\nTag: {tag}\n".encode()
        record = [f"{name},{digest(data)},{len(data)}" for name, data in files.items()]
        files[f"{info}/RECORD"] = "\n".join([*record, f"{info}/RECORD,,", ""]).encode()
        with zipfile.ZipFile(Path(wheel_directory) / wheel, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, data in files.items():
                # A fixed date gives equal wheels for equal contents.
                archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), data, zipfile.ZIP_DEFLATED)
    return wheel


def digest(data):
    """Returns the digest of a file as a record of a wheel has it."""
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
