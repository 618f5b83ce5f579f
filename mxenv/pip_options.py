"""Which options of pip and uv take a value, and which of them say what is installed."""

from __future__ import annotations

INDEX_OPTIONS = frozenset({"-i", "--index-url", "--extra-index-url", "-f", "--find-links"})
INCLUDE_OPTIONS = frozenset({"-r", "--requirement"})
LIMIT_OPTIONS = frozenset({"-c", "--constraint"})
EDITABLE_OPTIONS = frozenset({"-e", "--editable"})
FORCED = frozenset(
    {"-U", "--upgrade", "--force-reinstall", "-I", "--ignore-installed", "--reinstall"}
)
"""What is there is replaced although it would do."""
UV_INDEXES = frozenset({"--default-index", "--index", "--torch-backend"})
"""Those of uv alone that say where distributions come from."""
UV_LIMITS = frozenset({"--override", "--overrides", "--constraints"})
ONE = frozenset({"-P", "--upgrade-package", "--reinstall-package"})
"""What is replaced is the one distribution that is named."""
_OTHERS = frozenset(
    {
        "--abi",
        "--allow-insecure-host",
        "--build-constraint",
        "--cache-dir",
        "--cert",
        "--client-cert",
        "--config-file",
        "--config-setting",
        "--config-settings",
        "--directory",
        "--exclude-newer",
        "--exists-action",
        "--extra",
        "--global-option",
        "--group",
        "--implementation",
        "--index-strategy",
        "--install-option",
        "--keyring-provider",
        "--link-mode",
        "--log",
        "--no-binary",
        "--no-binary-package",
        "--no-build-isolation-package",
        "--only-binary",
        "--platform",
        "--prefix",
        "--prerelease",
        "--progress-bar",
        "--project",
        "--proxy",
        "--python",
        "--python-platform",
        "--python-version",
        "--report",
        "--resolution",
        "--retries",
        "--root",
        "--root-user-action",
        "--src",
        "--target",
        "--timeout",
        "--trusted-host",
        "--upgrade-strategy",
        "--use-deprecated",
        "--use-feature",
        "-C",
        "-b",
        "-d",
        "-p",
        "-t",
    }
)
"""Those whose value says nothing of what is installed."""
VALUED = frozenset().union(
    *(INDEX_OPTIONS, INCLUDE_OPTIONS, LIMIT_OPTIONS, EDITABLE_OPTIONS),
    *(UV_INDEXES, UV_LIMITS, ONE, _OTHERS),
)
"""Options that take a value, which is no requirement then."""
