"""The one sentence that a user needs, out of the text that Spark makes of an error."""

from __future__ import annotations

import re

_OURS = re.compile(r"\bnative_reader\.errors\.\w+: ")
_TRACEBACK = re.compile(r"Traceback \(most recent call last\):\n(?:[ \t].*\n)*")
_MODULE = re.compile(r"^(?:\w+\.)+(?=\w+: )")
_CONDITION = re.compile(r"(?=\[(?!STREAM_FAILED\])[A-Z][A-Z0-9_.]+\] )")
_JAVA = re.compile(r"^: (?:[\w$]+\.)+[\w$]+: ", re.MULTILINE)
_AFTERWARDS = re.compile(r"\s*(?:\bSQLSTATE: \w{5}|\n\s*(?:at |Caused by: |JVM stacktrace:|Driver stacktrace:|== )|\n\s*\n)")
"""What Spark writes after a message."""
_GATEWAY = "[JAVA_GATEWAY_EXITED]"
_ADVICE = {
    "[DATA_SOURCE_NOT_FOUND] Failed to find the data source: rocketmq-store.": "Call rmqstore_spark.register(spark) before the read",
    _GATEWAY: "The lines above say why: this Java is new enough for Spark",
    "No module named 'native_reader'": "Set PYSPARK_PYTHON to a Python that has the package rmqstore-spark",
    "No module named 'rmqstore_spark'": "Set PYSPARK_PYTHON to a Python that has the package rmqstore-spark",
}
"""What to do about errors of Spark that concern this package."""


def reason(error: BaseException) -> str:
    """Say in one line what is wrong and what to do.

    Spark puts an error of this package into up to 14,000 characters of stack. For other errors of Spark, this is Spark's own sentence.

    Args:
        error: What a call of Spark raised.

    Returns:
        One line, for `sys.exit` or a log.

    Examples:
        >>> import native_reader as nr
        >>> import rmqstore_spark
        >>> try:
        ...     nr.open("store").messages(topics="orders")
        ... except Exception as error:
        ...     print(rmqstore_spark.reason(error))
        unknown option 'topics'. Did you mean 'topic'? ...
    """
    text = str(error).strip()
    if type(error).__module__.partition(".")[0] in ("pyspark", "py4j"):
        for begins in (_OURS, _TRACEBACK, _CONDITION, _JAVA):
            if found := list(begins.finditer(text)):
                text = text[found[0 if begins is _CONDITION else -1].end() :]
                break
        text = _MODULE.sub("", _AFTERWARDS.split(text, maxsplit=1)[0])
    line = " ".join(text.split()) or type(error).__name__
    if line.startswith(_GATEWAY):
        from rmqstore_spark.refused import Unusable, java

        try:
            java()
        except Unusable as problem:
            return str(problem)
    return next((f"{line.rstrip('.')}. {advice}" for sign, advice in _ADVICE.items() if sign in line), line)
