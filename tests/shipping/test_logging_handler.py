"""The logging handler with its thread and a driver."""

import json
import logging
import logging.config
import os
import socket
import subprocess
import sys
import threading
import time

import pytest

import aeron_core
from aeron_core.errors import ConfigurationError
from aeron_core.logging_handler import PublishingHandler

DEADLINE_S = 60


class Listener:
    def __init__(self, driver, aeron):
        self.aeron_dir = driver.aeron_dir
        self.subscription = aeron.add_subscription("aeron:ipc", 1)
        self.messages = []

    def await_messages(self, count):
        deadline_s = time.monotonic() + DEADLINE_S
        while len(self.messages) < count:
            assert time.monotonic() < deadline_s
            self.subscription.poll(lambda buffer, header: self.messages.append(bytes(buffer)), 1000)
        return [json.loads(message) for message in self.messages]


@pytest.fixture
def listener(driver):
    with aeron_core.connect(driver.aeron_dir) as aeron:
        yield Listener(driver, aeron)


@pytest.fixture
def logger():
    made = logging.getLogger("tests.shipping")
    made.propagate = False
    yield made
    for handler in list(made.handlers):
        made.removeHandler(handler)
        handler.close()


def test_records_are_published(listener, logger):
    logger.addHandler(PublishingHandler("aeron:ipc", aeron_dir=listener.aeron_dir))

    logger.warning("hello %s", "world", extra={"user": 7})

    (event,) = listener.await_messages(1)
    assert (event["message"], event["log"]["level"], event["extra"]) == (
        "hello world",
        "warning",
        {"user": 7},
    )


def test_records_are_published_as_a_formatter_of_ecs_logging_writes_them(listener, logger):
    ecs_logging = pytest.importorskip("ecs_logging")
    handler = PublishingHandler("aeron:ipc", aeron_dir=listener.aeron_dir, raw=True)
    handler.setFormatter(ecs_logging.StdlibFormatter(extra={"service": {"name": "shop"}}))
    logger.addHandler(handler)

    logger.warning("hello %s", "world", extra={"user": 7})

    (event,) = listener.await_messages(1)
    assert (event["message"], event["log.level"], event["user"]) == ("hello world", "warning", 7)
    assert event["service"] == {"name": "shop"}
    assert "ecs.version" in event


def test_the_handler_can_be_configured_by_dict_config(listener, logger):
    logging.config.dictConfig(
        {
            "version": 1,
            "disable_existing_loggers": False,
            "formatters": {"own": {"format": '{"text":"%(message)s"}'}},
            "handlers": {
                "aeron": {
                    "class": "aeron_core.logging_handler.PublishingHandler",
                    "channel": "aeron:ipc",
                    "aeron_dir": str(listener.aeron_dir),
                    "when_full": "drop-oldest",
                    "level": "INFO",
                    "formatter": "own",
                    "raw": True,
                }
            },
            "loggers": {"tests.shipping": {"handlers": ["aeron"], "level": "DEBUG"}},
        }
    )

    logger.debug("too little")
    logger.info("hello")

    assert listener.await_messages(1) == [{"text": "hello"}]


def test_closing_waits_for_queued_records(listener, logger):
    handler = PublishingHandler("aeron:ipc", aeron_dir=listener.aeron_dir, close_timeout=30)
    logger.addHandler(handler)
    for number in range(1000):
        logger.warning("%d", number)

    handler.close()
    logger.warning("too late")

    assert [event["message"] for event in listener.await_messages(1000)] == [
        str(number) for number in range(1000)
    ]
    assert handler.dropped == 1


def test_a_program_without_a_driver_continues(tmp_path, logger):
    handler = PublishingHandler("aeron:ipc", aeron_dir=tmp_path, capacity=2, close_timeout=0)
    logger.addHandler(handler)

    for number in range(10):
        logger.warning("%d", number)

    assert handler.dropped >= 7


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"capacity": 0}, "capacity=0: must be 1 record or more"),
        ({"when_full": "wait"}, "when_full='wait': must be one of drop-newest, drop-oldest, block$"),
        ({"fields": {"a": object()}}, "^fields=.*: must be JSON: "),
    ],
)
def test_wrong_arguments_are_refused(wrong, message):
    with pytest.raises(ConfigurationError, match=message):
        PublishingHandler("aeron:ipc", **wrong)


PROGRAM = """
import logging, os, sys
from aeron_core.logging_handler import PublishingHandler

handler = PublishingHandler("aeron:ipc", aeron_dir=sys.argv[1], close_timeout=30, fields={"service": "test"})
logging.basicConfig(level=logging.INFO, handlers=[handler])
logging.info("parent")
if sys.argv[2] == "fork":
    handler.flush()
    child = os.fork()
    if child:
        os.waitpid(child, 0)
    else:
        logging.info("child")
"""


@pytest.mark.system
@pytest.mark.parametrize(("how", "messages"), [("alone", ["parent"]), ("fork", ["parent", "child"])])
def test_the_end_of_a_program_loses_no_records(listener, how, messages):
    subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM, str(listener.aeron_dir), how],
        check=True,
        timeout=100,
        env=os.environ,
    )

    assert [event["message"] for event in listener.await_messages(len(messages))] == messages


@pytest.mark.system
def test_an_embedded_driver_can_log_to_lumberjack(listener, logger):
    with aeron_core.connect(listener.aeron_dir) as aeron:
        listener.subscription = aeron.add_subscription("aeron:lumberjack?endpoint=127.0.0.1:0", 1)
        while not (addresses := listener.subscription.local_addresses()):
            time.sleep(0)
        channel = f"aeron:lumberjack?endpoint={addresses[0]}"
        logger.addHandler(PublishingHandler(channel, embedded=True))

        try:
            raise KeyError("shoes")
        except KeyError:
            logger.exception("not there")

        (event,) = listener.await_messages(1)
    assert (event["message"], event["error"]["type"]) == ("not there", "KeyError")


@pytest.mark.system
def test_errors_of_an_embedded_driver_are_printed(logger, capfd):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        channel = f"aeron:lumberjack?endpoint=127.0.0.1:{unused.getsockname()[1]}|backoff-init=10ms"
        logger.addHandler(PublishingHandler(channel, embedded=True, close_timeout=0))
        logger.warning("hello")
        output = ""
        deadline_s = time.monotonic() + DEADLINE_S
        while "Connection refused" not in output:
            assert time.monotonic() < deadline_s
            output += capfd.readouterr().err
            time.sleep(0.01)
    assert "aeron_core.logging_handler: " in output


def test_a_flush_during_the_first_record_waits_until_that_is_published(listener, logger):
    handler = PublishingHandler("aeron:ipc", aeron_dir=listener.aeron_dir)
    logger.addHandler(handler)
    put, drained = handler._queue.put, []

    def flush():
        handler.flush()
        drained.append((handler._thread is not None, handler._publisher.is_drained))

    flusher = threading.Thread(target=flush)

    def put_and_flush(message):
        put(message)
        flusher.start()
        flusher.join(0.2)  # a flush that does not wait has ended by then

    handler._queue.put = put_and_flush
    logger.warning("hello")
    flusher.join()

    assert drained == [(True, True)]
    assert len(listener.await_messages(1)) == 1


def test_flush_and_close_do_not_wait_for_a_thread_that_waits_for_space(tmp_path, logger):
    handler = PublishingHandler(
        "aeron:ipc", aeron_dir=tmp_path, capacity=1, when_full="block", block_timeout=10, close_timeout=0
    )
    logger.addHandler(handler)
    put, begun, ended = handler._queue.put, threading.Semaphore(0), []

    def watched_put(message):
        begun.release()
        put(message)
        ended.append(message)

    def log():
        for number in range(3):  # one for the publisher, one for the queue, and one that waits
            logger.warning("%d", number)

    handler._queue.put = watched_put
    program = threading.Thread(target=log)
    program.start()
    for _ in range(3):
        assert begun.acquire(timeout=DEADLINE_S)

    handler.flush()
    assert len(ended) == 2
    begun_s = time.monotonic()
    handler.close()
    program.join()

    assert time.monotonic() - begun_s < 5
    assert handler.dropped == 1
