"""A PAIR endpoint of nng that echoes messages.

nng_echo.py listen URL pair0|pair1 MAX-LENGTH [CERTIFICATE KEY]
nng_echo.py dial URL pair0|pair1 MAX-LENGTH [AUTHORITY]
"""

import socket
import sys
from pathlib import Path

import pynng

mode, url, protocol, max_length, *files = sys.argv[1:]
pair = {"pair0": pynng.Pair0, "pair1": pynng.Pair1}[protocol](recv_max_size=int(max_length))
if files:
    text = Path(files[0]).read_text()
    if mode == "listen":
        key = Path(files[1]).read_text()
        pair.tls_config = pynng.TLSConfig(
            pynng.TLSConfig.MODE_SERVER,
            own_cert_string=text,
            own_key_string=key,
            auth_mode=pynng.TLSConfig.AUTH_MODE_NONE,
        )
    else:
        pair.tls_config = pynng.TLSConfig(
            pynng.TLSConfig.MODE_CLIENT, ca_string=text, server_name="127.0.0.1"
        )
pair.add_pre_pipe_connect_cb(lambda pipe: print("met", flush=True))
pair.add_post_pipe_remove_cb(lambda pipe: print("parted", flush=True))
if mode == "listen":
    pair.listen(url)
    print("listening", socket.ntohs(pair.listeners[0].local_address.port), flush=True)
else:
    pair.dial(url, block=False)
    print("dialing", flush=True)
while True:
    pair.send(pair.recv())
