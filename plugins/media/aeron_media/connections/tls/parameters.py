"""The keys of a channel URI that say how its connections are encrypted, the same for all media with connections."""

from __future__ import annotations

from enum import Enum
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, Field

from aeron_core.uri.channel_uri import ChannelUri
from aeron_core.uri.values import parse_bool

Switch = Annotated[bool, BeforeValidator(parse_bool)]


class ClientAuth(Enum):
    """Whether who connects must have a certificate."""

    NONE = "none"
    OPTIONAL = "optional"
    REQUIRED = "required"


class Verify(Enum):
    """What must be right about the certificate of whom we connect to."""

    FULL = "full"
    CERTIFICATE = "certificate"
    NONE = "none"


#: Keys that mean nothing unless `tls=true`.
_SUBORDINATE = {
    "cert": "cert",
    "key": "key",
    "ca": "ca",
    "client-auth": "client_auth",
    "verify": "verify",
    "key-passphrase-file": "key_passphrase_file",
    "key-passphrase-env": "key_passphrase_env",
}


class TlsParameters(BaseModel):
    """Parameters that a medium with connections has beside its own; files are read again when they change."""

    tls: Switch = Field(False, description="Whether connections are encrypted, with TLS 1.2 or later.")
    cert: str | None = Field(None, description="File with the certificate of this end and its chain, PEM.")
    key: str | None = Field(None, description="File with the private key, PEM; else it is in that of `cert`.")
    ca: str | None = Field(
        None, description="File with the authorities that are trusted, PEM; else those of the system."
    )
    client_auth: ClientAuth | None = Field(
        None,
        alias="client-auth",
        description="Whether who connects to this end must show a certificate of `ca`: required where `ca` is "
        "given, else none.",
    )
    verify: Verify | None = Field(
        None,
        description="What this end looks at where it connects: the chain and the name (full, as it is where nothing is "
        "said), the chain alone, or nothing.",
    )
    key_passphrase_file: str | None = Field(
        None, alias="key-passphrase-file", description="File whose first line opens the private key."
    )
    key_passphrase_env: str | None = Field(
        None, alias="key-passphrase-env", description="Environment variable that opens the private key."
    )

    def check_tls(self, uri: ChannelUri, *, connects: bool) -> None:
        """Raise ChannelUriError where keys do not go together, lest one is taken to have an effect.

        This end `connects`, or it listens.
        """
        if not self.tls:
            for key, name in _SUBORDINATE.items():
                if getattr(self, name) is not None:
                    raise uri.fault(key, "means nothing without tls=true")
            return
        if connects and self.client_auth is not None:
            raise uri.fault("client-auth", "is for an end that listens: one that connects has verify=")
        if not connects and self.verify is not None:
            raise uri.fault("verify", "is for an end that connects: one that listens has client-auth=")
        if not connects and self.cert is None:
            raise uri.fault("cert", "must be given where connections are encrypted, for an end that listens")
        if self.key is not None and self.cert is None:
            raise uri.fault("key", "means nothing without cert=")
        if self.key_passphrase_file is not None and self.key_passphrase_env is not None:
            raise uri.fault("key-passphrase-env", "must not be given beside key-passphrase-file=")
        if self.client_auth in (ClientAuth.OPTIONAL, ClientAuth.REQUIRED) and self.ca is None:
            raise uri.fault(
                "client-auth", "needs ca=, the authorities of the certificates of those who connect"
            )

    @property
    def tls_identity(self) -> str:
        """What endpoints must have in common to be one, empty without TLS."""
        if not self.tls:
            return ""
        says = [f"{key}={getattr(self, name)}" for key, name in _SUBORDINATE.items() if getattr(self, name)]
        return "-TLS(" + ",".join(says) + ")"
