"""How a registry is spoken to: attempts, authentication, redirects."""

from __future__ import annotations

import io
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit

import requests

from mxenv import __version__
from mxenv.errors import MxenvError, RegistryError
from mxenv.stores import _certificates
from mxenv.stores._bodies import Ask, Body, Passing, Sized
from mxenv.stores._credentials import Credentials, credentials
from mxenv.stores._digests import printable
from mxenv.stores._reference import DOCKER_HUB, without_tls
from mxenv.stores._words import (
    advice,
    last_word,
    nobody,
    origin_of,
    pairs,
    reason,
    retry_after,
    scopes,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

ATTEMPTS = 4
"""How often something is tried before the registry's last word counts."""
LONGEST_WAIT = 30.0
"""Seconds; a registry that asks for more has refused."""
CONNECT = 10.0
"""Seconds to connect."""
STALL = 60.0
"""Seconds in which nothing moves; how long all of a transfer takes is nobody's concern."""

_AGAIN = frozenset({429, 500, 502, 503, 504})
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_MOST_REDIRECTS = 5
_CREATED, _UNAUTHORIZED, _PRECONDITION = 201, 401, 412
_HTTPS = 443
_ALWAYS = {"User-Agent": f"mxenv/{__version__}", "Accept-Encoding": "identity"}
_HUB_API = "registry-1.docker.io"


class _NoAuthentication(requests.auth.AuthBase):
    """Keeps `requests` from putting the credentials of a ``.netrc`` in place of ours."""

    def __call__(self, r: requests.PreparedRequest) -> requests.PreparedRequest:
        return r


@dataclass(slots=True, kw_only=True)
class Client:
    """A conversation with one registry; it remembers the tokens it was given."""

    host: str
    environ: Mapping[str, str]
    sleep: Callable[[float], None] = time.sleep
    stall: float = STALL
    _session: requests.Session = field(default_factory=requests.Session)
    _tokens: dict[str, str] = field(default_factory=dict)
    _credentials: list[Credentials | None] = field(default_factory=list)

    @property
    def origin(self) -> str:
        """Return scheme, host and port."""
        host = _HUB_API if self.host == DOCKER_HUB else self.host
        return f"{'http' if self._plain(self.host) else 'https'}://{host}"

    def _plain(self, host: str) -> bool:
        named = self.environ.get("MXENV_INSECURE_REGISTRIES", "")
        certified = any(_certificates.folders(host, self.environ))
        return without_tls(host, named, certified=certified)

    def attempt(self, what: Callable[[], requests.Response]) -> requests.Response:
        """Return what ``what`` does, tried again while the failure may pass."""
        for number in range(ATTEMPTS):
            try:
                return what()
            except Passing as failure:
                self.pause(number + 1, failure)
        raise AssertionError  # pragma: no cover - the last attempt returns or raises

    def pause(self, failures: int, failure: Passing) -> None:
        """Wait before the next attempt; after the last one the registry's last word counts."""
        wait = failure.wait if failure.wait is not None else 0.5 * 2 ** (failures - 1)
        if failures >= ATTEMPTS or wait > LONGEST_WAIT:
            said = f"{failure.word}, asks for {wait:.0f} s" if wait > LONGEST_WAIT else failure.word
            times = f"{failures} attempt{'s' * (failures > 1)}"
            raise RegistryError(f"gave up after {times}: {said}", context=self.host) from None
        self.sleep(wait)

    def call(  # noqa: PLR0913 - what a request is made of
        self,
        method: str,
        target: str,
        *,
        scope: str,
        headers: Mapping[str, str] | None = None,
        body: Body | None = None,
        patience: float = 0.0,
    ) -> requests.Response:
        """Make one attempt, with authentication if asked and redirects; raise `Passing`.

        ``scope`` names the permission that is needed, so that its token is found again;
        ``patience`` how many seconds longer than usual the answer may take.
        """
        url = self._allowed(f"{self.origin}/", target)
        ask = Ask(
            method=method,
            scope=scope,
            headers={**_ALWAYS, **(headers or {})},
            body=body,
            patience=self.stall + patience,
        )
        response = self._follow(ask, url)
        if response.status_code == _UNAUTHORIZED and self._authenticate(response, scope):
            response.close()
            response = self._follow(ask, url)
        if response.status_code in _AGAIN:
            wait = retry_after(response.headers.get("Retry-After", ""))
            word = last_word(response)
            response.close()
            raise Passing(word, wait)
        return response

    def put(
        self, target: str, content: bytes, headers: Mapping[str, str], refused: str
    ) -> requests.Response:
        """Put a manifest, as often as it takes; return what the registry said when it took it.

        A failed condition is returned as well. ``refused`` begins the error about all else.
        """
        body = (lambda: io.BytesIO(content), len(content))

        def send() -> requests.Response:
            response = self.call("PUT", target, scope="push", headers=headers, body=body)
            conditional = response.status_code == _PRECONDITION and "If-Match" in headers
            if response.status_code == _CREATED or conditional:
                return response
            refusal = self.refusal(refused, response)
            # A registry that keeps files may meet a link that another writes just now, and takes
            # the half of it for no digest: it has nothing to do with what is put.
            if "DIGEST_INVALID" in refusal.message:
                raise Passing(refusal.message) from refusal
            raise refusal

        return self.attempt(send)

    def _follow(self, ask: Ask, url: str) -> requests.Response:
        for _ in range(_MOST_REDIRECTS + 1):
            response = self._send(ask, url)
            location = response.headers.get("Location", "")
            if ask.method not in {"GET", "HEAD"} or response.status_code not in _REDIRECTS:
                return response
            response.close()
            url = self._allowed(url, location)
        raise RegistryError(f"redirects more than {_MOST_REDIRECTS} times", context=self.host)

    def _headers(self, ask: Ask, url: str) -> dict[str, str]:
        """Add the token; one for another host than the registry's own does not exist."""
        token = self._tokens.get(ask.scope)
        if token is None or origin_of(url) != origin_of(self.origin):
            return dict(ask.headers)
        return {**ask.headers, "Authorization": token}

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
            if self._plain(where):
                return url
        raise RegistryError(f"leads to {printable(url)!r}", context=self.host)

    def _send(self, ask: Ask, url: str) -> requests.Response:
        self._trust(url)
        stream = ask.body[0]() if ask.body else None
        size = ask.body[1] if ask.body else 0
        try:
            return self._session.request(
                ask.method,
                url,
                headers=self._headers(ask, url),
                # Without data `requests` says that the length is nothing, as it is then.
                data=Sized(stream, size) if size and stream else None,
                auth=_NoAuthentication(),
                allow_redirects=False,
                stream=True,
                # What is sent may stall as long as what comes; the library takes the first for it.
                timeout=(self.stall if size else CONNECT, ask.patience),
            )
        except requests.exceptions.SSLError as error:
            raise RegistryError(
                f"TLS failed: {reason(error)}",
                context=self.host,
                hint=f"put its CA into {_certificates.FOLDERS[-1]}/{self.host}/ca.crt, name it in "
                "SSL_CERT_FILE, or the host in MXENV_INSECURE_REGISTRIES",
            ) from error
        except requests.exceptions.ProxyError as error:
            raise self._unreachable(error) from error
        except requests.exceptions.ConnectionError as error:
            if nobody(error):
                raise self._unreachable(error) from error
            raise Passing(reason(error)) from error
        except requests.exceptions.Timeout as error:
            raise Passing(f"no answer within {ask.patience:g} s") from error
        except (requests.exceptions.RequestException, ValueError) as error:
            raise RegistryError(reason(error), context=self.host) from error
        finally:
            if stream is not None:
                stream.close()

    def _trust(self, url: str) -> None:
        """Have connections to where ``url`` leads made with the certificates for that host."""
        scheme, name, port = origin_of(url)
        prefix = f"https://{urlsplit(url).netloc}/"
        if scheme != "https" or prefix in self._session.adapters:
            return
        host = f"[{name}]" if name and ":" in name else name or ""
        there = host if port == _HTTPS else f"{host}:{port}"
        context = _certificates.context(there, self.environ)
        self._session.mount(prefix, _certificates.Adapter(context))

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
        try:
            known = self._known()
            match scheme.lower():
                case "basic" if known and known.user and self._tokens.get(scope) != known.basic:
                    self._tokens[scope] = known.basic
                case "bearer":
                    self._tokens[scope] = f"Bearer {self._token(pairs(rest), known)}"
                case _:
                    return False
        except BaseException:
            response.close()
            raise
        return True

    def _known(self) -> Credentials | None:
        """Return the user's credentials; they are looked for when first asked for."""
        if not self._credentials:
            self._credentials.append(credentials(self.host, self.environ))
        return self._credentials[0]

    def _token(self, asked: Mapping[str, str], known: Credentials | None) -> str:
        """Return a token from the server that the challenge names."""
        realm = self._allowed("", asked.get("realm", ""))
        self._trust(realm)
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
                timeout=(CONNECT, self.stall),
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
        certificate = f"{_certificates.FOLDERS[-1]}/{self.host}/ca.crt"
        hint = advice(
            response.status_code, self.host, certificate if self._plain(self.host) else ""
        )
        word = last_word(response)
        response.close()
        return RegistryError(f"{what}: {word}", context=self.host, hint=hint)
