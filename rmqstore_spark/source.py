"""The data source class that Spark loads.

Spark imports this module to find the format, and again in every worker. So large imports are inside functions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource, DataSourceReader

if TYPE_CHECKING:
    from pyspark.sql.datasource import DataSourceStreamReader, DataSourceStreamWriter, DataSourceWriter
    from pyspark.sql.types import StructType

    from rmqstore_spark.request import LoadRequest


class RocketmqStore(DataSource):
    """`spark.read.format("rocketmq-store")`: the messages in the files of RocketMQ brokers, one row each.

    Partitions: ranges of the log of up to `maxPartitionBytes`, with small ones together. Options: docs/options.md.
    """

    @classmethod
    def name(cls) -> str:
        """The name for `format`."""
        return "rocketmq-store"

    def schema(self) -> StructType:
        """The requested or default columns. Not called if the user gives a schema."""
        from rmqstore_spark.columns import schema_of_table, spark_schema
        from rmqstore_spark.options import MESSAGES, in_sparks_words

        with in_sparks_words():
            request = self._request()
            request.open()  # so that load() rejects a wrong path
            if request.table != MESSAGES:
                return schema_of_table(request)
            return spark_schema(request.projection.columns, request.corrupt_name)

    def reader(self, schema: StructType) -> DataSourceReader:
        """A batch reader for exactly these columns."""
        from rmqstore_spark.columns import names_of, names_of_table
        from rmqstore_spark.options import MESSAGES, in_sparks_words
        from rmqstore_spark.reader import LimitReader, StoreReader, TableReader
        from rmqstore_spark.refused import check_pushdown

        with in_sparks_words():
            request = self._request().for_batch()
            if request.table != MESSAGES:
                return TableReader(request.with_columns_of_table(names_of_table(schema, request)))
            request = request.with_columns(names_of(schema, request))
            if request.takes_filters:
                check_pushdown()
                from rmqstore_spark.pushdown import LimitedPushdownReader, PushdownReader

                return (LimitedPushdownReader if request.takes_limits else PushdownReader)(request)
            return (LimitReader if request.takes_limits else StoreReader)(request)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        """Refuse: a store is never changed."""
        from rmqstore_spark.refused import refuse_writes

        return refuse_writes()

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:
        """Refuse: a store is never changed."""
        from rmqstore_spark.refused import refuse_writes

        return refuse_writes()

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        """A stream reader for exactly these columns."""
        from native_reader.errors import StoreError
        from rmqstore_spark.columns import names_of
        from rmqstore_spark.options import in_sparks_words
        from rmqstore_spark.refused import RefusedStream, check_streams

        # Spark 4.3 adds its own error after one that is raised here, so the error is raised later, by RefusedStream.
        try:
            with in_sparks_words():
                check_streams()
                from rmqstore_spark.stream import StoreStreamReader

                request = self._request().for_stream()
                return StoreStreamReader(request.with_columns(names_of(schema, request)))
        except StoreError as error:
            return RefusedStream(error)

    def _request(self) -> LoadRequest:
        from rmqstore_spark.request import LoadRequest

        return LoadRequest.of(self.options)
