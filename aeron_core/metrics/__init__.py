"""Metrics of a driver, of any implementation, for Prometheus and OpenTelemetry.

`samples` defines them; `prometheus` and `opentelemetry` give them to their libraries. `aeron-core driver --metrics` and
`--otlp` use these; an application with an embedded driver can use them too:

    from aeron_core.metrics.prometheus import DriverCollector

    prometheus_client.REGISTRY.register(DriverCollector.of(driver.aeron_dir))
"""
