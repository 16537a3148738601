"""The commands of a run beside those of the transfer and of the bridge, in the shapes of the host's."""

from conformance.steps import quote
from conformance.transfer.bridge import Bridge
from conformance.transfer.steps import Step, folder_of, list_files

LOG_BLOCK = 65_536
"""Bytes of a log that one poll takes (contract)."""

REQUESTS = ("first", "second")
"""What the stub asks the host, one after the other."""

AT_STDOUT, AT_STDERR, AT_END = "__KIT_STDOUT__", "__KIT_STDERR__", "__KIT_END__"
"""What stands between the two logs in the output of a poll."""


def agent_says(prompt: str, answers: dict[str, str]) -> str:
    """What the stub prints on stdout when all went well."""
    lines = [
        ("prompt", str(len(prompt.encode()))),
        *(("answer", answers[name]) for name in REQUESTS),
        ("result", "done"),
    ]
    return "".join(f'{{"type":"{kind}","text":"{text}"}}\n' for kind, text in lines)


def command_of_agent(program: str, logs: str) -> Step:
    """The agent's command: the program, with its two streams copied to files while it runs, and its exit code."""
    out, err, status = (quote(f"{logs}/run-1-{name}") for name in ("stdout.log", "stderr.log", "status"))
    return Step(
        f"out_log={out}\nerr_log={err}\nstatus={status}\n"
        'rm -f "$status"\n: > "$out_log"\n: > "$err_log"\n'
        f'{{ {{ {{ sh {quote(program)} 3>&-; printf %s "$?" > "$status"; }} 2>&1 1>&3 | tee "$err_log" >&2; }} 3>&1 '
        '| tee "$out_log"; }\n'
        'exit "$(cat "$status")"'
    )


def read_logs(logs: str, taken: int, of_errors: int) -> Step:
    """A poll of the run's logs from where the one before had ended."""
    out, err = quote(f"{logs}/run-1-stdout.log"), quote(f"{logs}/run-1-stderr.log")
    return Step(
        f"printf '%s\\n' {AT_STDOUT}\n{_tail(out, taken)}\n"
        f"printf '%s\\n' {AT_STDERR}\n{_tail(err, of_errors)}\nprintf '%s\\n' {AT_END}"
    )


def start_session(script: str, folder: str, queue: str) -> Step:
    """Start the stub in the background by a call that returns at once; its environment is in the script itself."""
    return Step(
        f"mkdir -p {quote(f'{folder}/stdin')} {quote(f'{folder}/events')}\n"
        f"PAPERCLIP_PROCESS_SESSION_DIR={quote(folder)} nohup sh {quote(script)} files {quote(queue)} "
        f"> {quote(f'{folder}/log')} 2>&1 < /dev/null &\n"
        f"printf '%s\\n' \"$!\" > {quote(f'{folder}/pid')}"
    )


def list_events(folder: str) -> Step:
    """The names of the event files, and `ended` when the process has gone."""
    gone = f'kill -0 "$(cat {quote(f"{folder}/pid")})" 2>/dev/null || echo ended'
    return Step(f"{list_files(f'{folder}/events').script}\n{gone}")


def probe_context() -> str:
    """The script of the first look: records framed by NUL, and what came as ``$0`` and ``$1``."""
    return 'printf \'\\0%s\\0\' KIT_CONTEXT "$0" "$1" KIT_END'


def export_history(workspace: str, bundle: str, status: str) -> Step:
    """A script within a script that leaves a bundle, here always an empty one, and a word about the workspace."""
    inner = (
        f"set -e\nmkdir -p {quote(folder_of(bundle))}\ncd {quote(workspace)}\n: > {quote(bundle)}\n"
        f"printf dirty > {quote(status)}"
    )
    return Step(f"sh -c {quote(inner)}")


def make_queue(bridge: Bridge) -> Step:
    """The folders of the bridge's queue."""
    queue = folder_of(bridge.requests)
    return Step(f"mkdir -p {' '.join(map(quote, (queue, bridge.requests, bridge.responses, folder_of(bridge.log))))}")


def _tail(log: str, taken: int) -> str:
    return f"if [ -f {log} ]; then tail -c +{taken + 1} {log} | head -c {LOG_BLOCK} | base64; fi"
