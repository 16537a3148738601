"""The page of a long run, and the list of many reports: each within two seconds, in memory that does not grow."""

from benchmarks.row import Row, side_process

FEW, MANY = 1_000, 10_000
REPORTS = 1_000
MOST_S = 2.0
MOST_GROWTH = 1.2
MOST_MIB = 8.0
MIB = 1 << 20


def measure() -> list[Row]:
    """One page from few lines and one from many, and one list."""
    few, many = (side_process("benchmarks.pages", "page", str(count)) for count in (FEW, MANY))
    listed = side_process("benchmarks.pages", "index", str(REPORTS))
    page = f"page of a run with {MANY:,} lines"
    return [
        Row(page, "-", many["seconds"], None, "s", MOST_S, f"{many['checks']:.0f} checks, stream and lines read"),
        Row(
            f"{page}, peak memory",
            f"{FEW:,} lines",
            many["peak"] / MIB,
            few["peak"] / MIB,
            "MiB",
            MOST_GROWTH,
            "with Python itself",
        ),
        Row(f"{page}, its size", "-", many["bytes"] / MIB, None, "MiB", MOST_MIB, "bodies shortened"),
        Row(f"list of {REPORTS:,} reports", "-", listed["seconds"], None, "s", MOST_S, "page and JSON"),
        Row(f"list of {REPORTS:,} reports, peak memory", "-", listed["peak"] / MIB, None, "MiB", None),
    ]
