"""The operations of a sync call, as the host writes them."""

from collections.abc import Sequence
from pathlib import Path

from conformance.model import Json, JsonObject


def file(source: str | Path, target: str | Path, **options: Json) -> dict[str, Json]:
    """A mapping of one file. `options` are further keys of the wire, such as `mode`."""
    return {"sourcePath": str(source), "targetPath": str(target), "kind": "file", **options}


def directory(source: str | Path, target: str | Path, **options: Json) -> dict[str, Json]:
    """A mapping of one directory. `options` are further keys of the wire, such as `exclude` and `followSymlinks`."""
    return {"sourcePath": str(source), "targetPath": str(target), "kind": "directory", **options}


def command(text: str, **options: Json) -> dict[str, Json]:
    """A command for after the upload. `options` are `cwd` and `timeoutMs`."""
    return {"command": text, **options}


def operation(*files: JsonObject, commands: Sequence[JsonObject] | None = None, number: int = 1) -> dict[str, Json]:
    """One operation; without `commands` the key is absent, as the host leaves it."""
    made: dict[str, Json] = {"operationId": f"sync-op-{number}", "files": list(files)}
    return made if commands is None else {**made, "postUploadCommands": list(commands)}
