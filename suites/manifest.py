"""MAN: the manifest, judged before any process is started.

Each check lists every place that breaks its rule, with its JSON path: an author should have to build only once.
"""

from collections.abc import Iterable, Iterator

from conformance.checks import check
from conformance.contract import Problem
from conformance.contract.places import places
from conformance.contract.wording import path_of
from conformance.evidence import Blocked, show
from conformance.form import allows
from conformance.gates import A_FILE_IN_A_PACKAGE, A_MINIMUM_VERSION, SECRET_FIELDS
from conformance.model import JsonObject, Level, RequirementId, object_of
from conformance.view import PackageView

MUST, SHOULD = Level.MUST, Level.SHOULD

ALL_OF_IT = 50_000
"""Characters of a finding here: the places are in no transcript, so none may be cut off."""


@check("MAN-001", level=MUST)
async def the_manifest_is_found_and_is_an_object(package: PackageView) -> None:
    """The host finds the manifest through package.json, or at its two fallback places, and gets a plain JSON object."""
    fault = package.subject.package.fault("MAN-001")
    expect_nothing(
        package,
        [fault.problem] if fault is not None else [],
        that="a manifest is found, can be imported and is an object that survives a JSON round trip",
        advice=fault.advice if fault is not None else "",
    )


@check("MAN-001", level=MUST)
async def the_parts_that_no_other_rule_names_are_valid_too(package: PackageView) -> None:
    """A sandbox provider needs no tools, jobs or pages, but one mistake in them refuses the whole manifest."""
    expect_no_problem(
        package,
        None,
        that="every further section of the manifest is as the host demands it",
        advice="Correct the section, or leave it out: a sandbox provider needs none of them.",
    )


@check("MAN-002", level=MUST)
async def the_id_has_the_form_of_an_id(package: PackageView) -> None:
    """The id is lower-case letters, digits, dots, hyphens and underscores, and begins with a letter or digit."""
    expect_no_problem(
        package,
        "MAN-002",
        that="the id has the form of an id",
        advice="Take the npm name without its scope: @acme/plugin-box becomes acme.plugin-box.",
    )


@check("MAN-003", level=MUST)
async def the_api_version_is_one(package: PackageView) -> None:
    """The apiVersion is the number 1, which is that of the protocol and not of the package."""
    expect_no_problem(package, "MAN-003", that="apiVersion is the number 1", advice="Write apiVersion: 1.")


@check("MAN-004", level=MUST)
async def the_version_is_three_numbers(package: PackageView) -> None:
    """The version is three whole numbers joined by dots; a pre-release and a build part may follow, no v before."""
    expect_no_problem(
        package,
        "MAN-004",
        that="the version is three numbers joined by dots",
        advice="Take the version of package.json, without a v in front.",
    )


@check("MAN-005", level=MUST)
async def names_and_texts_keep_their_lengths(package: PackageView) -> None:
    """The displayName has 1 to 100 characters, description 1 to 500, author 1 to 200."""
    expect_no_problem(
        package,
        "MAN-005",
        that="displayName, description and author are there and not too long",
        advice="Shorten the text, and leave the details to the README.",
    )


@check("MAN-005", level=SHOULD)
async def no_text_is_too_long_for_a_host_that_counts_in_utf_16(package: PackageView) -> None:
    """Some hosts count an emoji as two characters, so a text near its limit should keep it in both ways to count."""
    problems = readable(package).subject.problems
    expect_nothing(
        package,
        _listed(problem for problem in problems if problem.rule == "too-long-in-units"),
        that="every text keeps its limit also when it is counted in UTF-16 units",
        advice="Shorten the text: whether a host takes it depends on the release of a library.",
    )


@check("MAN-006", level=MUST)
async def the_categories_are_known_ones(package: PackageView) -> None:
    """The list of categories holds at least one of connector, workspace, automation and ui, and nothing else."""
    expect_no_problem(
        package,
        "MAN-006",
        that="categories is a list of known words, not empty",
        advice='Write categories: ["workspace"], which fits a sandbox provider best.',
    )


@check("MAN-007", level=MUST)
async def the_plugin_asks_for_known_capabilities_and_for_drivers(package: PackageView) -> None:
    """The plugin asks only for capabilities that the host knows; environment.drivers.register goes with a driver."""
    expect_no_problem(
        package,
        "MAN-007",
        that="capabilities is a list of known names, with environment.drivers.register among them",
        advice="Remove what the host does not know, and add environment.drivers.register.",
    )


@check("MAN-008", level=MUST)
async def the_manifest_names_a_worker(package: PackageView) -> None:
    """entrypoints.worker is a text that is not empty."""
    expect_no_problem(
        package,
        "MAN-008",
        that="entrypoints.worker is a text",
        advice="Name the built worker file there, relative to package.json.",
    )


@check("MAN-008", level=MUST, when=A_FILE_IN_A_PACKAGE)
async def the_worker_file_is_inside_the_package(package: PackageView) -> None:
    """entrypoints.worker names an existing file inside the package; the host starts nothing else."""
    fault = readable(package).subject.package.fault("MAN-008")
    expect_nothing(
        package,
        [fault.problem] if fault is not None else [],
        that="entrypoints.worker names an existing file inside the package",
        advice="Build the package before you publish it, and give the path relative to package.json.",
    )


@check("MAN-009", level=MUST, when=A_MINIMUM_VERSION)
async def the_lowest_host_version_is_not_above_this_host(package: PackageView) -> None:
    """Both names of the lowest host version agree, have the form of a version and do not ask for a newer host."""
    expect_no_problem(
        package,
        "MAN-009",
        that="the lowest host version is a version, the same under both names, and not above this host's",
        advice="Give one of the two names, with the lowest version that you have tested.",
    )


@check("MAN-010", level=MUST)
async def a_driver_is_a_sandbox_provider(package: PackageView) -> None:
    """At least one driver says kind: sandbox_provider; the host takes a driver without a kind for something else."""
    expect_no_problem(
        package,
        "MAN-010",
        that="environmentDrivers is a list, and one of its entries says kind: sandbox_provider",
        advice='Write kind: "sandbox_provider" into the driver.',
    )


@check("MAN-011", level=MUST)
async def every_driver_key_can_be_found_and_is_the_drivers_own(package: PackageView) -> None:
    """A driverKey has the form of a key, stands once in the manifest, and is not the host's own key fake."""
    expect_no_problem(
        with_a_driver(package),
        "MAN-011",
        that="every driverKey has the form of a key and belongs to this driver alone",
        advice="Choose a short lower-case name that nobody else uses, such as the name of your service.",
    )


@check("MAN-012", level=MUST)
async def the_config_schema_is_a_schema(package: PackageView) -> None:
    """A configSchema is an object that is empty or has a type (a text), $ref, oneOf, anyOf or allOf."""
    expect_no_problem(
        with_a_driver(package),
        "MAN-012",
        that="configSchema is what the host takes for a JSON Schema",
        advice='Write type: "object" beside properties.',
    )


@check("MAN-012", level=SHOULD)
async def every_default_fits_its_own_property(package: PackageView) -> None:
    """The settings form offers the defaults, so each should be a value that its property allows."""
    expect_nothing(
        package,
        [
            f"{path}.default: {show(rule['default'])} is not allowed by the property itself"
            for path, rule in _config_properties(with_a_driver(package))
            if "default" in rule and not allows(rule, rule["default"])
        ],
        that="every default in configSchema is a value that its property allows",
        advice="Correct the default, or the limits around it.",
    )


@check("MAN-013", level=SHOULD)
async def what_sounds_like_a_secret_is_kept_as_one(package: PackageView) -> None:
    """A secret in the config is a string property with format secret-ref; anything else is stored in clear."""
    found = with_a_driver(package).problems("MAN-013", severity="warning")
    mistyped = [
        f"{path}: its type is {show(rule.get('type'))}, so the host does not take it for a secret"
        for path, rule in _config_properties(package)
        if _says_secret(rule) and rule.get("type") != "string"
    ]
    expect_nothing(
        package,
        [*_listed(found), *mistyped],
        that="every property whose name sounds like a secret is a string with format secret-ref",
        advice='Give it type: "string" and format: "secret-ref"; if it is no secret, another name spares the question.',
    )


@check("MAN-013", level=SHOULD, when=SECRET_FIELDS)
async def no_secret_has_a_default(package: PackageView) -> None:
    """A default on a secret property is saved as if the operator had typed a secret."""
    expect_nothing(
        package,
        [
            f"{path}.default: a secret must not have one"
            for path, rule in _config_properties(package)
            if _says_secret(rule) and "default" in rule
        ],
        that="no property with format secret-ref has a default",
        advice="Remove the default, and say in the description what to enter.",
    )


@check("MAN-014", level=MUST)
async def the_sandbox_capabilities_are_known_and_true_or_false(package: PackageView) -> None:
    """Every sandbox capability is true or false and known to this revision; one other key refuses the manifest."""
    expect_no_problem(
        with_a_driver(package),
        "MAN-014",
        that="sandboxCapabilities has only known keys, each true or false",
        advice="Remove keys of other releases of the host, and leave out what you do not want to answer.",
    )


@check("MAN-017", level=MUST)
async def the_fields_for_setup_and_templates_keep_their_limits(package: PackageView) -> None:
    """The fields for interactive setup, templates and the login terminal have the types and limits of the host."""
    expect_no_problem(
        with_a_driver(package),
        "MAN-017",
        that="every field for setup, templates and login is of the right type and within its limits",
        advice="Correct the field; if the driver does not offer it, leave the field out.",
    )


@check("MAN-018", level=MUST)
async def no_optional_field_is_null(package: PackageView) -> None:
    """An optional field without a value is left out; null is refused."""
    expect_no_problem(
        package,
        "MAN-018",
        that="no optional field of the manifest is null",
        advice="Leave the field out when it has no value.",
    )


def readable(package: PackageView) -> PackageView:
    """The package, if its manifest can be judged at all; blocked by MAN-001 otherwise."""
    fault = package.subject.package.fault("MAN-001")
    if fault is not None:
        raise Blocked(RequirementId("MAN-001"), fault.problem)
    return package


def with_a_driver(package: PackageView) -> PackageView:
    """The package, if its manifest has a driver to look at; blocked by MAN-010 otherwise."""
    if not any(object_of(driver) for _, driver in places(readable(package).manifest, "environmentDrivers[*]")):
        raise Blocked(RequirementId("MAN-010"), "The manifest has no driver that could be looked at.")
    return package


def expect_no_problem(package: PackageView, requirement: str | None, *, that: str, advice: str) -> None:
    """Demand that the manifest breaks nothing of a requirement; None means what stands in no requirement."""
    problems = [
        problem
        for problem in readable(package).subject.problems
        if problem.requirement == requirement and problem.severity == "error"
    ]
    expect_nothing(package, _listed(problems), that=that, advice=advice)


def expect_nothing(package: PackageView, found: Iterable[str], *, that: str, advice: str) -> None:
    """Demand that nothing was found. Each entry is a path and what is wrong there."""
    broken = "; ".join(found)
    package.trace.decide(
        holds=not broken,
        expected=that,
        observed=broken or "nothing in the manifest breaks this rule",
        sent=package.sent,
        advice=advice,
        most=ALL_OF_IT,
    )


def _listed(problems: Iterable[Problem]) -> list[str]:
    return [str(problem) for problem in problems]


def _config_properties(package: PackageView) -> Iterator[tuple[str, JsonObject]]:
    for steps, properties in places(package.manifest, "environmentDrivers[*].configSchema.properties"):
        for name, rule in object_of(properties).items():
            yield path_of((*steps, name)), object_of(rule)


def _says_secret(rule: JsonObject) -> bool:
    return rule.get("format") == "secret-ref"
