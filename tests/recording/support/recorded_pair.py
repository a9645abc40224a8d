"""A pair of drivers on a simulated network and a manual clock, with a recorder at one of them."""

from aeron_core.recording import Archive
from aeron_core.recording.writing.durability import Durability, DurabilityPolicy
from aeron_core.recording.writing.recorder import Recorder, RecorderParams
from aeron_core.testing import DriverPair
from aeron_core.testing.pair import S

CHANNEL = "aeron:udp?endpoint=10.0.0.2:20121"
STREAM_ID = 1001
BLOCK = Durability(DurabilityPolicy.BLOCK)


class RecordedPair(DriverPair):
    """A publisher, and a recorder at the other driver."""

    def __init__(self, directory, durability=BLOCK, **arguments):
        super().__init__(directory / "drivers", **arguments)
        self.durability = durability
        self.archive = Archive.create(directory / "archive")
        self.errors, self.notices = [], []
        self.recorder = None
        self.start_recorder()

    def start_recorder(self):
        self.subscription = self.result(self.subscriber.add_subscription_async(CHANNEL, STREAM_ID))
        self.recorder = Recorder(
            self.subscriber,
            self.archive,
            [self.subscription],
            RecorderParams(
                on_error=self.errors.append,
                on_notice=self.notices.append,
                segment_length=128 * 1024,
                durability=self.durability,
                clock=self.clock.nano_time,
            ),
        )

    def stop_recorder(self):
        self.recorder.on_close()
        self.recorder = None
        self.subscription.close()

    def kill_recorder(self):
        """Simulate a crash of its process: no heartbeats, closed files."""
        self.receiver.abandon(self.subscriber)
        for stream in self.recorder.streams:
            stream.writer.abandon()
        self.recorder._stack.close()  # as the kernel releases the lock of a process
        self.recorder = None
        self.subscriber = self.receiver.connect()

    def leave(self):
        """Stop the recordings and leave without informing the driver, as the command does at its end."""
        self.recorder.on_close(leaves=True)
        self.recorder = None
        self.receiver.abandon(self.subscriber)
        self.subscriber.leave()
        self.subscriber = self.receiver.connect()

    def step(self):
        return super().step() + (self.recorder.do_work() if self.recorder else 0)

    def connected_publication(self):
        publication = self.add_exclusive_publication(CHANNEL, STREAM_ID)
        self.run_until(lambda: publication.is_connected and self.archive.recordings())
        return publication

    def offer(self, publication, *messages):
        for message in messages:
            # A recorder that died blocks the stream until its client's liveness timeout.
            self.run_until(lambda message=message: publication.offer(message) > 0, within_ns=30 * S)

    def run_until_recorded(self, publication, recording_id=0):
        recording = self.archive.recording(recording_id)
        self.run_until(lambda: recording.position == publication.position, within_ns=60 * S)

    def recorded(self, recording_id=0):
        """Return the payloads of all frames of a recording."""
        recording = self.archive.recording(recording_id)
        data = b"".join(piece for _, piece in recording.read(recording.start_position, recording.position))
        payloads, at = [], 0
        while at < len(data):
            length = int.from_bytes(data[at : at + 4], "little")
            if data[at + 6] == 1:
                payloads.append(data[at + 32 : at + length])
            at += (length + 31) // 32 * 32
        return payloads

    @property
    def image(self):
        return self.recorder.streams[0].image


def messages(count, length=200):
    return [index.to_bytes(4, "little") + bytes(length - 4) for index in range(count)]
