"""The loader refuses broken data, names the file and the key, and nothing half-read gets through."""

import re
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from conformance import contract as contract_package
from conformance.contract import ContractDataError, UnknownRevisionError, load_contract, revisions
from conformance.contract.loader import available_revisions, load_contract_from

REVISION = "2026.824"
DATA = Path(contract_package.__file__).parent


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A copy of the data that a test may break."""
    copy = tmp_path / "data"
    shutil.copytree(DATA, copy, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    return copy


def change(data: Path, file: str, old: str, new: str) -> None:
    path = data / file
    text = path.read_text(encoding="utf-8")
    assert old in text, f"{old!r} is not in {file}"
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


@dataclass(frozen=True)
class Slip:
    """One mistake in the data, and where the loader must see it."""

    name: str
    file: str
    old: str
    new: str
    key: str
    reason: str


LEASE = "requirements/lease.toml"
IN_REVISION = f"revisions/{REVISION}"

SLIPS = (
    Slip("duplicate-id", LEASE, '"LEASE-002"', '"LEASE-001"', "requirement[1].id", "LEASE-001 stands twice"),
    Slip("unknown-level", LEASE, 'level = "MUST"', 'level = "MUSS"', "requirement[0].level", "'MUSS' is not one of"),
    Slip("unknown-area", LEASE, 'area = "lease"', 'area = "leases"', "area", "'leases' is not one of"),
    Slip("other-area", LEASE, 'area = "lease"', 'area = "probe"', "area", "the file of lease says probe"),
    Slip("unknown-profile", LEASE, 'profile = "core"', 'profile = "kern"', "profile", "'kern' is not one of"),
    Slip("unknown-since", LEASE, 'since = "2026.824"', 'since = "2026.8"', "requirement[0].since", "'2026.8' is not"),
    Slip("unknown-until", LEASE, 'until = "2026.831"', 'until = "2030.1"', "requirement[28].until", "'2030.1' is not"),
    Slip(
        "since-after-until",
        LEASE,
        'since = "2026.824"\nuntil = "2026.831"',
        'since = "2026.916"\nuntil = "2026.831"',
        "requirement[28].since",
        "2026.916 comes after until, 2026.831",
    ),
    Slip("missing-field", LEASE, "observed_by =", "# observed_by =", "requirement[0].observed_by", "missing"),
    Slip("blank-field", LEASE, 'source = "server', 'source = " " # "server', "requirement[0].source", "not blank"),
    Slip("foreign-prefix", LEASE, '"LEASE-001"', '"MAN-001"', "requirement[0].id", "'MAN-001' is no id of lease"),
    Slip("no-number", LEASE, '"LEASE-001"', '"LEASE-1a"', "requirement[0].id", "'LEASE-1a' is no id of lease"),
    Slip("unknown-key", LEASE, "source =", 'origin = "x"\nsource =', "requirement[0].origin", "unknown key"),
    Slip("unknown-file-key", LEASE, "prefix =", 'owner = "x"\nprefix =', "owner", "unknown key"),
    Slip(
        "free-may", LEASE, 'not_observable = "A freedom', '# = "A freedom', "requirement[35].not_observable", "missing"
    ),
    Slip("no-toml", LEASE, "[[requirement]]", "[[requirement]", "file", "Expected"),
    Slip("profile-of-nothing", "profiles.toml", '"RPC-012"', '"RPC-999"', "resilience.requirements", "RPC-999 is unkn"),
    Slip("revision-twice", "revisions.toml", '"2026.831"', '"2026.824"', "revision[1].name", "2026.824 stands twice"),
    Slip(
        "unknown-prerequisite",
        f"{IN_REVISION}/capabilities.toml",
        '"environmentResumeLease"',
        '"environmentResume"',
        "reusableLeases.prerequisites",
        "environmentResume is no method",
    ),
    Slip(
        "unknown-pair", f"{IN_REVISION}/capabilities.toml", 'pair = "native', 'pair = "x', "nativeSyncIn.pair", "is not"
    ),
    Slip(
        "no-flag",
        f"{IN_REVISION}/capabilities.toml",
        "opt_in = true",
        'opt_in = "yes"',
        "reusableLeases.opt_in",
        "true or",
    ),
    Slip(
        "unknown-narrowed",
        f"{IN_REVISION}/narrowings.toml",
        '"nativeSyncOut"',
        '"nativeSync"',
        "job-lease.removes",
        "nativeSync is no capability",
    ),
    Slip("unknown-situation", f"{IN_REVISION}/narrowings.toml", "[plain]", "[simple]", "simple", "is no situation"),
    Slip(
        "missing-situation",
        f"{IN_REVISION}/narrowings.toml",
        '[plain]\nremoves = []\nwhen = "Nothing about the run restricts the provider."\n',
        "",
        "plain",
        "missing",
    ),
    Slip(
        "unknown-limit",
        f"{IN_REVISION}/methods.toml",
        'limit = "initialize"',
        'limit = "x"',
        "initialize.limit",
        "'x' is",
    ),
    Slip("no-limit", f"{IN_REVISION}/limits.toml", "value = 30\n", "value = 0\n", "default.value", "must be positive"),
    Slip(
        "no-number", f"{IN_REVISION}/limits.toml", "value = 30\n", 'value = "30"\n', "default.value", "must be a number"
    ),
    Slip("odd-code", f"{IN_REVISION}/errors.toml", "-32700", "-32700.5", "parse_error", "must be a whole number"),
    Slip(
        "open-and-gated",
        f"{IN_REVISION}/worker-methods.toml",
        "[gated]\n",
        '[gated]\nlog = "metrics.write"\n',
        "gated.log",
        "cannot be open and gated",
    ),
    Slip("key-twice", f"{IN_REVISION}/keys.toml", '"timeoutMs"', '"reuseLease"', "host", "holds a value twice"),
    Slip(
        "unknown-rule-kind",
        f"{IN_REVISION}/manifest/rules.toml",
        'kind = "unique"',
        'kind = "x"',
        "rule[1].kind",
        "'x' is",
    ),
    Slip("unknown-rule-key", f"{IN_REVISION}/manifest/rules.toml", "lists =", "lits =", "rule[1].lits", "unknown key"),
    Slip("no-json", f"{IN_REVISION}/manifest/driver.json", "{", "", "file", "Extra data"),
    Slip(
        "no-schema",
        f"{IN_REVISION}/manifest/driver.json",
        '"minLength": 1',
        '"minLength": "1"',
        "minLength",
        "no JSON Sch",
    ),
    Slip(
        "dead-reference", f"{IN_REVISION}/manifest/driver.json", "config-schema.json", "x.json", "$ref", "leads nowhere"
    ),
)


@pytest.mark.parametrize("slip", SLIPS, ids=[slip.name for slip in SLIPS])
def test_a_slip_is_refused_by_file_and_key(data: Path, slip: Slip) -> None:
    change(data, slip.file, slip.old, slip.new)

    with pytest.raises(ContractDataError, match=re.escape(slip.reason)) as caught:
        load_contract_from(data, REVISION)

    assert caught.value.file == Path(slip.file).name
    assert caught.value.key.endswith(slip.key)
    assert slip.key in str(caught.value)


@pytest.mark.parametrize(
    ("file", "named"),
    [
        (LEASE, "lease.toml"),
        ("profiles.toml", "profiles.toml"),
        (f"{IN_REVISION}/limits.toml", "limits.toml"),
        (f"{IN_REVISION}/methods/environmentExecute.json", "methods"),
    ],
)
def test_a_missing_file_is_refused(data: Path, file: str, named: str) -> None:
    (data / file).unlink()

    with pytest.raises(ContractDataError) as caught:
        load_contract_from(data, REVISION)

    assert caught.value.file == named


def test_a_file_of_no_area_is_refused(data: Path) -> None:
    (data / "requirements" / "leases.toml").write_text("", encoding="utf-8")

    with pytest.raises(ContractDataError, match="is the file of no area"):
        load_contract_from(data, REVISION)


def test_the_untouched_copy_is_the_contract(data: Path) -> None:
    assert load_contract_from(data, REVISION).digest == load_contract(REVISION).digest


@pytest.mark.parametrize(
    "file", ["profiles.toml", LEASE, f"{IN_REVISION}/limits.toml", f"{IN_REVISION}/manifest/driver.json"]
)
def test_the_digest_sees_every_file(data: Path, file: str) -> None:
    with (data / file).open("a", encoding="utf-8") as stream:
        stream.write("\n")

    assert load_contract_from(data, REVISION).digest != load_contract(REVISION).digest


def test_an_unknown_revision_names_the_known_ones() -> None:
    with pytest.raises(UnknownRevisionError) as caught:
        load_contract("2026.82")

    assert caught.value.known == revisions()
    assert "Did you mean 2026.824?" in str(caught.value)


def test_a_revision_without_a_folder_is_not_offered(data: Path) -> None:
    shutil.rmtree(data / "revisions" / REVISION)

    assert available_revisions(data) == tuple(name for name in revisions() if name != REVISION)
