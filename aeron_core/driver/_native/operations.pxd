# Operations between the conductor and the agents; arguments are listed as target, subject, numbers, values.

cpdef enum:
    COMMAND_DRAIN_LIMIT = 8      # commands that an agent takes in one duty cycle
    # Endpoints that are all polled; of more, those that are ready. Source: AERON_UDP_TRANSPORT_POLLER_ITERATION_THRESHOLD.
    POLL_ALL_LIMIT = 5

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
    FORGET_SESSION               # dispatcher; session id, stream id: its image could not be made
    REMOVE_IMAGE                 # dispatcher, image: nothing reaches it, it sends nothing; answered by RELEASED
    ADD_IMAGE_SUBSCRIBER         # image, subscriber position; answered by LINKED
    REMOVE_IMAGE_SUBSCRIBER      # image, subscriber position; answered by RELEASED
    ADD_IMAGE_CONNECTION         # image, connection
    REMOVE_IMAGE_CONNECTION      # image, connection; answered by RELEASED
    ELICIT_SETUP                 # dispatcher, endpoint that knows where its senders listen; session id, stream id
    # Agents to the conductor
    RELEASED = 64                # target and subject, which the agent no longer knows; the operation
    LINKED                       # target and subject, which reads from now on; the operation; the position
    CREATE_IMAGE                 # endpoint; see `Dispatcher.on_setup`
    CREATE_IMAGE_REFUSED         # endpoint; session limit
    PUBLICATION_ERROR            # publication; see `NetworkPublication.on_error`
    RECEIVERS_REFUSED            # publication: it has as many receivers as it may have
    RESPONSE_SETUP               # publication; session id of the responses to it
    RESPONSE_CONNECTED           # publication of responses: somebody receives it

# The life of a publication; see `published_stream`.
cpdef enum:
    PUBLICATION_ACTIVE = 0
    PUBLICATION_DRAINING = 1
    PUBLICATION_LINGER = 2
    PUBLICATION_DONE = 3

# What became of a NAK.
cpdef enum:
    RETRANSMIT_ACCEPTED = 0
    RETRANSMIT_COVERED = 1    # by an earlier one
    RETRANSMIT_OVERFLOW = 2   # of the pool of retransmissions

# What the dispatcher knows of a session that has no image. PENDING_SETUP and REFUSED carry their deadline:
# state | deadline_ns << SESSION_STATE_BITS.
cpdef enum:
    SESSION_UNKNOWN = 0
    SESSION_PENDING_SETUP = 1
    SESSION_INIT_IN_PROGRESS = 2
    SESSION_COOL_DOWN = 3
    SESSION_NO_INTEREST = 4
    SESSION_REFUSED = 5
    SESSION_STATE_MASK = 7
    SESSION_STATE_BITS = 3
    MAX_TRACKED_SESSIONS = 4096  # without an image, of one stream: what strangers can make us remember
    STALE_SESSIONS_INTERVAL_NS = 10_000_000  # the least between two walks of them all; invented: 0.1 % of a core

# Whom a publication counts as a receiver.
cpdef enum:
    MAX_TRACKED_RECEIVERS = 4096             # of one stream; more are not heard. Invented: beyond any real group
    RECEIVER_SWEEP_INTERVAL_NS = 10_000_000  # the least between two walks of them all; invented: 0.1 % of a core

# What a retransmission is doing.
cpdef enum:
    RETRANSMIT_INACTIVE = 0
    RETRANSMIT_DELAYED = 1
    RETRANSMIT_LINGERING = 2
