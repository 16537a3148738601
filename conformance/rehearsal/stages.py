"""The steps of a run by name, in the order of a recorded host, and the rule that each stands on."""

from conformance.rehearsal.flow import Stage

ACQUIRE = Stage("acquire", "LEASE-001")
RESUME = Stage("resume", "LEASE-024")
REALIZE = Stage("realize the workspace", "WS-001")
LOOK = Stage("look around in the sandbox", "EXEC-004")
LAUNCHERS = Stage("put the run's programs in place", "EXEC-013")
PROGRAM = Stage("look for the agent's program", "EXEC-011")
ASSETS_IN = Stage("sync in, the assets", "FALL-003")
WORKSPACE_IN = Stage("sync in, the workspace", "FALL-004")
CONFIG = Stage("make the agent's config", "EXEC-026")
SESSION = Stage("put the program of the agent's session in place", "EXEC-013")
BRIDGE = Stage("start the bridge", "FALL-007")
STOP = Stage("stop the bridge", "FALL-007")
HISTORY_OUT = Stage("sync out, the history", "FALL-005")
WORKSPACE_OUT = Stage("sync out, the workspace", "FALL-002")
TIDY = Stage("remove the run's programs", "EXEC-007")
RELEASE = Stage("release", "LEASE-014")

NATIVE_ASSETS_IN = Stage("native sync in, the assets", "SYNC-002")
NATIVE_WORKSPACE_IN = Stage("native sync in, the workspace", "SYNC-012")
NATIVE_HISTORY_OUT = Stage("native sync out, the history", "SYNC-017")
NATIVE_WORKSPACE_OUT = Stage("native sync out, the workspace", "SYNC-016")

AGENT = Stage("the agent's command, with the polls beside it", "EXEC-027")
AGENT_LIMITED = Stage("the agent's command runs into its time limit", "EXEC-021")
AGENT_OPEN = Stage("the agent's command is under way", "EXEC-026")
AGENT_ENDS = Stage("the operator gave up: nothing is sent, and the command ends by itself", "EXEC-027")
AGENT_STARTED = Stage("the agent is started by a call that returns at once", "EXEC-025")
AGENT_STREAMED = Stage("the agent's session is open, and its frames arrive", "STREAM-008")
TALK = Stage("talk to the agent over files", "EXEC-026")
SAID = Stage("what the agent printed", "EXEC-015")
REPAIRED = Stage("read the frames again in the complete output", "STREAM-006")
FAREWELL = Stage("remove the agent's session", "FALL-006")

RELEASE_KEPT = Stage("release, to be kept", "LEASE-014")
RELEASE_OPEN = Stage("the host stops: release while the agent's command is open", "LEASE-019")
OPEN_ENDED = Stage("the open command is answered", "LEASE-019")
STDIN_ENDS = Stage("the host is gone: the worker's stdin ends", "LIFE-003")
WORKER_KILLED = Stage("the worker is killed while the agent's command is open", "LEASE-023")
NEW_WORKER = Stage("a new worker is started", "LIFE-007")
SWEEP = Stage("the sweep destroys the lease on the new worker", "LEASE-023")
LATE_RELEASE = Stage("the new host releases the lease on the new worker", "LEASE-023")
KEPT = Stage("what the run before left is still there", "LEASE-017")
GONE_RELEASED = Stage("after an ordinary release nothing is left", "LEASE-015")
GONE_SWEPT = Stage("after the sweep nothing is left", "LEASE-023")
GONE_LATE = Stage("after the late release nothing is left", "LEASE-023")
STILL_ALIVE = Stage("polls are still sent, and answered with errors", "LIFE-006")
DESTROY = Stage("destroy, when the issue is done", "LEASE-020")

BEGIN = (ACQUIRE, REALIZE)
PREPARE = (LOOK, LAUNCHERS, PROGRAM)
BRIEFLY = (*BEGIN, LAUNCHERS, WORKSPACE_IN, BRIDGE)
SYNC_IN = (ASSETS_IN, WORKSPACE_IN)
SYNC_OUT = (HISTORY_OUT, WORKSPACE_OUT)
NATIVE_IN = (NATIVE_WORKSPACE_IN, NATIVE_ASSETS_IN)
NATIVE_OUT = (NATIVE_HISTORY_OUT, NATIVE_WORKSPACE_OUT)
END = (TIDY, RELEASE)

COMMAND_LINE_RUN = (*BEGIN, *PREPARE, *SYNC_IN, CONFIG, BRIDGE, AGENT, STOP, SAID, *SYNC_OUT, *END)
NATIVE_RUN = (*BEGIN, *PREPARE, *NATIVE_IN, CONFIG, BRIDGE, AGENT, STOP, SAID, *NATIVE_OUT, *END)
POLLED_RUN = (
    *BEGIN,
    *PREPARE,
    *SYNC_IN,
    CONFIG,
    SESSION,
    BRIDGE,
    AGENT_STARTED,
    TALK,
    STOP,
    FAREWELL,
    *SYNC_OUT,
    *END,
)
STREAMED_RUN = (
    *BEGIN,
    LAUNCHERS,
    WORKSPACE_IN,
    SESSION,
    BRIDGE,
    AGENT_STREAMED,
    STOP,
    REPAIRED,
    FAREWELL,
    *SYNC_OUT,
    *END,
)
TWO_RUNS = (
    *BRIEFLY,
    AGENT,
    *SYNC_OUT,
    RELEASE_KEPT,
    RESUME,
    REALIZE,
    KEPT,
    LAUNCHERS,
    WORKSPACE_IN,
    BRIDGE,
    AGENT,
    *SYNC_OUT,
    RELEASE_KEPT,
    DESTROY,
)
KILLED_RUN = (*BRIEFLY, AGENT_OPEN, WORKER_KILLED, NEW_WORKER, SWEEP, GONE_SWEPT)
CANCELLED_RUN = (*BRIEFLY, AGENT_OPEN, AGENT_ENDS, STOP, SAID, *SYNC_OUT, *END, GONE_RELEASED)
LIMITED_RUN = (*BRIEFLY, AGENT_LIMITED, STOP, *SYNC_OUT, *END)
STOPPED_HOST = (*BRIEFLY, AGENT_OPEN, RELEASE_OPEN, OPEN_ENDED, STILL_ALIVE, STDIN_ENDS)
KILLED_HOST = (*BRIEFLY, AGENT_OPEN, STDIN_ENDS, NEW_WORKER, LATE_RELEASE, GONE_LATE)
