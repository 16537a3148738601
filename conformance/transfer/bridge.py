"""The commands of the host's bridge: a background process in the sandbox and a queue of files beside it.

`host-flows.md` (e), "Callback bridge over files", is the source of every shape here.
"""

import base64
from collections.abc import Iterator
from dataclasses import dataclass

from conformance.steps import quote
from conformance.transfer.steps import Step, folder_of

CHUNK_CHARACTERS = 32_768
"""Base64 in one argument of a queue write (contract)."""

STOP_ROUNDS = 40
"""How often the host looks, every 50 ms, whether the process has ended (contract)."""

CHANNEL = {"PAPERCLIP_SANDBOX_EXEC_CHANNEL": "bridge"}
"""What the host adds to the environment of every command of the bridge (contract)."""

_HASH = (
    "hash() { if command -v sha256sum >/dev/null 2>&1; then sha256sum \"$1\" | awk '{print $1}'; "
    "else shasum -a 256 \"$1\" | awk '{print $1}'; fi; }"
)


@dataclass(frozen=True)
class Bridge:
    """Where one bridge keeps its files. `runner` is the program that runs its script."""

    folder: str
    runner: str = "sh"

    @property
    def entry(self) -> str:
        """The script of the background process."""
        return f"{self.folder}/server"

    @property
    def requests(self) -> str:
        """Where the sandbox puts what it asks."""
        return f"{self.folder}/queue/requests"

    @property
    def responses(self) -> str:
        """Where the host puts its answers."""
        return f"{self.folder}/queue/responses"

    @property
    def ready(self) -> str:
        """The file that says that the process serves."""
        return f"{self.folder}/queue/ready.json"

    @property
    def process(self) -> str:
        """The file with the id of the process."""
        return f"{self.folder}/queue/server.pid"

    @property
    def log(self) -> str:
        """What the process prints."""
        return f"{self.folder}/queue/logs/server.log"

    def upload(self, script: bytes, digest: str) -> Step:
        """Put the script in place unless it is there already; `digest` is its SHA-256. Says which of the two it was."""
        return Step(
            f"set -eu\n{_HASH}\ntarget={quote(self.entry)}\ndraft=$target.$$\nmkdir -p {quote(self.folder)}\n"
            f'if [ -f "$target" ] && [ "$(hash "$target")" = {quote(digest)} ]; then\n'
            "  cat > /dev/null\n  printf '{\"uploaded\":false}\\n'\n  exit 0\nfi\n"
            "trap 'rm -f \"$draft\"' EXIT\n"
            'base64 -d > "$draft"\n'
            f'[ "$(hash "$draft")" = {quote(digest)} ]\n'
            'mv -f "$draft" "$target"\nprintf \'{"uploaded":true}\\n\'',
            base64.b64encode(script).decode(),
        )

    def start(self) -> Step:
        """Start the process in the background and print its id; it has to outlive this call."""
        ready, process = quote(self.ready), quote(self.process)
        return Step(
            f"mkdir -p {quote(self.requests)} {quote(self.responses)} {quote(folder_of(self.log))}\n"
            f"rm -f {ready} {process}\n"
            f"nohup {self.runner} {quote(self.entry)} >> {quote(self.log)} 2>&1 < /dev/null &\n"
            f'pid=$!\nprintf \'%s\\n\' "$pid" > {process}\nprintf \'{{"pid":%s}}\\n\' "$pid"'
        )

    def wait_until_ready(self) -> Step:
        """Wait for the ready file as long as the process lives, ten seconds at most."""
        return Step(
            f"file={quote(self.process)}\ni=0\nwhile [ $i -lt 200 ]; do\n"
            f"  if [ -s {quote(self.ready)} ]; then exit 0; fi\n"
            '  if [ -s "$file" ] && ! kill -0 "$(cat "$file")" 2>/dev/null; then exit 3; fi\n'
            "  i=$((i + 1))\n  sleep 0.05\ndone\nexit 4"
        )

    def stop(self, rounds: int = STOP_ROUNDS) -> Step:
        """End the process by its id, wait for its end at most `rounds` times 50 ms, and remove its files."""
        return Step(
            f"if [ -s {quote(self.process)} ]; then\n  pid=$(cat {quote(self.process)})\n"
            '  kill "$pid" 2>/dev/null || true\n  i=0\n'
            f'  while [ $i -lt {rounds} ] && kill -0 "$pid" 2>/dev/null; do\n'
            "    i=$((i + 1))\n    sleep 0.05\n  done\nfi\n"
            f"rm -f {quote(self.process)} {quote(self.ready)}"
        )


def write_to_queue(path: str, content: bytes, unique: str) -> Iterator[Step]:
    """A file goes into the queue through arguments alone: base64 in pieces, decoded aside, put in place."""
    text, draft = f"{path}.paperclip-upload.b64", f"{path}.paperclip-upload.{unique}"
    yield Step(f"mkdir -p {quote(folder_of(path))} && rm -f {quote(text)} && : > {quote(text)}")
    encoded = base64.b64encode(content).decode()
    for start in range(0, len(encoded), CHUNK_CHARACTERS):
        yield Step(f"printf '%s' {quote(encoded[start : start + CHUNK_CHARACTERS])} >> {quote(text)}")
    yield Step(
        f"base64 -d < {quote(text)} > {quote(draft)} && mv -f {quote(draft)} {quote(path)} && rm -f {quote(text)}"
    )


def read_from_queue(path: str, limit: int | None = None) -> Step:
    """A file of the queue as base64, or its first `limit` bytes."""
    return Step(f"base64 < {quote(path)}" if limit is None else f"head -c {limit} {quote(path)} | base64")


def write_response(path: str, body: str, unique: str) -> Step:
    """Write an answer while nobody else writes it: a directory is the lock. Says whether it was written."""
    lock, draft = quote(f"{path}.lock"), quote(f"{path}.{unique}")
    return Step(
        f"set -eu\nmkdir -p {quote(folder_of(path))}\n"
        f"if ! mkdir {lock} 2>/dev/null; then\n  cat > /dev/null\n  printf '{{\"wrote\":false}}\\n'\n  exit 0\nfi\n"
        f"printf '%s\\n' $$ > {lock}/pid\ncat > {draft}\nmv -f {draft} {quote(path)}\nrm -rf {lock}\n"
        "printf '{\"wrote\":true}\\n'",
        body,
    )
