"""The pytest plugin: options, and nothing else until ``--provider`` is given.

pytest loads this module in every project that has the kit installed, so it imports only what is here anyway.
"""

import warnings

import pytest

_EXAMPLES = """\
sandbox provider conformance
  Nothing of this does anything until --provider is given. Examples:
    pytest --provider reference
    pytest --provider ./my-plugin
    pytest --provider ./my-plugin-1.2.0.tgz --provider-config '{"image": "base"}'
    pytest --provider 'cmd:python -m my_worker' --provider-manifest manifest.json
    pytest --provider ./my-plugin -k LEASE-028
  Secrets and settings that stay the same belong into conformance.toml beside the package"""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Put the kit's options into a group of their own."""
    group = parser.getgroup("sandbox provider conformance", _EXAMPLES)
    add = group.addoption
    add(
        "--provider",
        metavar="SOURCE",
        help="What to certify: a package directory, a .tgz, npm:NAME@VERSION, 'cmd:COMMAND', reference, mutant:NAME.",
    )
    add("--provider-manifest", metavar="FILE", help="Manifest as JSON; needed with cmd:, and only there.")
    add("--provider-driver", metavar="KEY", help="Which driver of the manifest, when it has several sandbox providers.")
    add("--provider-config", metavar="JSON", help="Environment config: a JSON object, or a file that holds one.")
    add("--conformance-file", metavar="FILE", help="Settings file (default: conformance.toml beside the package).")
    add("--contract", metavar="REVISION", help="Contract revision to judge by (default: 2026.824).")
    add(
        "--provider-profile",
        metavar="NAME",
        action="append",
        default=[],
        help="Certify only this profile; may be repeated.",
    )
    add("--report-dir", metavar="DIR", help="Where the report goes (default: conformance-report).")
    add(
        "--provider-node",
        metavar="PROGRAM",
        help="Node to use (default: the one on PATH, else the one of the extra [node]).",
    )
    add("--provider-inventory", metavar="COMMAND", help="Lists live sandboxes, one providerLeaseId a line.")
    add(
        "--provider-kill",
        metavar="COMMAND",
        help="Removes the sandbox whose id stands at {id}, or at the end, without the provider's knowledge.",
    )
    add("--conformance-seed", metavar="N", type=int, help="Seed of everything random, to repeat a run.")
    add(
        "--provider-limit",
        metavar="NAME=NUMBER",
        action="append",
        default=[],
        help="Change a time limit; the run is then a custom run. `provider-conformance list --limits` names them.",
    )
    add("--max-leases", metavar="N", type=int, help="Stop before more than N leases were opened in all (default: 200).")
    add(
        "--max-concurrent-leases",
        metavar="N",
        type=int,
        help="Leases at once, and checks side by side in one process (default: 4).",
    )
    add("--max-lease-seconds", metavar="S", type=float, help="Stop before S lease-seconds were spent (default: 3600).")
    add(
        "--baseline",
        metavar="FILE",
        help="Checks that are expected to fail (default: conformance-baseline.toml beside the package).",
    )
    add(
        "--conformance-progress",
        metavar="SECONDS",
        type=float,
        default=60.0,
        help="How often a run without a terminal says what it is doing (default: 60; 0: never).",
    )
    add("--lease-rate", metavar="MONEY", help="What an hour of one lease costs, such as '0.12 EUR'; costs are shown.")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Bring in the rest when there is a provider to certify."""
    if config.getoption("provider") is None:
        return
    from conformance import session  # noqa: PLC0415 - an unrelated pytest run must not pay for it

    # The kit names the loop of its one async fixture itself, so pytest-asyncio's advice about a default is noise.
    warnings.filterwarnings("ignore", message=r"[\s\S]*asyncio_default_fixture_loop_scope")
    session.install(config)
