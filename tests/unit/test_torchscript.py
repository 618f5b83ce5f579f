from __future__ import annotations

from mxenv.torchscript import calls

CODE = """\
class Net(Module):
  def forward(self: __torch__.Net,
    x: Tensor) -> Tensor:
    _0 = torch.add(torch.mul(x, x), CONSTANTS.c0, alpha=1)
    if torch.__contains__(names, "torch.sin(x)"):
      ops.prim.RaiseException("torch.cos(\\"x\\")", 'torch.tan(')
    _1 = ops.torchvision.nms(_0, x, 0.5)
    return (self.fc).forward(_1, )
"""


def test_operators_are_told_with_their_lines_and_without_overloads() -> None:
    assert list(calls(CODE)) == [
        (4, "aten::add"),
        (4, "aten::mul"),
        (7, "torchvision::nms"),
    ]


def test_a_text_without_an_end_holds_the_rest() -> None:
    assert list(calls('x = "torch.add(\ntorch.mul(')) == []
    assert list(calls("torch.mul(x) + 'torch.add(\\")) == [(1, "aten::mul")]


def test_many_quotes_take_no_time() -> None:
    assert list(calls('"' + '\\"' * 500_000)) == []
