"""A mutation fuzzer: valid frames of the protocol, damaged, for both codecs and for whole sessions of a real broker.

`./willow fuzz --frames 10000000` runs it at length; test_fuzz.py is its short form, with a fixed seed.
"""
