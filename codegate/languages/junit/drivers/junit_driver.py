"""Run a command inside a sandbox; send its JUnit XML.

The settings name the report files. They are sent as bytes and parsed on the host. Older reports are removed before the
command starts, so that every report that is sent is the command's own.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import signal
import subprocess
import sys
from typing import Any, Iterator

from codegate.grading.drivers.channel_driver import Channel, plain

MOST_FILES = 500
MOST_BYTES = 8 << 20


def report_files(reports: list[str]) -> Iterator[str]:
    """Yield the XML files below ``reports``, except links."""
    for path in reports:
        if os.path.isfile(path) and not os.path.islink(path):
            yield path
        for folder, names, files in os.walk(path):
            names.sort()
            for name in sorted(files):
                found = os.path.join(folder, name)
                if name.lower().endswith(".xml") and not os.path.islink(found):
                    yield found


def run(settings: dict[str, Any]) -> int:
    """Remove old reports, run the command, and return its status."""
    for path in settings["reports"]:
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path)
        elif os.path.lexists(path):
            os.unlink(path)
    variants = [("_%s" % word).encode("ascii") for word in settings["variants"]]
    try:
        process = subprocess.Popen(
            settings["command"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE if variants else None
        )
    except OSError as error:
        sys.stderr.write("%s\n" % error)
        return 127
    for line in process.stdout or ():
        if not any(word in line for word in variants):  # copies, and the tests that have some
            sys.stdout.buffer.write(line)
            sys.stdout.buffer.flush()
    return process.wait()


def main() -> None:
    """Run the command; send its reports, exit with its status."""
    settings = json.load(sys.stdin)
    channel = Channel(int(sys.argv[1]), settings["token"])
    os.chdir(settings["folder"] or ".")
    status = run(settings)
    left = MOST_BYTES
    for number, path in enumerate(report_files(settings["reports"])):
        with open(path, "rb") as file:
            data = file.read(left + 1)
        left -= len(data)
        if left < 0 or number >= MOST_FILES:
            os._exit(1)  # cut short, a report proves nothing
        channel.send(kind="report", path=plain(path, 4096), data=base64.b64encode(data).decode("ascii"))
    if status >= 0:
        channel.send(kind="end", status=status)
        os._exit(status)
    os.kill(os.getpid(), signal.SIGKILL if status == -signal.SIGKILL else signal.SIGTERM)


main()
