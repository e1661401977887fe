"""Downloading a file: with retries that resume where a connection broke, checked, and written whole or not at all."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import httpx
import tenacity

from babelscope.util.digests import digest_open
from babelscope.util.errors import BabelscopeError, SystemFailure
from babelscope.util.files import replacing

ATTEMPTS = 4
WAIT: Callable[[tenacity.RetryCallState], float] = tenacity.wait_random_exponential(multiplier=1, max=10)
LARGEST = 2**30
"""Bytes of a file whose size is not known beforehand."""
_TEMPORARY_STATUS = {408, 425, 429}


@dataclass(slots=True)
class _Transfer:
    """A file on its way: what has come of it is in `file`."""

    url: str
    file: BinaryIO
    most: int
    """More bytes than this are not the published file."""
    advance: Callable[[int], None]
    received: int = 0
    etag: str = ""
    """Tells whether the server still has the same file; empty if it does not say."""


def download(
    url: str,
    path: Path,
    *,
    size: int = 0,
    sha256: str = "",
    git_blob: str = "",
    advance: Callable[[int], None] = lambda _: None,
) -> None:
    """Download `url` to `path` if its digest (SHA-256, or SHA-1 as a git blob) is as expected; else leave `path`.

    A `size` of 0 is not known; the digest of a git blob covers it.
    """
    if not (sha256 or git_blob):
        raise BabelscopeError(f"{url} is not downloaded, since its checksum is not known")
    retrying = tenacity.Retrying(
        stop=tenacity.stop_after_attempt(ATTEMPTS),
        wait=WAIT,
        retry=tenacity.retry_if_exception(_is_temporary),
        reraise=True,
    )
    try:
        with replacing(path) as file:
            retrying(_attempt, _Transfer(url, file, size or LARGEST, advance))
            _check(url, file, sha256, git_blob)
    except httpx.HTTPStatusError as error:
        reason = f"the server says {error.response.status_code} {error.response.reason_phrase}"
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        reason = str(error) or type(error).__name__
    else:
        return
    raise SystemFailure(
        f"{url} cannot be downloaded: {reason}; put the file at {path} yourself, or try again with a connection"
    )


def _attempt(transfer: _Transfer) -> None:
    """Download what is missing of a file."""
    file, begun = transfer.file, transfer.received
    # A part of a compressed answer could not be gone on with.
    headers = {"Accept-Encoding": "identity"}
    if begun:
        headers["Range"] = f"bytes={begun}-"
        headers |= {"If-Range": transfer.etag} if transfer.etag else {}
    with httpx.stream("GET", transfer.url, headers=headers, follow_redirects=True, timeout=30) as response:
        response.raise_for_status()
        if begun and not _goes_on(response, begun):  # the server sends all of it again
            file.seek(0)
            file.truncate()
            transfer.advance(-begun)
            transfer.received = 0
        tag = response.headers.get("ETag", "")
        transfer.etag = tag if tag.startswith('"') else ""  # a weak one does not promise the same bytes
        for chunk in response.iter_bytes():
            transfer.received += len(chunk)
            if transfer.received > transfer.most:
                raise BabelscopeError(
                    f"{transfer.url} is not the published file: it has more than {transfer.most} bytes; "
                    "nothing was kept"
                )
            file.write(chunk)
            transfer.advance(len(chunk))


def _goes_on(response: httpx.Response, begun: int) -> bool:
    """Whether an answer is the rest of the file, from byte `begun` on."""
    part = re.match(r"bytes (\d+)-", response.headers.get("Content-Range", ""))
    return response.status_code == 206 and part is not None and int(part[1]) == begun


def _check(url: str, file: BinaryIO, sha256: str, git_blob: str) -> None:
    found = digest_open(file, "sha256" if sha256 else "git_blob")
    kind, expected = ("SHA-256", sha256) if sha256 else ("git blob SHA-1", git_blob)
    if found != expected:
        raise BabelscopeError(
            f"{url} is not the published file: its {kind} is {found}, expected {expected}; nothing was kept"
        )


def _is_temporary(error: BaseException) -> bool:
    """Whether another attempt may succeed."""
    if isinstance(error, httpx.HTTPStatusError):
        return error.response.status_code >= 500 or error.response.status_code in _TEMPORARY_STATUS
    return isinstance(error, httpx.TransportError) and not isinstance(error, httpx.UnsupportedProtocol)
