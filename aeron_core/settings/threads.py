"""Settings: threads of the agents, their processors and idle strategies."""

from enum import Enum
from typing import Annotated, Final

from aeron_core.settings.fields import SettingsFields, setting
from aeron_core.settings.variables import Choice, Integer, Switch, Text

MAX_CPU: Final = 255
#: Of one driver. Invented: with the receiver and the conductor, six threads, and the file of bells has seven flags.
MAX_SENDERS: Final = 4
_NO_NATIVE_AGENT: Final = "there is no native resource agent: slow work runs on helper threads"

# Names of the reference, each with the name that plugins register here. Source: aeron_agent.c.
IDLE_STRATEGY_ALIASES: Final = {
    "sleeping": "sleep-ns",
    "aeron_idle_strategy_sleeping": "sleep-ns",
    "aeron_idle_strategy_yielding": "yield",
    "aeron_idle_strategy_busy_spinning": "spin",
    "aeron_idle_strategy_noop": "noop",
    "aeron_idle_strategy_backoff": "backoff",
}


class ThreadingMode(Enum):
    """Assignment of conductor, sender and receiver to threads.

    DEDICATED: a thread for each. SHARED_NETWORK: one for the conductor, one for sender and receiver. SHARED: one for
    all. INVOKER: none; the program runs the duty cycles.
    """

    DEDICATED = "DEDICATED"
    SHARED_NETWORK = "SHARED_NETWORK"
    SHARED = "SHARED"
    INVOKER = "INVOKER"


class ThreadNaming(Enum):
    """Style of thread names: CLASSIC for the names of agents, such as sender, NEW for names such as aeron-md-snd."""

    CLASSIC = "classic"
    NEW = "new"


class ThreadSettings(SettingsFields):
    """Threads, processors and idle strategies."""

    threading_mode: Annotated[ThreadingMode, Choice("AERON_THREADING_MODE", ThreadingMode)] = setting(
        ThreadingMode.DEDICATED, description="DEDICATED, SHARED_NETWORK, SHARED or INVOKER."
    )
    thread_naming: Annotated[ThreadNaming, Choice("AERON_THREAD_NAMING", ThreadNaming)] = setting(
        ThreadNaming.CLASSIC, description="Names of threads: classic or new."
    )
    conductor_idle_strategy: Annotated[
        str, Text("AERON_CONDUCTOR_IDLE_STRATEGY", aliases=IDLE_STRATEGY_ALIASES)
    ] = setting("backoff", description="noop, spin, yield, sleep-ns, backoff, signal or a plugin's name.")
    conductor_idle_strategy_init_args: Annotated[
        str | None, Text("AERON_CONDUCTOR_IDLE_STRATEGY_INIT_ARGS", optional=True)
    ] = setting(None, description="10-20-1us-1ms for backoff, a duration for sleep-ns.")
    sender_idle_strategy: Annotated[
        str, Text("AERON_SENDER_IDLE_STRATEGY", aliases=IDLE_STRATEGY_ALIASES)
    ] = setting("backoff", description="Idle strategy of the sender.")
    sender_idle_strategy_init_args: Annotated[
        str | None, Text("AERON_SENDER_IDLE_STRATEGY_INIT_ARGS", optional=True)
    ] = setting(None, description="Arguments of sender_idle_strategy.")
    receiver_idle_strategy: Annotated[
        str, Text("AERON_RECEIVER_IDLE_STRATEGY", aliases=IDLE_STRATEGY_ALIASES)
    ] = setting("backoff", description="Idle strategy of the receiver.")
    receiver_idle_strategy_init_args: Annotated[
        str | None, Text("AERON_RECEIVER_IDLE_STRATEGY_INIT_ARGS", optional=True)
    ] = setting(None, description="Arguments of receiver_idle_strategy.")
    sharednetwork_idle_strategy: Annotated[
        str, Text("AERON_SHAREDNETWORK_IDLE_STRATEGY", aliases=IDLE_STRATEGY_ALIASES)
    ] = setting(
        "backoff", description="Idle strategy of the thread of sender and receiver in SHARED_NETWORK."
    )
    sharednetwork_idle_strategy_init_args: Annotated[
        str | None, Text("AERON_SHAREDNETWORK_IDLE_STRATEGY_INIT_ARGS", optional=True)
    ] = setting(None, description="Arguments of sharednetwork_idle_strategy.")
    shared_idle_strategy: Annotated[
        str, Text("AERON_SHARED_IDLE_STRATEGY", aliases=IDLE_STRATEGY_ALIASES)
    ] = setting("backoff", description="Idle strategy of the only thread in SHARED.")
    shared_idle_strategy_init_args: Annotated[
        str | None, Text("AERON_SHARED_IDLE_STRATEGY_INIT_ARGS", optional=True)
    ] = setting(None, description="Arguments of shared_idle_strategy.")
    native_resource_agent_idle_strategy: Annotated[
        str,
        Text(
            "AERON_DRIVER_NATIVE_RESOURCE_AGENT_IDLE_STRATEGY",
            aliases=IDLE_STRATEGY_ALIASES,
            without_effect=_NO_NATIVE_AGENT,
        ),
    ] = setting("sleep-ns", description="Idle strategy of an agent that only the reference has.")
    native_resource_agent_idle_strategy_init_args: Annotated[
        str | None,
        Text(
            "AERON_DRIVER_NATIVE_RESOURCE_AGENT_IDLE_STRATEGY_INIT_ARGS",
            optional=True,
            without_effect=_NO_NATIVE_AGENT,
        ),
    ] = setting("1ms", description="Arguments of native_resource_agent_idle_strategy.")
    conductor_cpu_affinity: Annotated[int, Integer("AERON_CONDUCTOR_CPU_AFFINITY", -1, MAX_CPU)] = setting(
        -1, description="Processor of the conductor, -1 for any."
    )
    sender_cpu_affinity: Annotated[int, Integer("AERON_SENDER_CPU_AFFINITY", -1, MAX_CPU)] = setting(
        -1, description="Processor of the sender, -1 for any; further senders use the next ones."
    )
    sender_threads: Annotated[int, Integer("AERON_CORE_SENDER_THREADS", 1, MAX_SENDERS)] = setting(
        1, description="Senders, among which channels are divided; more than one needs DEDICATED or INVOKER."
    )
    receiver_cpu_affinity: Annotated[int, Integer("AERON_RECEIVER_CPU_AFFINITY", -1, MAX_CPU)] = setting(
        -1, description="Processor of the receiver, -1 for any."
    )
    native_resource_agent_cpu_affinity: Annotated[
        int,
        Integer(
            "AERON_DRIVER_NATIVE_RESOURCE_AGENT_CPU_AFFINITY", -1, MAX_CPU, without_effect=_NO_NATIVE_AGENT
        ),
    ] = setting(-1, description="Processor of an agent that only the reference has.")
    cpuset_affinity: Annotated[bool, Switch("AERON_DRIVER_CPUSET_AFFINITY")] = setting(
        False,
        description="Interpret the _cpu_affinity settings as indexes into the processors of the control group, from 0.",
    )
    cpuset_warnings_as_errors: Annotated[bool, Switch("AERON_DRIVER_CPUSET_WARNINGS_AS_ERRORS")] = setting(
        False, description="Refuse to start on a warning about the processors of the control group."
    )
