"""A Declarative Pipeline of Spark: a topic as a table that each run continues, and a table that is made of it."""

from pyspark import pipelines as dp
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

spark = SparkSession.active()


@dp.table
def messages() -> DataFrame:
    stream = spark.readStream.format("rocketmq-store").option("columns", "queue_id,queue_offset,tags,body_size,store_timestamp")
    stream = stream.option("startingOffsets", "earliest").option("topic", spark.conf.get("rocketmq.topic"))
    return stream.load(spark.conf.get("rocketmq.store"))


@dp.materialized_view
def by_tag() -> DataFrame:
    return spark.read.table("messages").groupBy("tags").agg(F.count("*").alias("messages"), F.sum("body_size").alias("bytes"))
