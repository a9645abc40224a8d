"""Certificates, created for each test run."""

from __future__ import annotations

import ssl

import pytest
from certificates import make_certificates


@pytest.fixture(scope="session")
def certificates(tmp_path_factory):
    """Files of an authority, of a server and a client with its certificates, and of another authority."""
    return make_certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="session")
def python_context(certificates):
    """Client contexts of Python's `ssl`."""

    def make(client=None, ca=certificates.ca):
        context = ssl.create_default_context(cafile=ca)
        if client:
            context.load_cert_chain(*client)
        return context

    return make
