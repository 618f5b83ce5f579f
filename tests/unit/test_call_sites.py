from __future__ import annotations

import pytest

from mxenv.call_sites import innermost

TRACE = """\
  File "/home/me/run.py", line 3, in <module>
    model(x)
  File "/opt/lib/python3.10/site-packages/transformers/modeling_llama.py", line 241, in forward
    q = self.q_proj(x)
"""


@pytest.mark.parametrize(
    ("trace", "site"),
    [
        (TRACE, "transformers/modeling_llama.py:241"),
        (TRACE.partition('  File "/opt')[0], "run.py:3"),
        ('File "C:\\\\me\\\\net.py", line 9', "net.py:9"),
        ('File "/usr/lib/python3/dist-packages/torch/a.py", line 1', "torch/a.py:1"),
        ('File "net.py", line 9, in f\n  File "<string>", line 6', "net.py:9"),
        (
            f'{TRACE}  File "/opt/site-packages/torch/nn/linear.py", line 2',
            "transformers/modeling_llama.py:241",
        ),
        ("", ""),
        ("nothing of the kind", ""),
        ('File "a.py", line x', ""),
    ],
)
def test_the_last_frame_counts_without_the_machine_that_it_is_from(trace: str, site: str) -> None:
    assert innermost(trace) == site
