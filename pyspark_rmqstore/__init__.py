"""Lets Spark find the format `rocketmq-store`: Spark 4.0+ looks for top-level modules `pyspark_*` with a `DefaultSource`.

Spark imports every such module when it looks up a format, and if one fails it finds none of them. So this module imports
almost nothing, and is empty if Spark has no Python data sources.
"""

try:
    from rmqstore_spark.source import RocketmqStore as DefaultSource

    __all__ = ["DefaultSource"]
except ImportError:
    __all__ = []
