"""Counting: requirement states, profile verdicts, capability words, lease balance and the exit code."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.errors import KitError
from conformance.events import StreamError
from conformance.model import ExitCode, State, Verdict, Word
from conformance.reports.collect import WIRE_CHECK
from conformance.reports.report import BROKEN, SETTLED, SEVERITY, SHOWN, worst
from conformance.reports.tally import tally

from .builder import CORE, METHODS, NAMES, REQUIRED, Script, bad_run, good_run, header


def core_only(*profiles: str) -> Script:
    """Start a run of a provider that claims nothing; it selects the core profile unless told otherwise."""
    return Script(header(profiles=list(profiles or ("core",)))).declared().advertised()


def test_every_state_has_its_place_in_the_order() -> None:
    assert sorted(SEVERITY) == sorted(State)
    assert worst([State.PASS, State.UNSUPPORTED, State.FAIL, State.KIT_ERROR]) is State.FAIL
    assert worst([]) is None


def test_a_provider_that_keeps_its_promises_is_certified() -> None:
    report = good_run().report()
    assert (report.verdict, report.exit_code, report.reasons) == (Verdict.CERTIFIED, ExitCode.CERTIFIED, ())
    assert {each.verdict for each in report.profiles} == {Verdict.CERTIFIED}
    assert report.counts() == {State.PASS: len(NAMES)}


def test_one_failure_fails_its_profile_and_the_run_but_no_other_profile() -> None:
    report = bad_run().report()
    verdicts = {each.name: each.verdict for each in report.profiles}
    assert verdicts == {
        "core": Verdict.CERTIFIED,
        "reusable-leases": Verdict.FAILED,
        "native-sync": Verdict.INCOMPLETE,
    }
    assert report.exit_code == ExitCode.FAILED
    assert [each.missing for each in report.profiles] == [(), (), ("SYNC-002",)]
    assert report.profiles[1].failed == ("LEASE-028",)


@pytest.mark.parametrize(
    ("state", "verdict", "exit_code"),
    [
        (State.PASS, Verdict.CERTIFIED, ExitCode.CERTIFIED),
        (State.WARN, Verdict.CERTIFIED, ExitCode.CERTIFIED),
        (State.UNSUPPORTED, Verdict.CERTIFIED, ExitCode.CERTIFIED),
        (State.NOT_APPLICABLE, Verdict.CERTIFIED, ExitCode.CERTIFIED),
        (State.FAIL, Verdict.FAILED, ExitCode.FAILED),
        (State.EXPECTED_FAIL, Verdict.FAILED, ExitCode.FAILED),
        (State.BLOCKED, Verdict.INCOMPLETE, ExitCode.INCOMPLETE),
        (State.SKIPPED, Verdict.INCOMPLETE, ExitCode.INCOMPLETE),
        (State.INCONCLUSIVE, Verdict.INCOMPLETE, ExitCode.INCOMPLETE),
        (State.UNSTABLE, Verdict.INCOMPLETE, ExitCode.INCOMPLETE),
        (State.UNEXPECTED_PASS, Verdict.INCOMPLETE, ExitCode.INCOMPLETE),
        (State.ENV_ERROR, Verdict.INCOMPLETE, ExitCode.ENVIRONMENT),
        (State.OVER_BUDGET, Verdict.INCOMPLETE, ExitCode.BUDGET),
        (State.KIT_ERROR, Verdict.INCOMPLETE, ExitCode.KIT),
    ],
)
def test_the_state_of_one_required_id_decides(state: State, verdict: Verdict, exit_code: int) -> None:
    report = core_only().checks(State.PASS, *CORE[:2]).check(CORE[2], state).report()
    assert (report.verdict, report.exit_code) == (verdict, exit_code)


def test_a_failure_outranks_an_environment_error_and_a_kit_error_outranks_both() -> None:
    script = core_only().check(CORE[0], State.FAIL).check(CORE[1], State.ENV_ERROR).check(CORE[2])
    assert script.report().exit_code == ExitCode.FAILED
    report = script.check("RPC-050", State.KIT_ERROR).report()
    assert (report.exit_code, report.invalid, report.verdict) == (ExitCode.KIT, True, Verdict.FAILED)


def test_a_kit_error_anywhere_certifies_no_profile() -> None:
    report = good_run().check("RPC-050", State.KIT_ERROR, name="another").report()
    assert {each.verdict for each in report.profiles} == {Verdict.INCOMPLETE}
    assert report.exit_code == ExitCode.KIT


@pytest.mark.parametrize(
    ("blame", "state"), [("kit", State.KIT_ERROR), ("environment", State.ENV_ERROR), ("contract", State.INCONCLUSIVE)]
)
def test_only_the_provider_can_fail(blame: str, state: State) -> None:
    report = core_only().checks(State.PASS, *CORE[:2]).check(CORE[2], State.FAIL, blame=blame).report()
    assert report.checks[-1].state is state
    assert report.verdict is Verdict.INCOMPLETE


def test_a_custom_run_is_never_certified() -> None:
    report = good_run(custom=["the limit `initialize` was raised"]).report()
    assert (report.verdict, report.exit_code) == (Verdict.CUSTOM_RUN, ExitCode.INCOMPLETE)
    assert "initialize" in report.reasons[0]


def test_nothing_that_passed_is_nothing_verified() -> None:
    report = core_only().checks(State.UNSUPPORTED, *CORE).report()
    assert (report.verdict, report.exit_code) == (Verdict.INCOMPLETE, ExitCode.NOTHING_VERIFIED)
    assert core_only().report().exit_code == ExitCode.NOTHING_VERIFIED
    assert good_run(profiles=[]).report().verdict is Verdict.INCOMPLETE


def test_a_profile_that_demands_nothing_is_not_certified() -> None:
    script = core_only().checks(State.PASS, *CORE)
    script.top["profiles"] = {"core": {"title": "core", "required": []}}
    assert script.report().verdict is Verdict.INCOMPLETE


def test_a_pass_without_an_observation_decided_nothing() -> None:
    report = core_only().checks(State.PASS, *CORE[:2]).check(CORE[2], seen=False).report()
    assert report.checks[-1].state is State.INCONCLUSIVE
    assert report.verdict is Verdict.INCOMPLETE


def test_a_check_without_an_end_is_inconclusive() -> None:
    script = core_only().checks(State.PASS, *CORE)
    script.lines.pop()
    report = script.report()
    assert (report.checks[-1].id, report.checks[-1].state) == (CORE[-1], State.INCONCLUSIVE)
    assert report.verdict is Verdict.INCOMPLETE


def test_the_worst_of_several_checks_is_the_state_of_the_rule() -> None:
    report = core_only().checks(State.PASS, *CORE).check(CORE[0], State.FAIL, name="another_way").report()
    assert {each.id: each.state for each in report.requirements}[CORE[0]] is State.FAIL
    assert report.verdict is Verdict.FAILED


def seen_broken(script: Script, rule: str) -> Script:
    name = NAMES[CORE[0]]
    return script.add(
        "observation",
        id=CORE[0],
        name=name,
        expected="one",
        observed="two",
        holds=False,
        frames=[9],
        violates=rule,
    )


def test_a_violation_seen_anywhere_fails_the_checks_of_its_rule() -> None:
    report = seen_broken(good_run(), "EXEC-001").report()
    check = next(each for each in report.checks if each.id == "EXEC-001")
    assert (check.state, check.expected, check.observed, check.frames) == (State.FAIL, "one", "two", (9,))
    assert NAMES[CORE[0]] in (check.reason or "")
    assert report.exit_code == ExitCode.FAILED


def test_a_violation_of_a_should_is_a_warning() -> None:
    report = seen_broken(good_run(), "RPC-050").report()
    assert next(each for each in report.checks if each.id == "RPC-050").state is State.WARN
    assert report.verdict is Verdict.CERTIFIED


def test_a_violation_counts_where_no_check_ran_and_where_one_was_blocked() -> None:
    without = seen_broken(core_only().checks(State.PASS, *CORE[:2]), CORE[2]).report()
    assert (without.checks[-1].name, without.checks[-1].state) == (WIRE_CHECK, State.FAIL)
    assert without.verdict is Verdict.FAILED
    blocked = seen_broken(core_only().checks(State.PASS, *CORE[:2]).check(CORE[2], State.BLOCKED), CORE[2]).report()
    assert blocked.verdict is Verdict.FAILED


def test_a_violation_of_an_unknown_rule_is_noted_and_not_counted() -> None:
    report = seen_broken(good_run(), "NEW-001").report()
    assert report.verdict is Verdict.CERTIFIED
    assert "NEW-001" in report.notes[0]


WORDS = [
    (True, METHODS, State.PASS, Word.CERTIFIED),
    (True, METHODS, State.FAIL, Word.BROKEN_PROMISE),
    (True, METHODS, State.SKIPPED, Word.UNPROVEN),
    (True, (), State.PASS, Word.HOLLOW_PROMISE),
    (None, METHODS, State.PASS, Word.CERTIFIED_BY_DISCOVERY),
    (None, METHODS, State.FAIL, Word.BROKEN),
    (None, METHODS, State.INCONCLUSIVE, Word.UNPROVEN),
    (None, (), State.UNSUPPORTED, Word.ABSENT),
    (False, METHODS, State.UNSUPPORTED, Word.DECLINED),
    (False, (), State.UNSUPPORTED, Word.ABSENT),
]


@pytest.mark.parametrize(("declared", "methods", "state", "word"), WORDS)
def test_three_sets_give_one_word(
    declared: bool | None,  # noqa: FBT001 a column of the table
    methods: tuple[str, ...],
    state: State,
    word: Word,
) -> None:
    script = Script().declared(nativeSyncIn=declared).advertised(*methods).check("SYNC-001", state).check("SYNC-002")
    capability = script.report().capabilities[1]
    assert (capability.key, capability.declared, capability.word) == ("nativeSyncIn", declared, word)


@pytest.mark.parametrize(
    ("methods", "word"),
    [(METHODS, Word.NOT_CLAIMED), (METHODS[:1], Word.ABSENT), ((), Word.ABSENT)],
)
def test_an_omitted_opt_in_key_is_not_claimed(methods: tuple[str, ...], word: Word) -> None:
    assert Script().declared().advertised(*methods).report().capabilities[0].word is word


def test_a_hollow_promise_fails_its_profile() -> None:
    report = good_run(profiles=["reusable-leases"])
    report.lines[1] = ("advertised", {"methods": list(METHODS[:2]), "effective": {}})
    counted = report.report()
    assert counted.capabilities[0].missing_methods == (METHODS[2],)
    assert (counted.capabilities[0].word, counted.verdict) == (Word.HOLLOW_PROMISE, Verdict.FAILED)


def test_without_a_manifest_or_an_answer_nothing_is_proven() -> None:
    words = {each.word for each in Script().checks(State.PASS, *NAMES).report().capabilities}
    assert words == {Word.UNPROVEN}


def test_a_profile_that_is_not_claimed_does_not_count() -> None:
    script = Script().declared().advertised(*METHODS[3:]).checks(State.PASS, *CORE, "SYNC-001", "SYNC-002")
    report = script.check("LEASE-028", State.UNSUPPORTED).report()
    assert report.profiles[1].verdict is Verdict.UNSUPPORTED
    assert (report.verdict, report.exit_code) == (Verdict.CERTIFIED, ExitCode.CERTIFIED)


def test_passing_checks_do_not_certify_a_profile_that_nobody_claims() -> None:
    report = Script().declared().advertised().checks(State.PASS, *NAMES).report()
    assert [each.verdict for each in report.profiles[1:]] == [Verdict.UNSUPPORTED, Verdict.UNSUPPORTED]


@pytest.mark.parametrize(("methods", "holds"), [(METHODS, True), (METHODS[:4], False), (METHODS[:3], True)])
def test_sync_in_and_out_belong_together(methods: tuple[str, ...], holds: bool) -> None:  # noqa: FBT001 a column
    pair = Script().declared().advertised(*methods).report().pair
    assert pair is not None
    assert pair.holds is holds


def test_leases_balance_and_the_unclosed_are_unknown() -> None:
    script = Script()
    for lease in ("L1", "L2", "L3"):
        script.add("lease-open", lease=lease, check=None)
    script.add("lease-close", lease="L1", how="released").add("lease-close", lease="L2", how="unknown")
    script.add("lease-open", lease="L1", check=None).add("lease-close", lease="L1", how="destroyed")
    leases = script.report().leases
    assert (leases.opened, leases.closed, leases.unknown, leases.peak) == (3, 1, 2, 3)
    assert script.add("lease-close", lease="L2", how="destroyed").report().leases.unknown == 1


def test_a_lease_that_was_refused_was_never_there() -> None:
    script = Script().add("lease-open", lease="L1", check=None).add("lease-close", lease="L1", how="never-opened")
    leases = script.report().leases
    assert (leases.opened, leases.closed, leases.unknown) == (0, 0, 0)


def test_notes_tell_of_near_limits_and_of_failures_beside_the_selection() -> None:
    script = core_only().checks(State.PASS, *CORE).check("LEASE-028", State.FAIL, limit_share=0.93)
    report = script.report()
    assert report.verdict is Verdict.CERTIFIED
    assert any("LEASE-028 93%" in note for note in report.notes)
    assert any("no selected profile: LEASE-028" in note for note in report.notes)


@pytest.mark.parametrize(
    ("script", "problem"),
    [
        (core_only("no-such"), "profile no-such"),
        (Script().add("check-end", id="X", name="y", state="pass"), "ends without a start"),
        (Script().check(CORE[0]).check(CORE[1], name=NAMES[CORE[1]]).add("check-start", id="X"), "`name`"),
        (Script().add("lease-close", lease="L9", how="released"), "never opened"),
        (Script().add("lease-open", lease="L9").add("lease-close", lease="L9", how="lost"), "way this kit"),
        (Script().add("header"), "second header"),
        (Script().add("fault", kind=3), "`kind` of the event fault should be a text, and is 3"),
    ],
)
def test_events_that_make_no_sense_are_refused(script: Script, problem: str) -> None:
    with pytest.raises(StreamError, match=problem):
        script.report()


def test_an_unknown_state_is_refused() -> None:
    script = core_only().check(CORE[0])
    script.lines[-1][1]["state"] = "great"
    with pytest.raises(StreamError, match="`state`"):
        script.report()


def test_a_profile_name_that_would_leave_the_folder_is_refused() -> None:
    script = Script(header(profiles=[]))
    script.top["profiles"] = {"../../x": {"required": []}}
    with pytest.raises(StreamError, match="cannot be one"):
        script.report()


def test_events_without_a_beginning_or_an_end_are_refused() -> None:
    events = list(good_run().events())
    for cut in ([], events[1:], events[:-1]):
        with pytest.raises(StreamError):
            tally(cut)


def test_a_report_refuses_to_contradict_itself() -> None:
    report = bad_run().report()
    with pytest.raises(KitError):
        replace(report, exit_code=ExitCode.CERTIFIED)
    with pytest.raises(KitError):
        replace(report, verdict=Verdict.CERTIFIED, exit_code=ExitCode.CERTIFIED, custom=("a filter",))


@given(
    states=st.fixed_dictionaries({key: st.sampled_from([*State, None]) for key in NAMES}),
    declared=st.fixed_dictionaries(
        {}, optional={key: st.sampled_from([True, False, None]) for key in ("reusableLeases", "nativeSyncIn")}
    ),
    methods=st.sets(st.sampled_from(METHODS)),
    selected=st.sets(st.sampled_from(sorted(REQUIRED))),
)
def test_nothing_is_certified_while_a_required_id_is_not_settled(
    states: dict[str, State | None],
    declared: dict[str, bool | None],
    methods: set[str],
    selected: set[str],
) -> None:
    script = Script(header(profiles=sorted(selected))).declared(**declared).advertised(*sorted(methods))
    for key, state in states.items():
        if state is not None:
            script.check(key, state)
    report = script.report()
    for profile in report.profiles:
        of = [states[key] for key in profile.required]
        if profile.verdict is Verdict.CERTIFIED:
            assert all(state in SETTLED for state in of)
            assert any(state in SHOWN for state in of)
        if any(state in BROKEN for state in of):
            assert profile.verdict is Verdict.FAILED
    if report.verdict is Verdict.CERTIFIED:
        assert {each.verdict for each in report.selected()} <= {Verdict.CERTIFIED, Verdict.UNSUPPORTED}
    assert report.invalid == (State.KIT_ERROR in states.values())
