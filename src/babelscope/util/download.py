"""Downloading a file: with retries, checked by SHA-256, and written whole or not at all."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import httpx
import tenacity

from babelscope.util.errors import BabelscopeError, SystemFailure
from babelscope.util.files import replacing

ATTEMPTS = 4
WAIT: Callable[[tenacity.RetryCallState], float] = tenacity.wait_random_exponential(multiplier=1, max=10)
_TEMPORARY_STATUS = {408, 425, 429}


def download(
    url: str, path: Path, *, size: int, sha256: str, advance: Callable[[int], None] = lambda _: None
) -> None:
    """Download `url` to `path` if size and SHA-256 are as expected; otherwise leave `path` unchanged."""
    retrying = tenacity.Retrying(
        stop=tenacity.stop_after_attempt(ATTEMPTS),
        wait=WAIT,
        retry=tenacity.retry_if_exception(_is_temporary),
        reraise=True,
    )
    try:
        retrying(_attempt, url, path, size, sha256, advance)
    except httpx.HTTPStatusError as error:
        reason = f"the server says {error.response.status_code} {error.response.reason_phrase}"
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        reason = str(error) or type(error).__name__
    else:
        return
    raise SystemFailure(f"{url} cannot be downloaded: {reason}; it belongs at {path}")


def _attempt(url: str, path: Path, size: int, sha256: str, advance: Callable[[int], None]) -> None:
    digest = hashlib.sha256()
    received = 0
    try:
        with replacing(path) as file, httpx.stream("GET", url, follow_redirects=True, timeout=30) as response:
            response.raise_for_status()
            for chunk in response.iter_bytes():
                received += len(chunk)
                if received > size:
                    raise BabelscopeError(
                        f"{url} is not the published file: it has more than {size} bytes; nothing was kept"
                    )
                digest.update(chunk)
                file.write(chunk)
                advance(len(chunk))
            if digest.hexdigest() != sha256:
                raise BabelscopeError(
                    f"{url} is not the published file: its SHA-256 is {digest.hexdigest()}, "
                    f"expected {sha256}; nothing was kept"
                )
    except BaseException:
        advance(-received)
        raise


def _is_temporary(error: BaseException) -> bool:
    """Whether another attempt may succeed."""
    if isinstance(error, httpx.HTTPStatusError):
        return error.response.status_code >= 500 or error.response.status_code in _TEMPORARY_STATUS
    return isinstance(error, httpx.TransportError) and not isinstance(error, httpx.UnsupportedProtocol)
