"""Other people's machine code on the virtual GPU: ``python -m bench.foreign.run`` fetches, runs and compares it."""
