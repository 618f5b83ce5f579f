"""Which texts are credentials by their own form, whoever holds them and wherever they stand.

Each form comes with a few letters that are in every text that has it: those are fast to look for,
and the form is compiled only where they were found. Nothing that is masked is found once more.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

MASK = "***"

PREFIXES = (
    # What a token of some service begins with, and how its other letters look.
    *((f"gh{kind}_", r"\w{20,}") for kind in "pousr"),  # GitHub
    ("github_pat_", r"\w{20,}"),
    *((f"gl{kind}-", r"[\w-]{16,}") for kind in ("pat", "dt", "rt", "oas", "cbt", "ptt")),  # GitLab
    ("hf_", r"\w{20,}"),  # Hugging Face
    ("api_org_", r"\w{20,}"),
    ("r8_", r"\w{30,}"),  # Replicate
    ("xai-", r"\w{20,}"),
    ("pplx-", r"\w{20,}"),  # Perplexity
    ("tgp_v1_", r"[\w-]{20,}"),  # Together
    ("bce-v3/ALTAK-", r"\w{16,}/[0-9a-f]{32,}"),  # Baidu
    ("sk-", r"[\w-]{20,}"),  # OpenAI, Anthropic, DashScope, DeepSeek
    ("gsk_", r"\w{20,}"),  # Groq
    ("nvapi-", r"[\w-]{20,}"),  # NVIDIA
    ("AIza", r"[\w-]{30,}"),  # Google
    ("ya29.", r"[\w-]{20,}"),
    ("GOCSPX-", r"[\w-]{20,}"),
    ("LTAI", r"[A-Za-z0-9]{12,}"),  # Alibaba Cloud
    ("AKID", r"[A-Za-z0-9]{13,}"),  # Tencent Cloud
    ("AKLT", r"[\w-]{16,}"),  # Volcano Engine
    ("xox", r"[abeprs]-[\w-]{10,}"),  # Slack
    ("xapp-", r"[\w-]{10,}"),
    ("sk_live_", r"\w{10,}"),  # Stripe
    ("sk_test_", r"\w{10,}"),
    ("whsec_", r"\w{20,}"),
    ("npm_", r"[A-Za-z0-9]{30,}"),
    ("pypi-AgE", r"[\w-]{16,}"),
    ("dckr_", r"[po]at_[\w-]{20,}"),  # Docker
    ("dop_v1_", r"\w{20,}"),  # DigitalOcean
    ("dapi", r"[0-9a-f]{32}\b"),  # Databricks
    ("lin_api_", r"\w{20,}"),  # Linear
    ("PMAK-", r"[\w-]{20,}"),  # Postman
    ("shpat_", r"[0-9a-f]{32}\b"),  # Shopify
    ("NRAK-", r"[0-9A-Z]{20,}"),  # New Relic
    ("rubygems_", r"[0-9a-f]{32,}"),
    ("AGE-SECRET-KEY-1", r"[0-9A-Z]{20,}"),
    ("1//0", r"[\w-]{30,}"),  # Google, to sign in again
    ("SG.", r"[\w-]{16,}\.[\w-]{16,}"),  # SendGrid
    ("hvs.", r"[\w-]{20,}"),  # Vault
    ("glsa_", r"\w{20,}"),  # Grafana
    ("tskey-", r"[\w-]{16,}"),  # Tailscale
    ("sntry", r"[su]_[\w+/=-]{20,}"),  # Sentry
    ("ATATT3", r"[\w=-]{20,}"),  # Atlassian
    ("wandb_v1_", r"\w{20,}"),
    ("eyJ", r"[\w-]{10,}\.[\w-]{10,}\.[\w-]*"),  # a JSON web token
    ("eyJhdXRocyI6", r"[\w+/=-]{20,}"),  # a login of Docker in base 64
    ("LS0tLS1CRUdJTi", r"[\w+/=-]{20,}"),  # "-----BEGIN " in base 64
)

_PRIVATE = r"[A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?"
_NAMES = "password|passwd|token|secret|key|credentials?|passphrase"
Form = tuple[str, str]
"""A pattern, and what stands in place of what it matches."""


def without_login(reference: str) -> str:
    """Return an image's reference with a mask for the login in it, where none belongs."""
    head, at, digest = reference.rpartition("@")
    if not digest.startswith(("sha256:", "sha512:")):
        head, at, digest = reference, "", ""
    login, _, place = head.rpartition("@")
    return f"{MASK}@{place}{at}{digest}" if login else reference


def _first(prefix: str) -> str:
    """Return a pattern for ``prefix`` where no word is before it.

    The prefix comes first, since that is what is fast to look for.
    """
    literal = re.escape(prefix)
    return rf"{literal}(?<![A-Za-z0-9_-]{literal})"


FORMS: dict[str, Form] = {
    **{prefix: (_first(prefix) + rest, MASK) for prefix, rest in PREFIXES},
    # An AWS key of sixteen letters, with its secret if that is beside it.
    **{
        kind: (rf"{_first(kind)}[0-9A-Z]{{16}}\b(?:[:,/ \t]+[\w+/]{{40}}(?![\w+/]))?", MASK)
        for kind in ("AKIA", "ASIA")
    },
    # A whole private key, or the beginning of one that was cut.
    "PRIVATE KEY": (rf"(?s)-----BEGIN {_PRIVATE}-----.*?(?:-----END {_PRIVATE}-----|\Z)", MASK),
    "PuTTY-User-Key-File-": (r"(?s)PuTTY-User-Key-File-.*", MASK),
    ".atlasv1.": (r"[A-Za-z0-9]{10,}\.atlasv1\.[\w-]{20,}", MASK),  # Terraform
    ":AA": (r":AA(?<=[0-9]{8}:AA)[\w-]{30,}", f":{MASK}"),  # Telegram
    "hooks.slack.com/": (r"hooks\.slack\.com/(\w+/)[\w/]{10,}", rf"hooks.slack.com/\1{MASK}"),
    "/webhooks/": (r"/webhooks/([0-9]+/)[\w-]{20,}", rf"/webhooks/\1{MASK}"),  # Discord
    "/bot/v2/hook/": (r"/bot/v2/hook/[\w-]+", f"/bot/v2/hook/{MASK}"),  # Feishu
    "webhook/send?": (r"webhook/send\?[^\s\"']*", f"webhook/send?{MASK}"),  # WeCom
    **{
        word: (rf"{_first(word)}[\w.~+/=-]{{8,}}", f"{word}{MASK}")
        for word in ("Bearer ", "bearer ")
    },
    # What a system keeps of a password.
    **{
        f"${kind}$": (rf"\${kind}\$[\w./$,=+-]{{20,}}", f"${kind}${MASK}")
        for kind in ("1", "5", "6", "y", "apr1", "2a", "2b", "2y", "argon2id")
    },
    # In the path of a channel of conda.
    "/t/": (r"(?<=/t/)[A-Za-z0-9-]{16,}(?=/)", MASK),
    # A proxy without the scheme of its address.
    "roxy=": (r"roxy=([\"']?)[^\s/:@\"']{1,100}:[^\s@\"']{1,200}@", rf"roxy=\1{MASK}@"),
    "</": (rf"<([\w:-]*(?:{_NAMES}))>[^<]+<", rf"<\1>{MASK}<"),
    "Basic ": (
        rf"{_first('Basic ')}(?=[A-Za-z+/]*[A-Z0-9])[A-Za-z0-9+/]{{7,}}={{1,2}}(?!\w)",
        f"Basic {MASK}",
    ),
    # What a digest answers, wherever the header around it went.
    'response="': (r"response=\"[0-9a-f]{32,}", f'response="{MASK}'),
    # What a program is told in words of its own: --token x, -u me:x
    " -": (rf" -(-?[\w-]*(?:{_NAMES})[ \t]+)(?!-)[^\s\"',;]+", rf" -\1{MASK}"),
    '"-': (rf"\"(-{{1,2}}[\w-]*(?:{_NAMES}))\",\s*\"(?!-)[^\"]+", rf'"\1", "{MASK}'),
    "sshpass ": (r"sshpass -p ?[^\s\"']+", f"sshpass -p {MASK}"),
    " login ": (r" login (.{0,200}?-p[ =]?)(?![\w-]*=)[^\s\"']+", rf" login \1{MASK}"),
    " -u ": (r" -u [^\s:\"']+:[^\s\"']+", f" -u {MASK}"),
    "-user": (r"-user([ =])[^\s:\"']+:[^\s\"']+", rf"-user\1{MASK}"),
    # A file that logs in: machine x login y password z
    "machine ": (
        r"machine (\S+)(?:\s+(?:login|account|password)\s+\S+)+",
        rf"machine \1 login {MASK}",
    ),
}


WITHIN = tuple(hint for hint in FORMS if " " not in hint and "/" not in hint)
ACROSS = tuple(hint for hint in FORMS if " " in hint or "/" in hint)
"""Those that stand in one word between slashes and spaces, and the others."""
MANY = 1 << 19
"""Characters of which the words are not told apart: that needs several times their memory."""


def hints(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the letters of `FORMS` that are in any of ``texts``.

    Thousands of paths have few words, so that each word is looked through once.
    """
    found: set[str] = set()
    for text in texts:
        few = "\n".join({*text.replace("/", "\n").split()}) if len(text) < MANY else text
        found.update(hint for hint in WITHIN if hint not in found and hint in few)
        found.update(hint for hint in ACROSS if hint not in found and hint in text)
    return tuple(hint for hint in FORMS if hint in found)


def masked(text: str, known: Iterable[str] = FORMS) -> str:
    """Return ``text`` with every credential of a form masked of which the letters are known."""
    for hint in known:
        if hint in text:
            # Compiled only now: nearly no text has one.
            pattern, instead = FORMS[hint]
            text = re.sub(pattern, instead, text)
    return text
