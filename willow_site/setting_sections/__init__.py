"""The settings themselves, a module for each section of `docs/configuration.md`."""
