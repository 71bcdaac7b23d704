"""Encryption by the broker itself: certificates from files, which can be replaced while it runs."""

import logging
import os
from typing import Any

from OpenSSL import SSL
from twisted.internet.interfaces import IOpenSSLServerConnectionCreator
from twisted.protocols.tls import TLSMemoryBIOFactory
from zope.interface import implementer

from willow_site.configuration import Configuration
from willow_site.setting_declaration import ConfigurationError

logger = logging.getLogger(__name__)

HTTP_1_1 = b"http/1.1"  # WebSockets are an upgrade of it
SERVER_NAME = b"willow"  # of the sessions that clients can resume


@implementer(IOpenSSLServerConnectionCreator)
class Certificates:
    """Makes the encrypted side of each connection, with the certificate as it was last read."""

    def __init__(self, configuration: Configuration) -> None:
        self._configuration = configuration
        try:
            self._context = read_context(configuration)
        except SSL.Error as error:
            raise ConfigurationError(f"WILLOW_TLS_CERTIFICATE and WILLOW_TLS_KEY: {_reason(error)}.") from None

    def reload(self) -> None:
        """New connections get the new certificate. If it cannot be read, the old one stays."""
        try:
            self._context = read_context(self._configuration)
        except (SSL.Error, OSError) as error:
            logger.error("The certificate could not be read again, the old one stays: %s", _reason(error))
        else:
            logger.info("The certificate was read again.")

    def serverConnectionForTLS(self, protocol: Any) -> SSL.Connection:
        return SSL.Connection(self._context, None)


def encrypted(factory: Any, certificates: Any) -> Any:
    """The same protocol, behind TLS."""
    return TLSMemoryBIOFactory(certificates, isClient=False, wrappedFactory=factory)


def read_context(configuration: Configuration) -> SSL.Context:
    certificate = configuration.tls_certificate
    assert certificate is not None
    context = SSL.Context(SSL.TLS_SERVER_METHOD)
    context.set_min_proto_version(SSL.TLS1_2_VERSION)
    context.set_options(SSL.OP_NO_COMPRESSION | SSL.OP_NO_RENEGOTIATION | SSL.OP_CIPHER_SERVER_PREFERENCE)
    context.use_certificate_chain_file(os.fspath(certificate))
    context.use_privatekey_file(os.fspath(configuration.tls_key or certificate))
    context.check_privatekey()
    context.set_alpn_select_callback(_choose_protocol)
    context.set_session_id(SERVER_NAME)
    if configuration.tls_clients != "off":
        issuers = os.fspath(configuration.tls_client_ca or "")
        context.load_verify_locations(issuers)
        needed = SSL.VERIFY_FAIL_IF_NO_PEER_CERT if configuration.tls_clients == "required" else 0
        context.set_verify(SSL.VERIFY_PEER | needed, _as_openssl_judges)
    return context


def _choose_protocol(connection: SSL.Connection, offered: list[bytes]) -> Any:
    return HTTP_1_1 if HTTP_1_1 in offered else SSL.NO_OVERLAPPING_PROTOCOLS


def _as_openssl_judges(connection: Any, certificate: Any, error: int, depth: int, is_good: int) -> bool:
    return bool(is_good)


def _reason(error: Exception) -> str:
    """OpenSSL's errors are lists of triples, of which the last words matter."""
    if isinstance(error, SSL.Error) and error.args and error.args[0]:
        return str(error.args[0][-1][-1])
    return str(error) or "a file cannot be read"
