"""Authentication of the clients of an archive that is served, and which requests each may send.

    credentials of AuthConnectRequest ──► authenticator ──► Admitted, with the name of a user
                                                        ├─► Rejected
                                                        └─► Challenged ── ChallengeResponse ──► Admitted or Rejected

Not here: the messages (served_session). Credentials and secrets are compared in constant time, and are in no message,
log or representation. Source: Authenticator.java, AuthorisationService.java, ControlSessionAdapter.getControlSession.
"""

from __future__ import annotations

import hmac
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Final

from aeron_core.errors import ArchiveErrorCode, ConfigurationError
from aeron_core.frozen import frozen
from aeron_core.protocol.archive import requests

if TYPE_CHECKING:
    from aeron_core.protocol.archive.sbe import SbeMessage

#: Text of the reference: it names no reason, which would help to guess. Source: ControlSession.SESSION_REJECTED_MSG.
REJECTED_TEXT: Final = "authentication rejected"
#: Bytes of a challenge. An invented number: as many as the answer has, so that none is used twice.
_CHALLENGE_LENGTH: Final = 32
#: Characters of a secret. Invented: 16 random letters and digits have 95 bits.
_MIN_SECRET_LENGTH: Final = 16
_MAX_SECRET_LENGTH: Final = 1024
_NAME: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")

#: What a user may be allowed to do, and the requests that it takes.
ACTIONS: Final[Mapping[str, tuple[type[SbeMessage], ...]]] = {
    "list": (
        requests.ListRecordingsRequest,
        requests.ListRecordingsForUriRequest,
        requests.ListRecordingRequest,
        requests.FindLastMatchingRecordingRequest,
        requests.ListRecordingSubscriptionsRequest,
        requests.StartPositionRequest,
        requests.RecordingPositionRequest,
        requests.StopPositionRequest,
        requests.MaxRecordedPositionRequest,
    ),
    "replay": (
        requests.ReplayRequest,
        requests.BoundedReplayRequest,
        requests.StopReplayRequest,
        requests.StopAllReplaysRequest,
        requests.ReplayTokenRequest,
    ),
    "record": (
        requests.StartRecordingRequest,
        requests.StartRecordingRequest2,
        requests.ExtendRecordingRequest,
        requests.ExtendRecordingRequest2,
        requests.StopRecordingRequest,
        requests.StopRecordingSubscriptionRequest,
        requests.StopRecordingByIdentityRequest,
    ),
    "replicate": (
        requests.ReplicateRequest,
        requests.TaggedReplicateRequest,
        requests.ReplicateRequest2,
        requests.StopReplicationRequest,
    ),
    "change": (
        requests.TruncateRecordingRequest,
        requests.PurgeRecordingRequest,
        requests.DetachSegmentsRequest,
        requests.DeleteDetachedSegmentsRequest,
        requests.PurgeSegmentsRequest,
        requests.AttachSegmentsRequest,
        requests.MigrateSegmentsRequest,
        requests.UpdateChannelRequest,
    ),
}
_ACTION_OF: Final = {kind: action for action, kinds in ACTIONS.items() for kind in kinds}


@frozen(slots=True)
class Admitted:
    """A client may connect, as the user `name`."""

    name: str = ""


@frozen(slots=True)
class Rejected:
    """A client may not connect; it receives the error code and the text."""

    code: int = ArchiveErrorCode.AUTHENTICATION_REJECTED
    text: str = REJECTED_TEXT


@frozen(slots=True)
class Challenged:
    """A client must answer `challenge`; `decide` takes its answer."""

    challenge: bytes
    decide: Callable[[bytes], Decision] = field(repr=False)


Decision = Admitted | Rejected | Challenged
#: Takes the credentials of a request to connect. An error that it raises is reported, and rejects the client.
Authenticator = Callable[[bytes], Decision]
#: Takes the name of a user and a request; returns why it is refused, None if it is not. An error that it raises is
#: reported, and refuses the request.
Authorisation = Callable[[str, "SbeMessage"], str | None]


def admit_all(_: bytes) -> Decision:
    """Admit a client with any credentials."""
    return Admitted()


def shared_secret(credentials: bytes) -> Authenticator:
    """Return an authenticator that admits clients with these credentials."""

    def authenticate(given: bytes) -> Decision:
        return Admitted() if hmac.compare_digest(given, credentials) else Rejected()

    return authenticate


@frozen(slots=True, kw_only=True)
class User:
    """A user: its secret, what it may do, and whether it must prove that it has the secret without sending it.

    Raises ConfigurationError for a wrong name, secret or action.
    """

    name: str
    secret: bytes = field(repr=False)
    allow: frozenset[str] = frozenset(ACTIONS)
    challenge: bool = False

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise ConfigurationError(
                f"user {self.name!r}: must have 1 to 64 letters, digits, dots, underscores and hyphens"
            )
        if not _MIN_SECRET_LENGTH <= len(self.secret) <= _MAX_SECRET_LENGTH:
            raise ConfigurationError(
                f"secret of user {self.name}: {len(self.secret)} characters: must have {_MIN_SECRET_LENGTH} to "
                f"{_MAX_SECRET_LENGTH}, such as that of `openssl rand -hex 32`"
            )
        for action in sorted(self.allow - ACTIONS.keys()):
            raise ConfigurationError(
                f"allow of user {self.name}: unknown action {action!r}: must be some of {', '.join(ACTIONS)}"
            )


class Users:
    """Users with secrets: an authenticator, and what each may do; any thread may use it.

    Credentials `NAME:SECRET` are compared. Credentials `NAME` alone are challenged, and the answer must be the
    HMAC-SHA-256 of the challenge with the secret as its key. An unknown name is treated as a known one, up to the end.
    """

    def __init__(self, users: Mapping[str, User]) -> None:
        self._users = dict(users)
        self._unknown = User(name="-", secret=os.urandom(_CHALLENGE_LENGTH))

    def authenticate(self, credentials: bytes) -> Decision:
        """Return the decision on a request to connect; see the class."""
        raw_name, colon, secret = credentials.partition(b":")
        name = raw_name.decode("latin-1")
        user = self._users.get(name, self._unknown)
        if colon:
            # All operands are evaluated: the time must not depend on the first that is wrong.
            is_right = hmac.compare_digest(secret, user.secret) & (not user.challenge)
            return self._decision(user, is_right=is_right)
        challenge = os.urandom(_CHALLENGE_LENGTH)
        expected = hmac.digest(user.secret, challenge, "sha256")
        return Challenged(
            challenge,
            lambda answer: self._decision(user, is_right=hmac.compare_digest(answer, expected)),
        )

    def authorise(self, name: str, request: SbeMessage) -> str | None:
        """Return why a user may not send a request, None if it may."""
        action, user = _ACTION_OF.get(type(request)), self._users.get(name)
        if action is None or (user is not None and action in user.allow):
            return None
        allowed = "nothing" if user is None or not user.allow else ", ".join(sorted(user.allow))
        return (
            f"unauthorised action: {type(request).__name__} needs the permission {action}; user {name} has: "
            f"{allowed}"
        )

    def _decision(self, user: User, *, is_right: bool) -> Decision:
        return Admitted(user.name) if is_right and user is not self._unknown else Rejected()


def users_of(document: Mapping[str, object], where: str) -> Users:
    """Return the users of a table `[users.NAME]` with `secret`, `allow` and `challenge`; `where` names its file.

    Raises ConfigurationError, whose text has no secret, if the document is wrong.
    """
    tables = document.get("users")
    if set(document) != {"users"} or not isinstance(tables, dict) or not tables:
        raise ConfigurationError(f"{where}: must have tables [users.NAME], and nothing else")
    return Users({name: _user_of(name, table, where) for name, table in tables.items()})


def _user_of(name: str, table: object, where: str) -> User:
    if not isinstance(table, dict) or not {"secret"} <= table.keys() <= {"secret", "allow", "challenge"}:
        raise ConfigurationError(
            f"{where}: [users.{name}]: must have the key secret, may have allow and challenge, and no other"
        )
    secret, allow, challenge = table["secret"], table.get("allow", [*ACTIONS]), table.get("challenge", False)
    is_list = isinstance(allow, list) and all(isinstance(each, str) for each in allow)
    if not (isinstance(secret, str) and is_list and isinstance(challenge, bool)):
        raise ConfigurationError(
            f"{where}: [users.{name}]: secret must be a text, allow a list of texts, challenge true or false"
        )
    try:
        return User(name=name, secret=secret.encode(), allow=frozenset(allow), challenge=challenge)
    except ConfigurationError as error:
        raise ConfigurationError(f"{where}: {error}") from None
