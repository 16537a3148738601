"""The provider on the real SDK: certified from its directory and from its tarball, with the same verdicts."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from .npm import installed, node, npm_cli
from .running import Finished, run_pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def package() -> Path:
    """The package directory with its dependencies as the lockfile says."""
    return installed(ROOT / "fixtures" / "sdk_provider")


@pytest.fixture(scope="module")
def tarball(package: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `npm pack` makes of it."""
    folder = tmp_path_factory.mktemp("packed")
    subprocess.run([node(), npm_cli(), "pack", package, "--silent"], cwd=folder, check=True, capture_output=True)
    (archive,) = folder.glob("*.tgz")
    return archive


def certify(folder: Path, source: Path) -> tuple[Finished, dict[str, Any]]:
    """Run the whole kit on a package, with sandboxes in a place of the test's own."""
    config = json.dumps({"root": str(folder / "sandboxes")})
    run = run_pytest(folder, "--provider", str(source), "--provider-config", config, "--provider-node", str(node()))
    return run, json.loads((run.report / "certification.json").read_text(encoding="utf-8"))


def test_directory_and_tarball_are_certified_alike(package: Path, tarball: Path, tmp_path: Path) -> None:
    documents: list[dict[str, Any]] = []
    for name, source in (("directory", package), ("tarball", tarball)):
        (tmp_path / name).mkdir()
        run, document = certify(tmp_path / name, source)
        assert run.code == 0, run.output
        assert run.leftovers == []
        assert document["leases"]["opened"] == document["leases"]["closed"] > 0
        documents.append(document)

    directory, packed = documents
    assert [_verdict(check) for check in directory["checks"]] == [_verdict(check) for check in packed["checks"]]
    assert {check["state"] for check in directory["checks"]} <= {"pass", "not-applicable"}
    assert directory["profiles"] == packed["profiles"]
    # What npm leaves out of a tarball, the lockfile for one, is part of the directory's own digest.
    for digest in ("manifest_digest", "worker_digest"):
        assert directory["subject"][digest] == packed["subject"][digest] is not None
    assert directory["subject"]["tarball_digest"] is None
    assert packed["subject"]["tarball_digest"].startswith("sha256:")
    assert packed["subject"]["purl"] == "pkg:npm/paperclip-plugin-conformance-sdk-provider@0.1.0"


def _verdict(check: dict[str, Any]) -> tuple[str, str, str]:
    return check["id"], check["name"], check["state"]
