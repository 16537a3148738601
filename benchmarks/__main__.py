"""Run benchmarks and print their figures: `python -m benchmarks [NAME ...] [--json FILE] [--write FILE]`.

Ends with 1 when a limit is not kept.
"""

import argparse
import importlib
import pkgutil
import sys
from pathlib import Path

HERE = Path(__file__).parent

# Started from the checkout, its root comes first and would hide the kit that is installed.
if Path(sys.path[0] or ".").resolve() == HERE.parent:
    del sys.path[0]

from benchmarks.row import Row  # noqa: E402 - see above
from benchmarks.table import as_json, as_page, as_table  # noqa: E402 - same


def names() -> list[str]:
    """Every benchmark: the public modules of this folder that have a `measure`."""
    return [module.name for module in pkgutil.iter_modules([str(HERE)]) if not module.ispkg and _measures(module.name)]


def main(arguments: list[str]) -> int:
    """Measure what was asked for, or all of it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(names())}; all when left out")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures as JSON")
    parser.add_argument("--write", type=Path, metavar="FILE", help="write the page with machine and date")
    asked = parser.parse_args(arguments)
    unknown = sorted({*asked.names} - {*names()})
    if unknown:
        parser.error(f"there is no benchmark {', '.join(unknown)}; there are {', '.join(names())}")
    rows: list[Row] = []
    for name in asked.names or names():
        print(f"measuring {name} ...", file=sys.stderr, flush=True)
        measured: list[Row] = importlib.import_module(f"benchmarks.{name}").measure()
        print(as_table(measured), flush=True)
        rows += measured
    if asked.json is not None:
        asked.json.write_text(as_json(rows), encoding="utf-8")
    if asked.write is not None:
        asked.write.write_text(as_page(rows), encoding="utf-8")
    return int(any(row.met is False for row in rows))


def _measures(name: str) -> bool:
    return "\ndef measure(" in (HERE / f"{name}.py").read_text(encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
