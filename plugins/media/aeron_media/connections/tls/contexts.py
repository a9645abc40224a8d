"""TLS contexts: certificates, client authentication, verification; reloaded when the files change.

Invariant: a `TlsContexts` always has a valid context: wrong or half-written files leave the previous one in use.
"""

from __future__ import annotations

import os
import ssl
import threading
from pathlib import Path
from typing import Final

from aeron_core.errors import ConfigurationError
from aeron_media.connections.relay.faults import RelayFaults
from aeron_media.connections.tls.parameters import ClientAuth, TlsParameters, Verify
from aeron_media.connections.tls.session import TlsSession

_CLIENT_AUTH: Final = {
    ClientAuth.NONE: ssl.CERT_NONE,
    ClientAuth.OPTIONAL: ssl.CERT_OPTIONAL,
    ClientAuth.REQUIRED: ssl.CERT_REQUIRED,
}

#: Reasons of OpenSSL for a key that does not belong to the certificate; the second: it is even of another algorithm.
_MISMATCHES: Final = ("KEY_VALUES_MISMATCH", "KEY_TYPE_MISMATCH")

#: Longest passphrase of a private key in bytes. Source: PEM_BUFSIZE of OpenSSL, which `ssl` refuses to exceed.
MAX_PASSPHRASE_LENGTH: Final = 1024


class TlsFileError(ConfigurationError):
    """A file or an environment variable that a URI key names is missing or wrong.

    `key` is that key; `text` is its value and the reason.
    """

    def __init__(self, key: str, text: str) -> None:
        super().__init__(f"{key}={text}")
        self.key = key
        self.text = text


class TlsContexts:
    """Current TLS context of one end of a channel, from which its sessions are created.

    `server_name`: for a connecting end, the host name or address of the server, which its certificate must
    contain with verify=full.
    """

    def __init__(self, params: TlsParameters, *, server_side: bool, server_name: str | None = None) -> None:
        """Read the files; raises TlsFileError with the key of a file or variable that is missing or wrong."""
        self._params = params
        self._server_side = server_side
        self._server_name = server_name
        # Several relay threads may call `new_session` at the same time.
        self._lock = threading.Lock()
        # The fingerprint is taken before the files are read: if they change meanwhile, the next session reads them
        # again.
        self._fingerprint = self._read_fingerprint()
        self._context = self._load()

    def new_session(self, faults: RelayFaults) -> TlsSession:
        """Return a session with the last valid contents of the files; any thread may call it.

        Reads files that have changed; if they are wrong, stores a fault in `faults`. Raises ValueError if `server_name`
        is not a valid host name.
        """
        with self._lock:
            fingerprint = self._read_fingerprint()
            if fingerprint != self._fingerprint:
                # Store the new fingerprint even if the files are wrong: the error is logged once, not per connection.
                self._fingerprint = fingerprint
                try:
                    self._context = self._load()
                except TlsFileError as error:
                    faults.keep(f"{error}; the previous files stay in use until they are corrected")
        # Outside the lock: a context is replaced, never changed, so a session keeps the context with which it began.
        return TlsSession(self._context, server_side=self._server_side, server_name=self._server_name)

    def _read_fingerprint(self) -> tuple[tuple[int, int, int] | None, ...]:
        params = self._params
        return tuple(
            _state_of(name) for name in (params.cert, params.key, params.ca, params.key_passphrase_file)
        )

    def _load(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER if self._server_side else ssl.PROTOCOL_TLS_CLIENT)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        # Renegotiation would make one direction wait for the other. Compression leaks plain text (CRIME).
        context.options |= ssl.OP_NO_RENEGOTIATION | ssl.OP_NO_COMPRESSION
        params = self._params
        if self._server_side:
            # Connections are long-lived, so tickets save nothing. A peer that only sends would close with unread
            # tickets, which resets the connection.
            context.num_tickets = 0
            # By default peers must present a certificate if authorities are configured, as in Logstash.
            default = ClientAuth.REQUIRED if params.ca else ClientAuth.NONE
            context.verify_mode = _CLIENT_AUTH[params.client_auth or default]
        else:
            verify = params.verify or Verify.FULL
            # The order matters: `ssl` refuses CERT_NONE while host names are checked.
            context.check_hostname = verify is Verify.FULL
            context.verify_mode = ssl.CERT_NONE if verify is Verify.NONE else ssl.CERT_REQUIRED
        self._load_authorities(context)
        self._load_certificate(context)
        return context

    def _load_authorities(self, context: ssl.SSLContext) -> None:
        ca = self._params.ca
        if ca is None:
            # Reading the authorities of the system takes time and serves no purpose without verification.
            if context.verify_mode is not ssl.CERT_NONE:
                context.load_default_certs()
            return
        try:
            context.load_verify_locations(ca)
        except ssl.SSLError as error:
            raise TlsFileError(
                "ca", f"{ca}: must contain certificates in PEM format: {_reason(error)}"
            ) from error
        except OSError as error:
            raise TlsFileError("ca", _unreadable(ca, error)) from error

    def _load_certificate(self, context: ssl.SSLContext) -> None:
        params = self._params
        if params.cert is None:
            return
        key = "cert" if params.key is None else "key"
        name = params.key or params.cert
        # Read both first, because errors of `ssl` do not name the file.
        _read("cert", params.cert)
        _read(key, name)
        is_decrypting = False

        def passphrase() -> bytes:
            nonlocal is_decrypting
            is_decrypting = True
            return self._passphrase()

        try:
            context.load_cert_chain(params.cert, params.key, passphrase)
        except ssl.SSLError as error:
            fault = self._fault_of_pair(error, is_decrypting=is_decrypting)
            raise TlsFileError(key, f"{name}: {fault}") from error

    def _fault_of_pair(self, error: ssl.SSLError, *, is_decrypting: bool) -> str:
        """Return what is wrong with the certificate or the key; `is_decrypting`: whether the passphrase was used."""
        params = self._params
        if error.reason in _MISMATCHES:
            if params.key is None:
                return "its private key is not that of its certificate: use a matching pair"
            return f"is not the private key of the certificate in {params.cert}: use a matching pair"
        if is_decrypting:
            return "wrong passphrase of the private key: correct that of key-passphrase-file= or key-passphrase-env="
        if params.key is None:
            return (
                "must contain a certificate and its private key in PEM format, unless key= names the file of the key: "
                f"{_reason(error)}"
            )
        return f"must contain a private key in PEM format, and cert={params.cert} a certificate: {_reason(error)}"

    def _passphrase(self) -> bytes:
        # Without this callback OpenSSL would prompt on the terminal.
        params = self._params
        if params.key_passphrase_file is not None:
            return _checked_passphrase(
                "key-passphrase-file",
                params.key_passphrase_file,
                _first_line("key-passphrase-file", params.key_passphrase_file).encode(),
            )
        if params.key_passphrase_env is not None:
            # Read here and not through the settings, which can be displayed: this is a secret.
            passphrase = os.environ.get(params.key_passphrase_env)
            if passphrase is None:
                raise TlsFileError(
                    "key-passphrase-env",
                    f"{params.key_passphrase_env}: no such environment variable: set it where the driver starts",
                )
            # As the process has received it: the variable may hold bytes that are not UTF-8.
            return _checked_passphrase(
                "key-passphrase-env", params.key_passphrase_env, os.fsencode(passphrase)
            )
        raise TlsFileError(
            "key" if params.key else "cert",
            f"{params.key or params.cert}: the private key is encrypted: give its passphrase "
            "with key-passphrase-file= or key-passphrase-env=",
        )


def _state_of(name: str | None) -> tuple[int, int, int] | None:
    if name is None:
        return None
    try:
        state = Path(name).stat()
    except OSError:
        return None
    # Modification times are coarse; a file that was replaced by a rename has another inode.
    return state.st_mtime_ns, state.st_size, state.st_ino


def _checked_passphrase(key: str, name: str, passphrase: bytes) -> bytes:
    if len(passphrase) > MAX_PASSPHRASE_LENGTH:
        raise TlsFileError(
            key,
            f"{name}: the passphrase has {len(passphrase)} bytes: must have at most {MAX_PASSPHRASE_LENGTH}; check "
            "that it is the passphrase and not the key",
        )
    return passphrase


def _first_line(key: str, name: str) -> str:
    try:
        text = _read(key, name).decode()
    except UnicodeDecodeError as error:
        raise TlsFileError(
            key, f"{name}: must be UTF-8, but the byte at offset {error.start} is not: save it as UTF-8"
        ) from None
    return (text.splitlines() or [""])[0]


def _read(key: str, name: str) -> bytes:
    try:
        return Path(name).read_bytes()
    except OSError as error:
        raise TlsFileError(key, _unreadable(name, error)) from error


def _unreadable(name: str, error: OSError) -> str:
    return f"{name}: {error.strerror}: must be a file that the driver can read"


def _reason(error: ssl.SSLError) -> str:
    return (error.reason or error.strerror or str(error)).lower().replace("_", " ")
