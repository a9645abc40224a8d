# Operations between the conductor and the agents. Comments list the arguments: target, subject; numbers; values.

cpdef enum:
    COMMAND_DRAIN_LIMIT = 8      # maximum number of commands that an agent executes per duty cycle
    # Up to this many endpoints are all polled; if there are more, only those that are ready or that the kernel cannot
    # watch. Source: AERON_UDP_TRANSPORT_POLLER_ITERATION_THRESHOLD.
    POLL_ALL_LIMIT = 5
    # Quiet streams that an agent checks in each duty cycle, see `StreamTurns`. Invented: as many as cost less than one poll
    # of a socket.
    QUIET_STREAMS_PER_CYCLE = 16
    # Streams whose timers are due at the same time, and such times in an interval. Invented: the heartbeats of one are one
    # system call (MAX_GSO_SEGMENTS), and twice as many status messages fit into a receive buffer of 128 KiB.
    STREAMS_PER_PHASE = 64
    PHASES = 100
    # From one to the next; coprime to their number. Invented, by the golden section: later ones are far from each other.
    PHASE_STEP = 61
    # Bytes that publishers of an IPC stream can claim while the sender rests for 16 ms, if they do not ring. Invented: at
    # 500 MB/s they do not wait for it.
    RESTING_WINDOW_LENGTH = 8388608

cpdef enum:
    # Conductor to Sender
    ADD_SEND_ENDPOINT = 1        # endpoint
    REMOVE_SEND_ENDPOINT         # endpoint; answered by RELEASED
    ADD_NETWORK_PUBLICATION      # publication
    REMOVE_NETWORK_PUBLICATION   # publication; answered by RELEASED
    ADD_IPC_PUBLICATION          # publication
    REMOVE_IPC_PUBLICATION       # publication; answered by RELEASED
    ADD_SPY                      # publication, subscriber position; answered by LINKED
    REMOVE_SPY                   # publication, subscriber position; answered by RELEASED
    ADD_IPC_SUBSCRIBER           # publication, subscriber position; answered by LINKED
    REMOVE_IPC_SUBSCRIBER        # publication, subscriber position; answered by RELEASED
    VISIT_NETWORK_PUBLICATION    # publication, of which the conductor has changed something
    VISIT_IPC_PUBLICATION        # the same
    # Conductor to Receiver
    ADD_RECEIVE_ENDPOINT = 32    # endpoint
    REMOVE_RECEIVE_ENDPOINT      # endpoint; answered by RELEASED
    ADD_INTEREST                 # dispatcher, stream interest
    REMOVE_INTEREST              # dispatcher, stream interest; answered by RELEASED
    SUBSCRIBE_ALL                # dispatcher, stream interest
    UNSUBSCRIBE_ALL              # dispatcher, stream interest
    SUBSCRIBE_SESSION            # dispatcher, stream interest; session id
    UNSUBSCRIBE_SESSION          # dispatcher, stream interest; session id
    ADD_IMAGE                    # dispatcher, image
    REMOVE_COOL_DOWN             # dispatcher; session id, stream id
    FORGET_SESSION               # dispatcher; session id, stream id: its image could not be created
    REMOVE_IMAGE                 # dispatcher, image; answered by RELEASED
    ADD_IMAGE_SUBSCRIBER         # image, subscriber position; answered by LINKED
    REMOVE_IMAGE_SUBSCRIBER      # image, subscriber position; answered by RELEASED
    RELEASE_PERMIT               # image, whose log was deleted; answered by RELEASED
    ADD_IMAGE_CONNECTION         # image, connection
    REMOVE_IMAGE_CONNECTION      # image, connection; answered by RELEASED
    ELICIT_SETUP                 # dispatcher, endpoint whose control address gets the request; session id, stream id
    VISIT_IMAGE                  # image, of which the conductor has changed something
    # Agents to the conductor
    RELEASED = 64                # target and subject of the removal; its operation
    LINKED                       # target and subject of the addition; its operation; the join position
    CREATE_IMAGE                 # endpoint, dispatcher; see `Dispatcher._report`
    CREATE_IMAGE_REFUSED         # as CREATE_IMAGE, but a limit is reached: value 1 is the reason, a …REFUSED… below
    PUBLICATION_ERROR            # publication; see `PublicationEvents.error`
    RECEIVERS_REFUSED            # publication, which tracks no further receivers
    RESPONSE_SETUP               # publication; session id of the responses to it
    RESPONSE_CONNECTED           # publication of responses, which has a receiver now

# States of a publication.
cpdef enum:
    PUBLICATION_ACTIVE = 0
    PUBLICATION_DRAINING = 1
    PUBLICATION_LINGER = 2
    PUBLICATION_DONE = 3

# Results of a NAK.
cpdef enum:
    RETRANSMIT_ACCEPTED = 0
    RETRANSMIT_COVERED = 1    # an earlier NAK covers the start of the gap
    RETRANSMIT_OVERFLOW = 2   # all retransmissions of the pool are in use

# Negative values where a permit of `awaited_images` is expected: no permit, or the reason why an image was refused.
cpdef enum:
    NO_PERMIT = -2
    PERMIT_REFUSED_TO_SOURCE = -3
    PERMIT_REFUSED = -4
    SESSION_REFUSED_BY_LIMIT = -5    # the stream has too many images
    IMAGE_REFUSED_TO_SOURCE = -6     # the source has too many images, with data or without
    IMAGE_REFUSED = -7               # all sources together have too many

# States of a session without an image, see `dispatcher`. PENDING_SETUP and REFUSED carry their deadline:
# state | deadline_ns << SESSION_STATE_BITS; INIT_IN_PROGRESS carries the permit of its image, COOL_DOWN the time of the
# last frame of the session.
cpdef enum:
    SESSION_UNKNOWN = 0
    SESSION_PENDING_SETUP = 1
    SESSION_INIT_IN_PROGRESS = 2
    SESSION_COOL_DOWN = 3
    SESSION_NO_INTEREST = 4
    SESSION_REFUSED = 5
    SESSION_STATE_MASK = 7
    SESSION_STATE_BITS = 3
    MAX_TRACKED_SESSIONS = 4096  # without an image, per stream: bounds the memory that forged session ids use
    MAX_COOL_DOWNS = 2048        # of them in COOL_DOWN, which has no end with rejoin=false: leaves half to new sessions
    REFUSALS = 8                 # maximum number of refusals reported to the conductor per second and endpoint
    REFUSAL_INTERVAL_NS = 1_000_000_000
    STALE_SESSIONS_INTERVAL_NS = 10_000_000  # minimum between two scans of all; our choice: costs 0.1 % of a core

# Receivers that a publication tracks.
cpdef enum:
    MAX_TRACKED_RECEIVERS = 4096             # per stream; others are ignored. Our choice: more than any real group has
    RECEIVER_SWEEP_INTERVAL_NS = 10_000_000  # minimum between two scans of all; our choice: costs 0.1 % of a core

# States of a retransmission.
cpdef enum:
    RETRANSMIT_INACTIVE = 0
    RETRANSMIT_DELAYED = 1
    RETRANSMIT_LINGERING = 2
