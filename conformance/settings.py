"""What the user asked for: command-line options over `conformance.toml`, every value checked at once."""

import contextlib
import json
import math
import os
import secrets as randomness
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from conformance.budget import Budget, Rate
from conformance.contract import revisions
from conformance.errors import UsageFault
from conformance.hooks import Hooks, command_of
from conformance.host.find import source_path
from conformance.host.package import is_file, read_json
from conformance.model import Json, JsonObject
from conformance.nearest import nearest

FILE_NAME = "conformance.toml"
BASELINE_NAME = "conformance-baseline.toml"
DEFAULT_REVISION = "2026.824"
DEFAULT_REPORT = "conformance-report"

_TABLES: Mapping[str, frozenset[str] | None] = {
    "provider": frozenset({"driver", "manifest", "pass-env", "node"}),
    "config": None,
    "secrets": None,
    "run": frozenset({"revision", "profiles", "report-dir", "seed", "baseline"}),
    "limits": None,
    "hooks": frozenset({"inventory", "kill"}),
    "budget": frozenset({"max-leases", "max-concurrent-leases", "max-lease-seconds", "lease-rate"}),
}


@dataclass(frozen=True)
class Options:
    """The command line as it was typed; None where an option was not given."""

    source: str
    manifest: str | None = None
    driver: str | None = None
    config: str | None = None
    node: str | None = None
    revision: str | None = None
    profiles: Sequence[str] = ()
    report_dir: str | None = None
    seed: int | None = None
    limits: Sequence[str] = ()
    file: str | None = None
    inventory: str | None = None
    kill: str | None = None
    max_leases: int | None = None
    max_concurrent_leases: int | None = None
    max_lease_seconds: float | None = None
    lease_rate: str | None = None
    baseline: str | None = None


@dataclass(frozen=True)
class Settings:
    """Everything a run needs to know before it looks at the provider.

    `secrets` maps config properties to values; they never reach an output. `config` holds no secret.
    """

    source: str
    manifest: Path | None
    driver: str | None
    config: JsonObject
    secrets: Mapping[str, str] = field(repr=False)
    pass_env: tuple[str, ...]
    node: str | None
    revision: str
    profiles: tuple[str, ...]
    report_dir: Path
    seed: int
    limits: Mapping[str, float]
    hooks: Hooks
    budget: Budget
    baseline: Path | None


def read_settings(options: Options, environment: Mapping[str, str], directory: Path) -> Settings:
    """Combine options, file and environment. Raises `UsageFault` with the legal values."""
    path = settings_file(options, directory)
    tables: Mapping[str, Any] = _read_file(path) if path is not None else {}
    base = path.parent if path is not None else directory
    provider, run = _table(tables, "provider"), _table(tables, "run")
    config = _config(options, tables, directory)
    secrets = _secrets(_table(tables, "secrets"), environment)
    manifest = options.manifest if options.manifest is not None else _text(provider, "manifest")
    report = options.report_dir if options.report_dir is not None else _text(run, "report-dir")
    return Settings(
        source=options.source,
        manifest=None if manifest is None else (directory if options.manifest is not None else base) / manifest,
        driver=options.driver if options.driver is not None else _text(provider, "driver"),
        config=config,
        secrets=secrets,
        pass_env=tuple(_texts(provider, "pass-env")),
        node=options.node if options.node is not None else _text(provider, "node"),
        revision=_revision(options.revision if options.revision is not None else _text(run, "revision")),
        profiles=tuple(options.profiles or _texts(run, "profiles")),
        report_dir=_folder(directory / (report if report is not None else DEFAULT_REPORT)),
        seed=_seed(options.seed, run),
        limits={**_limits(_table(tables, "limits")), **dict(_limit(text) for text in options.limits)},
        hooks=_hooks(options, _table(tables, "hooks")),
        budget=_budget(options, _table(tables, "budget")),
        baseline=_baseline(options, _text(run, "baseline"), directory, base),
    )


def _hooks(options: Options, table: Mapping[str, Any]) -> Hooks:
    typed = {"inventory": options.inventory, "kill": options.kill}
    given = {**table, **{name: text for name, text in typed.items() if text is not None}}
    return Hooks(**{name: command_of(name, text) for name, text in given.items()})


def _folder(path: Path) -> Path:
    ground = next(place for place in (path, *path.parents) if place.exists())
    if not ground.is_dir() or not os.access(ground, os.W_OK):
        raise UsageFault(f"--report-dir {path}: nothing can be written to {ground}.", "Name a directory, new or old.")
    return path


def settings_file(options: Options, directory: Path) -> Path | None:
    """The settings file of a run, if it has one. Raises `UsageFault` when the one that is named does not exist."""
    if options.file is not None:
        path = directory / options.file
        if not path.is_file():
            raise UsageFault(f"--conformance-file {options.file}: there is no such file.")
        return path
    if options.source == "reference" or options.source.startswith("mutant:"):
        return None
    source = source_path(options.source)
    path = (source if source is not None and source.is_dir() else directory) / FILE_NAME
    return path if path.is_file() else None


def _read_file(path: Path) -> Mapping[str, Any]:
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        raise UsageFault(
            f"{path} cannot be read: {error}.", "Correct it, or name another with --conformance-file."
        ) from error
    for name, table in tables.items():
        _known(name, _TABLES, f"{path}: the table")
        keys = _TABLES[name]
        if not isinstance(table, dict):
            raise UsageFault(f"{path}: {name} must be a table, written as [{name}].")
        for key in cast("dict[str, Any]", table) if keys is not None else ():
            _known(key, keys or (), f"{path}: the key {name}.")
    return tables


def _known(word: str, known: Mapping[str, Any] | frozenset[str] | tuple[()], what: str) -> None:
    if word in known:
        return
    hint = nearest(word, known)
    guess = f"Did you mean {hint!r}?" if hint else f"Known: {', '.join(sorted(known))}."
    joint = "" if what.endswith(".") else " "
    raise UsageFault(f"{what}{joint}{word} is unknown.", guess)


def _table(tables: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", tables.get(name, {}))


def _text(table: Mapping[str, Any], key: str) -> str | None:
    value = table.get(key)
    if value is not None and not isinstance(value, str):
        raise UsageFault(f"{FILE_NAME}: {key} must be a string, not {value!r}.")
    return value


def _texts(table: Mapping[str, Any], key: str) -> list[str]:
    value: Any = table.get(key, [])
    if not isinstance(value, list) or not all(isinstance(item, str) for item in cast("list[Any]", value)):
        raise UsageFault(f"{FILE_NAME}: {key} must be a list of strings, not {value!r}.")
    return cast("list[str]", value)


def _config(options: Options, tables: Mapping[str, Any], directory: Path) -> JsonObject:
    config = {key: _json(f"config.{key}", value) for key, value in _table(tables, "config").items()}
    if options.config is None:
        return config
    text = options.config
    if not text.lstrip().startswith("{"):
        path = directory / text
        if not is_file(path):
            raise UsageFault(
                f"--provider-config {text}: there is no such file.", "Give a JSON file, or the object itself: '{…}'."
            )
    try:
        given = read_json(text if text.lstrip().startswith("{") else (directory / text).read_text(encoding="utf-8"))
    except (ValueError, OSError, RecursionError) as error:
        raise UsageFault(f"--provider-config is not JSON: {error}.", "Write it as an object: '{…}'.") from error
    if not isinstance(given, dict):
        raise UsageFault("--provider-config must be a JSON object.", "Write it as '{…}'.")
    return {**config, **given}


def _json(name: str, value: Any) -> Json:
    """A value of the file as JSON; TOML has dates and endless numbers, which JSON has not."""
    try:
        return read_json(json.dumps(value))
    except (TypeError, ValueError) as error:
        raise UsageFault(f"{FILE_NAME}: {name} holds what JSON cannot: {error}.", "Write it as a string.") from error


def _secrets(table: Mapping[str, Any], environment: Mapping[str, str]) -> dict[str, str]:
    values: dict[str, str] = {}
    for name, variable in table.items():
        if not isinstance(variable, str):
            raise UsageFault(f"{FILE_NAME}: secrets.{name} must name an environment variable.")
        value = environment.get(variable, "")
        if not value:
            raise UsageFault(
                f"{FILE_NAME}: secrets.{name} names the environment variable {variable}, which is not set.",
                "Set it; secrets are never read from a file.",
            )
        values[name] = value
    return values


def _revision(asked: str | None) -> str:
    if asked is None:
        return DEFAULT_REVISION
    if asked not in revisions():
        hint = nearest(asked, revisions())
        guess = f" Did you mean {hint}?" if hint else ""
        raise UsageFault(f"There is no contract revision {asked!r}.{guess}", f"Known: {', '.join(revisions())}.")
    return asked


def _seed(asked: int | None, run: Mapping[str, Any]) -> int:
    value: Any = asked if asked is not None else run.get("seed")
    if value is None:
        return randomness.randbelow(1 << 32)
    if not isinstance(value, int) or isinstance(value, bool):
        raise UsageFault(f"{FILE_NAME}: run.seed must be an integer, not {value!r}.")
    return value


def _limits(table: Mapping[str, Any]) -> dict[str, float]:
    for name, value in table.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise UsageFault(f"{FILE_NAME}: limits.{name} must be a number, not {value!r}.")
    return {name: float(value) for name, value in table.items()}


def _limit(text: str) -> tuple[str, float]:
    name, _, value = text.partition("=")
    with contextlib.suppress(ValueError):
        number = float(value)
        if math.isfinite(number):
            return name.strip(), number
    raise UsageFault(f"--provider-limit {text!r} is not NAME=NUMBER.", "Example: --provider-limit initialize=30.")


def _baseline(options: Options, named: str | None, directory: Path, base: Path) -> Path | None:
    """The file that is named, else the one beside the package, if there is one."""
    if options.baseline is not None:
        return directory / options.baseline
    if named is not None:
        return base / named
    if options.source == "reference" or options.source.startswith("mutant:"):
        return None
    source = source_path(options.source)
    beside = (source if source is not None and source.is_dir() else directory) / BASELINE_NAME
    return beside if beside.is_file() else None


def _budget(options: Options, table: Mapping[str, Any]) -> Budget:
    default = Budget()
    rate = options.lease_rate if options.lease_rate is not None else _text(table, "lease-rate")
    return Budget(
        leases=int(_number(options.max_leases, table, "max-leases", default.leases, whole=True)),
        at_once=int(
            _number(options.max_concurrent_leases, table, "max-concurrent-leases", default.at_once, whole=True)
        ),
        seconds=_number(options.max_lease_seconds, table, "max-lease-seconds", default.seconds, whole=False),
        rate=None if rate is None else Rate.parse(rate),
    )


def _number(option: float | None, table: Mapping[str, Any], key: str, default: float, *, whole: bool) -> float:
    value: Any = option if option is not None else table.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int if whole else int | float):
        what = "a whole number" if whole else "a number"
        raise UsageFault(f"{FILE_NAME}: budget.{key} must be {what}, not {value!r}.")
    return value


def current_environment() -> dict[str, str]:
    """The kit's own environment, read at the edge and passed on."""
    return dict(os.environ)
