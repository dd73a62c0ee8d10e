"""Object storage with the API of S3, through `pyarrow.fs.S3FileSystem`: `s3://bucket/store`, also `s3a://`, `s3n://` and `oss://`.

The AWS SDK in pyarrow signs, keeps connections, and repeats calls that the service refuses for now.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Callable, Hashable, Iterable, Mapping
from contextlib import suppress
from datetime import datetime
from os import environ  # noqa: TID251  its variables, not its files
from time import monotonic
from typing import Any

from native_reader.errors import OptionError, PathError, did_you_mean, shown
from native_reader.storage.arrow import ArrowStorage, Stamp, storage_in
from native_reader.storage.protocol import DirEntry, attach, attached, origin_of, register, scheme_of

SCHEMES = ("s3", "s3a", "s3n", "oss")
_OSS = "oss"
_ATTEMPTS = 5
"""Calls by the SDK in all, with random pauses of up to 1, 2, 4 and 8 seconds. pyarrow's default is 3."""
_HIDDEN = "***"
_SHORTEST = 4
"""Shorter values are not searched for in errors: they would be found in ordinary words."""

_ERROR = re.compile(
    r"AWS Error (?P<code>\w+|\[code \d+\])(?: \(HTTP status (?P<status>\d+)\))? during (?P<call>\w+) operation: (?P<text>.*)", re.S
)
_DENIED = {"ACCESS_DENIED", "INVALID_ACCESS_KEY_ID", "SIGNATURE_DOES_NOT_MATCH", "INVALID_SIGNATURE", "INVALID_CLIENT_TOKEN_ID"}
_SLOW_DOWN = {"SLOW_DOWN", "THROTTLING", "SERVICE_UNAVAILABLE", "503", "429"}
_QUEUES = re.compile(r"(.*/(?:consumequeue|batchconsumequeue))(?:/|$)")
_LISTED_FOR, _REST = 2.0, 10
"""A listing of all queues is reused for this many seconds, or for this many times as long as it took."""
_FLAGS = {"true": True, "false": False}
_TIMEOUT = re.compile(r"curlCode: 28\b|timed out|Timeout was reached")


def _text(name: str, value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise OptionError(f"fs.{name} must be text that is not empty")
    return value.strip()


def _flag(name: str, value: object) -> bool:
    known = value if isinstance(value, bool) else _FLAGS.get(value.strip().lower()) if isinstance(value, str) else None
    if known is None:
        raise OptionError(f"fs.{name} must be true or false")
    return known


def _seconds(name: str, value: object) -> float:
    try:
        seconds = float(value) if isinstance(value, int | float | str) and not isinstance(value, bool) else 0.0
    except (ValueError, OverflowError):
        seconds = 0.0
    if not 0 < seconds < 1e6:
        raise OptionError(f"fs.{name} must be a number of seconds above 0")
    return seconds


_CHECKS: dict[str, Callable[[str, object], object]] = {
    "access_key": _text,
    "secret_key": _text,
    "session_token": _text,
    "anonymous": _flag,
    "region": _text,
    "endpoint_override": _text,
    "scheme": _text,
    "force_virtual_addressing": _flag,
    "role_arn": _text,
    "session_name": _text,
    "external_id": _text,
    "load_frequency": lambda name, value: int(_seconds(name, value)),
    "connect_timeout": _seconds,
    "request_timeout": _seconds,
    "proxy_options": _text,
    "tls_ca_file_path": _text,
}
"""The arguments of S3FileSystem that concern reading."""
_SECRETS = ("access_key", "secret_key", "session_token", "external_id", "proxy_options")
FS_NAMES = tuple(_CHECKS)


class Access:
    """How a bucket is reached: arguments of S3FileSystem. Its text has names only, because some values are secrets."""

    __slots__ = ("_values",)

    def __init__(self, options: Mapping[str, object] | None = None) -> None:
        values = {}
        for name, value in (options or {}).items():
            if not isinstance(name, str) or name not in _CHECKS:
                known = [f"fs.{name}" for name in FS_NAMES]
                given, near = (f"fs.{name}", did_you_mean(f"fs.{name}", known)) if isinstance(name, str) else (shown(name), "")
                raise OptionError(f"the option {given} is not supported.{near} Supported: {', '.join(known)}")
            if value is not None:
                values[name] = _CHECKS[name](name, value)
        if values.get("scheme", "https") not in ("http", "https"):
            raise OptionError("fs.scheme must be http or https")
        self._values = values

    def filesystem(self, scheme: str, bucket: str) -> Any:
        """The file system for that bucket."""
        from pyarrow import fs

        arguments = {"connect_timeout": 5.0, "request_timeout": 10.0, **self._values}  # the SDK's are 1 and 3 seconds
        if scheme == _OSS:
            # Aliyun's service has the API of S3 with the bucket in the host's name.
            arguments = {"force_virtual_addressing": True, **arguments}
        elif "endpoint_override" not in arguments and (endpoint := _endpoint_of_environment()):
            arguments |= endpoint
        elif not ({"region", "endpoint_override"} & arguments.keys() or _REGIONS & environ.keys()):
            with suppress(OSError):  # the next call reports it
                arguments["region"] = fs.resolve_s3_region(bucket)
        try:
            return fs.S3FileSystem(**arguments, retry_strategy=fs.AwsStandardS3RetryStrategy(max_attempts=_ATTEMPTS))
        except (ValueError, TypeError, OSError) as error:
            raise OptionError(f"{scheme}://{bucket} cannot be reached with these fs options: {self.hidden(str(error))}") from None

    def hidden(self, text: str) -> str:
        """The text without secrets."""
        for name in _SECRETS:
            value = self._values.get(name)
            if isinstance(value, str) and len(value) >= _SHORTEST:
                text = text.replace(value, _HIDDEN)
        return text

    def check_for(self, scheme: str) -> None:
        """Raise OptionError if something is missing for that scheme."""
        if scheme == _OSS and "endpoint_override" not in self._values:
            raise OptionError("oss:// needs fs.endpoint_override, for example oss-cn-hangzhou.aliyuncs.com")

    def __repr__(self) -> str:
        return f"<fs: {', '.join(self._values) or 'from the environment'}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Access) and self._values == other._values

    def __hash__(self) -> int:
        return hash(tuple(sorted(self._values)))

    def __reduce__(self) -> tuple[object, ...]:
        return Access, (dict(self._values),)


_REGIONS = {"AWS_REGION", "AWS_DEFAULT_REGION"}


def _endpoint_of_environment() -> dict[str, object]:
    """The variables of other AWS tools, which S3FileSystem does not know; empty if they are not set."""
    url = environ.get("AWS_ENDPOINT_URL_S3") or environ.get("AWS_ENDPOINT_URL") or ""
    scheme, _, host = url.rstrip("/").partition("://")
    return {"endpoint_override": host, "scheme": scheme} if host else {}


class S3Storage(ArrowStorage):
    """The objects of one bucket. A directory is a common prefix."""

    must_close = False  # an open object is only its name, and calls may still be on their way

    def __init__(self, origin: str, access: Access) -> None:
        scheme, _, bucket = origin.partition("://")
        if not bucket:
            raise PathError(f"{origin}: the bucket is missing. Write {scheme}://bucket/store")
        access.check_for(scheme)
        super().__init__(origin, inside=bucket)
        self.access, self._scheme, self._bucket = access, scheme, bucket
        self._has_answered = False
        self._below: dict[str, tuple[float, dict[str, list[DirEntry]]]] = {}
        """Until when a listing counts, and its entries by directory."""

    def _make(self) -> Any:
        return self.access.filesystem(self._scheme, self._bucket)

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
        path = self._path(uri)
        directory, _, name = path.rpartition("/")
        if (entries := self._among_queues(directory)) is not None:
            return next((entry for entry in entries if entry.name == name), None)
        entry = super()._entry(uri)
        if entry is None and not self._has_answered and uri != self._origin and super()._entry(self._origin) is None:
            raise PathError(f"{self._origin}: the bucket does not exist. Check its name, fs.region and fs.endpoint_override")
        self._has_answered = True
        return entry

    def _list(self, uri: str) -> list[DirEntry]:
        path = self._path(uri)
        if _QUEUES.fullmatch(path) and self._among_queues(path) is None:
            begun = monotonic()
            below = self._all_below(path)
            self._below[path] = monotonic() + max(_LISTED_FOR, _REST * (monotonic() - begun)), below
        entries = self._among_queues(path)
        return super()._list(uri) if entries is None else entries

    def _among_queues(self, path: str) -> list[DirEntry] | None:
        """The entries of a directory of queues, if all of them were listed just now.

        That is done with their top directory: an answer has a thousand names, and the directory of a queue often only one.
        """
        queues = _QUEUES.match(path)
        until, below = self._below.get(queues[1], (0.0, {})) if queues else (0.0, {})
        return below.get(path) if monotonic() < until else None

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


def is_remote(uri: str) -> bool:
    """Whether a path is in object storage with the API of S3."""
    return scheme_of(uri) in SCHEMES


def use(uris: Iterable[str], fs: Any) -> None:
    """Reach the buckets of these paths so in this process, from now on. `fs`: an Access, options by name, or a file system."""
    access = Access(fs) if isinstance(fs, Mapping) else fs
    remote = sorted({origin_of(uri) for uri in uris if scheme_of(uri) not in (None, "file")})
    if not remote:
        raise OptionError("fs options need a path of object storage, such as s3://bucket/store")
    for origin in remote:
        if not isinstance(access, Access):
            attach(origin, storage_in(origin, access))
        elif scheme_of(origin) not in SCHEMES:
            raise OptionError(f"fs options are for {', '.join(f'{scheme}://' for scheme in SCHEMES)}, not for {shown(origin)}")
        elif not (isinstance(known := attached(origin), S3Storage) and known.access == access):
            attach(origin, S3Storage(origin, access))


for scheme in SCHEMES:
    register(scheme, lambda origin: S3Storage(origin, Access()))
