"""The Python code of every page runs in a test or is listed here with the reason; commands and options exist."""

import re
import shlex
from pathlib import Path

import pytest
import typer

from aeron_core.cli.program import make_core_app
from aeron_core.registry import Registry

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
HOW_TO = DOCS / "how-to"
#: Numbers of the blocks of a page, by the test that runs them.
TESTED = {
    "README.md": {"tests/test_readme.py::test_readme_example_runs": {0}},
    "docs/index.md": {"tests/test_guide_examples.py::test_the_example_of_the_front_page_runs": {0}},
    "docs/tutorial.md": {"tests/test_readme.py::test_tutorial_example_runs": {0}},
    "docs/reference/hooks.md": {
        "tests/test_hook_examples.py::test_every_hook_has_an_example": set(range(20))
    },
    "docs/how-to/channel-and-session-tags.md": {
        "tests/test_guide_examples.py::test_tags_of_the_guide_name_a_channel_and_a_session": {0}
    },
    "docs/how-to/embed-a-driver.md": {
        "tests/test_guide_examples.py::test_drivers_of_the_guide_to_embedding_run": {0, 1, 2},
        "tests/test_readme.py::test_embedding_example_times_out_without_a_driver": {3},
    },
    "docs/how-to/measure-latency.md": {
        "tests/test_guide_examples.py::test_timestamps_of_the_guide_are_in_the_message": {0}
    },
    "docs/how-to/monitor-drivers.md": {
        "tests/test_guide_examples.py::test_the_collector_of_the_guide_has_metrics": {0}
    },
    "docs/how-to/multi-destination-subscriptions.md": {
        "tests/test_guide_examples.py::test_the_subscription_of_the_guide_has_two_destinations": {0}
    },
    "docs/how-to/multicast-and-mdc.md": {
        "tests/test_guide_examples.py::test_channels_of_the_guide_to_multicast_connect": {0, 1, 2}
    },
    "docs/how-to/query-with-spark.md": {
        "tests/plugins/spark/test_guide.py::test_the_examples_of_the_guide_run": {0, 1, 2, 3, 6, 7},
        "tests/plugins/spark/test_guide.py::test_the_examples_of_the_reader_for_java_run": {4},
        "tests/plugins/spark/test_guide.py::test_the_decoder_of_the_guide_is_found_by_its_name": {9},
        "tests/plugins/spark/test_declarative.py::test_tables_of_python_and_sql_follow_a_recording": {10},
    },
    "docs/how-to/receive-from-beats.md": {
        "tests/plugins/media/lumberjack/test_guide.py::test_the_examples_of_the_guide_run": {0, 1}
    },
    "docs/how-to/record-a-stream.md": {
        "tests/test_guide_examples.py::test_a_recording_of_the_guide_is_read_and_leased": {0, 1, 2}
    },
    "docs/how-to/record-and-plot-counters.md": {
        "tests/test_readme.py::test_commands_and_example_of_the_guide_to_counters_run": {0}
    },
    "docs/how-to/response-channels.md": {
        "tests/test_readme.py::test_response_channel_examples_run": {0, 1},
        "tests/test_guide_examples.py::test_response_channels_of_the_guide_use_shared_memory": {2, 3},
    },
    "docs/how-to/secure-channels.md": {
        "tests/test_guide_examples.py::test_a_stream_flows_with_the_profile_of_the_guide": {0}
    },
    "docs/how-to/see-what-runs.md": {
        "tests/test_guide_examples.py::test_the_slow_subscriber_of_the_guide_holds_a_publisher_back": {0},
        "tests/test_guide_examples.py::test_a_client_of_the_guide_has_a_name_in_the_directory_of_the_environment": {
            1
        },
    },
    "docs/how-to/ship-logs.md": {
        "tests/test_readme.py::test_shipping_example_ships_a_line": {0},
        "tests/test_readme.py::test_logging_example_publishes_a_record": {1},
        "tests/test_guide_examples.py::test_the_logging_configuration_of_the_guide_ships_to_logstash": {2},
    },
    "docs/how-to/spy-subscriptions.md": {
        "tests/test_guide_examples.py::test_a_subscription_of_a_guide_receives_the_publication": {0}
    },
    "docs/how-to/survive-a-driver-restart.md": {
        "tests/test_guide_examples.py::test_clients_of_the_guide_to_restarts_run": {0, 1, 2}
    },
    "docs/how-to/talk-to-nng.md": {
        "tests/plugins/media/sp/test_guide.py::test_an_example_of_the_guide_runs": {0, 1, 2, 3, 4}
    },
    "docs/how-to/test-a-plugin.md": {
        "tests/test_readme.py::test_plugin_guides_pass_their_own_tests": {0, 1, 2}
    },
    "docs/how-to/untethered-subscriptions.md": {
        "tests/test_guide_examples.py::test_a_subscription_of_a_guide_receives_the_publication": {0}
    },
    "docs/how-to/use-aeron-archive.md": {
        "tests/interop/java/archive/test_java_archive_sessions.py::test_the_examples_of_the_guide_run": {
            0,
            1,
            3,
            4,
            5,
        }
    },
    "docs/how-to/serve-an-archive.md": {
        "tests/archive/server/test_guide.py::test_a_user_of_the_guide_answers_the_challenge": {0},
        "tests/archive/server/test_guide.py::test_the_program_of_the_guide_serves_an_archive": {1},
    },
    "docs/how-to/use-asyncio.md": {"tests/test_readme.py::test_asyncio_examples_run": {0, 1}},
    "docs/how-to/write-a-congestion-control.md": {
        "tests/test_readme.py::test_plugin_guides_pass_their_own_tests": {0, 1}
    },
    "docs/how-to/write-a-flow-control.md": {
        "tests/test_readme.py::test_plugin_guides_pass_their_own_tests": {0},
        "tests/test_readme.py::test_the_flow_control_of_some_receivers_passes_its_own_tests": {1, 2},
        "tests/test_guide_examples.py::test_the_compiled_strategy_of_the_guide_is_built_and_used": {3, 4},
    },
    "docs/how-to/write-a-medium.md": {
        "tests/test_readme.py::test_plugin_guides_pass_their_own_tests": {0, 1}
    },
    "docs/how-to/write-a-name-resolver.md": {
        "tests/test_readme.py::test_plugin_guides_pass_their_own_tests": {0, 1}
    },
}
#: Blocks that no test runs, with the reason.
NOT_RUN = {
    (
        "docs/how-to/use-aeron-archive.md",
        2,
    ): "needs Spark and an archive; tests/plugins/spark/reading/test_remote_archives.py reads some",
    (
        "docs/how-to/use-aeron-archive.md",
        6,
    ): "needs an archive with events; tests/interop/java/archive/test_java_archive_sessions.py receives some",
    ("docs/decisions/0005-no-filter-pushdown.md", 0): "shows an error of a design that was not taken",
    ("docs/how-to/query-with-spark.md", 5): "needs a server; tests/plugins/spark/test_connect.py starts one",
    (
        "docs/how-to/query-with-spark.md",
        8,
    ): "needs a new Java; tests/plugins/spark/test_session.py has settings",
}


PAGES = sorted(
    {path.resolve() for path in [ROOT / "README.md", *DOCS.rglob("*.md")]} - {DOCS / "reference" / "cli.md"}
)


@pytest.fixture(scope="module")
def program():
    """Return the command line with the commands of all plugins."""
    app = make_core_app()
    Registry.load().add_commands(app)
    return typer.main.get_command(app)


def blocks_of(path):
    return re.findall(r"```python\n(.*?)```", path.read_text(encoding="utf-8"), re.DOTALL)


def test_every_block_of_code_is_tested_or_has_a_reason():
    pages = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
    written = {
        (page.relative_to(ROOT).as_posix(), number)
        for page in pages
        # index.md is a link to it.
        if page != DOCS / "README.md"
        for number in range(len(blocks_of(page)))
    }
    tested = [
        (page, number) for page, tests in TESTED.items() for numbers in tests.values() for number in numbers
    ]

    assert len(tested) == len(set(tested))
    assert set(tested) & NOT_RUN.keys() == set()
    assert set(tested) | NOT_RUN.keys() == written


@pytest.mark.parametrize(("page", "tests"), TESTED.items(), ids=TESTED)
def test_the_tests_of_a_page_exist_and_name_it(page, tests):
    for test in tests:
        file, _, name = test.partition("::")
        text = (ROOT / file).read_text(encoding="utf-8")

        assert f"def {name}(" in text, test
        assert Path(page).name in text, test


def commands_of(path):
    """Yield the arguments of each `aeron-core` in the shell commands of a page, without what a shell does."""
    text = path.read_text(encoding="utf-8")
    for block in re.findall(r"```(?:sh|shell|console)\n(.*?)```", text, re.DOTALL):
        for line in block.replace("\\\n", " ").splitlines():
            lexer = shlex.shlex(line, posix=True, punctuation_chars="|&;<>")
            lexer.whitespace_split = True
            commands = [[]]
            for word in lexer:
                if word[0] in "|&;<>":
                    commands.append([])
                else:
                    commands[-1].append(word)
            for command in commands:
                # Elsewhere it is the name of a distribution or an image.
                if "aeron-core" in command and not {"pip", "docker"} & {*command}:
                    yield command[command.index("aeron-core") + 1 :]


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_commands_in_the_text_have_arguments_that_exist(page, program):
    for arguments in commands_of(page):
        command, context, rest = program, None, arguments
        # Only parsed: nothing runs, and values are not checked.
        while True:
            context = command.context_class(command, parent=context)
            _, rest, _ = command.make_parser(context).parse_args(args=[*rest])
            if not hasattr(command, "commands"):
                break
            _, command, rest = command.resolve_command(context, rest)
        assert rest == [], arguments


def test_commands_of_a_page_are_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "```console\n$ A=1 aeron-core sub 'aeron:ipc' 1 & # a comment\n$ seq 9 | aeron-core pub x > y\n```\n"
    )

    assert [*commands_of(page)] == [["sub", "aeron:ipc", "1"], ["pub", "x"]]
    assert sum(len([*commands_of(page)]) for page in PAGES) > 50


def test_options_of_spark_in_the_text_exist():
    reference = (DOCS / "reference" / "spark.md").read_text(encoding="utf-8")
    known = set(re.findall(r"^\| `(\w+)` \|", reference, re.MULTILINE))
    known.add("checkpointLocation")  # of Spark itself
    used = {
        (page.name, option)
        for page in HOW_TO.glob("*.md")
        for option in re.findall(r'\.option\(\s*"(\w+)"', page.read_text(encoding="utf-8"))
    }

    assert len(used) > 5
    assert {(page, option) for page, option in used if option not in known} == set()
