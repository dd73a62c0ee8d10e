import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicLong;
import java.util.zip.CRC32;
import org.apache.rocketmq.client.QueryResult;
import org.apache.rocketmq.client.consumer.DefaultMQPullConsumer;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.PullResult;
import org.apache.rocketmq.client.consumer.PullStatus;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.ConsumeOrderlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.consumer.listener.MessageListenerOrderly;
import org.apache.rocketmq.client.exception.MQClientException;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageClientExt;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;

/** What a broker serves: every message of every queue of users, by pull and push; what it finds by key and id; and what it takes. */
final class Served {
    private static final String LOST = "RMQSTORE_LOST";
    private static final int FOUND_EACH = 7;
    private static final long IDLE = 6_000;
    private static final long LATEST = 60_000;
    private static final long SETTLES = 3_000;

    /** Every queue from its first to its last offset, so many messages in an answer; and, if wanted, a sample of them by key and by id. */
    @SuppressWarnings("deprecation")
    static void pull(String how, int most, boolean finds) throws Exception {
        DefaultMQPullConsumer consumer = new DefaultMQPullConsumer("CG_served");
        Traffic.reach(consumer, "served");
        consumer.start();
        int number = 0;
        for (String topic : topics()) {
            for (MessageQueue queue : consumer.fetchSubscribeMessageQueues(topic)) {
                long next = consumer.minOffset(queue);
                long end = consumer.maxOffset(queue);
                List<MessageExt> got = new ArrayList<>();
                new Json().put("queue", topic).put("queue_id", queue.getQueueId()).put("first", next).put("end", end).print();
                while (next < end) {
                    PullResult found;
                    try {
                        found = consumer.pull(queue, "*", next, most);
                    } catch (OutOfMemoryError error) { // a client believes the length of a body inside damage
                        new Json().put("out_of_memory", how).put("topic", topic).put("queue_id", queue.getQueueId()).put("offset", next++).print();
                        continue;
                    }
                    if (found.getPullStatus() == PullStatus.FOUND) {
                        for (MessageExt message : found.getMsgFoundList()) {
                            tell(how, message);
                            got.add(message);
                            if (finds && !LOST.equals(message.getTags()) && number++ % FOUND_EACH == 0) {
                                find(message);
                            }
                        }
                    }
                    if (found.getNextBeginOffset() <= next) {
                        throw new IllegalStateException(queue + " at " + next + ": " + found.getPullStatus());
                    }
                    next = found.getNextBeginOffset();
                }
                if (finds) {
                    findByTime(queue, got);
                }
            }
        }
        consumer.shutdown();
    }

    private static Set<String> topics() throws Exception {
        Set<String> topics = new TreeSet<>(Traffic.admin.fetchAllTopicList().getTopicList());
        topics.removeIf(name -> name.startsWith("rmq_sys") || name.startsWith("RMQ_SYS") || name.startsWith("DefaultCluster")
            || name.startsWith("broker-a") || name.startsWith("SCHEDULE") || name.endsWith("REPLY_TOPIC") || name.startsWith("%")
            || List.of("TBW102", "BenchmarkTest", "SELF_TEST_TOPIC", "OFFSET_MOVED_EVENT", "TRANS_CHECK_MAX_TIME_TOPIC", "Ready").contains(name));
        return topics;
    }

    private static void tell(String how, MessageExt message) {
        CRC32 crc = new CRC32();
        crc.update(message.getBody() == null ? new byte[0] : message.getBody());
        new Json().put("how", how).put("topic", message.getTopic()).put("queue_id", message.getQueueId())
            .put("queue_offset", message.getQueueOffset()).put("physical_offset", message.getCommitLogOffset()).put("msg_id", message.getMsgId())
            .put("offset_msg_id", idOf(message)).put("tags", message.getTags()).put("keys", message.getKeys()).put("crc", crc.getValue())
            .put("lost", LOST.equals(message.getTags())).print();
    }

    private static String idOf(MessageExt message) {
        return message instanceof MessageClientExt ? ((MessageClientExt) message).getOffsetMsgId() : message.getMsgId();
    }

    /** By its first key, and by its id. */
    private static void find(MessageExt message) throws Exception {
        boolean byId = idOf(message).equals(idOf(Traffic.admin.viewMessage(message.getTopic(), idOf(message))));
        boolean byKey = message.getKeys() == null || message.getKeys().isEmpty();
        if (!byKey) {
            try {
                QueryResult found = Traffic.admin.queryMessage(message.getTopic(), message.getKeys().split(" ")[0], 64, 0, Long.MAX_VALUE);
                for (MessageExt each : found.getMessageList()) {
                    byKey |= idOf(each).equals(idOf(message));
                }
            } catch (MQClientException none) {
                byKey = false;
            }
        }
        new Json().put("found", idOf(message)).put("by_id", byId).put("by_key", byKey).print();
    }

    /** Where a queue goes on at the times of some messages: none before it is later, none after it earlier. */
    private static void findByTime(MessageQueue queue, List<MessageExt> got) throws Exception {
        for (int number = 0; number < got.size(); number += FOUND_EACH) {
            long time = got.get(number).getStoreTimestamp();
            long begin = Traffic.admin.searchOffset(queue, time);
            boolean isRight = got.stream()
                .allMatch(each -> each.getQueueOffset() < begin ? each.getStoreTimestamp() <= time : each.getStoreTimestamp() >= time);
            new Json().put("by_time", isRight).put("time", time).put("begin", begin).put("queue", queue.getTopic())
                .put("queue_id", queue.getQueueId()).print();
        }
    }

    /** What consumers get of one topic: all, those with a tag, and in order; and what their groups then have left. */
    static void push() throws Exception {
        AtomicLong[] last = {new AtomicLong(), new AtomicLong(), new AtomicLong()};
        List<DefaultMQPushConsumer> consumers = new ArrayList<>();
        consumers.add(consumer("all", "*", last[0], false));
        consumers.add(consumer("tag", "Tag1", last[1], false));
        consumers.add(consumer("ordered", "*", last[2], true));
        consume(consumers, last);
        for (DefaultMQPushConsumer each : consumers) {
            String group = each.getConsumerGroup();
            new Json().put("group", group).put("left", left(group, group.contains("_tag") ? 0 : SETTLES)).print();
        }
    }

    /** How many messages a group has left. A consumer that stops tells its offsets and waits for no answer: the broker may be late. */
    private static long left(String group, long patience) throws Exception {
        long latest = System.currentTimeMillis() + patience;
        while (true) {
            long left = Traffic.admin.examineConsumeStats(group, "Plain").computeTotalDiff();
            if (left == 0 || System.currentTimeMillis() >= latest) {
                return left;
            }
            Thread.sleep(100);
        }
    }

    /** Start these consumers; stop them when none gets messages. */
    static void consume(List<DefaultMQPushConsumer> consumers, AtomicLong... last) throws Exception {
        for (DefaultMQPushConsumer each : consumers) {
            each.start();
        }
        long latest = System.currentTimeMillis() + LATEST;
        while (System.currentTimeMillis() < latest && !Arrays.stream(last).allMatch(Served::isDone)) {
            Thread.sleep(100);
        }
        for (DefaultMQPushConsumer each : consumers) {
            each.shutdown();
        }
    }

    /** Whether a consumer got messages, and then none for a while. On a busy machine, the first one comes late. */
    private static boolean isDone(AtomicLong last) {
        return last.get() > 0 && System.currentTimeMillis() - last.get() > IDLE;
    }

    static DefaultMQPushConsumer consumer(String how, String tags, AtomicLong last, boolean ordered) throws Exception {
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer("CG_push_" + how + System.nanoTime());
        Traffic.reach(consumer, how);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.subscribe("Plain", tags);
        if (ordered) {
            consumer.registerMessageListener((MessageListenerOrderly) (messages, context) -> {
                taken(how, messages, last);
                return ConsumeOrderlyStatus.SUCCESS;
            });
        } else {
            consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
                taken(how, messages, last);
                return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
            });
        }
        return consumer;
    }

    private static synchronized void taken(String how, List<MessageExt> messages, AtomicLong last) {
        last.set(System.currentTimeMillis());
        for (MessageExt message : messages) {
            tell(how, message);
        }
    }

    /** So many new messages to each queue of a topic; before that, where each queue ends. */
    static void more(int count) throws Exception {
        for (int queue = 0; queue < 4; queue++) {
            new Json().put("ends", Traffic.admin.maxOffset(new MessageQueue("Plain", "broker-a", queue))).put("queue_id", queue).print();
        }
        for (int number = 0; number < 4 * count; number++) {
            Message message = new Message("Plain", "More", "more" + number, Traffic.text(100));
            Traffic.send("more", message, number % 4);
        }
    }
}
