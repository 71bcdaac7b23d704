"""Willow's version, as `hello` and the console show it."""

VERSION = "0.1.0"
