"""Runs Spark once, while the image is built, and leaves a class-data archive of what it loaded.

Most of a short job's time on Spark is Java reading and verifying classes. With the archive (JDK's
application class-data sharing) a driver starts in half the time and half the processor time. The
fallback is Java's own: an archive that is missing or of another class path is ignored without a
message, and the classes are read from their jars, with the same results.

It is the image's smoke test as well: the Kafka connector loads, a driver in Kubernetes mode asks an
API server for an executor, and the image's own ``executor`` program, started with the environment
Spark puts into that pod, registers and runs the queries. The API server is the class ``Api``: it
answers only the requests that Spark makes while it starts one executor.
"""

import json
import os
import subprocess
import sys
import threading
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812  # the name every text on Spark uses

ADDRESS = "127.0.0.1"
NAMESPACE = "train"
SCRATCH = "/tmp/train"  # noqa: S108  # a container that only builds the image
FAST_START = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
# Only executors load these; everything else of theirs is loaded by the local session.
EXECUTOR_CLASSES = (
    "org.apache.spark.executor.CoarseGrainedExecutorBackend",
    "org.apache.spark.executor.CoarseGrainedExecutorBackend$Arguments",
    "org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend",
    "org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend$Arguments",
)
# Only a consumer that has found a broker loads these.
READING_CLASSES = (
    *(
        f"org.apache.kafka.common.{name}"
        for name in (
            "message.FetchResponseData$PartitionData",
            "message.ListOffsetsResponseData$ListOffsetsPartitionResponse",
            "message.MetadataResponseData$MetadataResponsePartition",
            "record.DefaultRecord",
            "record.DefaultRecordBatch",
            "record.MemoryRecords",
            "requests.FetchResponse",
            "requests.ListOffsetsResponse",
            "requests.MetadataResponse",
        )
    ),
    "org.apache.kafka.clients.consumer.ConsumerRecords",
    "org.apache.kafka.clients.consumer.internals.CompletedFetch",
    "org.apache.spark.sql.kafka010.KafkaBatchInputPartition",
    "org.apache.spark.sql.kafka010.KafkaBatchPartitionReader",
    "org.apache.spark.sql.kafka010.KafkaBatchReaderFactory$",
    "org.apache.spark.sql.kafka010.consumer.InternalKafkaConsumer",
    "org.apache.spark.sql.kafka010.consumer.KafkaDataConsumer",
)


class Api(BaseHTTPRequestHandler):
    """The part of the Kubernetes API that Spark needs; a created pod is run as a process."""

    def __init__(self, pods: list[subprocess.Popen[bytes]], *args: Any) -> None:
        self.pods = pods
        super().__init__(*args)

    def reply(self, body: dict[str, Any]) -> None:
        """Answer with one JSON object."""
        data = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self) -> None:
        """Answer for the driver's own pod, and with empty lists for everything else."""
        path = self.path.split("?")[0]
        if path.endswith("/pods/driver"):
            meta = {"name": "driver", "namespace": NAMESPACE, "uid": "driver"}
            ready = {"conditions": [{"type": "Ready", "status": "True"}]}
            self.reply({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "status": ready})
        else:
            self.reply({"apiVersion": "v1", "kind": "PodList", "metadata": {}, "items": []})

    def do_POST(self) -> None:
        """Take an object as it is; start the process of a pod."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        body["metadata"] |= {"uid": body["metadata"]["name"], "resourceVersion": "1"}
        if body["kind"] == "Pod":
            container = body["spec"]["containers"][0]
            fields = {"status.podIP": ADDRESS, "metadata.name": body["metadata"]["name"]}
            environment = {
                entry["name"]: entry.get("value")
                or fields[entry["valueFrom"]["fieldRef"]["fieldPath"]]
                for entry in container.get("env", [])
            }
            # The pod's volume of that path.
            environment["SPARK_LOCAL_DIRS"] = SCRATCH
            command = ["/opt/krt/entrypoint", *container["args"]]
            self.pods.append(subprocess.Popen(command, env={**os.environ, **environment}))  # noqa: S603  # Spark's command
        self.reply(body)

    def do_DELETE(self) -> None:
        """Confirm without deleting anything."""
        self.reply({"apiVersion": "v1", "kind": "Status", "status": "Success"})

    def log_message(self, *_: object) -> None:
        """Log nothing."""


def session(master: str, archive: Path, **settings: str) -> SparkSession:
    """Start Spark as the scoring job does; its Java writes the archive when it ends."""
    builder = (
        SparkSession.builder.master(master)
        .config("spark.ui.enabled", "false")
        .config("spark.sql.adaptive.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.driver.host", ADDRESS)
        .config("spark.driver.bindAddress", "0.0.0.0")  # noqa: S104  # as in a pod
        .config("spark.driver.extraJavaOptions", f"{FAST_START} -XX:ArchiveClassesAtExit={archive}")
    )
    for name, value in settings.items():
        builder = builder.config(name.replace("_", "."), value)
    return builder.getOrCreate()


def queries(spark: SparkSession, folder: str) -> DataFrame:
    """Run what the scoring job uses: files, joins, windows, aggregates, JSON."""
    numbers = spark.range(2000).select(
        "id",
        (F.col("id") % 3).cast("int").alias("partition"),
        F.concat(F.lit("k"), F.col("id") % 5).alias("key"),
        F.to_json(F.struct("id")).alias("value"),
    )
    # As topics are written; numbers that repeat no more are laid out in steps.
    written = numbers.write.mode("overwrite").options(
        **{"compression": "zstd", "parquet.writer.version": "v2"}
    )
    written.partitionBy("partition").parquet(folder)
    rows = spark.read.parquet(folder)
    order = Window.partitionBy("partition").orderBy("id")
    steps = (
        rows.withColumn("before", F.lag("id").over(order))
        .withColumn("rank", F.dense_rank().over(order))
        .withColumn("crc", F.crc32(F.encode("value", "utf-8")))
        .withColumn("parsed", F.get_json_object("value", "$.id").cast("long"))
    )
    keys = rows.groupBy("key").agg(F.count("*").alias("n"), F.collect_list("id").alias("ids"))
    joined = steps.join(keys, "key", "left").join(
        rows.filter("id % 2 = 0").select("id"), "id", "left_anti"
    )
    merged = joined.select("partition", "id").unionByName(rows.select("partition", "id"))
    merged.dropDuplicates().orderBy("id").limit(5).collect()
    return (
        joined.withColumn("one", F.explode("ids"))
        .groupBy("partition")
        .agg(F.sum("n"), F.max("one"), F.min("before"), F.expr("percentile(id, 0.5)"))
        .orderBy("partition")
    )


def check(spark: SparkSession, folder: str) -> None:
    """Run the queries and load the Kafka connector.

    Raises:
        SystemExit: a query's answer is wrong, or the connector is not there.
    """
    rows = queries(spark, folder).collect()
    partitions = 3
    if len(rows) != partitions:
        sys.exit(f"the queries gave {len(rows)} rows, expected {partitions}: {rows}")
    spark.createDataFrame([("a", 1)], "a string, b int").filter("b > 0").collect()
    # By it Spark writes broadcasts to disk when memory runs out.
    context: Any = spark.sparkContext
    context._jvm.org.apache.spark.serializer.KryoSerializer(context._jsc.sc().getConf()).newKryo()  # noqa: SLF001  # the only way to the Java process
    spark.read.format("kafka").option("kafka.bootstrap.servers", f"{ADDRESS}:1").option(
        "subscribe", "none"
    ).load()


def consume(java: Any) -> None:
    """Make a Kafka consumer and let it look for a broker, which loads what executors read with."""
    settings = java.java.util.HashMap()
    settings["bootstrap.servers"] = f"{ADDRESS}:1"
    settings["enable.metrics.push"] = "false"
    for kind in ("key", "value"):
        settings[f"{kind}.deserializer"] = (
            "org.apache.kafka.common.serialization.ByteArrayDeserializer"
        )
    consumer = java.org.apache.kafka.clients.consumer.KafkaConsumer(settings)
    topics = java.java.util.ArrayList()
    topics.add(java.org.apache.kafka.common.TopicPartition("none", 0))
    consumer.assign(topics)
    consumer.seek(topics[0], 0)
    consumer.poll(java.java.time.Duration.ofMillis(300))
    consumer.close(java.java.time.Duration.ofMillis(0))
    for name in READING_CLASSES:
        java.java.lang.Class.forName(name)


def main(archive: Path) -> None:
    """Train in both ways Spark runs, and wait for the archive.

    Raises:
        SystemExit: something the image is for does not work in it.
    """
    local = session("local[2]", archive)
    gateway: Any = local.sparkContext._gateway  # noqa: SLF001  # the only way to the Java process
    check(local, f"{SCRATCH}/local")
    for name in EXECUTOR_CLASSES:
        gateway.jvm.java.lang.Class.forName(name)
    consume(gateway.jvm)
    local.stop()

    pods: list[subprocess.Popen[bytes]] = []
    api = ThreadingHTTPServer((ADDRESS, 0), partial(Api, pods))
    threading.Thread(target=api.serve_forever, daemon=True).start()
    cluster = session(
        f"k8s://http://{ADDRESS}:{api.server_port}",
        archive,
        spark_executor_instances="1",
        spark_executor_memory="512m",
        spark_executor_extraJavaOptions=FAST_START,
        spark_kubernetes_namespace=NAMESPACE,
        spark_kubernetes_container_image="train",
        spark_kubernetes_driver_pod_name="driver",
        # As the scoring job does: executors without the driver's secret are refused.
        spark_authenticate="true",
        spark_network_crypto_enabled="true",
    )
    check(cluster, f"{SCRATCH}/cluster")
    cluster.stop()
    for pod in pods:
        pod.wait(timeout=60)

    # Java ends, and writes the archive, when its standard input does.
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait(timeout=180)
    if not pods or not archive.exists():
        sys.exit(f"{len(pods)} executors were started, and {archive} is there: {archive.exists()}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
