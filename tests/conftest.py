"""Options of the kit's own tests."""

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the long forms."""
    parser.addoption(
        "--end-runs-at-many-moments",
        action="store_true",
        help="Kill and interrupt runs at seventy moments, not at a handful.",
    )
    parser.addoption(
        "--kill-with-every-check",
        action="store_true",
        help="Judge each mutant by every check, not only by those near what it breaks.",
    )
    parser.addoption(
        "--long",
        action="store_true",
        help="Give tests that have a long form all the time that they want: thousands of trees, whole certifications.",
    )


@pytest.fixture
def long(request: pytest.FixtureRequest) -> bool:
    """Whether tests take their long form."""
    return bool(request.config.getoption("long"))


@pytest.fixture
def kill_with_every_check(request: pytest.FixtureRequest) -> bool:
    """Whether each mutant meets every check."""
    return bool(request.config.getoption("kill_with_every_check"))
