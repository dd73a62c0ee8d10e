"""The classes of Spark, as an archive that halves what each start of a Java costs. It is made once, in build/java."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory

from support.documented import ROOT

HERE = ROOT / "build" / "java"
JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Every Java that tests start lives for seconds or minutes. Half of what it does is to compile for hours."""
JOB = """
import sys
from pyspark.sql import SparkSession
import rmqstore_spark
home, archive = sys.argv[1:]
settings = {
    "spark.ui.enabled": "false", "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.warehouse.dir": f"{home}/warehouse", "spark.sql.shuffle.partitions": "2",
    "spark.driver.extraJavaOptions": f"-XX:ArchiveClassesAtExit={archive} -Xlog:disable",
}
spark = SparkSession.builder.master("local[1]").config(map=settings).getOrCreate()
rmqstore_spark.register(spark)
rows = spark.read.format("rocketmq-store").load(f"{home}/store")
rows.groupBy("topic").count().orderBy("topic").show()
rows.write.parquet(f"{home}/rows")
rows.createOrReplaceTempView("messages")
spark.sql("SELECT max(store_timestamp) FROM messages WHERE topic = 'T0'").collect()
stream = spark.readStream.format("rocketmq-store").option("startingOffsets", "earliest").load(f"{home}/store").writeStream
stream = stream.foreachBatch(lambda frame, batch: frame.write.mode("append").parquet(f"{home}/batches"))
stream.option("checkpointLocation", f"{home}/checkpoint").trigger(availableNow=True).start().awaitTermination()
java = spark.sparkContext._gateway.proc
spark.stop()
java.stdin.close()
sys.exit(java.wait(120))
"""
"""What most jobs of tests do. The archive is written when its Java ends."""


def java_options() -> str:
    """For JDK_JAVA_OPTIONS. Java does without an archive that is not there, and without one of other classes."""
    return f"{JAVA} -XX:SharedArchiveFile={_archive()} -Xlog:cds=off -Xlog:cds+dynamic=off"


def _archive() -> Path:
    of = f"{version('pyspark')} {sys.prefix} {os.path.realpath(shutil.which('java') or '')} {hashlib.sha256(JOB.encode()).hexdigest()}"
    return HERE / f"spark-{hashlib.sha256(of.encode()).hexdigest()[:12]}.jsa"


def make_archive(store: Path) -> None:
    """Run a job that reads this store, unless that was done before. Without streams in Spark, there is no archive."""
    archive = _archive()
    HERE.mkdir(parents=True, exist_ok=True)
    with (HERE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if archive.exists():
            return
        with TemporaryDirectory(dir=HERE) as home:
            Path(home, "store").symlink_to(store)
            where = os.environ | {"JDK_JAVA_OPTIONS": JAVA, "PYTHONPATH": str(ROOT), "PYSPARK_PYTHON": sys.executable}
            command = [sys.executable, "-c", JOB, home, f"{home}/classes"]
            done = subprocess.run(command, cwd=home, env=where, check=False, timeout=900, capture_output=True)
            if done.returncode == 0 and Path(home, "classes").exists():
                Path(home, "classes").rename(archive)
