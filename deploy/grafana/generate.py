"""Writes the dashboard of Grafana, aeron-core.json, beside this file; needs grafana-foundation-sdk."""

from __future__ import annotations

from pathlib import Path
from string import ascii_uppercase
from typing import Final

from grafana_foundation_sdk.builders import common, dashboard, prometheus, stat, timeseries
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.common import BigValueGraphMode, LegendDisplayMode, LegendPlacement
from grafana_foundation_sdk.models.dashboard import (
    Dashboard,
    DashboardCursorSync,
    DataSourceRef,
    Threshold,
    ThresholdsMode,
    VariableRefresh,
)

DASHBOARD: Final = Path(__file__).with_name("aeron-core.json")
_SOURCE: Final = DataSourceRef(type_val="prometheus", uid="${source}")
_DRIVER: Final = '{instance=~"$instance"}'
_STREAM: Final = '{instance=~"$instance", stream_id=~"$stream"}'
_STREAM_NAME: Final = "{{channel}} {{stream_id}} ({{session_id}})"


def _query(expression: str, legend: str, name: str = "A") -> prometheus.Dataquery:
    return prometheus.Dataquery().expr(expression).legend_format(legend).ref_id(name).datasource(_SOURCE)


def _number(title: str, expression: str, unit: str, bounds: tuple[float, float] | None = None) -> stat.Panel:
    """Return a panel with one number of each driver: green, yellow from the first bound, red from the second."""
    panel = stat.Panel().title(title).unit(unit).height(4).span(4).graph_mode(BigValueGraphMode.NONE)
    steps = [Threshold(value=None, color="green")]
    if bounds is not None:
        steps += [Threshold(value=bounds[0], color="yellow"), Threshold(value=bounds[1], color="red")]
    panel.thresholds(dashboard.ThresholdsConfig().mode(ThresholdsMode.ABSOLUTE).steps(steps))
    return panel.datasource(_SOURCE).with_target(_query(expression, "{{instance}}"))


def _plot(title: str, unit: str, about: str, *queries: tuple[str, str]) -> timeseries.Panel:
    panel = timeseries.Panel().title(title).unit(unit).description(about).height(8).span(12).min(0)
    table = common.VizLegendOptions().display_mode(LegendDisplayMode.TABLE).placement(LegendPlacement.BOTTOM)
    panel.legend(table.show_legend(True).calcs(["lastNotNull", "max"])).fill_opacity(10).datasource(_SOURCE)
    for name, (expression, legend) in zip(ascii_uppercase, queries, strict=False):
        panel.with_target(_query(expression, legend, name))
    return panel


def _variables() -> list[dashboard.QueryVariable | dashboard.DatasourceVariable]:
    source = dashboard.DatasourceVariable("source").label("Data source").type("prometheus")
    instance = dashboard.QueryVariable("instance").label("Driver")
    instance.query("label_values(aeron_driver_bytes_sent_total, instance)")
    stream = dashboard.QueryVariable("stream").label("Stream")
    stream.query('label_values(aeron_publisher_position_bytes_total{instance=~"$instance"}, stream_id)')
    for variable in (instance, stream):
        variable.datasource(_SOURCE).refresh(VariableRefresh.ON_TIME_RANGE_CHANGED)
        variable.multi(True).include_all(True).all_value(".*")
    return [source, instance, stream]


def _drivers(board: dashboard.Dashboard) -> None:
    board.with_row(dashboard.Row("Drivers"))
    board.with_panel(_number("Heartbeat age", f"aeron_driver_heartbeat_age_seconds{_DRIVER}", "s", (2, 5)))
    board.with_panel(
        _number("Errors in 5 minutes", f"increase(aeron_driver_errors_total{_DRIVER}[5m])", "short", (1, 10))
    )
    used = f"1 - aeron_directory_free_bytes{_DRIVER} / aeron_directory_size_bytes{_DRIVER}"
    board.with_panel(_number("Space in use", used, "percentunit", (0.8, 0.9)))
    board.with_panel(_number("Mapped", f"aeron_driver_bytes_currently_mapped{_DRIVER}", "bytes"))
    timeouts = f"increase(aeron_driver_client_timeouts_total{_DRIVER}[5m])"
    board.with_panel(_number("Client timeouts in 5 minutes", timeouts, "short", (1, 10)))
    invalid = f"increase(aeron_driver_invalid_packets_total{_DRIVER}[5m])"
    board.with_panel(_number("Invalid packets in 5 minutes", invalid, "short", (1, 1000)))
    board.with_panel(
        _plot(
            "Network",
            "Bps",
            "Bytes of datagrams that a driver sends and receives, with headers.",
            (f"rate(aeron_driver_bytes_sent_total{_DRIVER}[$__rate_interval])", "{{instance}} sent"),
            (f"rate(aeron_driver_bytes_received_total{_DRIVER}[$__rate_interval])", "{{instance}} received"),
        )
    )
    board.with_panel(
        _plot(
            "Long duty cycles",
            "cps",
            "Duty cycles above their threshold, 1 s for the conductor and 100 ms for the others: an overloaded host.",
            *(
                (
                    f"rate(aeron_driver_{agent}_cycle_time_threshold_exceeded_total{_DRIVER}[$__rate_interval])",
                    "{{instance}} " + agent,
                )
                for agent in ("conductor", "sender", "receiver")
            ),
        )
    )


def _streams(board: dashboard.Dashboard) -> None:
    board.with_row(dashboard.Row("Streams"))
    rates = (
        ("Published", "publisher_position", "Bytes that publishers offer, frame headers included."),
        ("Read", "subscriber_position", "Bytes that each subscriber reads."),
    )
    for title, name, about in rates:
        rate = f"rate(aeron_{name}_bytes_total{_STREAM}[$__rate_interval])"
        board.with_panel(_plot(title, "Bps", about, (rate, _STREAM_NAME)))
    board.with_panel(
        _plot(
            "Subscribers behind",
            "bytes",
            "Bytes that were received and not yet read by a subscriber.",
            (
                f"max by (instance, session_id, stream_id) (aeron_receiver_position_bytes_total{_STREAM}) "
                f"- on (instance, session_id, stream_id) group_right () aeron_subscriber_position_bytes_total{_STREAM}",
                _STREAM_NAME,
            ),
        )
    )
    board.with_panel(
        _plot(
            "Space for publishers",
            "bytes",
            "Bytes that a publisher may still offer. At 0 it is held back.",
            (
                f"clamp_min(aeron_publisher_limit_bytes{_STREAM} - aeron_publisher_position_bytes_total{_STREAM}, 0)",
                _STREAM_NAME,
            ),
        )
    )
    board.with_panel(
        _plot(
            "Held back by flow control",
            "cps",
            "Times that the sender had data and receivers had no window for it.",
            (f"rate(aeron_sender_back_pressure_events_total{_STREAM}[$__rate_interval])", _STREAM_NAME),
        )
    )
    board.with_panel(
        _plot(
            "Loss",
            "Bps",
            "Bytes that a driver sends again because receivers asked for them.",
            (f"rate(aeron_driver_retransmitted_bytes_total{_DRIVER}[$__rate_interval])", "{{instance}}"),
        )
    )


def _security(board: dashboard.Dashboard) -> None:
    board.with_row(dashboard.Row("Secured channels"))
    for title, name, label, about in (
        (
            "Refused datagrams",
            "refused_datagrams",
            "reason",
            "Datagrams that secured channels do not accept. A few of each peer that starts are unproved.",
        ),
        (
            "Sealed, opened, handshakes, keys",
            "events",
            "name",
            "Datagrams that secured channels send and accept, handshakes, and changes of keys.",
        ),
    ):
        rate = f"rate(aeron_security_{name}_total{_DRIVER}[$__rate_interval])"
        legend = f"{{{{instance}}}} {{{{channel}}}} {{{{{label}}}}}"
        board.with_panel(
            _plot(title, "cps", about, (f"sum by (instance, channel, {label}) ({rate})", legend))
        )


def _latencies(board: dashboard.Dashboard) -> None:
    """Add times of images, which are counters that only some settings create."""
    board.with_row(dashboard.Row("Latency"))
    for title, label, about in (
        ("Round trip", "rcv-cc-cubic-rtt", "Round trip as CUBIC measures it, with cubic_measure_rtt."),
        (
            "One-way latency",
            "rcv-owl-latency",
            "From the sender's clock to the receiver's, with one_way_latency_interval_ns.",
        ),
    ):
        counter = f'aeron_counter{{instance=~"$instance", label=~"{label}: .*"}}'
        board.with_panel(_plot(title, "s", about, (f"{counter} / 1e9", "{{instance}} {{label}}")))


def _recordings(board: dashboard.Dashboard) -> None:
    board.with_row(dashboard.Row("Recordings"))
    board.with_panel(
        _plot(
            "Recorded",
            "Bps",
            "Bytes that recorders write for each stream.",
            (
                "rate(aeron_recorded_position_bytes_total[$__rate_interval])",
                "{{archive}} {{recording_id}}: {{channel}} {{stream_id}}",
            ),
        )
    )
    board.with_panel(
        _plot(
            "Free space of archives",
            "bytes",
            "Space in the file system of each archive, or of its spool.",
            ("aeron_archive_free_bytes", "{{instance}} {{archive}}"),
        )
    )


def _queries(board: dashboard.Dashboard) -> None:
    board.with_row(dashboard.Row("Spark queries"))
    for title, unit, name, about in (
        (
            "Lag in time",
            "s",
            "seconds",
            "Age of the oldest message that a query has not read, after its last batch.",
        ),
        ("Lag in bytes", "bytes", "bytes", "Recorded bytes that a query has not read, after its last batch."),
    ):
        legend = "{{query}}: {{channel}} {{stream_id}}"
        board.with_panel(_plot(title, unit, about, (f"aeron_query_lag_{name}", legend)))


def build() -> Dashboard:
    """Return the dashboard."""
    board = dashboard.Dashboard("aeron-core").uid("aeron-core").tags(["aeron"]).refresh("5s")
    board.time("now-15m", "now").tooltip(DashboardCursorSync.CROSSHAIR).readonly()
    for variable in _variables():
        board.with_variable(variable)
    _drivers(board)
    _streams(board)
    _latencies(board)
    _security(board)
    _recordings(board)
    _queries(board)
    built = board.build()
    for number, panel in enumerate(built.panels or ()):
        panel.id_val = number + 1
    return built


def text() -> str:
    """Return the content of the file."""
    return JSONEncoder(sort_keys=True, indent=2).encode(build()) + "\n"


if __name__ == "__main__":
    DASHBOARD.write_text(text())
