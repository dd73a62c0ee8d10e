"""The Java that Spark starts: its version, or why Spark cannot use it. Without one, Spark prints a traceback of its own."""

from __future__ import annotations

import os
import re
import shutil
import subprocess

_LEAST = 17


class Unusable(Exception):
    """Why Spark cannot use the format here, and what to do."""


def java() -> str:
    """The version of the Java that Spark starts."""
    home = os.environ.get("JAVA_HOME")
    program = f"{home}/bin/java" if home else shutil.which("java")
    advice = f"Spark needs Java {_LEAST} or newer. Install it, or set JAVA_HOME"
    if program is None:
        raise Unusable(f"Java is not on the PATH, and JAVA_HOME is not set. {advice}")
    try:
        said = subprocess.run([program, "-version"], capture_output=True, text=True, timeout=60, check=True).stderr
    except (OSError, subprocess.SubprocessError) as error:
        raise Unusable(f"{program} does not start: {error}. {advice}") from error
    found = re.search(r'version "(?:1\.)?(\d+)[^"]*"', said)
    if found is None or int(found[1]) < _LEAST:
        raise Unusable(f"{program} is {said.splitlines()[0] if said else 'of an unknown version'}. {advice}")
    return f"{found[0].split(chr(34))[1]}, {program}"
