cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t

from aeron_core._native cimport positions, wire
from aeron_core._native.address cimport SocketAddress
from aeron_core._native.buffer cimport AtomicBuffer
from aeron_core._native.cell cimport AtomicLong
from aeron_core._native.clock cimport Clock
from aeron_core._native.commands cimport Command, CommandRing
from aeron_core._native.counter cimport Counter
from aeron_core._native.datagrams cimport SendBatch
from aeron_core.driver._native cimport operations
from aeron_core.driver.sender.datagram_run cimport DatagramRun
from aeron_core.driver.sender.live_receivers cimport LiveReceivers
from aeron_core.driver.agents.one_way_latency cimport OneWaySchedule
from aeron_core.driver.sender.publisher_limit cimport PublisherLimit
from aeron_core.driver.agents.reply_budget cimport ReplyBudget
from aeron_core.driver.sender.retransmit_handler cimport Resender, RetransmitHandler
from aeron_core.driver.agents.subscriber_positions cimport SubscriberPosition, SubscriberPositions
from aeron_core.driver.agents.system_counters cimport SystemCounters
from aeron_core.logbuffer.descriptor cimport LogBuffer
from aeron_core.protocol.frames.data cimport DataHeader
from aeron_core.protocol.frames.error cimport ErrorFrame
from aeron_core.protocol.frames.nak cimport Nak
from aeron_core.protocol.frames.response_setup cimport ResponseSetup
from aeron_core.protocol.frames.rttm cimport Rttm
from aeron_core.protocol.frames.setup cimport Setup
from aeron_core.protocol.frames.status_message cimport StatusMessage
from aeron_core.spi.endpoints cimport SendChannelEndpoint
from aeron_core.spi.flow_control cimport FlowControl


cdef class NetworkPublication(Resender):
    cdef readonly int64_t registration_id
    cdef readonly SendChannelEndpoint endpoint
    cdef readonly AtomicLong state              # a PublicationState, written by the conductor
    cdef readonly AtomicLong is_end_of_stream   # 1 once all was sent and no more will come
    cdef readonly AtomicLong has_receivers      # 1 while a receiver is alive
    cdef readonly AtomicLong has_unicast_eos    # 1 once the one receiver said that it has everything
    cdef readonly Counter sender_position
    cdef readonly Counter sender_limit
    cdef readonly SubscriberPositions spies
    cdef FlowControl _flow_control
    cdef Counter _publisher_position
    cdef PublisherLimit _publisher_limit
    cdef RetransmitHandler _retransmits
    cdef SystemCounters _counters
    cdef Counter _back_pressure_events
    cdef Counter _naks_received
    cdef DatagramRun _run
    cdef SendBatch _batch                       # shared by all publications of the sender
    cdef AtomicBuffer _scratch                  # one frame that is no part of the log
    cdef Setup _setup
    cdef DataHeader _heartbeat
    cdef Rttm _rttm
    cdef ReplyBudget _rttm_replies
    cdef bint _requests_response
    cdef bint _is_response
    cdef int64_t _response_event_deadline_ns   # before it no other is handed to the conductor
    cdef Clock _clock
    cdef OneWaySchedule _one_way
    cdef LiveReceivers _receivers
    cdef bint _has_refused_receivers            # and told so, since there was room for the last time
    cdef CommandRing _conductor
    cdef Command _event
    cdef int32_t _mtu
    cdef int32_t _max_entries                   # of one send call
    cdef bint _is_unicast
    cdef bint _signals_eos
    cdef bint _simulates_connection             # spies count as receivers
    cdef bint _has_initial_connection           # a status message has come
    cdef bint _is_setup_elicited
    cdef bint _tracks_sender_limits             # count the next back-pressure event
    cdef bint _is_connected
    cdef int64_t _longest_padding               # bytes of a term's end that are skipped, not sent
    cdef int64_t _time_of_last_setup_ns
    cdef int64_t _time_of_last_send_ns          # of data or heartbeat

    cdef int64_t add_spy(self, SubscriberPosition spy) except -1 nogil
    @cython.locals(position=int64_t, sent=int32_t)
    cdef int32_t send_pending(self, int64_t now_ns) except -1 nogil
    @cython.locals(work=int32_t)
    cdef int32_t update_limit(self, int64_t now_ns) except -1 nogil
    @cython.locals(limit=int64_t, window=int64_t, start=int64_t, first=int64_t, taken=int32_t)
    cdef int32_t _send_data(self, int64_t position, int64_t now_ns) except -1 nogil
    cdef int32_t _count_back_pressure(self) except -1 nogil
    cdef int32_t _send_setup_if_due(self, int64_t position, int64_t now_ns) except -1 nogil
    @cython.locals(flags=uint8_t)
    cdef int32_t _send_heartbeat_if_due(self, int64_t position, int64_t now_ns) except -1 nogil
    cdef int32_t _send_scratch(self, int32_t length) except -1 nogil
    @cython.locals(limit=int64_t, position=int64_t)
    cdef int32_t _idle(self, int64_t now_ns) except -1 nogil
    cdef int32_t _forget_silent_receivers(self, int64_t now_ns) except -1 nogil
    @cython.locals(is_first=bint)
    cdef int32_t _set_has_receivers(self, bint has_receivers, int64_t now_ns) except -1 nogil
    cdef int32_t _refuse_receiver(self) except -1 nogil
    cdef int32_t _offer_event(self) except -1 nogil
    cdef bint _has_subscribers(self, int64_t now_ns) except -1 nogil
    @cython.locals(position=int64_t, bits=int32_t)
    cdef bint _is_credible(self, StatusMessage sm) except -1 nogil
    cdef int32_t _set_connected(self, bint is_connected) except -1 nogil
    cdef int32_t _measure_one_way(self) except -1 nogil
