"""Batches of datagrams, sent and received through a socket or a Python object that simulates one.

A batch entry may hold several datagrams of equal length that are adjacent in memory (the last may be shorter):
with GSO the kernel splits them on sending, with GRO it delivers them merged.
"""

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy, strerror

from aeron_core._native cimport wire
from aeron_core._native.address cimport SocketAddress, sockaddr_storage, AF_INET6
from aeron_core._native.buffer cimport AtomicBuffer
from aeron_core._native.counter cimport AtomicCounter

cdef extern from "datagrams.h" nogil:
    int ac_close_gaps(ac_batch_t *batch, uint8_t *memory, int64_t slot_length, int count)

SLOT_LENGTH = 65536
BATCH_CAPACITY = AC_BATCH_CAPACITY


cdef int raise_os_error(int code, str what) except -1 nogil:
    with gil:
        raise OSError(code, f"{what}: {strerror(code).decode()}; use a subclass that overrides it")


cdef int raise_full() except -1 nogil:
    with gil:
        raise IndexError(
            f"the batch is full: it has {AC_BATCH_CAPACITY} entries, the maximum; "
            "send it and call `clear` before adding more"
        )


@cython.final
cdef class ReceiveBatch:
    """Memory for the datagrams of one receive call: from 1 to BATCH_CAPACITY slots of SLOT_LENGTH bytes.

    Raises ValueError for another number of slots.
    """

    def __cinit__(self, int32_t slots=4):
        if not 1 <= slots <= AC_BATCH_CAPACITY:
            raise ValueError(f"slots={slots}: must be from 1 to {AC_BATCH_CAPACITY}")
        self._batch = <ac_batch_t *>calloc(1, sizeof(ac_batch_t))
        if self._batch == NULL:
            raise MemoryError("cannot allocate a batch of datagrams: free memory, or raise the memory limit")
        self.slots = slots
        self.buffer = AtomicBuffer.allocate(slots * SLOT_LENGTH)

    def __dealloc__(self):
        free(self._batch)

    cdef void copy_source(self, int32_t index, SocketAddress into) noexcept nogil:
        memcpy(&into._storage, &self._batch.names[index], sizeof(sockaddr_storage))
        into._length = 28 if into._storage.ss_family == AF_INET6 else 16

    def fill(self, datagrams):
        """Put (bytes, source) pairs into the slots, as a receive call would; return how many slots were filled.

        Each datagram has at most SLOT_LENGTH bytes, which is not checked. Pairs after the last slot are ignored.
        """
        cdef SocketAddress source
        cdef int32_t index = 0
        for data, source in datagrams:
            if index == self.slots:
                break
            self._batch.lengths[index] = self.buffer.put_bytes(self.offset_of(index), data)
            self._batch.segment_lengths[index] = self._batch.lengths[index]
            self._batch.times_ns[index] = 0
            memcpy(&self._batch.names[index], &source._storage, sizeof(sockaddr_storage))
            index += 1
        self.count = self.received = index
        return index


@cython.final
cdef class SendBatch:
    """The datagrams of one send call: up to BATCH_CAPACITY entries, none of them copied."""

    def __cinit__(self):
        self._batch = <ac_batch_t *>calloc(1, sizeof(ac_batch_t))
        if self._batch == NULL:
            raise MemoryError("cannot allocate a batch of datagrams: free memory, or raise the memory limit")

    def __dealloc__(self):
        free(self._batch)

    cdef int32_t add(
        self, AtomicBuffer buffer, int64_t offset, int32_t length, int32_t segment_length
    ) except -1 nogil:
        if self.count == AC_BATCH_CAPACITY:
            return raise_full()
        ac_prepare_send(self._batch, self.count, buffer.at(offset, length), length, segment_length)
        self.count += 1
        self.length += length
        return self.count

    cdef int32_t add_part(self, SendBatch source, int32_t index, int32_t offset, int32_t length) except -1 nogil:
        if self.count == AC_BATCH_CAPACITY:
            return raise_full()
        cdef const uint8_t *data = <const uint8_t *>entry_address(source._batch, index)
        ac_prepare_send(self._batch, self.count, data + offset, length, length)
        self.count += 1
        self.length += length
        return self.count

    cdef int32_t stamp(self, int32_t payload_offset, int64_t time_ns) noexcept nogil:
        cdef int32_t index, at, step
        for index in range(self.count):
            at = 0
            while at < self._batch.lengths[index]:
                step = min(max(self._batch.segment_lengths[index], 1), self._batch.lengths[index] - at)
                stamp_frame(<uint8_t *>entry_address(self._batch, index) + at, step, payload_offset, time_ns)
                at += step
        return 0

    def datagrams(self, int32_t index):
        """Return the datagrams of entry `index` as a list of bytes, split as the kernel would split them.

        `index`: from 0 to `count` - 1, not checked.
        """
        cdef int32_t length = self._batch.lengths[index]
        cdef int32_t step = max(self._batch.segment_lengths[index], 1)
        cdef const uint8_t *data = <const uint8_t *>entry_address(self._batch, index)
        return [(<const char *>data)[at:min(at + step, length)] for at in range(0, length, step)] or [b""]


cdef extern from *:
    """
    static inline const void *ac_entry_address(ac_batch_t *batch, int index)
    { return batch->vectors[index].iov_base; }
    """
    const void *entry_address "ac_entry_address"(ac_batch_t *batch, int index) nogil


cdef inline void stamp_frame(
    uint8_t *frame, int32_t capacity, int32_t payload_offset, int64_t time_ns
) noexcept nogil:
    cdef int32_t length
    cdef int64_t at = wire.DATA_HEADER_LENGTH + <int64_t>payload_offset
    if capacity < wire.DATA_HEADER_LENGTH:
        return
    memcpy(&length, frame, sizeof(length))
    # A heartbeat has the frame length 0, and a padding frame is sent as its header only: neither has a payload.
    if frame[wire.FRAME_TYPE_OFFSET] != wire.TYPE_DATA or length < wire.DATA_HEADER_LENGTH or length > capacity:
        return
    if at + <int64_t>sizeof(time_ns) <= length:
        memcpy(frame + at, &time_ns, sizeof(time_ns))
cdef extern from *:
    """
    #include <string.h>
    #include <sys/socket.h>
    static inline int ac_disconnect(int fd)
    {
        struct sockaddr none;
        memset(&none, 0, sizeof(none));
        none.sa_family = AF_UNSPEC;
        return connect(fd, &none, sizeof(none));
    }
    """
    int disconnect "ac_disconnect"(int fd)


cdef class DatagramChannel:
    """Sends and receives datagrams: a socket, or a simulated network."""

    cdef int32_t receive(self, ReceiveBatch batch) except -1 nogil:
        return raise_os_error(38, "DatagramChannel.receive is abstract")

    cdef int32_t send(self, SendBatch batch, SocketAddress destination) except -1 nogil:
        return raise_os_error(38, "DatagramChannel.send is abstract")

    cdef int32_t descriptor(self) noexcept nogil:
        return wire.NO_DESCRIPTOR

    def local_address(self):
        """Return the address that the channel is bound to, none in this base class."""
        return SocketAddress()

    def connect(self, SocketAddress address):
        """Exchange datagrams with `address` from now on if this channel is connected; otherwise do nothing."""

    def close(self):
        """Release the channel's resources; receive and send must not be called afterwards."""


@cython.final
cdef class UdpSocket(DatagramChannel):
    """A bound, non-blocking UDP socket of Python's `socket` module, which this object keeps open."""

    def __init__(self, sock, *, bint is_connected=False, bint uses_gso=False):
        self._socket = sock
        self._fd = sock.fileno()
        self.is_connected = is_connected
        self.uses_gso = uses_gso

    cdef int32_t receive(self, ReceiveBatch batch) except -1 nogil:
        cdef int received = ac_receive_batch(self._fd, batch._batch, batch.buffer.at(0, 1), 65536, batch.slots)
        batch.count = batch.received = self._outcome(received)
        return batch.count

    cdef int32_t send(self, SendBatch batch, SocketAddress destination) except -1 nogil:
        cdef const void *name = NULL
        cdef unsigned int name_length = 0
        cdef int sent
        if not self.is_connected:
            name = &destination._storage
            name_length = destination._length
        if self.uses_gso:
            sent = ac_send_batch(self._fd, batch._batch, batch.count, name, name_length)
            if not ac_is_offload_failure(batch._batch, batch.count, sent):
                return self._outcome(sent)
            self.uses_gso = False
        return self._outcome(ac_send_cut_batch(self._fd, batch._batch, batch.count, name, name_length))

    cdef int32_t descriptor(self) noexcept nogil:
        return self._fd

    cdef int32_t _outcome(self, int result) noexcept nogil:
        if result >= 0:
            return result
        self.error_code = -result
        return 0

    def fileno(self):
        """Return the socket's descriptor, to wait until it is readable; -1 after `close`."""
        return self._fd

    def local_address(self):
        """Return the address that the socket is bound to; raise OSError if it is closed."""
        host, port, *rest = self._socket.getsockname()
        return SocketAddress.of(host, port, rest[1] if rest else 0)

    def connect(self, SocketAddress address):
        """Connect to another address if the socket is connected. Raises OSError. Any thread may call it."""
        if not self.is_connected:
            return
        try:
            self._socket.connect(address.as_tuple())
        except OSError:
            # The source address that the kernel chose for the old peer may have no route to the new one: disconnect,
            # so that the kernel chooses another.
            disconnect(self._fd)
            self._socket.connect(address.as_tuple())

    def close(self):
        """Close the socket."""
        # Reset the descriptor first: once it is closed, the kernel may reuse its number for another socket.
        self._fd = -1
        self._socket.close()


@cython.final
cdef class PythonDatagramChannel(DatagramChannel):
    """A `Datagrams` object of Python, such as a simulation. Takes the GIL for each call.

    Each datagram of a batch is copied and sent separately.
    """

    cdef object _delegate

    def __init__(self, delegate):
        self._delegate = delegate

    cdef int32_t receive(self, ReceiveBatch batch) except -1 nogil:
        with gil:
            return batch.fill(self._delegate.receive(batch.slots))

    cdef int32_t send(self, SendBatch batch, SocketAddress destination) except -1 nogil:
        with gil:
            for index in range(batch.count):
                for datagram in batch.datagrams(index):
                    self._delegate.send(datagram, destination.copy())
            return batch.count

    def local_address(self):
        """Return the address that the delegate is bound to."""
        return self._delegate.local_address()

    def connect(self, SocketAddress address):
        """Call `connect` of the delegate, so that it exchanges datagrams with `address`."""
        self._delegate.connect(address)

    def close(self):
        """Close the delegate."""
        self._delegate.close()


@cython.final
cdef class TransformedDatagrams(DatagramChannel):
    """A channel whose datagrams an object of Python changes: `seal` before they are sent, `open` when they are received.

    `transform`: a `DatagramTransform`; what it does not open is dropped and counted in `refusals`. Its results differ
    in length by `overhead`; others are dropped. `report` gets its exceptions. Takes the GIL for each call with
    datagrams, and sends one after the other.
    """

    cdef DatagramChannel _channel
    cdef object _transform
    cdef int32_t _overhead
    cdef AtomicCounter _refusals
    cdef object _report
    cdef SendBatch _sealed
    cdef AtomicBuffer _memory

    def __init__(self, DatagramChannel channel, transform, int32_t overhead, AtomicCounter refusals, report):
        self._channel = channel
        self._transform = transform
        self._overhead = overhead
        self._refusals = refusals
        self._report = report
        self._sealed = SendBatch()
        self._memory = AtomicBuffer.allocate(SLOT_LENGTH)

    cdef int32_t receive(self, ReceiveBatch batch) except -1 nogil:
        cdef int32_t count = self._channel.receive(batch)
        self._take_error()
        if count > 0:
            with gil:
                for slot in range(count):
                    self._open(batch, slot)
            count = ac_close_gaps(batch._batch, batch.buffer.at(0, 1), 65536, count)
        batch.count = count
        return count

    cdef int _open(self, ReceiveBatch batch, int32_t slot) except -1:
        cdef int32_t length = batch.length_of(slot)
        cdef int32_t step = max(batch.segment_length_of(slot), 1)
        source = SocketAddress()
        batch.copy_source(slot, source)
        data = batch.buffer.get_bytes(batch.offset_of(slot), length)
        opened = [self._change(self._transform.open, data[at:at + step], -self._overhead, source)
                  for at in range(0, max(length, 1), step)]
        self._refusals.get_and_add(opened.count(None))
        # All but the last of a slot have the same length, also after they were opened.
        content = b"".join(filter(None, opened))
        batch.buffer.put_bytes(batch.offset_of(slot), content)
        batch._batch.lengths[slot] = len(content)
        batch._batch.segment_lengths[slot] = max(step - self._overhead, 1)
        return 0

    cdef object _change(self, change, datagram, int32_t difference, source):
        """Return the result of `seal` or `open`; None if it is None, an exception, or has the wrong length."""
        try:
            changed = change(datagram) if source is None else change(datagram, source)
            if changed is None or len(changed) == len(datagram) + difference:
                return changed
            self._report(ValueError(
                f"{change!r} returned {len(changed)} bytes for a datagram of {len(datagram)}: the difference must be "
                f"the overhead, {self._overhead}: correct one of them"
            ))
        except Exception as error:
            self._report(error)
        return None

    cdef int32_t send(self, SendBatch batch, SocketAddress destination) except -1 nogil:
        with gil:
            return self._send(batch, destination)

    cdef int32_t _send(self, SendBatch batch, SocketAddress destination) except -1:
        for index in range(batch.count):
            done = 0
            for datagram in batch.datagrams(index):
                if not self._send_one(datagram, destination):
                    if done == 0:
                        return index
                    batch._batch.lengths[index] = done
                    return index + 1
                done += len(datagram)
        return batch.count

    cdef bint _send_one(self, datagram, SocketAddress destination) except -1:
        sealed = self._change(self._transform.seal, datagram, self._overhead, None)
        if sealed is None or len(sealed) > SLOT_LENGTH:
            # Lost, like a datagram that the network drops: the stream sends it again.
            return True
        self._memory.put_bytes(0, sealed)
        self._sealed.clear()
        self._sealed.add(self._memory, 0, len(sealed), len(sealed))
        sent = self._channel.send(self._sealed, destination) == 1
        self._take_error()
        return sent

    cdef int32_t descriptor(self) noexcept nogil:
        return self._channel.descriptor()

    cdef int32_t _take_error(self) noexcept nogil:
        # The agent reads errors from this channel only.
        self.error_code = self._channel.error_code
        self._channel.error_code = 0
        return 0

    def local_address(self):
        """Return the address that the wrapped channel is bound to."""
        return self._channel.local_address()

    def connect(self, SocketAddress address):
        """Connect the wrapped channel to another address if it is connected. Raises OSError."""
        self._channel.connect(address)

    def close(self):
        """Close the wrapped channel."""
        self._channel.close()
