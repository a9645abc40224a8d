"""Certificates, made anew for each run."""

from __future__ import annotations

import ssl

import pytest
from certificates import make_certificates


@pytest.fixture(scope="session")
def certificates(tmp_path_factory):
    """Files of an authority, of a server and a client that it knows, and of another authority."""
    return make_certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="session")
def python_context(certificates):
    """Contexts of Python's `ssl`, as a writer has them."""

    def make(client=None, ca=certificates.ca):
        context = ssl.create_default_context(cafile=ca)
        if client:
            context.load_cert_chain(*client)
        return context

    return make
