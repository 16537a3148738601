"""Small plugin packages on disk: a good manifest, workers in JavaScript, and whatever a test wants to be wrong."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

MANIFEST: Mapping[str, Any] = {
    "id": "acme.box",
    "apiVersion": 1,
    "version": "1.0.0",
    "displayName": "Box",
    "description": "Sandboxes in boxes.",
    "author": "Acme",
    "categories": ["workspace"],
    "capabilities": ["environment.drivers.register"],
    "entrypoints": {"worker": "worker.js"},
    "environmentDrivers": [
        {"driverKey": "box", "kind": "sandbox_provider", "displayName": "Box", "configSchema": {"type": "object"}}
    ],
}

DESCRIPTION: Mapping[str, Any] = {"name": "paperclip-plugin-box", "version": "1.0.0", "type": "module"}

EXITS = 'console.error("Error: no backend is configured");\nprocess.exit(3);\n'
"""A worker that ends before it reads anything."""

NEVER_ANSWERS = 'console.error("waiting for the backend");\nprocess.stdin.resume();\n'
"""A worker that reads and says nothing."""


def answering(*statements: str) -> str:
    """A worker that runs the statements for each message, with `id`, `method`, `send(object)` and `write(text)`."""
    return f"""
import {{ createInterface }} from "node:readline";
const write = (text) => process.stdout.write(text);
const send = (message) => write(JSON.stringify({{ jsonrpc: "2.0", ...message }}) + "\\n");
createInterface({{ input: process.stdin }})
  .on("line", (line) => {{
    const {{ id, method }} = JSON.parse(line);
    {" ".join(statements)}
  }})
  .on("close", () => process.exit(0));
"""


NOT_OK = answering('console.error("the key was rejected");', "send({ id, result: { ok: false } });")
GLUED_NOISE = answering('write("Box 1.0 is ready. ");', "send({ id, result: { ok: true, supportedMethods: [] } });")
BROKEN_JSON = answering("""write(`{"jsonrpc":"2.0","id":${id},"result":{"ok":tru\\n`);""")
DIES_IN_A_CALL = answering(
    'if (method === "environmentAcquireLease") { console.error("fatal: out of quota"); process.exit(9); }',
    'send({ id, result: { ok: true, supportedMethods: ["environmentAcquireLease", "environmentExecute"] } });',
)


def write_package(
    folder: Path,
    *,
    manifest: Mapping[str, Any] | str | None = MANIFEST,
    worker: str | None = NEVER_ANSWERS,
    description: Mapping[str, Any] | str | None = DESCRIPTION,
) -> Path:
    """Write a package; a text is written as it is, None leaves the file out."""
    folder.mkdir(parents=True)
    if description is not None:
        text = description if isinstance(description, str) else json.dumps(description)
        (folder / "package.json").write_text(text, encoding="utf-8")
    if manifest is not None:
        text = manifest if isinstance(manifest, str) else f"export default {json.dumps(manifest)};\n"
        (folder / "manifest.js").write_text(text, encoding="utf-8")
    if worker is not None:
        (folder / "worker.js").write_text(worker, encoding="utf-8")
    return folder
