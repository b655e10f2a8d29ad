"""What all tests share: the chips, and hypothesis settings that give every machine the same examples."""

from __future__ import annotations

import pytest
from hypothesis import settings

from pykittens.arch import ARCHS, Arch

# The same inputs on every run and host: a failure in the CI is the failure on the desk. No deadline, since the first
# call of a translated instruction compiles it.
settings.register_profile("pykittens", derandomize=True, deadline=None, print_blob=True)
settings.load_profile("pykittens")


@pytest.fixture(params=sorted(ARCHS))
def arch(request: pytest.FixtureRequest) -> Arch:
    """Each chip in turn."""
    return ARCHS[request.param]
