"""The pipeline's commands, one to a file: `add_arguments(parser)` and `main(arguments) -> exit code`."""
