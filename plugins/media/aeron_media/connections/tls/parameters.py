"""Channel URI keys of TLS, which all media with connections share."""

from __future__ import annotations

from enum import Enum
from typing import Annotated, ClassVar

from pydantic import BaseModel, BeforeValidator, Field

from aeron_core.uri.channel_uri import ChannelUri
from aeron_core.uri.values import parse_bool

Switch = Annotated[bool, BeforeValidator(parse_bool)]


class ClientAuth(Enum):
    """Requirement for connecting peers to present a certificate."""

    NONE = "none"
    OPTIONAL = "optional"
    REQUIRED = "required"


class Verify(Enum):
    """Extent of the check of a server's certificate."""

    FULL = "full"
    CERTIFICATE = "certificate"
    NONE = "none"


#: Keys that require `tls=true`, and their fields.
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
    """TLS parameters of a channel; changed files apply to new connections."""

    #: What a URI must contain for TLS, quoted when a key requires it.
    tls_switch: ClassVar[str] = "tls=true"

    tls: Switch = Field(False, description="Encrypt connections with TLS 1.2 or later.")
    cert: str | None = Field(None, description="PEM file with the certificate of this end and its chain.")
    key: str | None = Field(None, description="PEM file with the private key; by default that of `cert`.")
    ca: str | None = Field(
        None, description="PEM file with trusted authorities; by default those of the system."
    )
    client_auth: ClientAuth | None = Field(
        None,
        alias="client-auth",
        description="Whether connecting peers must present a certificate issued by `ca`; required by default if "
        "`ca` is given, otherwise none.",
    )
    verify: Verify | None = Field(
        None,
        description="What to verify of the server: the chain and the name (full, the default), the chain only "
        "(certificate), or nothing (none).",
    )
    key_passphrase_file: str | None = Field(
        None,
        alias="key-passphrase-file",
        description="File with the passphrase of the private key in its first line.",
    )
    key_passphrase_env: str | None = Field(
        None,
        alias="key-passphrase-env",
        description="Environment variable with the passphrase of the private key.",
    )

    def check_tls(self, uri: ChannelUri, *, connects: bool) -> None:
        """Raise ChannelUriError if a key contradicts or requires another, or has no effect.

        `connects`: whether this end connects; otherwise it listens.
        """
        if not self.tls:
            for key, name in _SUBORDINATE.items():
                if getattr(self, name) is not None:
                    raise uri.fault(key, f"requires {self.tls_switch}: set it, or remove this key")
            return
        # A key of the other end is refused: it would suggest a check that does not take place.
        if connects and self.client_auth is not None:
            raise uri.fault(
                "client-auth",
                "applies only to an end that listens, but this end connects: remove it, or use verify= instead",
            )
        if not connects and self.verify is not None:
            raise uri.fault(
                "verify",
                "applies only to an end that connects, but this end listens: remove it, or use client-auth= instead",
            )
        # A TLS server without a certificate fails every handshake.
        if not connects and self.cert is None:
            raise uri.fault(
                "cert", "must be given, because this end listens with TLS: the PEM file of its certificate"
            )
        if self.key is not None and self.cert is None:
            raise uri.fault(
                "key",
                "requires cert=, the PEM file of the certificate for this key: add it, or remove this key",
            )
        self._check_passphrase(uri)
        self._check_authorities(uri)

    def _check_passphrase(self, uri: ChannelUri) -> None:
        for key in ("key-passphrase-file", "key-passphrase-env"):
            if getattr(self, _SUBORDINATE[key]) is not None and self.cert is None:
                raise uri.fault(
                    key, "requires cert= and the private key that it decrypts: give them, or remove this key"
                )
        if self.key_passphrase_file is not None and self.key_passphrase_env is not None:
            raise uri.fault(
                "key-passphrase-env",
                "must not be given together with key-passphrase-file=: remove one of the two",
            )

    def _check_authorities(self, uri: ChannelUri) -> None:
        # The authorities of the system are no substitute: they certify every site, so any site could be a client.
        if self.client_auth in (ClientAuth.OPTIONAL, ClientAuth.REQUIRED) and self.ca is None:
            raise uri.fault(
                "client-auth",
                "requires ca=, the PEM file of the authorities that issue the certificates of connecting peers: "
                "add it, or remove this key",
            )
        # Authorities without a check of certificates would suggest one.
        if self.ca is not None and self.client_auth is ClientAuth.NONE:
            raise uri.fault(
                "ca",
                "has no effect with client-auth=none: remove one of the two; client-auth=optional or required uses it",
            )
        if self.ca is not None and self.verify is Verify.NONE:
            raise uri.fault(
                "ca",
                "has no effect with verify=none: remove one of the two; verify=certificate or full uses it",
            )

    @property
    def tls_identity(self) -> str:
        """The TLS keys as part of the canonical form of a channel; empty without TLS."""
        if not self.tls:
            return ""
        # Channels with different certificates or checks must not share a connection or a listener.
        parts = [f"{key}={getattr(self, name)}" for key, name in _SUBORDINATE.items() if getattr(self, name)]
        return "-TLS(" + ",".join(parts) + ")"
