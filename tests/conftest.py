"""Unit tests import triton_io outside of Triton's stub: a small fake of the stub's module stands in."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "fakes"))
