"""Agents that say what they do."""

import threading

import pytest

DEADLINE_S = 10.0


class ScriptedAgent:
    """A Python agent: each duty cycle takes the next answer, or raises it; 0 when all are used up."""

    def __init__(self, role_name="scripted", answers=()):
        self.role_name = role_name
        self.answers = list(answers)
        self.log = []
        self.done = threading.Event()
        self.thread = None

    def on_start(self):
        self.thread = threading.current_thread()
        self.log.append("start")

    def do_work(self):
        if not self.answers:
            self.done.set()
            return 0
        answer = self.answers.pop(0)
        self.log.append(answer if isinstance(answer, int) else "raise")
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def on_close(self):
        self.log.append("close")


@pytest.fixture
def scripted():
    return ScriptedAgent


@pytest.fixture
def await_event():
    """Wait for an event of another thread, and fail where it does not come."""

    def wait(event):
        assert event.wait(DEADLINE_S)

    return wait
