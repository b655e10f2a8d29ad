"""The `pk` command: list, build and run kernels and code objects, each with ``--help`` and ``--json``."""
