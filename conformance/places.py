"""Where the parts of the installed kit lie on disk, without importing them."""

import importlib.util
from pathlib import Path

from conformance.errors import KitError

SUITES = "conformance.suites"
FIXTURES = "conformance.fixtures"
REPORTS = "conformance.reports"


def folder_of(package: str) -> Path:
    """The folder of one of our packages. Raises `KitError` when the installation lacks it."""
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        raise KitError(f"The package {package} is not installed.")
    return Path(spec.origin).parent
