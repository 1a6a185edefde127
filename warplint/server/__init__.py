"""The language server: ``warplint server``.

``serving``, ``features`` and ``messages`` speak the protocol, with pygls and lsprotocol. Everything else here answers
questions about a text and knows nothing of it.
"""
