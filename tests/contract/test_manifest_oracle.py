"""Our verdict on a manifest is the host's, on thousands of manifests made to sit on the edges of its rules."""

import copy
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar, cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from conformance.contract import Contract, load_contract
from tests.contract.edges import EDGES_OF, EMOJI, EXTRA_KEYS, LENGTHS, OTHERS, TEXTS
from tests.contract.manifests import everything, sandbox_provider
from tests.contract.oracle_process import ManifestOracle

T = TypeVar("T")

EXAMPLES = 5_000


@pytest.fixture(scope="module")
def contract() -> Contract:
    return load_contract("2026.824")


@pytest.fixture(scope="module")
def oracle() -> Iterator[ManifestOracle]:
    with ManifestOracle() as running:
        yield running


def text_of(manifest: object) -> str:
    """The manifest as ASCII JSON. A number beyond all doubles is written the way JavaScript can read it."""
    return json.dumps(manifest).replace("Infinity", "1e999")


def containers(value: object) -> Iterator[Any]:
    """Every object and list in a document, outermost first, as often as it has entries: each entry has its chance."""
    if isinstance(value, dict | list):
        size = len(cast("dict[str, object] | list[object]", value))
        yield from (value for _ in range(size or 1))
        inner = cast("dict[str, object]", value).values() if isinstance(value, dict) else cast("list[object]", value)
        for item in inner:
            yield from containers(item)


# Strategies are made once: making them anew for each draw takes more time than the comparison.
LONG = st.tuples(st.sampled_from(("a", EMOJI, "é", " ")), st.sampled_from(LENGTHS)).map(lambda two: two[0] * two[1])
HALVES = st.sampled_from(LENGTHS).map(lambda length: EMOJI * (length // 2) + "a" * (length % 2))
EDGE_TEXTS = st.one_of(st.sampled_from(TEXTS), st.sampled_from(TEXTS), LONG, HALVES)
# Copied, because a later change may reach into the value.
EDGE_VALUES = st.one_of(
    EDGE_TEXTS, EDGE_TEXTS, st.sampled_from(OTHERS).map(copy.deepcopy), st.lists(EDGE_TEXTS, max_size=3)
)
BASES = st.sampled_from((sandbox_provider, sandbox_provider, everything, None))
OBJECT_CHANGES = st.sampled_from(("set", "set", "set", "drop", "add"))
LIST_CHANGES = st.sampled_from(("set", "repeat", "drop", "add", "fill"))
MORE_KEYS = st.sampled_from(EXTRA_KEYS)
MORE_ITEMS = st.sampled_from((9, 10, 19, 20, 21, 50))
CHANGES = st.sampled_from((0, 1, 1, 1, 1, 2, 2, 3))
ANY_INDEX = st.integers(0, 1_000_000)


def one_of(draw: st.DrawFn, items: Sequence[T]) -> T:
    return items[draw(ANY_INDEX) % len(items)]


def change_object(draw: st.DrawFn, place: dict[str, Any]) -> None:
    how = draw(OBJECT_CHANGES)
    if how == "add" or not place:
        place[draw(MORE_KEYS)] = draw(EDGE_VALUES)
        return
    key = one_of(draw, sorted(place))
    if how == "drop":
        del place[key]
    elif key in EDGES_OF and draw(ANY_INDEX) % 4:
        place[key] = copy.deepcopy(one_of(draw, EDGES_OF[key]))
    else:
        place[key] = draw(EDGE_VALUES)


def change_list(draw: st.DrawFn, place: list[Any]) -> None:
    how = draw(LIST_CHANGES)
    if not place or how == "add":
        place.append(draw(EDGE_VALUES))
        return
    index = draw(ANY_INDEX) % len(place)
    match how:
        case "set":
            place[index] = draw(EDGE_VALUES)
        case "repeat":
            place.append(copy.deepcopy(place[index]))
        case "fill":
            place.extend([f"item-{number}" for number in range(draw(MORE_ITEMS))])
        case _:
            del place[index]


@st.composite
def manifests(draw: st.DrawFn) -> str:
    """A valid manifest with up to three changes, each at an edge of some rule; or something else altogether."""
    base = draw(BASES)
    if base is None and draw(ANY_INDEX) % 10 == 0:
        return text_of(draw(EDGE_VALUES))
    manifest = (base or sandbox_provider)()
    for _ in range(draw(CHANGES)):
        place = one_of(draw, list(containers(manifest)))
        if isinstance(place, dict):
            change_object(draw, cast("dict[str, Any]", place))
        else:
            change_list(draw, cast("list[Any]", place))
    return text_of(manifest)


def exploring(config: pytest.Config, examples: int) -> settings:
    """Settings that make the same manifests each time, unless somebody explores with a seed of their own."""
    seed: object = config.getoption("--hypothesis-seed")
    return settings(
        max_examples=examples,
        derandomize=seed is None,
        database=None,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )


def test_the_verdict_is_the_hosts(contract: Contract, oracle: ManifestOracle, pytestconfig: pytest.Config) -> None:
    verdicts: Counter[bool] = Counter()

    @exploring(pytestconfig, EXAMPLES)
    @given(text=manifests())
    def verdicts_agree(text: str) -> None:
        rejected = oracle.rejects(text)
        verdicts[rejected] += 1
        assert contract.manifest_rejected(json.loads(text)) == rejected

    verdicts_agree()

    assert verdicts.total() >= EXAMPLES
    assert min(verdicts[True], verdicts[False]) > EXAMPLES // 10, "one verdict was hardly ever tried"


def test_a_refusal_has_its_reasons(contract: Contract, pytestconfig: pytest.Config) -> None:
    """The list of problems and the verdict are made on two ways, and say the same."""
    own_rules = {rule.name for rule in contract.manifest_rules if not rule.host}

    @exploring(pytestconfig, EXAMPLES // 10)
    @given(text=manifests())
    def reasons_agree(text: str) -> None:
        manifest = json.loads(text)
        problems = [problem for problem in contract.manifest_problems(manifest) if problem.rule not in own_rules]
        host = [problem for problem in problems if problem.severity == "error" or problem.rule == "too-long-in-units"]
        assert bool(host) == contract.manifest_rejected(manifest)

    reasons_agree()


@pytest.mark.parametrize("base", [sandbox_provider, everything])
def test_both_take_a_valid_manifest(contract: Contract, oracle: ManifestOracle, base: Any) -> None:
    assert not oracle.rejects(text_of(base()))
    assert not contract.manifest_rejected(base())
