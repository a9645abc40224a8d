cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

from aeron_core._native cimport pointers, positions, wire
from aeron_core._native.address cimport SocketAddress
from aeron_core._native.clock cimport Clock
from aeron_core._native.counter cimport AtomicCounter
from aeron_core._native.datagrams cimport SendBatch

from aeron_core.driver._native cimport operations
from aeron_core.driver.agents.one_way_latency cimport OneWaySchedule
from aeron_core.driver.agents.rate_limit cimport RateLimit
from aeron_core.driver.agents.system_counters cimport SystemCounters
from aeron_core.driver.sender.control_frames cimport ControlFrames, HeartbeatBunch
from aeron_core.driver.sender.datagram_run cimport DatagramRun
from aeron_core.driver.sender.live_receivers cimport LiveReceivers
from aeron_core.driver.sender.publication_events cimport PublicationEvents
from aeron_core.driver.sender.receiver_proofs cimport ReceiverProofs
from aeron_core.driver.sender.retransmit_handler cimport RetransmitHandler
from aeron_core.driver.sender.sending_publication cimport SendingPublication
from aeron_core.protocol.frames.error cimport ErrorFrame
from aeron_core.protocol.frames.nak cimport Nak
from aeron_core.protocol.frames.response_setup cimport ResponseSetup
from aeron_core.protocol.frames.rttm cimport Rttm
from aeron_core.protocol.frames.status_message cimport StatusMessage
from aeron_core.spi.flow_control cimport FlowControl


cdef class NetworkPublication(SendingPublication):
    cdef FlowControl _flow_control              # chosen by the conductor, called by the sender only
    cdef RetransmitHandler _retransmits
    cdef SystemCounters _counters
    cdef AtomicCounter _back_pressure_events    # times that the sender stopped at its limit
    cdef AtomicCounter _naks_received
    cdef DatagramRun _run
    cdef SendBatch _batch                       # shared by all publications of the sender
    cdef HeartbeatBunch _heartbeats             # shared, too
    cdef bint _is_bunched                       # heartbeats of several streams are sent together
    cdef ControlFrames _frames                  # SETUP, heartbeat and RTTM of this stream
    cdef RateLimit _rttm_replies
    cdef OneWaySchedule _one_way
    cdef bint _measures_one_way
    cdef Clock _clock
    cdef LiveReceivers _receivers               # those whose last status message is not older than the timeout
    cdef ReceiverProofs _proofs                 # of those receivers
    cdef bint _requires_proof                   # the flow control gets status messages of proved receivers only
    cdef PublicationEvents _events              # to the conductor
    cdef int32_t _max_entries                   # of one send call
    cdef bint _has_refused_receivers            # reported, and no receiver has timed out since
    cdef bint _requests_response                # the SETUP requests a response stream
    cdef bint _is_response                      # the stream answers requests
    cdef bint _is_unicast                       # one receiver: its EOS ends the linger early
    cdef bint _signals_eos                      # heartbeats carry the end of the stream
    cdef bint _simulates_connection             # spies count as receivers
    cdef bint _has_initial_connection           # a status message was received
    cdef bint _is_setup_elicited                # a receiver requested a SETUP
    cdef bint _tracks_sender_limits             # count the next back-pressure event
    cdef int64_t _longest_padding               # bytes at the end of a term that are skipped, not sent
    cdef int64_t _time_of_last_setup_ns
    cdef int64_t _time_of_last_send_ns          # of data or heartbeat

    @cython.locals(seen=uint64_t)
    cdef bint calm(self, int64_t now_ns) except -1 nogil
    @cython.locals(position=int64_t, sent=int32_t)
    cdef int32_t send_pending(self, int64_t now_ns) except -1 nogil
    @cython.locals(position=int64_t)
    cdef bint may_rest(self) except -1 nogil
    @cython.locals(limit=int64_t, window=int64_t, start=int64_t, first=int64_t, taken=int32_t)
    cdef int32_t _send_data(self, int64_t position, int64_t now_ns) except -1 nogil
    cdef int32_t _count_back_pressure(self) except -1 nogil
    @cython.locals(length=int32_t, due_ns=int64_t)
    cdef int32_t _send_setup_if_due(self, int64_t position, int64_t now_ns) except -1 nogil
    @cython.locals(flags=uint8_t, length=int32_t, due_ns=int64_t)
    cdef int32_t _send_heartbeat_if_due(self, int64_t position, int64_t now_ns) except -1 nogil
    cdef int32_t _send_frame(self, int32_t length) except -1 nogil
    @cython.locals(limit=int64_t, position=int64_t)
    cdef int32_t _idle(self, int64_t now_ns) except -1 nogil
    cdef int32_t _forget_silent_receivers(self, int64_t now_ns) except -1 nogil
    @cython.locals(is_first=bint)
    cdef int32_t _set_has_receivers(self, bint has_receivers, int64_t now_ns) except -1 nogil
    cdef bint _is_proved(self, StatusMessage sm) noexcept nogil
    cdef int32_t _request_proof(self, int64_t receiver_id, int64_t now_ns) except -1 nogil
    cdef int32_t _refuse_receiver(self) except -1 nogil
    cdef bint _has_subscribers(self, int64_t now_ns) except -1 nogil
    @cython.locals(position=int64_t, bits=int32_t)
    cdef bint _is_credible(self, StatusMessage sm) except -1 nogil
    cdef int32_t _measure_one_way(self) except -1 nogil
