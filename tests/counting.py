"""Running the kit against a backend that counts its sandboxes."""

import json
import shlex
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).with_name("counting_provider.py")


def counting(folder: Path, *, acquire: float = 0.0, call: float = 0.0) -> tuple[str, ...]:
    """The options that name the counting provider; `counted` in the folder has its lines."""
    command = (sys.executable, str(SCRIPT), str(acquire), str(call))
    manifest = folder / "manifest.json"
    manifest.write_bytes(subprocess.run([*command, "--manifest"], check=True, capture_output=True).stdout)
    config = json.dumps({"root": str(folder / "sandboxes"), "token": "stand-in"})
    source = f"cmd:{shlex.join(command)}"
    return ("--provider", source, "--provider-manifest", str(manifest), "--provider-config", config)


def changes(folder: Path) -> list[int]:
    """How the number of sandboxes changed, in the order of time: 1 and -1."""
    moments: list[tuple[float, int]] = []
    gone: set[str] = set()
    for line in (folder / "counted").read_text(encoding="utf-8").splitlines():
        sign, moment, name = line.split(" ")
        if sign == "+":
            moments.append((float(moment), 1))
        elif name not in gone:
            gone.add(name)
            moments.append((float(moment), -1))
    return [change for _, change in sorted(moments)]


def most_at_once(folder: Path) -> int:
    """The most sandboxes that there were at one time."""
    count = most = 0
    for change in changes(folder):
        count += change
        most = max(most, count)
    return most
