"""What the first line of a ledger says of its run, and the way back: how to start the same provider again."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from conformance.errors import UsageFault
from conformance.host.digest import digest_of_json
from conformance.host.find import source_path
from conformance.host.package import SourceKind
from conformance.model import Json, JsonObject, object_of
from conformance.plan import Plan
from conformance.settings import Options, Settings, settings_file
from conformance.wire.leftovers import this_boot

_OPTIONS = ("source", "manifest", "driver", "config", "node", "revision", "file", "inventory", "kill")
"""The options that say which provider, and with which config."""


def reference(plan: Plan, options: Options, directory: Path, work: Path, shard: int) -> dict[str, Any]:
    """The fields of the first line. `directory` is where the run was started; secrets appear by name only."""
    package, settings = plan.subject.package, plan.settings
    unpacked = package.kind is SourceKind.TARBALL
    typed = {name: getattr(options, name) for name in _OPTIONS}
    source, file = source_path(options.source), settings_file(options, directory)
    if source is not None:
        typed["source"] = str(source.absolute())
    if settings.manifest is not None:
        typed["manifest"] = str(settings.manifest)
    if options.config is not None and not options.config.lstrip().startswith("{"):
        typed["config"] = str(directory / options.config)
    typed["file"] = None if file is None else str(file)
    return {
        "run": plan.run,
        "shard": shard,
        "process": os.getpid(),
        "boot": this_boot(),
        "plugin": plan.subject.plugin_id,
        "driver": plan.subject.driver_key,
        "provider": typed,
        "config_digest": digest_of_json(dict(settings.config)),
        "config_added": _added(plan),
        "secrets": sorted(settings.secrets),
        "work": str(work),
        "unpacked": {"root": str(package.root), "tarball": package.digests.tarball} if unpacked else None,
    }


def _added(plan: Plan) -> dict[str, Json]:
    """What the kit itself has put into the config: the place of local sandboxes, which belongs to the run."""
    known = {*plan.settings.config, *plan.subject.secret_names}
    return {name: value for name, value in plan.subject.config.items() if name not in known}


def with_config_of(header: JsonObject, settings: Settings) -> Settings:
    """The settings of the run, as its plan has completed them."""
    return replace(settings, config={**object_of(header.get("config_added")), **settings.config})


def options_of(header: JsonObject, given: Options) -> Options:
    """The options of the run, with what is `given` over them; an empty text stands for what is not given."""
    told = object_of(header.get("provider"))
    recorded = {name: value for name in _OPTIONS if isinstance(value := told.get(name), str)}
    chosen = {name: value for name in _OPTIONS if (value := getattr(given, name))}
    if chosen.get("source", recorded.get("source")) != recorded.get("source"):
        # Another place, perhaps another machine: what lay beside the provider of the run is not there.
        recorded = {name: value for name, value in recorded.items() if name not in {"manifest", "file"}}
    values: dict[str, Any] = {**recorded, **chosen}
    return Options(**values)


def expect_the_same_config(header: JsonObject, settings: Settings) -> None:
    """Refuse another config: another account would say of every lease that it is gone. Raises `UsageFault`."""
    if header.get("config_digest") != digest_of_json(dict(settings.config)):
        raise UsageFault(
            "The config is not the one of the run, so its backend may be another.",
            "Give the same with --provider-config or --conformance-file.",
        )
    missing = set(map(str, header.get("secrets") or ())) - set(settings.secrets)  # type: ignore[arg-type]
    if missing:
        raise UsageFault(
            f"The run had secrets that are missing now: {', '.join(sorted(missing))}.",
            "Name their environment variables in conformance.toml, as in the run.",
        )
