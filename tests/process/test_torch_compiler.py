"""The server does not load torch's compiler; a later import of it gives the real one."""

import subprocess
import sys

import pytest

from tests.live_server import ROOT

CODE = """
import sys
from app import _load_engine
engine = _load_engine("embedded", None)
print({"torch._dynamo", "triton"} & set(sys.modules))
import torch
print(torch.compile(lambda x: x + 1, backend="eager")(torch.ones(1)), torch._dynamo.config.cache_size_limit > 0)
"""


@pytest.mark.slow
def test_open_clip_is_loaded_without_the_compiler_which_works_afterwards() -> None:
    done = subprocess.run([sys.executable, "-c", CODE], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout.splitlines()[-2:] == ["set()", "tensor([2.]) True"], done.stderr[-2000:]
