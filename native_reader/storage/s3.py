"""Object storage with the API of S3, through `pyarrow.fs.S3FileSystem`: `s3://bucket/store`, also `s3a://`, `s3n://` and `oss://`.

The AWS SDK in pyarrow signs, keeps connections, and repeats calls that the service refuses for now.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Hashable
from contextlib import suppress
from datetime import datetime
from os import environ  # noqa: TID251  its variables, not its files
from typing import Any

from native_reader.errors import OptionError, PathError
from native_reader.sentences import Said, say
from native_reader.storage.arrow import Stamp
from native_reader.storage.protocol import DirEntry
from native_reader.storage.remote import Access, Check, RemoteStorage, fs_flag, fs_seconds, fs_text, register_remote

SCHEMES = ("s3", "s3a", "s3n", "oss")
_OSS = "oss"
_ATTEMPTS = 5
"""Calls by the SDK in all, with random pauses of up to 1, 2, 4 and 8 seconds. pyarrow's default is 3."""

_ERROR = re.compile(
    r"AWS Error (?P<code>\w+|\[code \d+\])(?: \(HTTP status (?P<status>\d+)\))? during (?P<call>\w+) operation: (?P<text>.*)", re.S
)
_DENIED = {"ACCESS_DENIED", "INVALID_ACCESS_KEY_ID", "SIGNATURE_DOES_NOT_MATCH", "INVALID_SIGNATURE", "INVALID_CLIENT_TOKEN_ID"}
_SLOW_DOWN = {"SLOW_DOWN", "THROTTLING", "SERVICE_UNAVAILABLE", "503", "429"}
_TIMEOUT = re.compile(r"curlCode: 28\b|timed out|Timeout was reached")


def _web_scheme(name: str, value: object) -> str:
    text = fs_text(name, value)
    if text not in ("http", "https"):
        raise OptionError(say("fs scheme", name=name))
    return text


_OPTIONS: dict[str, Check] = {
    "access_key": fs_text,
    "secret_key": fs_text,
    "session_token": fs_text,
    "anonymous": fs_flag,
    "region": fs_text,
    "endpoint_override": fs_text,
    "scheme": _web_scheme,
    "force_virtual_addressing": fs_flag,
    "role_arn": fs_text,
    "session_name": fs_text,
    "external_id": fs_text,
    "load_frequency": lambda name, value: int(fs_seconds(name, value)),
    "connect_timeout": fs_seconds,
    "request_timeout": fs_seconds,
    "proxy_options": fs_text,
    "tls_ca_file_path": fs_text,
}
"""The arguments of S3FileSystem that concern reading."""
_SECRETS = ("access_key", "secret_key", "session_token", "external_id", "proxy_options")
_REGIONS = {"AWS_REGION", "AWS_DEFAULT_REGION"}


def _endpoint_of_environment() -> dict[str, object]:
    """The variables of other AWS tools, which S3FileSystem does not know; empty if they are not set."""
    url = environ.get("AWS_ENDPOINT_URL_S3") or environ.get("AWS_ENDPOINT_URL") or ""
    scheme, _, host = url.rstrip("/").partition("://")
    return {"endpoint_override": host, "scheme": scheme} if host else {}


class S3Storage(RemoteStorage):
    """The objects of one bucket. A directory is a common prefix."""

    must_close = False  # an open object is only its name, and calls may still be on their way

    def __init__(self, origin: str, access: Access) -> None:
        scheme, _, bucket = origin.partition("://")
        if not bucket:
            raise PathError(say("miss bucket name", origin=origin, scheme=scheme))
        if scheme == _OSS and "endpoint_override" not in access.values:
            raise OptionError(Said("oss endpoint"))
        super().__init__(origin, access, bucket)
        self._scheme, self._bucket = scheme, bucket
        self._has_answered = False

    def _make(self) -> Any:
        from pyarrow import fs

        arguments = {"connect_timeout": 5.0, "request_timeout": 10.0, **self.access.values}  # the SDK's are 1 and 3 seconds
        if self._scheme == _OSS:
            # Aliyun's service has the API of S3 with the bucket in the host's name.
            arguments = {"force_virtual_addressing": True, **arguments}
        elif "endpoint_override" not in arguments and (endpoint := _endpoint_of_environment()):
            arguments |= endpoint
        elif not ({"region", "endpoint_override"} & arguments.keys() or _REGIONS & environ.keys()):
            with suppress(OSError):  # the next call reports it
                arguments["region"] = fs.resolve_s3_region(self._bucket)
        try:
            return fs.S3FileSystem(**arguments, retry_strategy=fs.AwsStandardS3RetryStrategy(max_attempts=_ATTEMPTS))
        except (ValueError, TypeError, OSError) as error:
            where = f"{self._scheme}://{self._bucket}"
            raise OptionError(say("fs not reached", where=where, why=self.access.hidden(str(error)))) from None

    def opened(self, path: str) -> tuple[Any, Stamp]:
        """An open object and its stamp, which come from one call."""
        source = self.filesystem.open_input_file(path)
        self._has_answered = True
        facts = source.metadata()
        written = datetime.fromisoformat(facts["Last-Modified"].decode()) if "Last-Modified" in facts else None
        return source, Stamp(source.size(), int(written.timestamp()) if written else 0, facts.get("ETag", b""))

    def stamp(self, path: str) -> Stamp:
        return self.opened(path)[1]

    def _entry(self, uri: str) -> DirEntry | None:
        entry = super()._entry(uri)
        if entry is None and not self._has_answered and uri != self._origin and super()._entry(self._origin) is None:
            raise PathError(say("miss bucket", origin=self._origin))
        self._has_answered = True
        return entry

    def location(self, uri: str) -> Hashable:
        return self._scheme == _OSS, uri.partition("://")[2]

    def explained(self, error: Exception) -> OSError:
        """The error in words for users, with what the service said."""
        if isinstance(error, OSError) and error.errno in (errno.ENOENT, errno.ENOTDIR):
            return error
        said = self.access.hidden(str(error))
        parts = _ERROR.search(said)
        if parts is None:
            return OSError(said)
        code, status, text = parts["code"], parts["status"] or "", parts["text"].strip()
        answer = f"{code}{f' {status}' if status else ''} for {parts['call']}{text and f': {text}'}"
        if code in _DENIED or status in ("401", "403"):
            hint = "Check the credentials, and that they allow s3:GetObject and s3:ListBucket"
            return OSError(errno.EACCES, f"access denied ({answer}). {hint}")
        if {code, status} & _SLOW_DOWN:
            return OSError(f"the service refuses more calls ({answer}). Use fewer jobs or tasks, or try again later")
        if _TIMEOUT.search(text):
            return OSError(errno.ETIMEDOUT, f"timed out ({answer}). Try again, or set a larger fs.request_timeout")
        if code == "NETWORK_CONNECTION":
            return OSError(f"no connection ({answer}). Check the network and fs.endpoint_override")
        if status == "301" or "region" in text.lower():
            return OSError(f"the service refused the call ({answer}). Check fs.region and fs.endpoint_override")
        return OSError(f"the service failed ({answer})")


register_remote(SCHEMES, S3Storage, _OPTIONS, _SECRETS)
