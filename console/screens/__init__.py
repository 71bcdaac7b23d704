"""The screens, one subject a file. A screen reads by selectors, changes by services, and draws a template."""
