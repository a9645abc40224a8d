import pytest
from aeron_resolvers.csv_table import MAX_ROWS, CsvTableNameResolver

from aeron_core.errors import ConfigurationError, RegistrationError
from aeron_core.spi import NameResolverParams
from aeron_core.testing import DriverUnderTest
from aeron_core.testing.pair import MS

ROWS = "node-1,127.0.0.1,127.0.0.2|node-2,127.0.0.3,127.0.0.4"


def make(options):
    return CsvTableNameResolver(NameResolverParams(options=options))


@pytest.fixture
def driver(tmp_path):
    with DriverUnderTest(tmp_path, name_resolver="csv_table", name_resolver_init_args=ROWS) as driver:
        yield driver


@pytest.mark.parametrize(
    ("options", "host", "address"),
    [
        (ROWS, "node-1", "127.0.0.1"),
        (ROWS, "node-2", "127.0.0.3"),
        (ROWS, "localhost", "127.0.0.1"),
        (ROWS, "node-1 ", None),
        ("|,,a,,127.0.0.1,127.0.0.2,|", "a", "127.0.0.1"),
        ("a,127.0.0.1,::1|a,127.0.0.9,::1", "a", "127.0.0.9"),
        ("a,127.0.0.1|b,1,2,3|c,127.0.0.5,::1", "c", "127.0.0.5"),
    ],
)
def test_a_name_resolves_to_its_initial_host(options, host, address):
    assert make(options).resolve(host, "endpoint", False) == address


@pytest.mark.parametrize("options", ["", "|".join(["a,b,c"] * (MAX_ROWS + 1))])
def test_an_empty_or_oversized_table_is_refused(options):
    with pytest.raises(
        ConfigurationError, match=r"name_resolver_init_args .* or, of a fallback, resolver_fallback_"
    ):
        make(options)


def test_each_row_has_a_counter_labelled_with_its_name(driver):
    first, second = driver.driver.find_counters("NameEntry{")

    assert first.label == (
        "NameEntry{name='node-1', initialResolutionHost='127.0.0.1', reResolutionHost='127.0.0.2'}"
    )
    assert (first.type_id, first.key[:10]) == (2001, b"\x06\0\0\0node-1")
    assert second.key[4:10] == b"node-2"


def test_the_counter_selects_the_host(driver):
    row, _ = driver.driver.find_counters("NameEntry{")

    def bound_to(operation, port):
        driver.driver.counters.set_value(row.id, operation)
        channel = f"aeron:udp?endpoint=localhost:1|control=node-1:{port}"
        return driver.result(driver.client.add_publication_async(channel, port))

    bound_to(0, 20121)
    with pytest.raises(
        RegistrationError,
        match=r"Unable to resolve host=\(node-1\): \(forced\).* Unresolved - control=node-1:20122",
    ):
        bound_to(-1, 20122)
    with pytest.raises(RegistrationError, match=r"127\.0\.0\.2"):
        # The error proves the selection: the simulated host does not have this address.
        bound_to(1, 20123)


def test_a_malformed_row_is_reported_once_and_ignored(tmp_path):
    with DriverUnderTest(
        tmp_path, name_resolver="csv_table", name_resolver_init_args="a,127.0.0.1|b,127.0.0.1,::1"
    ) as driver:
        driver.run_for(10 * MS)

        (error,) = driver.driver.errors()
        assert "'a,127.0.0.1'" in error.text
        assert len(driver.driver.find_counters("NameEntry{")) == 1
