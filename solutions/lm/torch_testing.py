"""Stand-ins for models and optimisers that tests of the PyTorch part use. Given: nothing to fill in here."""

from __future__ import annotations
