"""Proofs and detectors over final bytes: what is wrong with a code object, where, and why."""
