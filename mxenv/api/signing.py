"""Who vouches for a matrix or an image: Ed25519 signatures, as OpenSSL makes them too."""

from __future__ import annotations

import hashlib
import importlib.util
from typing import TYPE_CHECKING

from mxenv import _files
from mxenv.errors import MatrixError, UsageError
from mxenv.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from cryptography.hazmat.primitives.asymmetric.ed25519 import (
        Ed25519PrivateKey,
        Ed25519PublicKey,
    )

SUFFIX = ".sig"
"""What follows the name of a file in that of its signature: 64 bytes, over the file's bytes."""
LENGTH = 64
_LARGEST_KEY = 1 << 16
_OPENSSH = b"-----BEGIN OPENSSH"
MAKE = "`openssl genpkey -algorithm ed25519 -out site.pem` makes one"


def beside(path: Path) -> Path:
    """Return where the signature of ``path`` lies."""
    return path.with_name(path.name + SUFFIX)


def sign(path: Path, key: Path, out: Path | None = None) -> Path:
    """Write the signature of the file at ``path``, and return where."""
    private = _private(key)
    try:
        content = _files.read(path, limit=1 << 24)
    except (OSError, ValueError) as error:
        raise MatrixError(f"cannot be read: {_files.why(error)}", context=str(path)) from None
    target = out or beside(path)
    _files.write_atomically(target, private.sign(content))
    return target


def check(content: bytes, path: Path, keys: Sequence[Path]) -> Path:
    """Return which of ``keys`` signed ``content``, that of ``path``; refuse it otherwise."""
    known = [(key, _public(key)) for key in keys]
    place = beside(path)
    try:
        signature = _files.read(place, limit=_LARGEST_KEY)
    except FileNotFoundError:
        hint = f"its signature would be {place}; `mxenv matrix sign` makes one"
        raise MatrixError("is not signed", context=str(path), hint=hint) from None
    except (OSError, ValueError) as error:
        raise MatrixError(f"cannot be read: {_files.why(error)}", context=str(place)) from None
    if len(signature) != LENGTH:
        said = f"{len(signature)} bytes, and a signature has {LENGTH}"
        raise MatrixError(f"is no signature: {said}", context=str(place))
    for key, public in known:
        if _verifies(public, signature, content):
            return key
    names = ", ".join(map(str, keys))
    hint = "either the file was altered after it was signed, or somebody else signed it"
    raise MatrixError(
        f"its signature is not by {names} over what it says", context=str(path), hint=hint
    )


@frozen
class Signer:
    """A private key that was read, ready to sign."""

    key: str
    """``sha256:`` and the digest of its public half (DER, SubjectPublicKeyInfo)."""
    sign: Callable[[bytes], bytes]


@frozen
class Verifier:
    """A public key that was read, ready to say what it signed."""

    path: Path
    key: str
    public: Ed25519PublicKey

    def signed(self, content: bytes, signature: bytes) -> bool:
        """Return whether this key signed ``content``."""
        return _verifies(self.public, signature, content)


def signer(path: Path) -> Signer:
    """Return what signs with the private key at ``path``."""
    private = _private(path)
    return Signer(key=_name(private.public_key()), sign=private.sign)


def verifier(path: Path) -> Verifier:
    """Return what knows the signatures of the public key at ``path``."""
    public = _public(path)
    return Verifier(path=path, key=_name(public), public=public)


def _name(public: Ed25519PublicKey) -> str:
    """Return what a key is called: ``openssl pkey -pubin -outform DER | sha256sum`` says it."""
    from cryptography.hazmat.primitives.serialization import (  # noqa: PLC0415 - imported late: slow
        Encoding,
        PublicFormat,
    )

    content = public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def _verifies(public: Ed25519PublicKey, signature: bytes, content: bytes) -> bool:
    from cryptography.exceptions import InvalidSignature  # noqa: PLC0415 - imported late: see _need

    try:
        public.verify(signature, content)
    except InvalidSignature:
        return False
    return True


def _need() -> None:
    """Refuse to go on without the library: a signature that nobody can check is none."""
    if importlib.util.find_spec("cryptography") is None:
        hint = "install it: pip install 'mxenv[sign]'"
        raise UsageError("signatures need the library cryptography", hint=hint)


def _private(path: Path) -> Ed25519PrivateKey:
    _need()
    from cryptography.hazmat.primitives import serialization  # noqa: PLC0415 - imported late: slow
    from cryptography.hazmat.primitives.asymmetric import ed25519  # noqa: PLC0415 - the same

    content = _key(path)
    load = (
        serialization.load_ssh_private_key
        if content.startswith(_OPENSSH)
        else serialization.load_pem_private_key
    )
    try:
        key = load(content, password=None)
    except TypeError:
        hint = "a passphrase cannot be given here; decrypt a copy for this, or sign with openssl"
        raise UsageError("the key is encrypted", context=str(path), hint=hint) from None
    except Exception:  # noqa: BLE001 - the library raises many kinds for what is no key
        raise UsageError("no private key", context=str(path), hint=MAKE) from None
    if not isinstance(key, ed25519.Ed25519PrivateKey):
        raise UsageError("not an Ed25519 key", context=str(path), hint=MAKE)
    return key


def _public(path: Path) -> Ed25519PublicKey:
    _need()
    from cryptography.hazmat.primitives import serialization  # noqa: PLC0415 - imported late: slow
    from cryptography.hazmat.primitives.asymmetric import ed25519  # noqa: PLC0415 - the same

    content = _key(path)
    load = (
        serialization.load_ssh_public_key
        if content.startswith(b"ssh-")
        else serialization.load_pem_public_key
    )
    hint = "`openssl pkey -in site.pem -pubout -out site.pub.pem` makes one of a private key"
    try:
        key = load(content)
    except Exception:  # noqa: BLE001 - the library raises many kinds for what is no key
        raise UsageError("no public key", context=str(path), hint=hint) from None
    if not isinstance(key, ed25519.Ed25519PublicKey):
        raise UsageError("not an Ed25519 key", context=str(path), hint=MAKE)
    return key


def _key(path: Path) -> bytes:
    try:
        return _files.read(path, limit=_LARGEST_KEY)
    except (OSError, ValueError) as error:
        hint = "name a file that holds a key"
        said = f"cannot be read: {_files.why(error)}"
        raise UsageError(said, context=str(path), hint=hint) from None
