"""How a registry is spoken to: attempts, authentication, redirects."""

from __future__ import annotations

import io
import time
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import TYPE_CHECKING, BinaryIO
from urllib.parse import urljoin

import requests
import urllib3

from mxenv import __version__
from mxenv.errors import MxenvError, RegistryError
from mxenv.stores._credentials import Credentials, credentials
from mxenv.stores._digests import printable
from mxenv.stores._documents import LARGEST
from mxenv.stores._reference import DOCKER_HUB, hostname
from mxenv.stores._words import (
    last_word,
    nobody,
    origin_of,
    pairs,
    reason,
    retry_after,
    scopes,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

ATTEMPTS = 4
"""How often something is tried before the registry's last word counts."""
LONGEST_WAIT = 30.0
"""Seconds; a registry that asks for more has refused."""
TIMEOUTS = (10.0, 60.0)
"""Seconds to connect, and between two pieces of an answer."""

_AGAIN = frozenset({429, 500, 502, 503, 504})
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_MOST_REDIRECTS = 5
_UNAUTHORIZED = 401
_PIECE = 1 << 18
_HUB_API = "registry-1.docker.io"

Body = tuple["Callable[[], BinaryIO]", int]
"""How to open what is sent, for every attempt anew, and how long it is."""


class Passing(Exception):
    """An attempt failed in a way that the next may not."""

    def __init__(self, word: str, wait: float | None = None) -> None:
        """Keep the registry's ``word`` and how long it asked to be left alone."""
        super().__init__(word)
        self.word = word
        self.wait = wait


class _Sized:
    """A body with a length, so that it is sent with one."""

    def __init__(self, stream: BinaryIO, size: int) -> None:
        self._stream = stream
        self._size = size

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[bytes]:
        while data := self.read(1 << 16):
            yield data

    def read(self, size: int = -1) -> bytes:
        # Larger pieces than `http.client` asks for: it has no reason for 16 KiB.
        return self._stream.read(max(size, 1 << 18) if size >= 0 else size)


class _NoAuthentication(requests.auth.AuthBase):
    """Keeps `requests` from putting the credentials of a ``.netrc`` in place of ours."""

    def __call__(self, r: requests.PreparedRequest) -> requests.PreparedRequest:
        return r


def small_body(response: requests.Response) -> bytes:
    """Return a small body, whole."""
    content = b""
    try:
        # Only a read that finds nothing tells an end from a connection that broke.
        while len(content) <= LARGEST and (data := response.raw.read(_PIECE)):
            content += data
    except (urllib3.exceptions.HTTPError, OSError) as error:
        raise Passing(f"broke off: {error}") from error
    finally:
        response.close()
    if len(content) > LARGEST:
        raise Passing("sent more than any manifest needs")
    return content


@dataclass(slots=True, kw_only=True)
class Client:
    """A conversation with one registry; it remembers the tokens it was given."""

    host: str
    environ: Mapping[str, str]
    sleep: Callable[[float], None] = time.sleep
    _session: requests.Session = field(default_factory=requests.Session)
    _tokens: dict[str, str] = field(default_factory=dict)
    _credentials: list[Credentials | None] = field(default_factory=list)

    @property
    def origin(self) -> str:
        """Return scheme, host and port."""
        host = _HUB_API if self.host == DOCKER_HUB else self.host
        return f"{'http' if self.plain(self.host) else 'https'}://{host}"

    def plain(self, host: str) -> bool:
        """Return whether ``host`` may be spoken to without encryption."""
        name = hostname(host)
        named = self.environ.get("MXENV_INSECURE_REGISTRIES", "").replace(",", " ").split()
        if name == "localhost" or host in named or name in named:
            return True
        try:
            return ip_address(name).is_loopback
        except ValueError:
            return False

    def attempt(self, what: Callable[[], requests.Response]) -> requests.Response:
        """Return what ``what`` does, tried again while the failure may pass."""
        for number in range(ATTEMPTS):
            try:
                return what()
            except Passing as failure:
                wait = failure.wait if failure.wait is not None else 0.5 * 2**number
                if number + 1 == ATTEMPTS or wait > LONGEST_WAIT:
                    raise RegistryError(
                        f"gave up after {number + 1} attempts: {failure.word}", context=self.host
                    ) from None
                self.sleep(wait)
        raise AssertionError  # pragma: no cover - the last attempt returns or raises

    def call(
        self,
        method: str,
        target: str,
        *,
        scope: str,
        headers: Mapping[str, str] | None = None,
        body: Body | None = None,
    ) -> requests.Response:
        """Make one attempt, with authentication if asked and redirects; raise `Passing`.

        ``scope`` names the permission that is needed, so that its token is found again.
        """
        url = self._allowed(f"{self.origin}/", target)
        sent = {"User-Agent": f"mxenv/{__version__}", "Accept-Encoding": "identity"}
        sent.update(headers or {})
        response = self._follow(method, url, scope, sent, body)
        if response.status_code == _UNAUTHORIZED and self._authenticate(response, scope):
            response.close()
            response = self._follow(method, url, scope, sent, body)
        if response.status_code in _AGAIN:
            wait = retry_after(response.headers.get("Retry-After", ""))
            word = last_word(response)
            response.close()
            raise Passing(word, wait)
        return response

    def put(self, target: str, content: bytes, headers: Mapping[str, str]) -> requests.Response:
        """Send something small, as often as it takes."""
        body = (lambda: io.BytesIO(content), len(content))
        return self.attempt(
            lambda: self.call("PUT", target, scope="push", headers=headers, body=body)
        )

    def _follow(
        self, method: str, url: str, scope: str, headers: Mapping[str, str], body: Body | None
    ) -> requests.Response:
        for _ in range(_MOST_REDIRECTS + 1):
            response = self._send(method, url, self._with_token(url, scope, headers), body)
            location = response.headers.get("Location", "")
            if method not in {"GET", "HEAD"} or response.status_code not in _REDIRECTS:
                return response
            response.close()
            url = self._allowed(url, location)
        raise RegistryError(f"redirects more than {_MOST_REDIRECTS} times", context=self.host)

    def _with_token(self, url: str, scope: str, headers: Mapping[str, str]) -> dict[str, str]:
        """Add the token; one for another host than the registry's own does not exist."""
        token = self._tokens.get(scope)
        if token is None or origin_of(url) != origin_of(self.origin):
            return dict(headers)
        return {**headers, "Authorization": token}

    def _allowed(self, start: str, target: str) -> str:
        """Return where ``target`` leads, unless that gives up the encryption that there was."""
        try:
            url = urljoin(start, target)
        except ValueError:
            url = target
        scheme, host, port = origin_of(url)
        if scheme == "https":
            return url
        if scheme == "http" and host and self.origin.startswith("http:"):
            where = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
            if self.plain(where):
                return url
        raise RegistryError(f"leads to {printable(url)!r}", context=self.host)

    def _send(
        self, method: str, url: str, headers: Mapping[str, str], body: Body | None
    ) -> requests.Response:
        stream = body[0]() if body else None
        try:
            return self._session.request(
                method,
                url,
                headers=headers,
                # Without data `requests` says that the length is nothing, as it is then.
                data=_Sized(stream, body[1]) if body and body[1] and stream else None,
                auth=_NoAuthentication(),
                allow_redirects=False,
                stream=True,
                timeout=TIMEOUTS,
            )
        except requests.exceptions.SSLError as error:
            raise RegistryError(
                f"TLS failed: {reason(error)}",
                context=self.host,
                hint="name its CA in REQUESTS_CA_BUNDLE, or the host in MXENV_INSECURE_REGISTRIES",
            ) from error
        except requests.exceptions.ProxyError as error:
            raise self._unreachable(error) from error
        except requests.exceptions.ConnectionError as error:
            if nobody(error):
                raise self._unreachable(error) from error
            raise Passing(reason(error)) from error
        except requests.exceptions.Timeout as error:
            raise Passing(f"no answer within {TIMEOUTS[1]:g} s") from error
        except (requests.exceptions.RequestException, ValueError) as error:
            raise RegistryError(reason(error), context=self.host) from error
        finally:
            if stream is not None:
                stream.close()

    def _unreachable(self, error: Exception) -> RegistryError:
        return RegistryError(
            f"cannot be reached: {reason(error)}",
            context=self.host,
            hint="check the name and the network; proxies are taken from HTTPS_PROXY",
        )

    def _authenticate(self, response: requests.Response, scope: str) -> bool:
        """Get what the challenge asks for; return whether another attempt makes sense."""
        challenge = response.headers.get("WWW-Authenticate", "")
        scheme, _, rest = challenge.strip().partition(" ")
        known = self._known()
        match scheme.lower():
            case "basic" if known and known.user and self._tokens.get(scope) != known.basic:
                self._tokens[scope] = known.basic
            case "bearer":
                self._tokens[scope] = f"Bearer {self._token(pairs(rest), known)}"
            case _:
                return False
        return True

    def _known(self) -> Credentials | None:
        """Return the user's credentials; they are looked for when first asked for."""
        if not self._credentials:
            self._credentials.append(credentials(self.host, self.environ))
        return self._credentials[0]

    def _token(self, asked: Mapping[str, str], known: Credentials | None) -> str:
        """Return a token from the server that the challenge names."""
        realm = self._allowed("", asked.get("realm", ""))
        query = {name: asked[name] for name in ("service", "scope") if asked.get(name)}
        headers = {"User-Agent": f"mxenv/{__version__}", "Accept": "application/json"}
        if known and known.user:
            headers["Authorization"] = known.basic
        form = None
        if known and known.identity:
            form = {**query, "grant_type": "refresh_token", "client_id": "mxenv"}
            form["refresh_token"] = known.identity
        try:
            response = self._session.request(
                "POST" if form else "GET",
                realm,
                params=None if form else scopes(query),
                data=form,
                headers=headers,
                auth=_NoAuthentication(),
                allow_redirects=False,
                timeout=TIMEOUTS,
            )
        except requests.exceptions.RequestException as error:
            raise RegistryError(
                f"no token from {realm}: {reason(error)}", context=self.host
            ) from error
        if response.status_code in _AGAIN:
            raise Passing(last_word(response), retry_after(response.headers.get("Retry-After", "")))
        if response.status_code != requests.codes.ok:
            raise self.refusal("no token", response)
        try:
            answer = response.json()
            return str(answer.get("token") or answer["access_token"])
        except (ValueError, KeyError, AttributeError):
            raise RegistryError(
                f"no token from {realm}: not understood", context=self.host
            ) from None

    def refusal(self, what: str, response: requests.Response) -> MxenvError:
        """Return the error that says what the registry refused, ending with its last word."""
        hint = ""
        if response.status_code in {_UNAUTHORIZED, requests.codes.forbidden}:
            hint = f"`docker login {self.host}`; mxenv reads the same configuration"
        word = last_word(response)
        response.close()
        return RegistryError(f"{what}: {word}", context=self.host, hint=hint)
