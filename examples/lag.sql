-- What each group has not read yet, and since when its oldest message waits. ${path} is the store.
-- Usage: spark-sql -d path=STORE -f examples/lag.sql  or  python examples/run_sql.py STORE examples/lag.sql

CREATE TEMPORARY VIEW offsets USING `rocketmq-store` OPTIONS (path '${path}', table 'consumer_offsets');

CREATE TEMPORARY VIEW messages USING `rocketmq-store`
OPTIONS (path '${path}', columns 'topic,queue_id,queue_offset,store_timestamp', mode 'DROPMALFORMED', failOnDataLoss 'false');

SELECT o.group, o.topic, count(*) AS queues, sum(o.lag) AS not_read, min(m.store_timestamp) AS oldest
FROM offsets AS o LEFT JOIN messages AS m ON m.topic = o.topic AND m.queue_id = o.queue_id AND m.queue_offset = o.committed
WHERE o.lag > 0 AND o.topic NOT LIKE 'RMQ_SYS_%'
GROUP BY o.group, o.topic
ORDER BY not_read DESC, o.group, o.topic;
