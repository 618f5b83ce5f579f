from __future__ import annotations

import json

import pytest

from mxenv.excerpt import MASK, boot, of, runtimes
from mxenv.question import Part

CONTAINERD = """\
version = 2
imports = ["/etc/containerd/conf.d/*.toml"]
[plugins."io.containerd.grpc.v1.cri".registry.configs."r.example".auth]
  auth = "dXNlcjpodW50ZXIy"
[plugins."io.containerd.grpc.v1.cri".containerd]
  default_runtime_name = "metax"  # was runc
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.'metax']
# [plugins.x.containerd.runtimes.off]
"""


class TestTheBootLine:
    def test_only_what_is_listed_is_kept(self) -> None:
        line = "BOOT_IMAGE=/vmlinuz root=UUID=1 luks.key=hunter2 iommu=pt ro intel_iommu=on\n"
        assert boot(line) == "iommu=pt intel_iommu=on\n"

    def test_a_name_may_be_written_with_either_dash(self) -> None:
        assert boot("transparent-hugepage=never\n") == "transparent_hugepage=never\n"

    def test_one_without_a_value_is_kept_as_that(self) -> None:
        assert boot("nomodeset quiet\n") == "nomodeset\n"

    def test_the_order_of_repeated_ones_stays(self) -> None:
        line = "hugepagesz=1G hugepages=16 hugepagesz=2M hugepages=512\n"
        assert boot(line) == line

    def test_what_follows_two_dashes_is_not_the_kernels(self) -> None:
        assert boot("quiet -- iommu=off --token hunter2\n") == "\n"

    def test_words_in_quotes_are_no_parameters(self) -> None:
        assert boot('dyndbg="file x iommu=off" iommu="pt" hugepages="1 2"\n') == (
            f"iommu=pt hugepages={MASK}\n"
        )

    def test_a_value_that_has_not_the_form_of_one_is_masked(self) -> None:
        assert boot("iommu=\x1b[31mpt\n") == f"iommu={MASK}\n"
        assert boot(f"pci={'x' * 201}\n") == f"pci={MASK}\n"

    def test_a_line_cut_short_stays_without_its_end(self) -> None:
        assert boot("quiet hugepages=1") == "hugepages=1"


class TestTheRuntimesOfAnEngine:
    def test_of_dockers_their_names_and_the_default_are_kept(self) -> None:
        given = {
            "default-runtime": "metax",
            "runtimes": {"metax": {"path": "/opt/x", "env": "K=hunter2"}, "a b": {}},
            "proxies": {"http-proxy": "http://u:hunter2@p"},
        }
        kept = runtimes(json.dumps(given))
        assert json.loads(kept) == {"default-runtime": "metax", "runtimes": {"metax": {}, MASK: {}}}

    @pytest.mark.parametrize("text", ['{"runtimes": {"a"', "{" * 9000, '{"a":' * 90000])
    def test_of_what_is_no_json_nothing_is_kept(self, text: str) -> None:
        assert runtimes(text) == ""

    def test_other_types_are_no_names(self) -> None:
        assert runtimes('{"default-runtime": 1, "runtimes": []}') == "{}\n"

    def test_of_containerds_the_headers_and_the_default_are_kept(self) -> None:
        assert runtimes(CONTAINERD) == (
            'default_runtime_name = "metax"\n'
            '[containerd.runtimes."runc"]\n'
            '[containerd.runtimes."metax"]\n'
        )


@pytest.mark.parametrize("text", ["iommu=pt -- x\n", 'pci="a b" x', CONTAINERD, '{"runtimes": {}}'])
@pytest.mark.parametrize("part", [Part.BOOT, Part.RUNTIMES])
def test_the_excerpt_of_an_excerpt_is_the_excerpt(part: Part, text: str) -> None:
    assert of(part, of(part, text)) == of(part, text)


def test_of_other_parts_all_is_left() -> None:
    assert of(Part.WHOLE, "iommu=pt root=x") == "iommu=pt root=x"
