"""The language server: ``warplint server``.

``serving`` is the only importer of pygls, and with ``messages`` of lsprotocol. Everything else here answers
questions about a text and knows nothing of the protocol.
"""
