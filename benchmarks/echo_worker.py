"""The worker that every RPC benchmark talks to: reads a line as JSON, and gives `params` back as `result`."""

import json
import sys


def main() -> None:
    """Answer line by line until the end of stdin."""
    out = sys.stdout.buffer
    for line in sys.stdin.buffer:
        request = json.loads(line)
        answer = {"jsonrpc": "2.0", "id": request["id"], "result": request["params"]}
        out.write(json.dumps(answer, separators=(",", ":")).encode() + b"\n")
        out.flush()


if __name__ == "__main__":
    main()
