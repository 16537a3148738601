"""A whole certification of a slow provider: three seconds for each acquire, a fifth of one for every other call."""

import json
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.certify import certify
from benchmarks.row import Row

PROVIDER = Path(__file__).with_name("slow_provider.py")


def measure() -> list[Row]:
    """The time of the run, against the delays that it could not avoid."""
    command = (sys.executable, str(PROVIDER))
    with tempfile.TemporaryDirectory(prefix="provider-conformance-benchmark-") as name:
        folder = Path(name)
        manifest = folder / "manifest.json"
        manifest.write_bytes(subprocess.run([*command, "--manifest"], check=True, capture_output=True).stdout)
        config = json.dumps({"root": str(folder / "sandboxes")})
        run = certify(
            folder,
            *("--provider", f"cmd:{shlex.join(command)}", "--provider-manifest", str(manifest)),
            *("--provider-config", config),
        )
    return [
        Row(
            "certification with 3 s for each acquire and 0.2 s for each call",
            "time in which a call was open",
            run.seconds,
            run.waited,
            "s",
            1.3,
            "calls of checks that overlap count once",
        )
    ]
