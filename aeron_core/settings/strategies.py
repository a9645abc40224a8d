"""Settings: default flow control and congestion control."""

from typing import Annotated, Final

from aeron_core.settings.fields import SettingsFields, setting
from aeron_core.settings.timeouts import US, S
from aeron_core.settings.variables import Duration, Integer, Switch, Text
from aeron_core.uri.values import INT32_MAX, INT64_MAX, INT64_MIN

# Names of the reference, each with the name that plugins register here. Source: aeron_flow_control.c,
# aeron_congestion_control.c.
_FLOW_CONTROLS: Final = {
    "unicast_max": "unicast",
    "multicast_max": "max",
    "multicast_min": "min",
    "multicast_tagged": "tagged",
    "aeron_unicast_flow_control_strategy_supplier": "unicast",
    "aeron_max_multicast_flow_control_strategy_supplier": "max",
    "aeron_min_flow_control_strategy_supplier": "min",
    "aeron_tagged_flow_control_strategy_supplier": "tagged",
}
_CONGESTION_CONTROLS: Final = {
    "aeron_congestion_control_default_strategy_supplier": "default",
    "aeron_static_window_congestion_control_strategy_supplier": "static",
    "aeron_cubic_congestion_control_strategy_supplier": "cubic",
}


class StrategySettings(SettingsFields):
    """Flow and congestion control."""

    multicast_flow_control: Annotated[
        str, Text("AERON_MULTICAST_FLOWCONTROL_SUPPLIER", aliases=_FLOW_CONTROLS)
    ] = setting("max", description="Flow control of groups: max, min, tagged or a plugin's name.")
    unicast_flow_control: Annotated[
        str, Text("AERON_UNICAST_FLOWCONTROL_SUPPLIER", aliases=_FLOW_CONTROLS)
    ] = setting("unicast", description="Flow control of single receivers: unicast or a plugin's name.")
    flow_control_group_tag: Annotated[int, Integer("AERON_FLOW_CONTROL_GROUP_TAG", INT64_MIN, INT64_MAX)] = (
        setting(-1, description="Group tag of the receivers that tagged flow control follows.")
    )
    flow_control_group_min_size: Annotated[
        int, Integer("AERON_FLOW_CONTROL_GROUP_MIN_SIZE", 0, INT32_MAX)
    ] = setting(
        0, description="Receivers that min and tagged flow control require before a publication is connected."
    )
    flow_control_receiver_timeout_ns: Annotated[int, Duration("AERON_FLOW_CONTROL_RECEIVER_TIMEOUT")] = (
        setting(
            5 * S, description="Time without a status message after which flow control removes a receiver."
        )
    )
    congestion_control: Annotated[
        str, Text("AERON_CONGESTIONCONTROL_SUPPLIER", aliases=_CONGESTION_CONTROLS)
    ] = setting(
        "default", description="Congestion control: default (follows cc=), static, cubic or a plugin's name."
    )
    cubic_measure_rtt: Annotated[bool, Switch("AERON_CUBICCONGESTIONCONTROL_MEASURERTT")] = setting(
        False, description="Let cubic measure the round-trip time."
    )
    cubic_initial_rtt_ns: Annotated[
        int, Duration("AERON_CUBICCONGESTIONCONTROL_INITIALRTT", US, quiet=True)
    ] = setting(100 * US, description="Initial round-trip time of cubic.")
    cubic_tcp_mode: Annotated[bool, Switch("AERON_CUBICCONGESTIONCONTROL_TCPMODE")] = setting(
        False, description="Let cubic grow its window as TCP does."
    )
