"""`verify` accepts what is genuine, refuses everything that was touched, and says which of the causes it is."""

import copy
import datetime as dt
import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from conformance.cli import main
from conformance.commands.measure import measure_of
from conformance.commands.verify import verify
from conformance.events import EventWriter
from conformance.model import Json
from conformance.record import checks_digest, digest_of_sources, header
from conformance.reports.verify import Cause
from conformance.reports.write import write_all

from .builder import good_run
from .genuine import Change, genuine, plan
from .test_statement import key_pair

TODAY = dt.datetime.now(dt.UTC).date()
PACKAGE = b"the bytes of a tarball"
DIGEST = f"sha256:{hashlib.sha256(PACKAGE).hexdigest()}"
JSON_OUTPUTS = ("certification.json", "badge-evidence.json", "registry-entry.json", "statement.json", "ctrf.json")


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A signed report of a certified run, beside the package it is about and the key."""
    folder = tmp_path_factory.mktemp("good")
    (folder / "plugin.tgz").write_bytes(PACKAGE)
    private, _ = key_pair(folder)
    assert main(["sign", str(genuine(folder / "report", DIGEST)), "--key", str(private)]) == 0
    return folder


@pytest.fixture
def report(good: Path, tmp_path: Path) -> Path:
    """A copy of it to spoil."""
    shutil.copytree(good / "report", tmp_path / "report")
    return tmp_path / "report"


def cause(thing: Path, **more: Any) -> Cause:
    return verify(thing, TODAY, **more).cause


def spoiled(value: Json, place: str = "") -> Iterator[tuple[str, Json]]:
    """Give the value once for each of its leaves and keys, with that one changed or gone."""
    match value:
        case dict():
            for key in value:
                yield f"{place}.{key}", {name: each for name, each in value.items() if name != key}
                for where, inner in spoiled(value[key], f"{place}.{key}"):
                    yield where, {**value, key: inner}
            yield f"{place}.added", {**value, "added": 1}
        case list():
            for index, each in enumerate(value):
                yield f"{place}[{index}]", [*value[:index], *value[index + 1 :]]
                for where, inner in spoiled(each, f"{place}[{index}]"):
                    yield where, [*value[:index], inner, *value[index + 1 :]]
        case bool() | None:
            yield place, "spoiled"
        case int() | float():
            yield place, value + 1
        case str():
            yield place, value + "x"
        case _:
            raise TypeError


def test_a_check_that_was_left_out_or_made_up_is_missed(report: Path) -> None:
    lines = [json.loads(line) for line in (report / "events.jsonl").read_bytes().splitlines()[:-1]]
    several = next(line for line in lines if line["event"] == "check-end" and line["id"] == "LEASE-028")
    left = [line for line in lines if line.get("name") != several["name"]]
    _written_anew(report, copy.deepcopy(left))
    write_all(report / "events.jsonl", report)
    assert verify(report, TODAY).sentence == f"The report lacks the check {several['name']} of LEASE-028."
    made_up = [{**line, "name": "made_up"} if line.get("name") == several["name"] else line for line in lines]
    _written_anew(
        report,
        [*copy.deepcopy(lines), *copy.deepcopy(made_up[made_up.index({**several, "name": "made_up"}) - 2 :][:3])],
    )
    write_all(report / "events.jsonl", report)
    assert cause(report) is Cause.OTHER_RULES


def test_a_genuine_report_is_verified_whole_and_file_by_file(good: Path) -> None:
    folder = good / "report"
    assert cause(folder, package=good / "plugin.tgz", key=good / "ed25519.pub") is Cause.VERIFIED
    for name in ("certification.json", "statement.json", "badge-core.svg", "badge.png", "events.jsonl", "report.html"):
        assert cause(folder / name) is Cause.VERIFIED, name
    assert cause(folder / "statement.dsse.json", key=good / "ed25519.pub") is Cause.VERIFIED


def test_a_badge_may_live_elsewhere_under_another_name(good: Path, tmp_path: Path) -> None:
    for kind in ("svg", "png"):
        shutil.copy(good / "report" / f"badge-core.{kind}", tmp_path / f"certified.{kind}")
        assert cause(tmp_path / f"certified.{kind}", report=good / "report") is Cause.VERIFIED
        assert cause(tmp_path / f"certified.{kind}") is Cause.NO_EVIDENCE


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A signed report of a run under a contract of seven rules, small enough to spoil it everywhere."""
    folder = tmp_path_factory.mktemp("small")
    private, _ = key_pair(folder)
    run = good_run(started=dt.datetime.now(dt.UTC).isoformat())
    run.top["revision"] = {"id": "2031.1", "package_version": None, "digest": "r"}
    next(fields for event, fields in run.lines if event == "check-end")["frames"] = [1, 2]
    write_all(run.write(folder / "events.jsonl"), folder)
    assert main(["sign", str(folder), "--key", str(private)]) == 0
    # It is genuine; only that this kit does not have its contract speaks against it, and that comes last.
    assert cause(folder, key=folder / "ed25519.pub") is Cause.UNKNOWN_REVISION
    return folder


@pytest.fixture
def copied(small: Path, tmp_path: Path) -> Path:
    """A copy of it to spoil."""
    shutil.copytree(small, tmp_path / "copy")
    return tmp_path / "copy"


@pytest.mark.parametrize("name", [*JSON_OUTPUTS, "badge.json", "badge-core.json"])
def test_no_field_of_a_document_can_be_edited(copied: Path, name: str) -> None:
    file = copied / name
    for where, value in spoiled(json.loads(file.read_bytes())):
        file.write_text(json.dumps(value, indent=2) + "\n")
        assert cause(file) is Cause.EDITED, where


@pytest.mark.parametrize("name", JSON_OUTPUTS)
def test_a_document_of_a_real_contract_is_compared_as_well(report: Path, name: str) -> None:
    file = report / name
    changes = list(spoiled(json.loads(file.read_bytes())))
    for where, value in changes[:: max(1, len(changes) // 8)]:
        file.write_text(json.dumps(value, indent=2) + "\n")
        assert cause(file) is Cause.EDITED, where


@pytest.mark.parametrize("name", ["badge-core.svg", "badge.svg", "junit.xml", "summary.md"])
def test_no_byte_of_an_output_can_be_edited(copied: Path, name: str) -> None:
    file = copied / name
    data = file.read_bytes()
    for place in range(0, len(data), 1 + len(data) // 120):
        file.write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
        assert cause(file) is Cause.EDITED, place


def test_no_byte_of_a_badge_can_be_edited_into_another_picture(copied: Path) -> None:
    file = copied / "badge-core.png"
    data = file.read_bytes()
    with Image.open(file) as picture:
        shown = picture.convert("RGBA").tobytes(), picture.info["Title"]
    for place in range(0, len(data), 1 + len(data) // 60):
        file.write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
        if cause(file) is not Cause.EDITED:
            # A byte that does not matter: what is seen and what is read out are the same.
            with Image.open(file) as picture:
                assert (picture.convert("RGBA").tobytes(), picture.info["Title"]) == shown, place


def test_no_part_of_the_page_can_be_edited(report: Path) -> None:
    file = report / "report.html"
    data = file.read_bytes()
    for place in range(0, len(data), len(data) // 8):
        file.write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
        assert cause(file) is Cause.EDITED, place


def test_a_picture_is_compared_by_its_pixels(report: Path) -> None:
    file = report / "badge.png"
    about = PngInfo()
    with Image.open(file) as picture:
        about.add_itxt("Title", str(picture.info["Title"]))
        again = picture.copy()
    before = file.read_bytes()
    again.save(file, "PNG", pnginfo=about, compress_level=1)
    assert file.read_bytes() != before
    assert cause(file) is Cause.VERIFIED
    again.putpixel((5, 5), (1, 2, 3, 255))
    again.save(file, "PNG", pnginfo=about)
    assert cause(file) is Cause.EDITED
    file.write_bytes(before[:-30])
    assert cause(file) is Cause.EDITED


def test_a_page_cannot_be_dressed_up_where_its_transcript_is_gone(copied: Path) -> None:
    page = copied / "report.html"
    assert cause(copied) is Cause.UNKNOWN_REVISION
    page.write_text(page.read_text().replace("Certified", "Highly certified"))
    assert "Highly certified" in page.read_text()
    assert cause(copied) is Cause.NO_EVIDENCE
    assert cause(page) is Cause.NO_EVIDENCE
    (copied / "transcript.jsonl").write_text("")
    assert cause(copied) is Cause.EDITED


@pytest.mark.parametrize("name", ["badge-gold.svg", "badge-gold.png", "badge-gold.json"])
def test_a_badge_that_the_run_did_not_write_has_no_place_beside_it(copied: Path, name: str) -> None:
    shutil.copy(copied / name.replace("gold", "core"), copied / name)
    assert verify(copied, TODAY).sentence == f"{name} is nothing that this run wrote."


@pytest.mark.parametrize("name", ["badge.svg", "badge.png", "certification.json"])
def test_what_is_no_file_is_not_what_the_run_wrote(copied: Path, name: str) -> None:
    (copied / name).unlink()
    os.mkfifo(copied / name)
    assert cause(copied if name.endswith(".png") else copied / name) is Cause.EDITED
    (copied / name).unlink()
    (copied / name).symlink_to("/dev/zero")
    assert cause(copied) is Cause.EDITED


def test_the_stream_cannot_be_edited_cut_or_missing(report: Path) -> None:
    stream = report / "events.jsonl"
    data = stream.read_bytes()
    for place in range(0, len(data), len(data) // 10):
        stream.write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
        assert cause(report) is Cause.DAMAGED
        stream.write_bytes(data[:place])
        assert cause(report) is Cause.DAMAGED
    stream.unlink()
    assert cause(report) is Cause.NO_EVIDENCE


def test_no_byte_of_the_stream_can_be_edited(copied: Path) -> None:
    stream = copied / "events.jsonl"
    data = stream.read_bytes()
    for place in range(0, len(data), 1 + len(data) // 120):
        stream.write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
        assert cause(copied) is Cause.DAMAGED, place


def test_a_stream_that_was_written_anew_does_not_fit_the_signature(copied: Path) -> None:
    lines = [json.loads(line) for line in (copied / "events.jsonl").read_bytes().splitlines()[:-1]]
    refused = {Cause.EDITED, Cause.DAMAGED}
    tried = 0
    for place, line in enumerate(lines):
        for where, value in spoiled(line):
            if where in {".t", ".schema", ".event"}:
                continue  # the writer of the stream fills these in
            forged = copy.deepcopy(lines)
            forged[place] = copy.deepcopy(value)
            _written_anew(copied, forged)
            assert cause(copied, key=copied / "ed25519.pub") in refused, (place, where)
            tried += 1
    assert tried > 400


def _written_anew(folder: Path, lines: list[dict[str, Any]]) -> None:
    with EventWriter(folder / "events.jsonl", clock=lambda: 0.0) as writer:
        for line in lines:
            kind = line.pop("event")
            writer.write(kind, **{key: value for key, value in line.items() if key not in {"t", "schema"}})


def test_the_signature_is_asked_for_and_checked(good: Path, report: Path, tmp_path: Path) -> None:
    signed = report / "statement.dsse.json"
    assert cause(signed) is Cause.UNSIGNED
    _, other = key_pair(tmp_path)
    assert cause(report, key=other) is Cause.SIGNATURE
    envelope = json.loads(signed.read_text())
    for where, value in spoiled(envelope):
        signed.write_text(json.dumps(value))
        assert cause(signed, key=good / "ed25519.pub") is Cause.SIGNATURE, where
    signed.write_text("no json")
    assert cause(signed, key=good / "ed25519.pub") is Cause.SIGNATURE
    signed.unlink()
    assert cause(report, key=good / "ed25519.pub") is Cause.UNSIGNED


def test_a_signature_of_another_run_is_refused(good: Path, tmp_path: Path) -> None:
    other = genuine(tmp_path / "other", DIGEST)
    shutil.copy(good / "report" / "statement.dsse.json", other)
    assert cause(other, key=good / "ed25519.pub") is Cause.EDITED


def test_another_package_is_told_apart(good: Path, tmp_path: Path) -> None:
    (tmp_path / "other.tgz").write_bytes(b"something else")
    badge = good / "report" / "badge-core.svg"
    assert cause(badge, package=good / "plugin.tgz") is Cause.VERIFIED
    assert cause(badge, package=tmp_path / "other.tgz") is Cause.OTHER_PACKAGE
    assert cause(badge, package=tmp_path) is Cause.NO_COMMON_DIGEST
    assert cause(genuine(tmp_path / "none"), package=good / "plugin.tgz") is Cause.NO_COMMON_DIGEST


def _limit(top: dict[str, Any]) -> None:
    top["run"]["limits"]["lease"].update(value=90.0, changed=True)


def _quiet_limit(top: dict[str, Any]) -> None:
    top["run"]["limits"]["lease"].update(value=90.0, default=90.0)


def _no_limit(top: dict[str, Any]) -> None:
    del top["run"]["limits"]["lease"]


def _custom(top: dict[str, Any]) -> None:
    top["run"].update(custom=["Checks were left out by -k LEASE."], filters=["-k LEASE"])


def _filters(top: dict[str, Any]) -> None:
    top["run"]["filters"] = ["-k LEASE"]


def _revision(top: dict[str, Any]) -> None:
    top["revision"]["id"] = "2031.1"


def _revision_digest(top: dict[str, Any]) -> None:
    top["revision"]["digest"] = "sha256:0"


def _checks(top: dict[str, Any]) -> None:
    top["kit"]["checks_digest"] = "sha256:0"


def _fewer_ids(top: dict[str, Any]) -> None:
    top["profiles"]["core"]["required"].pop()


def _no_profile(top: dict[str, Any]) -> None:
    dropped = next(name for name in top["profiles"] if name != "core")
    del top["profiles"][dropped]
    top["run"]["profiles"] = ["core"]


def _softer_rule(top: dict[str, Any]) -> None:
    next(iter(top["requirements"].values()))["level"] = "MAY"


def _fewer_methods(top: dict[str, Any]) -> None:
    top["capabilities"]["reusableLeases"]["prerequisites"] = []


def _more_coverage(top: dict[str, Any]) -> None:
    number, _ = top["coverage"]["not_observable"].popitem()
    top["coverage"]["tested"].append(number)


def _more_proofs(top: dict[str, Any]) -> None:
    top["proofs"]["MAN-001"].append("made-up")


def _undated(top: dict[str, Any]) -> None:
    top["run"]["started"] = "long ago"


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (_limit, Cause.CUSTOM_RUN),
        (_quiet_limit, Cause.CUSTOM_RUN),
        (_no_limit, Cause.CUSTOM_RUN),
        (_custom, Cause.CUSTOM_RUN),
        (_filters, Cause.CUSTOM_RUN),
        (_revision, Cause.UNKNOWN_REVISION),
        (_revision_digest, Cause.UNKNOWN_REVISION),
        (_checks, Cause.UNKNOWN_CHECKS),
        (_fewer_ids, Cause.OTHER_RULES),
        (_no_profile, Cause.OTHER_RULES),
        (_softer_rule, Cause.OTHER_RULES),
        (_fewer_methods, Cause.OTHER_RULES),
        (_more_coverage, Cause.OTHER_RULES),
        (_more_proofs, Cause.OTHER_RULES),
        (_undated, Cause.UNDATED),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)).strip("_"),
)
def test_a_header_that_claims_other_rules_is_refused(tmp_path: Path, change: Change, expected: Cause) -> None:
    assert cause(genuine(tmp_path, DIGEST, change=change)) is expected


@pytest.mark.parametrize(
    ("days", "expected"),
    [(0, Cause.VERIFIED), (180, Cause.VERIFIED), (182, Cause.EXPIRED), (-3, Cause.UNDATED)],
)
def test_a_report_stands_for_a_time(tmp_path: Path, days: int, expected: Cause) -> None:
    moment = dt.datetime.now(dt.UTC) - dt.timedelta(days=days)
    assert cause(genuine(tmp_path, DIGEST, started=moment) / "badge.svg") is expected


def test_failed_and_incomplete_are_genuine_and_no_certificate(tmp_path: Path) -> None:
    failed = genuine(tmp_path / "failed", DIGEST, states={"MAN-001": "fail"})
    assert cause(failed) is Cause.FAILED
    assert cause(failed / "badge-core.svg") is Cause.FAILED
    assert cause(failed / "badge-reusable-leases.svg") is Cause.VERIFIED
    assert cause(genuine(tmp_path / "less", DIGEST, states={"MAN-001": "inconclusive"})) is Cause.INCOMPLETE
    assert cause(genuine(tmp_path / "kit", DIGEST, states={"MAN-001": "kit-error"})) is Cause.INCOMPLETE


def test_an_output_of_another_version_of_the_kit_is_not_called_edited(tmp_path: Path) -> None:
    folder = genuine(tmp_path, DIGEST, change=lambda top: top["kit"].update(version="9.9.9"))
    (folder / "junit.xml").write_text("as version 9.9.9 writes it")
    assert cause(folder) is Cause.OTHER_KIT


def test_another_build_with_the_same_checks_may_have_more_proofs(tmp_path: Path) -> None:
    def change(top: dict[str, Any]) -> None:
        top["kit"]["digest"] = "sha256:0"
        _more_proofs(top)

    assert cause(genuine(tmp_path, DIGEST, change=change)) is Cause.VERIFIED


def test_every_cause_has_a_number_of_its_own_and_none_that_pytest_or_a_run_uses() -> None:
    numbers = [int(each) for each in Cause]
    assert len(set(numbers)) == len(list(Cause.__members__))
    assert all(number == 0 or number >= 30 for number in numbers)


def test_the_kit_measures_by_what_its_own_runs_record(tmp_path: Path) -> None:
    top = json.loads(json.dumps(header(plan(tmp_path))))
    measure = measure_of(top["revision"]["id"])
    assert measure is not None
    assert top["kit"]["checks_digest"] == measure.checks_digest == checks_digest()
    assert top["revision"]["digest"] == measure.revision_digest


def test_the_digest_of_the_checks_sees_every_source(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("1")
    before = digest_of_sources([tmp_path])
    (tmp_path / "b.toml").write_text("1")
    assert digest_of_sources([tmp_path]) != before


def test_the_command_prints_one_sentence_and_exits_with_the_cause(
    good: Path, report: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["verify", str(good / "report"), "--package", str(good / "plugin.tgz")]) == 0
    told = capsys.readouterr().out
    assert told.startswith("@acme/sandbox 1.2.0 is certified under contract 2026.824 for core")
    assert told.endswith("It is not signed: nothing says who ran it.\n")
    (report / "badge.svg").write_text("<svg/>")
    assert main(["verify", str(report / "badge.svg"), "--json"]) == Cause.EDITED
    assert json.loads(capsys.readouterr().out)["cause"] == "edited"
    assert main(["verify", str(report / "none")]) == 4
    assert main(["verify", str(report), "--package", str(report / "none.tgz")]) == 4
    (report / "notes.txt").write_text("")
    assert main(["verify", str(report / "notes.txt")]) == 4
