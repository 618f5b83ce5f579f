"""``mxenv probe`` of a machine with many Python environments, each with many distributions.

The environments are made in a temporary folder, as pip leaves them, and named by ``--python``::

    python benchmarks/environments.py [RUNS] [ENVIRONMENTS] [DISTRIBUTIONS]
"""

from __future__ import annotations

import base64
import hashlib
import json
import sys
import tempfile
from pathlib import Path

from _timing import MXENV, Contender, compare, machine, table, verdict

TARGET = 2.0
TARGET_MIB = 80
SERIES = "3.11"
MODULES = 60
"""Files in each distribution's RECORD; half of what 300 popular ones have on average."""
TAGS = (*[""] * 17, "+metax3.5.3.9torch2.8", "+cu121", "+maca3.5.3.20.torch2.8")
DESCRIPTION = "A line of the description that says what it is good for, and for whom.\n" * 60
CLASSIFIERS = "Classifier: Programming Language :: Python :: 3\n" * 12


def environment(prefix: Path, distributions: int) -> None:
    """Make an environment at ``prefix``."""
    site = prefix / "lib" / f"python{SERIES}" / "site-packages"
    site.mkdir(parents=True)
    (prefix / "bin").mkdir()
    (prefix / "bin/python3").symlink_to(f"/usr/bin/python{SERIES}")
    (prefix / "pyvenv.cfg").write_text(
        f"home = /usr/bin\ninclude-system-site-packages = false\nversion = {SERIES}.2\n"
    )
    for number in range(distributions):
        distribution(site, number)


def distribution(site: Path, number: int) -> None:
    """Install one distribution, as pip does."""
    name = f"package_{number:03}"
    version = f"{number % 7}.{number % 13}.{number}{TAGS[number % len(TAGS)]}"
    package, info = site / name, site / f"{name}-{version}.dist-info"
    package.mkdir()
    info.mkdir()
    (package / "__init__.py").write_text(f"__version__ = '{version}'\n")
    head = f"Metadata-Version: 2.1\nName: {name.replace('_', '-')}\nVersion: {version}\n"
    about = f"Summary: One of many\nHome-page: https://example.org/{name}\nLicense: MIT\n"
    (info / "METADATA").write_text(f"{head}{about}{CLASSIFIERS}\n{DESCRIPTION}")
    (info / "INSTALLER").write_text("pip\n")
    (info / "WHEEL").write_text("Wheel-Version: 1.0\n")
    if number % 20 == 0:
        url = f"https://user:secret@example.org/{name}.whl?token=secret"
        (info / "direct_url.json").write_text(json.dumps({"url": url, "archive_info": {}}))
    paths = [f"{name}/module_{module:03}.py" for module in range(MODULES)]
    lines = [f"{path},sha256={_digest(path)},{len(path) * 97}\n" for path in paths]
    lines += [f"{name}/__init__.py,sha256={_digest(name)},24\n"]
    lines += [f"{info.name}/{file},sha256={_digest(file)},99\n" for file in ("METADATA", "WHEEL")]
    lines += [f"{info.name}/RECORD,,\n"]
    (info / "RECORD").write_text("".join(lines))


def _digest(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return base64.urlsafe_b64encode(digest).decode().rstrip("=")


def main(runs: int, environments: int, distributions: int) -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as folder:
        prefixes = [Path(folder) / f"env{number:02}" for number in range(environments)]
        for prefix in prefixes:
            environment(prefix, distributions)
        named = tuple(word for prefix in prefixes for word in ("--python", str(prefix)))
        out = ("--out", str(Path(folder) / "snapshot.json"))
        many = Contender(
            title="mxenv probe --python … --out FILE", argv=(MXENV, "probe", *named, *out)
        )
        few = Contender(title="mxenv probe", argv=(MXENV, "probe"))
        costs = compare((many, few), runs=runs)
        facts = len(json.loads(Path(out[1]).read_text())["facts"])
    print(
        f"{machine()}; {environments} environments of {distributions} distributions each, "
        f"{facts} facts; median of {runs} runs\n"
    )
    rows = [
        [f"`{one.title}`", f"{cost.seconds * 1000:.0f}", f"{cost.peak_mib:.0f}"]
        for one, cost in zip((many, few), costs, strict=True)
    ]
    print(table([["command", "ms", "MiB"], *rows]))
    seconds, mib = costs[0].seconds, costs[0].peak_mib
    print(f"\ntime: {verdict(f'{seconds:.2f} s', met=seconds <= TARGET)}; at most {TARGET} s")
    print(f"memory: {verdict(f'{mib:.0f} MiB', met=mib <= TARGET_MIB)}; at most {TARGET_MIB} MiB")


if __name__ == "__main__":
    main(*(int(word) for word in [*sys.argv[1:], *("7", "20", "300")[len(sys.argv) - 1 :]]))
