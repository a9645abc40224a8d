"""Agents that record their calls."""

import threading

import pytest

DEADLINE_S = 60


class ScriptedAgent:
    """A Python agent: each duty cycle returns or raises the next item of a script, then 0."""

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
    """Return a function that waits for an event of another thread, and fails if it does not occur."""

    def wait(event):
        assert event.wait(DEADLINE_S)

    return wait
