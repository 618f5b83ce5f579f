from __future__ import annotations

import pytest
from _attested import BASE, WHOLE
from packageurl import PackageURL

from mxenv import package_url
from mxenv.lock import Base


def test_escapes_what_is_local_to_a_version() -> None:
    url = package_url.of_wheel(WHOLE.packages[1])
    assert url == ("pkg:pypi/beta@2.0%2Bmetax3.5?file_name=beta-2.0%2Bmetax3.5-py3-none-any.whl")
    assert PackageURL.from_string(url).version == "2.0+metax3.5"


@pytest.mark.parametrize(
    ("reference", "name", "repository"),
    [
        ("registry.example.com:5000/team/vllm:0.17", "vllm", "registry.example.com:5000/team/vllm"),
        (f"registry.example.com/vllm@{BASE}", "vllm", "registry.example.com/vllm"),
        ("oci:dist/Base:1", "base", None),
        ("oci:./", "base", None),
        ("oci:/", "base", None),
    ],
)
def test_names_a_base_by_its_digest(reference: str, name: str, repository: str | None) -> None:
    url = PackageURL.from_string(package_url.of_base(Base(reference=reference, digest=BASE)))
    assert (url.type, url.version) == ("oci", BASE)
    assert url.name in {name, "."}
    assert url.qualifiers.get("repository_url") == repository
