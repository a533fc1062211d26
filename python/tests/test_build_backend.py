"""Which LLVM a build takes on machines that are not here: fake `llvm-config` and `cc`, and what the backend makes of them."""

import importlib.util
import os
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "build_backend.py"

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the fake programs are shell scripts")


class Machine:
    """A folder with programs, the only ones in the path."""

    def __init__(self, folder, monkeypatch):
        self.folder = folder
        self.monkeypatch = monkeypatch
        for name in ("CC", "LLVM_SYS_221_PREFIX", "LLVM_SYS_191_PREFIX", "MATURIN_PEP517_ARGS"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("PATH", str(folder / "bin"))
        (folder / "checkout").mkdir()
        (folder / "include" / "llvm-c").mkdir(parents=True)
        (folder / "include" / "llvm-c" / "Core.h").touch()
        self.add_program("bin/cc", "echo ${1#-print-file-name=}")

    def add_program(self, path, text):
        path = self.folder / path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)

    def add_llvm(self, version, path, has_archives=True, libraries="-lrt -lz -lm"):
        archives = f"echo {libraries}" if has_archives else "exit 1"
        self.add_program(
            path,
            f"""case $1 in
            --version) echo {version}.1.8 ;;
            --includedir) echo {self.folder}/include ;;
            --link-static) {archives} ;;
            esac""",
        )

    def has_archives(self):
        self.add_program("bin/cc", "echo /usr/lib/${1#-print-file-name=}")

    def record(self, variable, folder):
        configuration = self.folder / "checkout" / ".cargo" / "config.toml"
        configuration.parent.mkdir()
        configuration.write_text(f'[env]\n{variable} = "{folder}"\n')

    def backend(self):
        """The backend as it lies in a checkout on this machine."""
        path = self.folder / "checkout" / "python" / "build_backend.py"
        path.parent.mkdir()
        path.write_text(SOURCE.read_text())
        specification = importlib.util.spec_from_file_location("build_backend", path)
        module = importlib.util.module_from_spec(specification)
        specification.loader.exec_module(module)
        return module


@pytest.fixture
def machine(tmp_path, monkeypatch):
    return Machine(tmp_path, monkeypatch)


def test_without_llvm_the_module_interprets(machine):
    backend = machine.backend()
    assert backend.feature()[0] is None
    assert backend.with_features(None) == {"build-args": "--profile=source"}
    with pytest.raises(backend.MissingLlvm, match="LLVM_SYS_221_PREFIX"):
        backend.feature("static")


def test_llvm_becomes_part_of_the_module(machine):
    machine.add_llvm(22, "bin/llvm-config-22")
    machine.has_archives()
    backend = machine.backend()
    assert backend.feature()[0] == "llvm22-static"
    assert backend.feature("shared")[0] == "llvm22"
    assert backend.feature("none")[0] is None
    assert backend.with_features(None) == {"build-args": "--features=llvm22-static"}
    assert backend.with_features({"llvm": "none"}) == {"build-args": "--profile=source"}
    assert backend.with_features({"build-args": "--offline", "llvm": "static"}) == {"build-args": "--offline"}


@pytest.mark.parametrize(
    ("llvm", "reason"),
    [
        ({"version": 22, "has_archives": False}, "the archives of LLVM 22 are not installed"),
        ({"version": 22, "libraries": "-lz -lzstd"}, "libz.a and libzstd.a, which LLVM refers to, not found"),
        ({"version": 19}, "only LLVM 22 is linked statically"),
    ],
)
def test_obstacles_to_static_linking_are_named(machine, llvm, reason):
    machine.add_llvm(path="bin/llvm-config", **llvm)
    backend = machine.backend()
    name, given = backend.feature()
    assert name == f"llvm{llvm['version']}" and reason in given
    with pytest.raises(backend.MissingLlvm, match=reason):
        backend.feature("static")


def test_the_folder_that_was_recorded_goes_before_the_path(machine):
    machine.add_llvm(22, "bin/llvm-config-22")
    machine.add_llvm(19, "llvm19/bin/llvm-config")
    machine.record("LLVM_SYS_191_PREFIX", machine.folder / "llvm19")
    assert machine.backend().find_llvm() == ("19", os.path.join(machine.folder, "llvm19/bin/llvm-config"))


def test_a_variable_goes_before_what_was_recorded(machine, monkeypatch):
    machine.add_llvm(22, "chosen/bin/llvm-config")
    machine.record("LLVM_SYS_221_PREFIX", machine.folder / "gone")
    monkeypatch.setenv("LLVM_SYS_221_PREFIX", str(machine.folder / "chosen"))
    assert machine.backend().find_llvm()[1] == os.path.join(machine.folder, "chosen/bin/llvm-config")


def test_a_version_without_headers_is_none(machine):
    machine.add_llvm(22, "bin/llvm-config-22")
    (machine.folder / "include" / "llvm-c" / "Core.h").unlink()
    assert machine.backend().find_llvm() is None
