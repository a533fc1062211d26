"""The native module as it is installed: what it runs, what it shows to others in the process, and what it needs."""

import sys
from pathlib import Path

import fuseline
import fuseline._native
import pytest

LIBRARY = Path(fuseline._native.__file__)

# What every system with a GNU C library has.
LIBRARIES_OF_THE_SYSTEM = {
    "ld-linux-aarch64.so.1",
    "ld-linux-x86-64.so.2",
    "libc.so.6",
    "libgcc_s.so.1",
    "libm.so.6",
    "libstdc++.so.6",
}


@pytest.fixture(scope="module")
def dynamic_section():
    """The names that the library defines for others, and the libraries that it needs."""
    if not sys.platform.startswith("linux"):
        pytest.skip("only Linux has libraries in this format")
    elf_file = pytest.importorskip("elftools.elf.elffile", reason="pyelftools is not installed")
    with LIBRARY.open("rb") as file:
        elf = elf_file.ELFFile(file)
        symbols = elf.get_section_by_name(".dynsym").iter_symbols()
        defined = {symbol.name for symbol in symbols if symbol.name and symbol["st_shndx"] != "SHN_UNDEF"}
        tags = elf.get_section_by_name(".dynamic").iter_tags("DT_NEEDED")
        return defined, {tag.needed for tag in tags}


def test_scripts_run():
    with fuseline.options(backend="llvm" if fuseline._native.HAS_LLVM else "interp"):
        assert fuseline.dml("x = seq(1, 1000)\ns = sum(x * x + 2 * x)").s == 334834500.0


def test_errors_are_exceptions():
    with pytest.raises(fuseline.CompileError, match="unknown"):
        fuseline.dml("print(unknown)")


def test_nothing_is_shown_to_other_libraries(dynamic_section):
    defined, _ = dynamic_section
    assert defined == {"PyInit__native"}


def test_nothing_but_the_system_is_needed(dynamic_section):
    _, needed = dynamic_section
    others = needed - LIBRARIES_OF_THE_SYSTEM
    if any(name.startswith("libLLVM") for name in others):
        pytest.skip("this module is built for the shared LLVM of this machine")
    assert not others
