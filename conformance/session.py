"""Glue between pytest and the judge: options in, one item a check, events out."""

import contextlib
import importlib
import shutil
import sys
import tempfile
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NoReturn, cast

import pytest
import pytest_asyncio

from conformance.ahead import FAR, Ahead
from conformance.bench import Bench
from conformance.checks import Check
from conformance.collection import load_checks
from conformance.errors import ConformanceError, EnvironmentFault, UsageFault
from conformance.events import EARLIER_LEASES, EventWriter, read_events
from conformance.hiding import guard, hidden, secrets_of
from conformance.host.find import Unpacked
from conformance.host.package import SourceKind
from conformance.journal import Journal
from conformance.judge import Judge, Result
from conformance.model import ExitCode, State
from conformance.places import SUITES, folder_of
from conformance.plan import Plan, bench_for, make_plan
from conformance.purse import Purse
from conformance.reaper.earlier import WORK_PREFIX, clear, complaint, ledger_path
from conformance.reaper.guard import Guard, remove_work
from conformance.reaper.inventory import Inventory
from conformance.reaper.reference import reference
from conformance.record import advertised, declared, events_of, header, late_observation, replay_command
from conformance.redact import Redactor
from conformance.reports.baseline import state_by_baseline
from conformance.reports.tally import tally
from conformance.reports.terminal import summary
from conformance.reports.write import OUTPUT_PATTERNS, write_report
from conformance.settings import Options, Settings, current_environment, read_settings
from conformance.telling import Teller
from conformance.units import keeps_units, scheduler, units
from conformance.wire.transcript import Transcript

FRAMES_PER_PROCESS = 10_000_000
"""Frame numbers of parallel kit processes are this far apart, so that none occurs twice."""

_GOOD = frozenset({State.PASS, State.WARN})
_PASSED_OVER = frozenset(
    {State.UNSUPPORTED, State.NOT_APPLICABLE, State.BLOCKED, State.SKIPPED, State.OVER_BUDGET, State.EXPECTED_FAIL}
)
_LETTERS = {
    State.PASS: ".",
    State.FAIL: "F",
    State.WARN: "w",
    State.UNSUPPORTED: "u",
    State.NOT_APPLICABLE: "n",
    State.BLOCKED: "b",
    State.SKIPPED: "s",
    State.INCONCLUSIVE: "?",
    State.KIT_ERROR: "K",
    State.ENV_ERROR: "V",
    State.UNSTABLE: "~",
    State.OVER_BUDGET: "$",
    State.EXPECTED_FAIL: "x",
    State.UNEXPECTED_PASS: "X",
}
_RESULT = pytest.StashKey[Result]()
_RUN = pytest.StashKey["Run"]()


class CheckFailed(Exception):
    """Tells pytest that a check did not pass; the text is what pytest shows."""


@dataclass
class Run:
    """One pytest process that certifies. On the controller of a parallel run it only collects and reports."""

    config: pytest.Config
    options: Options
    settings: Settings
    work: Path
    redact: Redactor
    plan: Plan | None = None
    reaper: Guard | None = None
    journal: Journal | None = None
    transcript: Transcript | None = None
    bench: Bench | None = None
    writer: EventWriter | None = None
    advertised: bool = False
    advertised_written: bool = False
    exit_code: int | None = None
    text: str = ""
    pending: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    purse: Purse | None = None
    chosen: list[pytest.Item] = field(default_factory=list[pytest.Item])
    following: Sequence[pytest.Item] = ()
    teller: Teller | None = None
    units: dict[Check, str] = field(default_factory=dict[Check, str])
    """Which checks stay together in one process; empty where they are shared out in another way."""

    @property
    def worker_input(self) -> dict[str, Any] | None:
        """What pytest-xdist handed to this process; None in the main process."""
        return cast("dict[str, Any] | None", getattr(self.config, "workerinput", None))

    @property
    def shard(self) -> int:
        """Number of this process among parallel ones; 0 in the main process."""
        given = self.worker_input
        return 0 if given is None else 1 + int(str(given["workerid"]).removeprefix("gw"))

    @property
    def unpacked(self) -> Unpacked | None:
        """The tarball that the main process of a parallel run has unpacked already."""
        told: dict[str, Any] = self.worker_input["conformance"] if self.worker_input is not None else {}
        return Unpacked(Path(told["root"]), told["tarball"]) if told.get("root") is not None else None

    @property
    def purse_path(self) -> Path:
        """The file that counts the leases of all processes of the run."""
        told: dict[str, Any] = self.worker_input["conformance"] if self.worker_input is not None else {}
        return (Path(told["work"]) if told else self.work) / "purse.sqlite"

    @property
    def width(self) -> int:
        """How many checks run side by side: one where the debugger may hold everything up between two checks."""
        return 1 if self.config.getoption("usepdb", default=False) else self.settings.budget.at_once

    @property
    def far(self) -> int:
        """How far ahead of pytest checks are judged: not far where the first failure ends the run."""
        ends_early = self.config.getoption("maxfail", 0) or self.config.getoption("stepwise", default=False)
        return self.width - 1 if ends_early or self.width == 1 else FAR

    @property
    def reports(self) -> bool:
        """Whether this process writes the report."""
        return self.worker_input is None


def install(config: pytest.Config) -> None:
    """Read the settings and register the hooks. Raises `pytest.UsageError` with one sentence for bad input."""
    _stay_out_of_the_package(config)
    option = config.getoption
    options = Options(
        source=str(option("provider")),
        manifest=option("provider_manifest"),
        driver=option("provider_driver"),
        config=option("provider_config"),
        node=option("provider_node"),
        revision=option("contract"),
        profiles=cast("list[str]", option("provider_profile")),
        report_dir=option("report_dir"),
        seed=option("conformance_seed"),
        limits=cast("list[str]", option("provider_limit")),
        file=option("conformance_file"),
        inventory=option("provider_inventory"),
        kill=option("provider_kill"),
        max_leases=option("max_leases"),
        max_concurrent_leases=option("max_concurrent_leases"),
        max_lease_seconds=option("max_lease_seconds"),
        lease_rate=option("lease_rate"),
        baseline=option("baseline"),
    )
    try:
        settings = read_settings(options, current_environment(), config.invocation_params.dir)
    except UsageFault as fault:
        raise pytest.UsageError(fault.sentence()) from fault
    work = Path(tempfile.mkdtemp(prefix=WORK_PREFIX))
    run = Run(config, options, settings, work, Redactor(settings.secrets))
    if run.worker_input is not None:
        run.settings = replace(settings, seed=run.worker_input["conformance"]["seed"])
    config.stash[_RUN] = run
    config.add_cleanup(lambda: _clean(run))
    if config.args_source is not pytest.Config.ArgsSource.ARGS:
        config.args = []
    config.pluginmanager.register(Hooks(run), "provider-conformance-hooks")
    config.pluginmanager.register(sys.modules[__name__], "provider-conformance-session")


def _stay_out_of_the_package(config: pytest.Config) -> None:
    # pytest takes the path after `--provider` for a test path when it looks for its root directory, and would then
    # leave its cache in the package under test. There is no public way to say otherwise.
    here = config.invocation_params.dir
    has_a_project = config.inipath is not None and here.is_relative_to(config.rootpath)
    if not has_a_project and config.getoption("rootdir") is None:
        config._rootpath = here  # type: ignore[attr-defined]  # noqa: SLF001 - see above


def _clean(run: Run) -> None:
    if run.bench is not None:
        run.bench.kill_workers()
    if run.transcript is not None:
        run.transcript.close()
    if run.teller is not None:
        run.teller.finish()
    if run.purse is not None:
        run.purse.close()
    if run.journal is not None:
        run.journal.end()
        run.journal.close()
    done = run.bench is None or run.bench.ledger.all_closed
    if done:
        remove_work(run.work)
    if run.reaper is not None:
        run.reaper.let_go(done=done and not run.work.exists())


class Hooks:
    """The hooks of a certifying run."""

    def __init__(self, run: Run) -> None:
        self.run = run

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Find the provider before anything is collected, so that bad input ends the run at once."""
        try:
            arguments = [self.run.redact(text) for text in self.run.config.invocation_params.args]
            argv = (Path(sys.argv[0]).name, *arguments)
            if not session.config.option.collectonly:
                _start_reaper(self.run)
            self.run.plan = make_plan(
                self.run.settings,
                self.run.work,
                filters=_filters(self.run.config),
                argv=argv,
                unpacked=self.run.unpacked,
            )
            for name, value in secrets_of(self.run.plan, current_environment()).items():
                self.run.redact.plant(name, value)
            if not session.config.option.collectonly:
                self.run.purse = Purse(self.run.purse_path, self.run.settings.budget)
                if self.run.reports:
                    self.run.teller = Teller(
                        self.run.config,
                        self.run.settings.budget,
                        self.run.purse,
                        current_environment().get("TERM"),
                        every_s=float(str(self.run.config.getoption("conformance_progress"))),
                    )
                    _open_report(self.run)
        except UsageFault as fault:
            raise pytest.UsageError(self.run.redact(fault.sentence())) from fault
        except EnvironmentFault as fault:
            _leave(self.run, fault, ExitCode.ENVIRONMENT)
        except ConformanceError as fault:
            _leave(self.run, fault, ExitCode.KIT)

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Give every process of a parallel run the same seed and the package that was already unpacked."""
        package = self.run.plan.subject.package if self.run.plan is not None else None
        unpacked = package is not None and package.kind is SourceKind.TARBALL
        node.workerinput["conformance"] = {
            "seed": self.run.settings.seed,
            "root": str(package.root) if package is not None and unpacked else None,
            "tarball": package.digests.tarball if package is not None else None,
            "work": str(self.run.work),
            "in_units": keeps_units(self.run.config),
        }

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Any) -> object | None:
        """Keep checks that share leases in one process, unless the user asked for another way to share them out."""
        if self.run.plan is None:
            return None
        return scheduler(config, log, {_key(check): unit for check, unit in units(self.run.plan.checks).items()})

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node: Any, ids: Sequence[str]) -> None:
        """Print the plan of a parallel run once, as soon as one of its processes knows what was chosen."""
        if self.run.plan is not None and self.run.teller is not None and not self.run.teller.planned:
            by_key = {_key(check): check for check in self.run.plan.checks}
            chosen = {nodeid: by_key[key] for nodeid in ids if (key := nodeid.rpartition("::")[2]) in by_key}
            self.run.teller.plan(chosen, len(node.config.option.tx))

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Keep what was chosen, in its order, and print the plan of it."""
        self.run.chosen = [item for item in session.items if is_check(item)]
        told: dict[str, Any] = {} if self.run.worker_input is None else self.run.worker_input["conformance"]
        if told.get("in_units") and self.run.plan is not None:
            self.run.units = units(self.run.plan.checks)
        if self.run.teller is not None and self.run.chosen:
            self.run.teller.plan({item.nodeid: check_of(item) for item in self.run.chosen}, 1)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> None:
        """Know what pytest will ask for after this item: among parallel processes, only the rest of its unit."""
        if not is_check(item):
            return
        after = self.run.chosen[self.run.chosen.index(item) + 1 :]
        if self.run.worker_input is None:
            self.run.following = after
        elif self.run.units:
            unit = self.run.units[check_of(item)]
            self.run.following = [other for other in after if self.run.units[check_of(other)] == unit]
        else:
            self.run.following = [] if nextitem is None else [nextitem]

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, session: pytest.Session, items: list[pytest.Item]) -> None:
        """With no paths given, the checks are what pytest runs. Other plugins then select among them as usual."""
        if session.config.args or self.run.plan is None:
            return
        folder = folder_of(SUITES)
        for area in dict.fromkeys(check.area for check in self.run.plan.checks):
            module: Suite = cast("Any", Suite).from_parent(session, path=folder / f"{area}.py", nodeid=f"{area}.py")
            found = module.ihook.pytest_make_collect_report(collector=module)
            module.ihook.pytest_collectreport(report=found)
            items.extend(found.result)
        order = {(check.area, check.requirement, check.name): place for place, check in enumerate(self.run.plan.checks)}
        items.sort(key=lambda item: order[check_of(item).area, check_of(item).requirement, check_of(item).name])

    def pytest_pycollect_makemodule(self, module_path: Path, parent: pytest.Collector) -> pytest.Module | None:
        """A suite that was named on the command line is collected as checks too."""
        if module_path.parent.resolve() != folder_of(SUITES).resolve():
            return None
        return cast("Suite", cast("Any", Suite).from_parent(parent, path=module_path))

    def pytest_pycollect_makeitem(
        self, collector: pytest.Collector, name: str, obj: object
    ) -> list[pytest.Item] | None:
        """One item a check. pytest-asyncio then runs it on the session's loop."""
        if not isinstance(collector, Suite) or not isinstance(obj, Check):
            return None
        function: pytest.Item = cast("Any", pytest.Function).from_parent(collector, name=name, callobj=_judging(obj))
        return [function]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Hang the result on the report, which also reaches the main process of a parallel run."""
        report = yield
        result = item.stash.get(_RESULT, None)
        if self.run.plan is None:
            return report
        if call.when == "call" and result is not None:
            leases = self.run.bench.ledger.take_events() if self.run.bench is not None else []
            events = [*_advertised_once(self.run), *leases, *events_of(result, self.run.plan.subject)]
            state = _state_beside_baseline(self.run, result)
            told = {"state": str(state), "seconds": result.seconds, "events": _plain(self.run, events)}
            report.__dict__["conformance"] = told
            if isinstance(call.excinfo and call.excinfo.value, CheckFailed):
                report.longrepr = str(cast("Any", call.excinfo).value)
        elif call.when == "teardown" and self.run.pending:
            report.__dict__["conformance"] = {"state": None, "events": _plain(self.run, self.run.pending)}
            self.run.pending = []
        return _without_secrets(report, self.run.redact)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Write the events of a check as soon as they are known here."""
        told: dict[str, Any] | None = report.__dict__.get("conformance")
        if told is not None and self.run.writer is not None:
            _write(self.run, told["events"])
        if self.run.teller is not None and told is not None and told["state"] is not None:
            self.run.teller.judged(report.nodeid, told["seconds"])
        if self.run.teller is not None and report.when not in {"setup", "call"}:
            self.run.teller.ended(report.nodeid)

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self, report: pytest.TestReport) -> tuple[str, str, str] | None:
        """Say `pass`, `warn`, `blocked` and so on where pytest would say passed, skipped or failed."""
        told: dict[str, Any] | None = report.__dict__.get("conformance")
        if told is None or told["state"] is None:
            return None
        state = State(told["state"])
        category = "failed" if state in {State.FAIL, State.UNEXPECTED_PASS} else str(state)
        return category, _LETTERS.get(state, "?"), str(state).upper()

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Close the stream, build the report, and decide the exit code."""
        run = self.run
        if run.teller is not None:
            run.teller.finish()
        if run.transcript is not None:
            run.transcript.close()
        if run.writer is None:
            return
        _expect_room(run)
        _write(run, _plain(run, run.pending))
        if exitstatus == pytest.ExitCode.INTERRUPTED:
            _write(run, [{"event": "fault", "kind": "interrupted", "detail": "The run was interrupted."}])
        try:
            _close_report(run)
        except EnvironmentFault as fault:
            _stop(run, fault)
        except OSError as error:
            _stop(run, _no_room(run.settings.report_dir, error))
        if exitstatus in {pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED} and run.exit_code is not None:
            session.exitstatus = run.exit_code

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Print the verdict."""
        if self.run.text:
            terminalreporter.ensure_newline()
            terminalreporter.write_line("")
            terminalreporter.write(self.run.text)


@pytest_asyncio.fixture(loop_scope="session", scope="session")
async def conformance_judge(pytestconfig: pytest.Config) -> AsyncGenerator[Ahead]:
    """The judge of this process; closes every lease and worker at the end."""
    run = pytestconfig.stash[_RUN]
    try:
        bench = make_bench(run)
    except EnvironmentFault as fault:
        _stop(run, fault)
    run.bench = bench
    judge = Judge(bench, in_company=run.shard > 0)
    order = [check_of(item) for item in run.chosen]
    if run.teller is not None:
        run.teller.waits = lambda: {name: trace.waits_for for name, trace in list(judge.now.items())}
    ahead = Ahead(judge, order, width=run.width, far=run.far, left_out=lambda check: _left_out(run, check))
    bench.room.to_come = ahead.to_come
    try:
        yield ahead
    finally:
        run.pending.extend(await ahead.close())
        await bench.close()
        # What no call has closed may be gone all the same, or can be removed behind the provider's back.
        await Inventory(bench.ledger, bench.subject.hooks, current_environment()).settle()
        run.pending.extend(bench.ledger.take_events())
        run.pending.extend(late_observation(violation) for violation in bench.new_violations())


class Suite(pytest.Module):
    """A module of checks."""

    def _getobj(self) -> Any:
        return importlib.import_module(f"{SUITES}.{self.path.stem}")

    def collect(self) -> list[pytest.Item | pytest.Collector]:
        """One item a check, named with the requirement so that `-k LEASE-028` finds it."""
        run = self.config.stash[_RUN]
        checks = run.plan.checks if run.plan is not None else load_checks()
        items: list[pytest.Item | pytest.Collector] = []
        for check in checks:
            if check.area == self.path.stem:
                name = f"{check.name}[{check.requirement}]"
                items.extend(self.ihook.pytest_pycollect_makeitem(collector=self, name=name, obj=check) or ())
        return items


def is_check(item: pytest.Item) -> bool:
    """Whether an item is one of ours; a run may have others beside them."""
    return hasattr(getattr(item, "obj", None), "conformance_check")


def check_of(item: pytest.Item) -> Check:
    """The check behind an item."""
    return cast("Check", cast("pytest.Function", item).obj.conformance_check)


def _judging(check: Check) -> Callable[..., Coroutine[Any, Any, None]]:
    async def judged(request: pytest.FixtureRequest, conformance_judge: Ahead) -> None:
        item = cast("pytest.Item", request.node)
        run = request.config.stash[_RUN]
        _expect_room(run)
        places = {each: place for place, each in enumerate(run.chosen)}
        following = [places[each] for each in run.following if each in places]
        result = item.stash[_RESULT] = await conformance_judge.result(places[item], following)
        state = _state_beside_baseline(run, result)
        if state in _PASSED_OVER:
            pytest.skip(run.redact(f"{state}: {result.reason}"))
        if state is State.UNEXPECTED_PASS:
            raise CheckFailed(f"{check.requirement} {state}: it passes, so its entry in the baseline has to go.")
        if state not in _GOOD:
            raise CheckFailed(finding_text(result, _replay(run, check)))

    judged.__doc__ = check.rule
    judged.__dict__["pytestmark"] = [pytest.mark.asyncio(loop_scope="session")]
    judged.__dict__["conformance_check"] = check
    return judged


def _state_beside_baseline(run: Run, result: Result) -> State:
    baseline = run.plan.baseline if run.plan is not None else None
    entry = baseline.of(result.check) if baseline is not None else None
    return state_by_baseline(result.state, None if entry is None else entry.state)


def _left_out(run: Run, check: Check) -> str | None:
    baseline = run.plan.baseline if run.plan is not None else None
    entry = baseline.of(check) if baseline is not None else None
    return f"The baseline leaves it out: {entry.reason}" if entry is not None and entry.state == "skip" else None


def finding_text(result: Result, replay: str) -> str:
    """What pytest shows of a check that did not pass; `replay` is the command that runs it again."""
    rows = [
        ("rule", result.check.rule),
        ("sent", result.sent),
        ("expected", result.expected),
        ("observed", result.observed),
        ("blame", str(result.blame) if result.blame is not None else ""),
        ("next", result.advice),
        ("more", f"provider-conformance explain {result.check.requirement}"),
        ("replay", replay),
    ]
    title = f"{result.check.requirement} {result.state}: {result.reason}"
    return "\n".join([title, *(f"  {label:<9}{text}" for label, text in rows if text)])


def _replay(run: Run, check: Check) -> str:
    return "" if run.plan is None else replay_command(run.plan, check, _short(run))


def _expect_room(run: Run) -> None:
    """End the run when its record cannot be written any more: a verdict without evidence is none."""
    if run.transcript is not None and run.transcript.failure is not None:
        _stop(run, _no_room(run.settings.report_dir, run.transcript.failure))


def _no_room(folder: Path, error: OSError) -> EnvironmentFault:
    return EnvironmentFault(
        f"{folder} cannot be written: {error.strerror}.", "Make room, and run again: there is no verdict."
    )


def _stop(run: Run, fault: EnvironmentFault) -> NoReturn:
    """End a run that is under way; what is open is closed. The terminal says why."""
    run.writer = None
    pytest.exit(run.redact(fault.sentence()), ExitCode.ENVIRONMENT)


def _leave(run: Run, fault: ConformanceError, code: int) -> NoReturn:
    # pytest says on stderr why it exits; its terminal would say the same again, as if somebody had pressed Ctrl-C.
    if run.config.pluginmanager.has_plugin("terminalreporter"):
        run.config.pluginmanager.unregister(name="terminalreporter")
    pytest.exit(run.redact(fault.sentence()), code)


def make_bench(run: Run) -> Bench:
    """The bench of this process."""
    if run.plan is None:
        raise UsageFault("There is no provider to judge.")
    name = f"transcript-{run.shard}.jsonl" if run.shard else "transcript.jsonl"
    run.settings.report_dir.mkdir(parents=True, exist_ok=True)
    first = run.shard * FRAMES_PER_PROCESS
    run.transcript = Transcript(run.settings.report_dir / name, first=first, redactor=run.redact)
    subject = run.plan.subject
    run.journal = Journal(ledger_path(run.settings.report_dir, run.work), run.redact, subject.secret_names)
    directory = run.config.invocation_params.dir
    run.journal.open(reference(run.plan, run.options, directory, run.work, run.shard))
    prefix = f"P{run.shard}-L" if run.shard else "L"
    return bench_for(
        run.plan,
        run.transcript,
        run.work,
        current_environment(),
        journal=run.journal,
        prefix=prefix,
        purse=run.purse,
    )


def _start_reaper(run: Run) -> None:
    told: dict[str, Any] = run.worker_input["conformance"] if run.worker_input is not None else {}
    kept = Path(told["work"]) if told.get("root") is not None else None
    run.reaper = Guard(ledger_path(run.settings.report_dir, run.work), run.work, run.settings, kept)


def _key(check: Check) -> str:
    return f"{check.name}[{check.requirement}]"


def _filters(config: pytest.Config) -> tuple[str, ...]:
    found: list[str] = []
    for option, name in (("keyword", "-k"), ("markexpr", "-m"), ("deselect", "--deselect"), ("lf", "--lf")):
        value = config.getoption(option, None)
        if value:
            found.append(f"{name} {value}" if isinstance(value, str) else name)
    if config.args:
        found.append(f"paths: {' '.join(config.args)}")
    return tuple(found)


def _open_report(run: Run) -> None:
    folder = run.settings.report_dir
    folder.mkdir(parents=True, exist_ok=True)
    for pattern in ("events.jsonl", "transcript*.jsonl", *OUTPUT_PATTERNS):
        for stale in folder.glob(pattern):
            stale.unlink()
    plan = run.plan
    if plan is None:
        return
    run.writer = EventWriter(folder / "events.jsonl")
    run.writer.write("header", **hidden(header(plan), run.redact))
    run.writer.write("declared", **hidden(declared(plan.subject), run.redact))
    left = clear(folder)
    if left:
        run.writer.write("fault", kind=EARLIER_LEASES, detail=complaint(left))


def _close_report(run: Run) -> None:
    if run.writer is None:
        return
    run.writer.close()
    _merge_transcripts(run.settings.report_dir)
    report = tally(read_events(run.writer.path))
    write_report(report, run.settings.report_dir, hide=_guard(run))
    reporter: Any = run.config.pluginmanager.getplugin("terminalreporter")
    color = bool(reporter is not None and reporter.hasmarkup)
    run.text = summary(report, shutil.get_terminal_size((100, 24)).columns, color=color, folder=_short(run))
    run.exit_code = report.exit_code
    run.writer = None


def _merge_transcripts(folder: Path) -> None:
    shards = sorted(folder.glob("transcript-*.jsonl"), key=lambda path: int(path.stem.partition("-")[2]))
    if not shards:
        return
    with (folder / "transcript.jsonl").open("wb") as whole:
        for shard in shards:
            with shard.open("rb") as part:
                shutil.copyfileobj(part, whole)
            shard.unlink()


def _short(run: Run) -> str:
    with contextlib.suppress(ValueError):
        return str(run.settings.report_dir.relative_to(run.config.invocation_params.dir))
    return str(run.settings.report_dir)


def _advertised_once(run: Run) -> list[dict[str, Any]]:
    if run.advertised or run.bench is None or run.plan is None:
        return []
    for worker in run.bench.launch.started:
        if worker.initialized:
            run.advertised = True
            return [{"event": "advertised", **advertised(run.plan.subject, worker.methods)}]
    return []


def _write(run: Run, events: Iterable[dict[str, Any]]) -> None:
    for event in events:
        kind = event["event"]
        if kind == "advertised" and run.advertised_written:
            continue
        run.advertised_written = run.advertised_written or kind == "advertised"
        if run.writer is not None:
            told = {key: value for key, value in event.items() if key != "event"}
            # A check ends long after it opened a lease, and other checks may be reported in between.
            moment = {"at": run.writer.since_start(told["at"])} if "at" in told else {}
            try:
                run.writer.write(kind, **{**told, **moment})
            except EnvironmentFault as fault:
                _stop(run, fault)


def _plain(run: Run, events: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    return [hidden(event, run.redact) for event in events]


def _guard(run: Run) -> Redactor:
    if run.plan is None:
        return Redactor()
    own = {key: value for key, value in header(run.plan).items() if key not in {"subject", "run"}}
    own["checks"] = [check.name for check in run.plan.checks]
    return guard(secrets_of(run.plan, current_environment()), own)


def _without_secrets(report: pytest.TestReport, redact: Redactor) -> pytest.TestReport:
    """What pytest itself shows and writes of a check, or of our own failure around it."""
    if report.longrepr is not None and redact.sees(str(report.longrepr)):
        report.longrepr = redact(str(report.longrepr))
    report.sections = [(redact(title), redact(text)) for title, text in report.sections]
    return report
