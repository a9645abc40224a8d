"""Datagram protector `signed`: authenticates datagrams, and leaves them readable; for hosts without OpenSSL 3."""

import hashlib
import hmac
from pathlib import Path

from aeron_core.spi import hookimpl


class SignedDatagrams:
    overhead = 32

    def __init__(self, params):
        self.secret = Path(params.options["secret_file"]).read_bytes()
        self.role = params.role

    def seal(self, datagram):
        return datagram + self.sign(datagram, self.role)

    def open(self, datagram, source):
        content, signature = datagram[:-32], datagram[-32:]
        # The role of the peer, so that a datagram is not accepted by the side that sent it.
        return content if hmac.compare_digest(signature, self.sign(content, self.role.peer)) else None

    def sign(self, content, role):
        return hmac.digest(self.secret, bytes([role]) + content, hashlib.sha256)


@hookimpl
def aeron_datagram_protectors():
    return {"signed": SignedDatagrams}
