"""Daphne as the broker runs it. Nothing else in Willow knows Daphne, Twisted or Autobahn.

`event_loop.choose` and then `PlainServer` or `BrokerServer` are all that others use. `PlainServer` keeps to what the
libraries offer. `BrokerServer` and the modules below it override and read what they do not document, for speed and for
bounds on memory; tests/unit/willow_site/server/test_private_attributes.py names all of it.
"""
