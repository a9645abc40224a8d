"""Options as Spark passes them: text, with names in lower case."""

import pickle

import pytest
from pyspark_aeron.options import Positions, SourceOptions
from pyspark_aeron.writing.sink_options import SinkOptions

from aeron_core.errors import ConfigurationError


def parse(**options):
    return SourceOptions.parse({"archive": "/a", **{key.lower(): value for key, value in options.items()}})


def test_names_are_case_insensitive_and_values_are_typed():
    options = parse(
        recordings="3, 1,1",
        streamId="-7",
        maxBytesPerTrigger="4m",
        maxTriggerDelay="90s",
        failOnDataLoss="false",
        minPartitions="8",
    )

    assert (options.recordings, options.stream_id, options.max_bytes_per_trigger) == ((1, 3), -7, 4 * 1024**2)
    assert (options.max_trigger_delay, options.fail_on_data_loss) == (90 * 10**9, False)
    assert options.min_partitions == 8


@pytest.mark.parametrize(
    ("text", "seconds"), [("15min", 900), ("2min", 120), ("1h", 3600), ("5s", 5), ("2d", 172800)]
)
def test_durations_accept_long_units(text, seconds):
    assert parse(maxTriggerDelay=text).max_trigger_delay == seconds * 10**9


def test_the_path_of_load_is_the_archive():
    assert SourceOptions.parse({"path": "/a"}).archive == "/a"


@pytest.mark.parametrize("options", [SourceOptions, SinkOptions])
def test_properties_that_spark_adds_to_the_options_of_a_table_are_ignored(options):
    of_table = {"provider": "aeron", "owner": "root", "comment": "c", "option.streamid": "7", "streamid": "7"}

    parsed = options.parse({**of_table, "location": "/a"})

    assert (parsed.archive, parsed.stream_id) == ("/a", 7)


def test_the_name_of_a_property_is_an_unknown_option_without_a_table():
    with pytest.raises(ConfigurationError, match="unknown option owner"):
        parse(owner="root")


def test_without_an_archive_the_options_of_tables_are_explained():
    with pytest.raises(ConfigurationError, match=r"option archive: must be given, .* WITH \(archive = "):
        SourceOptions.parse({})


@pytest.mark.parametrize("options", [SourceOptions, SinkOptions])
@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("logs", "{here}/logs"),
        ("~/logs", "/home/someone/logs"),
        ("file:///a%20b/c", "/a b/c"),
        ("s3://bucket/logs", "s3://bucket/logs"),
    ],
)
def test_a_relative_folder_is_resolved_in_the_planning_process(monkeypatch, tmp_path, options, given, meant):
    monkeypatch.setenv("HOME", "/home/someone")
    monkeypatch.chdir(tmp_path)

    assert options.parse({"path": given}).archive == meant.format(here=tmp_path)


@pytest.mark.parametrize("options", [SourceOptions, SinkOptions])
def test_a_folder_of_an_unknown_user_is_refused(options):
    with pytest.raises(ConfigurationError, match=r"option archive=~no-such-user/logs: .*home directory"):
        options.parse({"path": "~no-such-user/logs"})


@pytest.mark.parametrize(
    ("text", "positions"),
    [
        ("earliest", Positions(at="earliest")),
        ("latest", Positions(at="latest")),
        ('{"1": 4096, "2": -2, "3": -1}', Positions(at="given", given={1: 4096, 2: -2, 3: -1})),
        ("2023-11-14T22:13:20Z", Positions(at="time", time_ns=1_700_000_000 * 10**9)),
        ("2023-11-14 22:13:20.5", Positions(at="time", time_ns=1_700_000_000_500_000_000)),
        ("2023-11-15T00:13:20+02:00", Positions(at="time", time_ns=1_700_000_000 * 10**9)),
    ],
)
def test_a_position_is_symbolic_a_time_or_json(text, positions):
    assert parse(startingPosition=text).starting_position == positions


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        (
            "startingPosition",
            "newest",
            "option startingPosition=newest: must be earliest, latest, a time",
        ),
        (
            "startingPosition",
            '{"1": 5}',
            "position 5 of recording 1: must be a multiple of 32 from 0 to the end of the recording, -2 (earliest) or "
            "-1 (latest)",
        ),
        ("startingPosition", '{"x": 32}', "must be JSON with positions by recording id"),
        ("startingPosition", "{", "must be JSON"),
        ("recordings", "a,b", "option recordings=a,b: must be recording ids"),
        ("streamId", "1.5", "option streamId=1.5: must be a valid integer"),
        ("streamId", "99999999999", "less than or equal to 2147483647"),
        ("maxBytesPerTrigger", "0", "option maxBytesPerTrigger=0: must be greater than 0"),
        (
            "maxBytesPerTrigger",
            "lots",
            "option maxBytesPerTrigger=lots: must be a whole decimal number of bytes",
        ),
        (
            "maxTriggerDelay",
            "soon",
            "option maxTriggerDelay=soon: must be a whole decimal number with a unit",
        ),
        ("minPartitions", "0", "option minPartitions=0: must be greater than 0"),
        ("failOnDataLoss", "perhaps", "option failOnDataLoss=perhaps: must be a valid boolean"),
        ("assemble", "words", "option assemble=words: must be 'messages' or 'fragments'"),
        ("channelPattern", "(", "option channelPattern=(: must be a regular expression"),
        ("consumerName", "../x", "option consumerName=../x: must match ^"),
        ("maxBytePerTrigger", "1", "unknown option maxbytepertrigger: did you mean maxBytesPerTrigger"),
        ("colour", "red", "unknown option colour: must be one of archive, recordings"),
    ],
)
def test_a_wrong_option_is_refused_with_its_value_and_the_allowed_ones(name, value, message):
    with pytest.raises(ConfigurationError) as caught:
        parse(**{name: value})

    assert message in str(caught.value)


def test_a_channel_excludes_a_channel_pattern():
    with pytest.raises(
        ConfigurationError,
        match=r"channel=aeron:ipc and channelPattern=\.\*: only one .*this channel only, or channel to read all",
    ):
        parse(channel="aeron:ipc", channelPattern=".*")


def test_a_live_stream_excludes_a_channel_pattern_because_it_needs_a_channel():
    with pytest.raises(ConfigurationError, match=r"remove channelPattern to read this channel only$"):
        parse(live="true", channel="aeron:ipc", streamId="1", channelPattern=".*")


def test_a_live_stream_needs_a_folder_to_be_recorded_into():
    with pytest.raises(
        ConfigurationError, match="archive: must be given, the folder into which the live stream"
    ):
        SourceOptions.parse({"live": "true", "channel": "aeron:ipc", "streamId": "1"})


def test_the_archive_must_be_given():
    with pytest.raises(ConfigurationError, match="option archive: must be given"):
        SourceOptions.parse({})


def test_options_can_be_pickled():
    options = parse(recordings="1", startingPosition="latest")

    assert pickle.loads(pickle.dumps(options)) == options
