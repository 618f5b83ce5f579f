"""What somebody left lying on a node leaves it by no way: snapshot, recording, report, log."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mxenv import _plugins, recorder
from mxenv import snapshot as files
from mxenv.api import nodes
from mxenv.question import Env
from mxenv.redaction import clean
from mxenv.transports import Terms, local

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

PROGRAM = Path(sys.executable).with_name("mxenv")
RECORDED = Path(__file__).parents[1] / "recordings/c500-8cards"
NOW = datetime(2026, 1, 7, tzinfo=UTC)

X = "Zq7Kp2Vx9Lm4Tr8Wn3Bd6Hs1"
"""Letters of no secret of anybody."""
LONG = X + X.swapcase()
HEX = "9f8e7d6c5b4a39281706f5e4d3c2b1a0"


def plain(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


PEM = (
    f"-----BEGIN {{kind}}PRIVATE KEY-----\nMIIE{LONG}\n{LONG[::-1]}\n"
    f"-----END {{kind}}PRIVATE KEY-----"
)

PLANTED: dict[str, tuple[str, str]] = {
    # A kind of secret: how it lies there, and what of it must not be seen.
    "a variable": (f"export HF_TOKEN={X}", X),
    "a password": (f"password: {X}", X),
    "a quoted password": (f'"password": "{X} and more"', "and more"),
    "a pass phrase": (f"ssl_passphrase={X}", X),
    "a key of an interface": (f"OPENAI_API_KEY={X}", X),
    "a key of Django": (f"SECRET_KEY = '{X}'", X),
    "an access key": (f"aws_secret_access_key = {X}{X[:16]}", X),
    "an account key": (f"AccountName=a;AccountKey={LONG}==;EndpointSuffix=x", LONG),
    "a pair of AWS": (f"AKIAIOSFODNN7EXAMPLE:{X}{X[:16]}", X),
    "a session of AWS": ("ASIAIOSFODNN7EXAMPLQ", "ASIAIOSFODNN7EXAMPLQ"),
    "a signed address": (f"https://x.blob/y?sv=1&sig={X}%3D&se=2", X),
    "a signed address of AWS": (f"https://b.s3/k?X-Amz-Signature={HEX}", HEX),
    "an address with a password": (f"https://alice:{X}@host/simple", X),
    "an address with a token": (f"https://{X}@host/simple", X),
    "a password with a slash": (f"https://alice:{X}/{X}@host/simple", X),
    "a database": (f"postgresql+psycopg://u:{X}@db:5432/x", X),
    "an address with a question": (f"https://host/x?access_token={X}&y=1", X),
    "a bearer": (f"Authorization: Bearer {X}", X),
    "basic authentication": (f"Authorization: Basic {plain('alice:' + X)}", plain("alice:" + X)),
    "basic authentication alone": (f"Basic {plain('alice:' + X)}=", plain("alice:" + X)),
    "digest authentication": (f'authorization: Digest username="a", response="{HEX}"', HEX),
    "a header of a proxy": (f"Proxy-Authorization: Token {X}", X),
    "a cookie": (f"Cookie: session={X}; id={HEX}", HEX),
    "GitHub": (f"ghp_{X}{X[:12]}", X),
    "GitHub, fine grained": (f"github_pat_{X}_{X}", X),
    "GitLab": (f"glpat-{X}", X),
    "Hugging Face": (f"hf_{X}", X),
    "OpenAI": (f"sk-proj-{X}", X),
    "Anthropic": (f"sk-ant-api03-{X}", X),
    "NVIDIA": (f"nvapi-{LONG}", LONG),
    "Google": (f"AIza{X}{X[:11]}", X),
    "Google, signed in": (f"ya29.{X}", X),
    "Alibaba Cloud": (f"LTAI5t{X}", X),
    "Tencent Cloud": (f"AKID{X}", X),
    "Slack": (f"xoxb-1234567890-{X}", X),
    "a web hook of Slack": (f"https://hooks.slack.com/services/T0/B0/{X}", X),
    "a web hook of DingTalk": (f"https://oapi.x/robot/send?access_token={HEX}", HEX),
    "a web hook of Feishu": (f"https://open.x/open-apis/bot/v2/hook/{X}", X),
    "Stripe": (f"sk_live_{X}", X),
    "npm": (f"npm_{X}{X[:12]}", X),
    "a package index": (f"pypi-AgEIcHlwaS5vcmc{X}", X),
    "Docker": (f"dckr_pat_{X}", X),
    "DigitalOcean": (f"dop_v1_{HEX}{HEX}", HEX),
    "Databricks": (f"dapi{HEX}", HEX),
    "SendGrid": (f"SG.{X}.{LONG}", X),
    "Vault": (f"hvs.{X}", X),
    "Terraform": (f"{X[:14]}.atlasv1.{LONG}", LONG),
    "Telegram": (f"1234567890:AA{X}{X[:9]}", X),
    "Grafana": (f"glsa_{X}_abcdef01", X),
    "Sentry": (f"sntrys_{X}=_{X}", X),
    "Atlassian": (f"ATATT3xFfGF0{X}", X),
    "Tailscale": (f"tskey-auth-{X}", X),
    "a JSON web token": (f"eyJhbGciOiJIUzI1NiJ9.{plain(X).strip('=')}.{X}", X),
    "an RSA key": (PEM.format(kind="RSA "), LONG),
    "an OpenSSH key": (PEM.format(kind="OPENSSH "), LONG),
    "a key that was cut": (f"-----BEGIN EC PRIVATE KEY-----\n{LONG}", LONG),
    "a kubeconfig": (f"    client-key-data: {plain(PEM)}\n    token: {X}", plain(PEM)[40:90]),
    "a .netrc": (f"machine host login alice password {X}", X),
    "a .netrc of lines": (f"machine host\n  login alice\n  password {X}\n", X),
    "a login of Docker": (
        f'{{"auths": {{"host": {{"auth": "{plain("a:" + X)}"}}}}}}',
        plain("a:" + X),
    ),
    "a .npmrc": (f"//host/:_authToken={X}", X),
    "an argument": (f"python serve.py --api-key {X} --port 80", X),
    "an argument with a sign": (f"python serve.py --hf-token={X} --port 80", X),
    "an argument of curl": (f"curl -u alice:{X} host", X),
    "a login of Docker, packed": (f".dockerconfigjson: eyJhdXRocyI6{LONG}=", LONG),
    "a short word": (f"DB_PASS={X}", X),
    "a short word by itself": (f"pass: {X}", X),
    "a key before what is shared": (f"psk={X}", X),
    "a directory": (f"bindpw: {X}", X),
    "a session": (f"JSESSIONID={X}", X),
    "a key in an address": (f"https://host/v1?key={X}&x=1", X),
    "a channel of conda": (f"https://host/t/ab-{X}/pkgs", X),
    "a proxy without a scheme": (f"http_proxy=alice:{X}@proxy:3128", X),
    "XML": (f"<password>{X}</password>", X),
    "a list of JSON": (f'{{"tokens": ["{X}", "{HEX}"]}}', HEX),
    "JSON on two lines": (f'{{"token":\n    "{X}"}}', X),
    "arguments as a list": (f'["--api-key", "{X}"]', X),
    "an arrow": (f"'password' => '{X}'", X),
    "three quotes": (f'secret = """{X}"""', X),
    "a word in Chinese": (f"\u5bc6\u7801\uff1a{X}", X),
    "a wide sign": (f"token\uff1d{X}", X),
    "a bearer in small letters": (f"bearer {X}", X),
    "sshpass": (f"sshpass -p {X} ssh host", X),
    "a login at a registry": (f"docker login -u a -p {X} host", X),
    "a hash of a password": (f"root:$6$saltsalt${LONG}:19000:0:99999:7:::", LONG),
    "a hash for a web server": (f"alice:$apr1$abcdefgh${X[:22]}", X[:22]),
    "Baidu": (f"bce-v3/ALTAK-{X}/{HEX}", HEX),
    "Replicate": (f"r8_{X}{X[:13]}", X),
    "age": (f"AGE-SECRET-KEY-1{LONG.upper()}", LONG.upper()),
    "a number in Chinese ways": ("SN: AENA20240001", "AENA20240001"),
    "a home": ("/home/alicia.q/venv", "alicia.q"),
    "a home on a share": ("/nfs/home2/alicia.q/venv", "alicia.q"),
    "a home of a Mac": ("/Users/alicia.q/venv", "alicia.q"),
    "a home of Windows": (r"C:\Users\alicia.q\venv", "alicia.q"),
    "a home in JSON": (r'"C:\\Users\\alicia.q\\venv"', "alicia.q"),
    "a home in short": ("~alicia.q/venv", "alicia.q"),
    "a serial number": ("Board Serial Number : AENA20240001", "AENA20240001"),
    "a serial number in JSON": ('"chip_serial": "TP0A00XYZ1"', "TP0A00XYZ1"),
    "an asset": ("Asset Tag: LAB-0042-77", "LAB-0042-77"),
    "a UUID": ("GPU-12345678-9abc-4ef0-a234-56789abcdef0", "56789abcdef0"),
    "a network card": ("ether 0a:1b:2c:3d:4e:5f brd", "0a:1b:2c:3d:4e:5f"),
    "an InfiniBand card": ("node_guid: 0a1b:2c3d:4e5f:6a7b", "0a1b:2c3d:4e5f:6a7b"),
    "a mail address": ("Author-email: Alicia <alicia.q@example.com>", "alicia.q"),
}
SECRETS = sorted({secret for _, secret in PLANTED.values()})
TEXT = "\n".join(text for text, _ in PLANTED.values() if "\\Z" not in text)


def leaks(text: str) -> list[str]:
    return [name for name, (_, secret) in PLANTED.items() if secret in text]


@pytest.mark.parametrize("name", PLANTED)
def test_each_is_masked_wherever_it_stands(name: str) -> None:
    text, secret = PLANTED[name]
    assert secret in text
    for around in ("{}", "before {} after", "a\n{}\nb", '"{}"', "x={}", "\t{}\r\n"):
        cleaned = clean(around.format(text))
        assert secret not in cleaned
        assert clean(cleaned) == cleaned


def test_there_are_many_kinds() -> None:
    assert len(PLANTED) >= 50


@pytest.mark.parametrize(
    "text",
    [
        "tokenizers==0.21.0",
        "secret-storage==3.3",
        "python-passwd==1.0",
        "registry.example.com:5000/vllm:0.17@sha256:0123456789abcdef",
        "ssh://node1:22/x",
        "0000:0f:00.0",
        "MXC500 | 0000:0f:00.0 | 64MiB",
        "~root/x",
        "/root/x",
        "user@1000.slice",
        "git+https://host/x/y@v1.2.3",
        "torch 2.8.0+metax3.5.3.9",
        "Basic information of the card",
        "authentic: yes",
        "the private key is elsewhere",
        "GCC 12.2.0 (Debian 12.2.0-14)",
        "sk-learn",
        "npm_config_cache",
        "task-2024-08-15-the-name-of-a-run",
        "-----BEGIN CERTIFICATE-----",
        "bypass=1 compass: north",
        "/opt/pw:/opt/sn:/opt/maca/lib",
        "pass==1.0",
        "<key_count>3</key_count>",
        "$1$2 and ${1}",
        "/t/short/x",
    ],
)
def test_what_only_looks_alike_is_left(text: str) -> None:
    assert clean(text) == text


def each(folder: Path) -> Iterator[str]:
    """Yield what every file below ``folder`` is called and holds."""
    for path in folder.rglob("*"):
        yield str(path.relative_to(folder))
        if path.is_symlink():
            yield str(path.readlink())
        elif path.is_file():
            yield path.read_text(encoding="utf-8", errors="replace")


@pytest.fixture
def node(tmp_path: Path) -> Path:
    """A recording into whose files and outputs all of it was put."""
    folder = tmp_path / "node"
    shutil.copytree(RECORDED, folder, symlinks=True)
    commands = json.loads((folder / "commands.json").read_text(encoding="utf-8"))
    for command in commands:
        command["stdout"] = f"{command.get('stdout', '')}\n{TEXT}\n"
        command["stderr"] = TEXT
    (folder / "commands.json").write_text(json.dumps(commands), encoding="utf-8")
    plant(folder / "root")
    return folder


def plant(root: Path) -> None:
    """Put all of it into every file that is read, as a value as well."""
    for path in root.rglob("*"):
        if path.is_file() and not path.is_symlink():
            text = path.read_text(encoding="utf-8", errors="replace")
            path.write_text(f"{text}\n{TEXT}\n", encoding="utf-8")
    values = [text for text, _ in PLANTED.values() if "\n" not in text and '"' not in text]
    for number, value in enumerate(values):
        info = root / f"opt/conda/lib/python3.10/site-packages/planted{number}-1.dist-info"
        info.mkdir(parents=True)
        metadata = f"Metadata-Version: 2.1\nName: planted{number}\nVersion: {value}\n"
        (info / "METADATA").write_text(f"{metadata}Author: {value}\n\n{TEXT}", encoding="utf-8")
        url = {"url": f"https://alice:{X}@host/x.git?{value}", "vcs_info": {"vcs": value}}
        (info / "direct_url.json").write_text(json.dumps(url), encoding="utf-8")
    for name in ("etc/pip.conf", "root/.config/uv/uv.toml", "root/.netrc", "root/.npmrc"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(f"[global]\nindex-url = https://u:{X}@host/\n{TEXT}")
    (root / "proc").mkdir(exist_ok=True)
    line = " ".join(f"rd.luks.key={value}" for value in values)
    (root / "proc/cmdline").write_text(f"BOOT_IMAGE=/x iommu=pt {line}\n", encoding="utf-8")
    release = "".join(f'ID="{value}"\nVERSION_ID="{value}"\n' for value in values)
    (root / "etc/os-release").write_text(release, encoding="utf-8")


def mxenv(*arguments: str | Path, **variables: str) -> str:
    done = subprocess.run(
        [PROGRAM, *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env={"PATH": "/usr/bin:/bin", **variables},
    )
    assert done.returncode != 70, done.stderr
    return done.stdout + done.stderr


@pytest.mark.parametrize("scheme", ["recording", "root"])
def test_no_command_says_one(node: Path, tmp_path: Path, scheme: str) -> None:
    address = f"recording:{node}" if scheme == "recording" else f"root:{node}/root"
    said = [
        mxenv("probe", "-v", "--on", address),
        mxenv("probe", "--format", "json", "--on", address),
    ]
    said += [
        mxenv("check", "-v", "--on", address, "--format", form)
        for form in _plugins.names("reports")
    ]
    said += [
        mxenv("record", "-v", "--on", address, "--out", tmp_path / "out/again"),
        mxenv("probe", "--on", address, "--out", tmp_path / "out/snapshot.json"),
        mxenv("diff", RECORDED, address),
        mxenv("check", "-v", "--on", address, "--on", f"recording:{RECORDED}"),
    ]
    said += each(tmp_path / "out")
    assert leaks("\n".join(said)) == []


def test_a_recording_of_it_is_clean_and_says_the_same(node: Path, tmp_path: Path) -> None:
    first = nodes.record(f"recording:{node}", tmp_path / "first", now=NOW)
    again = nodes.probe(f"recording:{tmp_path / 'first'}", now=NOW)
    assert nodes.fingerprint_of(first) == nodes.fingerprint_of(again)


def test_this_machine_tells_none(node: Path, tmp_path: Path) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    (tmp_path / "planted").write_text(TEXT, encoding="utf-8")
    for tool in {argv[0] for argv in nodes.allowed()}:
        (tools / tool).write_text(f"#!/bin/sh\ncat {tmp_path}/planted\n", encoding="utf-8")
        (tools / tool).chmod(0o755)
    # All at once, in what is read of the caller's variables, and in what is not.
    values = " | ".join(text for text, _ in PLANTED.values() if "\n" not in text)
    environment = {
        **{question.name: values for question in variables()},
        "HF_TOKEN": X,
        "PIP_INDEX_URL": f"https://u:{X}@host/",
    }
    terms = Terms(allowed=nodes.allowed(), seconds=60)
    machine = local.host(terms, environment, root=str(node / "root"), directories=(str(tools),))
    answers = nodes.ask(machine)
    snapshot = nodes.look(machine, now=NOW)
    machine.end()
    recorded = recorder.render(
        answers, node="n", view=machine.view, taken_at=NOW, provenance="a test"
    )
    said = [files.to_json(snapshot, nodes.keys()), *recorded]
    said += [content.decode(errors="replace") for content in recorded.values()]
    assert leaks("\n".join(said)) == []


def variables() -> Iterable[Env]:
    return [q for probe in nodes.probes() for q in probe.questions if isinstance(q, Env)]


@pytest.mark.skipif("report" not in _plugins.names("transports"), reason="there is no report:")
def test_a_report_that_was_pasted_tells_none(tmp_path: Path) -> None:
    table = json.loads((RECORDED / "commands.json").read_text(encoding="utf-8"))[0]["stdout"]
    pasted = (
        f"```\n$ mx-smi\n{table}\n```\nCollecting environment information...\n"
        f"PyTorch version: 2.8.0\nOS: Ubuntu 22.04 {X}\n{TEXT}\n"
        f"$ pip list\nPackage Version Editable project location\n------- -------\n"
        f"torch   2.8.0   /home/alicia.q/x\n$ uname -a\nLinux n 5.15.0 x86_64\n"
    )
    (tmp_path / "report.md").write_text(pasted, encoding="utf-8")
    address = f"report:{tmp_path / 'report.md'}"
    said = [
        mxenv("probe", "-v", "--on", address),
        mxenv("record", "--on", address, "--out", tmp_path / "r"),
    ]
    said += each(tmp_path / "r")
    found = [name for name in leaks("\n".join(said)) if PLANTED[name][1] != X]
    assert found == []
