"""Where Spark finds the format `rocketmq-store` by itself: a top-level module named `pyspark_*` with a `DefaultSource` (Spark 4.0+).

Spark imports every such module when it looks a format up, and where one of them fails it finds none of them. So this one
imports next to nothing, and without a Spark that has Python data sources it is simply empty.
"""

try:
    from rmqstore_spark.source import RocketmqStore as DefaultSource

    __all__ = ["DefaultSource"]
except ImportError:
    __all__ = []
