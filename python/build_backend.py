"""Builds the package by maturin, with the LLVM that is on the machine.

Maturin takes the features of the native module from settings that are the same everywhere. Here they follow from the
machine: LLVM 22 within the module where its archives are, else LLVM 22 or 19 as a shared library, else none: then fused
operators are interpreted, everything works more slowly, and compiling the module takes less long (Cargo's profile
`source`). `pip install --config-settings llvm=KIND` chooses `static`, `shared` or `none`, and `--config-settings
build-args="--features ..."` leaves it all to maturin.

As a program it prints the feature for the setting that it is given, if any.
"""

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

# Each version with the variable that names its folder, the best first.
VERSIONS = {"22": "LLVM_SYS_221_PREFIX", "19": "LLVM_SYS_191_PREFIX"}

STATIC_VERSION = "22"

# Like the build script of the crate `llvm-backend`: what is linked of LLVM, and what LLVM refers to.
COMPONENTS = ["orcjit", "passes", "native"]
COMPRESSION = {"-lz": "libz.a", "-lzstd": "libzstd.a"}


class MissingLlvm(Exception):
    """LLVM is not here in the way that was asked for."""


def feature(kind=None):
    """The feature for this kind of linking, or for the best kind that there is, with the reason; `None` without LLVM."""
    if kind not in (None, "static", "shared", "none"):
        raise MissingLlvm(f"llvm is static, shared or none, not {kind}")
    if kind == "none":
        return None, "without LLVM, as was asked for"
    found = find_llvm()
    if found is None:
        reason = "no LLVM 22 or 19 with its headers is here (LLVM_SYS_221_PREFIX names the folder of one)"
        if kind is not None:
            raise MissingLlvm(reason)
        return None, f"without LLVM, so that fused operators are interpreted: {reason}"
    version, llvm_config = found
    obstacle = obstacle_to_static_linking(version, llvm_config)
    if kind == "static" and obstacle:
        raise MissingLlvm(obstacle)
    if kind == "shared" or obstacle:
        reason = "as was asked for" if kind == "shared" else obstacle
        return f"llvm{version}", f"with the shared library of LLVM {version}: {reason}"
    return f"llvm{version}-static", f"with LLVM {version} in the module"


def find_llvm():
    """The version and the `llvm-config` of the LLVM to build with."""
    recorded = recorded_variables()
    folders = [(version, os.environ.get(name) or recorded.get(name)) for version, name in VERSIONS.items()]
    # A folder that somebody named goes before any that lies in the path.
    for version, folder in sorted(folders, key=lambda found: found[1] is None):
        for name in (f"llvm-config-{version}", f"llvm-config{version}", f"llvm{version}-config", "llvm-config"):
            llvm_config = os.path.join(folder, "bin", name) if folder else shutil.which(name)
            if llvm_config and is_usable(version, llvm_config):
                return version, llvm_config
    return None


def recorded_variables():
    """The variables that cargo sets by its configuration, in which `./x` writes down the LLVM that it found."""
    recorded = {}
    for folder in reversed(Path(__file__).resolve().parents):
        recorded |= variables_of(folder / ".cargo" / "config.toml")
    return recorded


def variables_of(configuration):
    try:
        variables = tomllib.loads(configuration.read_text()).get("env", {})
    except (OSError, ValueError):
        return {}
    return {name: value for name, value in variables.items() if isinstance(value, str)}


def is_usable(version, llvm_config):
    """Whether it speaks for this major version, and headers are there."""
    found = answer(llvm_config, "--version")
    headers = answer(llvm_config, "--includedir")
    return bool(found and headers) and found.split(".")[0] == version and Path(headers, "llvm-c", "Core.h").exists()


def obstacle_to_static_linking(version, llvm_config):
    """Why LLVM cannot become part of the module, if it cannot."""
    if version != STATIC_VERSION:
        return f"only LLVM {STATIC_VERSION} is linked statically"
    libraries = answer(llvm_config, "--link-static", "--system-libs", *COMPONENTS)
    if libraries is None or answer(llvm_config, "--link-static", "--libnames", *COMPONENTS) is None:
        return f"the archives of LLVM {version} are not installed"
    names = [COMPRESSION[library] for library in libraries.split() if library in COMPRESSION]
    missing = [name for name in names if not is_installed(name)]
    return f"{' and '.join(missing)}, which LLVM refers to, not found" if missing else None


def is_installed(archive):
    """Whether the C compiler finds an archive."""
    path = answer(os.environ.get("CC", "cc"), f"-print-file-name={archive}")
    return path is not None and os.path.isabs(path)


def answer(*command):
    """What a program prints, or `None` if it is not there or fails."""
    try:
        return subprocess.run(command, capture_output=True, check=True, text=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None


def with_features(settings):
    """Settings for maturin with the features in them, unless they, or maturin's variable, say what to build."""
    settings = dict(settings or {})
    kind = settings.pop("llvm", None)
    if "build-args" in settings or "MATURIN_PEP517_ARGS" in os.environ:
        return settings
    name, reason = feature(kind)
    print(f"Building {reason}.", flush=True)
    return settings | {"build-args": f"--features={name}" if name else "--profile=source"}


# What a builder of packages calls. Maturin is imported late: without it, the program above still works.


def get_requires_for_build_wheel(config_settings=None):
    import maturin

    return maturin.get_requires_for_build_wheel(config_settings)


def get_requires_for_build_editable(config_settings=None):
    import maturin

    return maturin.get_requires_for_build_editable(config_settings)


def get_requires_for_build_sdist(config_settings=None):
    import maturin

    return maturin.get_requires_for_build_sdist(config_settings)


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    import maturin

    return maturin.prepare_metadata_for_build_wheel(metadata_directory, with_features(config_settings))


def prepare_metadata_for_build_editable(metadata_directory, config_settings=None):
    import maturin

    return maturin.prepare_metadata_for_build_editable(metadata_directory, with_features(config_settings))


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    import maturin

    return maturin.build_wheel(wheel_directory, with_features(config_settings), metadata_directory)


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    import maturin

    return maturin.build_editable(wheel_directory, with_features(config_settings), metadata_directory)


def build_sdist(sdist_directory, config_settings=None):
    import maturin

    return maturin.build_sdist(sdist_directory, config_settings)


def main(arguments):
    """Prints the feature for a setting of `llvm`, and the reason where errors go."""
    try:
        name, reason = feature(*arguments)
    except MissingLlvm as error:
        sys.exit(f"cannot build so: {error}")
    print(f"The wheel is built {reason}.", file=sys.stderr)
    print(name or "")


if __name__ == "__main__":
    main(sys.argv[1:])
