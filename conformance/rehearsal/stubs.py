"""The agent's programs and the bridge's process: our own shell scripts in place of the host's, which need Node.

They do to the sandbox what an agent does: read a prompt, ask the host, change files, print. They wait for files and
never for a time, and end with `GAVE_UP` when one does not come.
"""

from conformance.overlap import GAVE_UP, PAUSE_S

_COMMON = r"""
set -eu
await() {
  n=0
  until [ -e "$1" ]; do n=$((n+1)); [ $n -lt "$rounds" ] || exit "$gave_up"; sleep "$pause"; done
}
# A draft lies outside the folder of requests: the host takes every file in that for a request.
ask() {
  printf '{"ask":"%s"}' "$1" > "$queue/$1.draft"
  mv "$queue/$1.draft" "$queue/requests/$1.json"
  await "$queue/responses/$1.json"
  cat "$queue/responses/$1.json"
  rm -f "$queue/responses/$1.json"
}
work() {
  printf changed > text
  mkdir -p made node_modules
  printf new > made/new
  : > node_modules/left
  rm -f old
}
"""

_AGENT = r"""
queue=$PAPERCLIP_BRIDGE_QUEUE_DIR
say() { printf '{"type":"%s","text":"%s"}\n' "$1" "$2"; }
say prompt "$(( $(wc -c) ))"
work
for question in first second; do
  answer=$(ask "$question")
  say answer "$answer"
done
echo remark >&2
say result done
"""

_SESSION = r"""
how=$1 queue=$2 folder=$PAPERCLIP_PROCESS_SESSION_DIR
number=0 message=0
emit() {
  number=$((number+1))
  line=$(printf '{"seq":%s,%s}' "$number" "$1")
  name=$(printf '%012d' "$number").json
  if [ "$how" = stream ]; then
    printf '%s\n' "$line"
    : > "$folder/said-$number"
  else
    printf '%s\n' "$line" > "$folder/$name"
    mv "$folder/$name" "$folder/events/$name"
  fi
}
data() {
  text=$(printf %s "$1" | base64)
  emit "$(printf '"type":"data","stream":"stdout","data":"%s"' "$text")"
}
while :; do
  message=$((message+1))
  file=$folder/stdin/$(printf '%012d' "$message").json
  await "$file"
  case "$(head -c 32 "$file")" in
    *stdinEnd*) break ;;
  esac
  data "message $message of $(( $(wc -c < "$file") )) bytes"
  [ "$message" -eq 3 ] || continue
  work
  answer=$(ask first)
  data "answer $answer"
done
emit '"type":"exit","code":0,"signal":null'
emit '"type":"shutdownAck"'
"""

_SERVER = r"""
trap 'exit 0' TERM
queue=$PAPERCLIP_BRIDGE_QUEUE_DIR
printf '{"pid":%s}\n' "$$" > "$queue/ready.draft"
mv "$queue/ready.draft" "$queue/ready.json"
n=0
while [ $n -lt "$rounds" ]; do n=$((n+1)); sleep "$pause"; done
"""

SERVER_S = 120.0
"""After so long the bridge's process ends by itself, should nobody end it (our choice)."""


def agent(seconds: float) -> str:
    """The agent of the command-line lane: its prompt is on stdin, the bridge's queue in its environment.

    It asks two questions, one after the other.
    """
    return f"{_patience(seconds)}{_COMMON}{_AGENT}"


def session(seconds: float) -> str:
    """The agent of the ACP lane. The host's messages are numbered files, and so are its events when told ``files``.

    Told ``stream``, it prints its events, a line of JSON each, with a number that counts up, and makes a file for each
    number once that is printed. The second word is the bridge's queue. After the third message it asks one question.
    """
    return f"{_patience(seconds)}{_COMMON}{_SESSION}"


def bridge_server() -> str:
    """The bridge's background process: it says that it is ready, and waits to be ended."""
    return f"{_patience(SERVER_S)}{_SERVER}"


def _patience(seconds: float) -> str:
    return f"rounds={max(1, round(seconds / PAUSE_S))} pause={PAUSE_S} gave_up={GAVE_UP}"
