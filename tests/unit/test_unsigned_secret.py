"""Secrets that no sign stands before: by the program, the table, or the sentence around them."""

from __future__ import annotations

import time

import pytest

from mxenv.redaction import clean

PLANTED = "hUnter2-Zq9"


@pytest.mark.parametrize(
    "text",
    [
        "mysql -u root -p{} -h db",
        "/usr/bin/mysqldump -p{} all",
        "mariadb-dump -p{}",
        "7z x -p{} a.7z",
        "redis-cli -h h -a {} ping",
        "ldapsearch -D cn=x -w {} -b y",
        "mongosh -u a -p {} db",
        "zip -P {} a.zip b",
        "unzip -P {} a.zip",
        "sqlcmd -U sa -P {}",
        "ipmitool -H h -U ADMIN -P {} sensor",
        "snmpget -v3 -A {} h",
        "smbclient -U me%{} //h/s",
        "curl -ume:{} https://x",
        "htpasswd -b file me {}",
        "| password | {} |",
        "| `HF_TOKEN` | {} |",
        "│ password │ {} │",
        "WANDB_API_KEY   | {}",
        "password   {}",
        "my password is {}",
        "login ok with password {}",
        "密码 {}",
        '{{"name": "DB_PASSWORD", "value": "{}"}}',
        "- name: DB_PASSWORD\n  value: {}\n",
        "<property><name>db.password</name><value>{}</value></property>",
        "ENV HF_TOKEN {}",
        "set -x HF_TOKEN {}",
        "setx HF_TOKEN {}",
        "next=https%3A%2F%2Fx%3Ftoken%3D{}",
        "from https%3A%2F%2Fx%3Ftoken%3D{} it came",
    ],
)
def test_what_is_told_without_a_sign_is_masked(text: str) -> None:
    cleaned = clean(text.format(PLANTED))
    assert PLANTED not in cleaned
    assert "***" in cleaned
    assert clean(cleaned) == cleaned


@pytest.mark.parametrize(
    "text",
    [
        "password:\n  {}",
        "password:\n\n  {}",
        "db:\n  password: >-\n    {}\n  port: 1",
        "token: |\n    {}\nother: x",
        "token: |\n    one\n\n    {}\nother: x",
        "tokens:\n  - {}\n  - {}\n",
        "tokens:\n- {}\n- {}\nport: 1\n",
        '- password:\n    "{}"\n',
        'password = """\n{}\n"""',
        "password := {}",
        '{{\\"password\\": \\"{}\\"}}',
    ],
)
def test_what_stands_on_the_lines_below_its_name_is_masked(text: str) -> None:
    cleaned = clean(text.replace("{}", PLANTED).replace("{{", "{").replace("}}", "}"))
    assert PLANTED not in cleaned
    assert clean(cleaned) == cleaned
    for kept in ("port: 1", "other: x"):
        assert (kept in cleaned) == (kept in text)


@pytest.mark.parametrize(
    "text",
    [
        "| Package | Version |\n|---|---|\n| tokenizers | 0.21.0 |\n| token | 1.0.2 |",
        "| user | password |\n| --- | --- |",
        "ENV TOKENIZERS_PARALLELISM false",
        "tokenizers      0.21.0",
        "mysqlclient 2.1.0 -p",
        "docker run -e A=b -p 80:80 mysql:8",
        "python -u script.py -p 8080",
        "password authentication failed for user x",
        "auth:\n  user: x\n  b: c",
        "tokens:\n  count: 5",
        "keys:\n- a: b",
        "key:\n\nother line",
        "secret:",
        "token:\n",
        '{"name": "tokenizers", "value": "0.2"}',
        "set -e\nset -x",
        "passwd      1:4.8.1-1+deb12u1",
    ],
)
def test_what_only_looks_like_it_is_kept(text: str) -> None:
    assert clean(text) == text


@pytest.mark.parametrize(
    "piece",
    [
        "password:\n",
        "- password: |\n",
        "tokens:\n- a\n",
        "mysql ",
        "|token",
        "| token ",
        "password is ",
        "ENV token ",
        "htpasswd -b a ",
        "password%3D",
        "<name>token</name> ",
        'password="""',
        'name: token" ',
    ],
)
def test_however_often_it_begins_it_takes_no_longer_than_there_is_text(piece: str) -> None:
    def seconds(times: int) -> float:
        began = time.process_time()
        clean(piece * times)
        return time.process_time() - began

    assert seconds(16_000) < 16 * max(seconds(4000), 0.02)
