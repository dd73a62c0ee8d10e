import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.common.TopicConfig;
import org.apache.rocketmq.common.compression.CompressionType;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;
import org.apache.rocketmq.common.message.MessageRequestMode;
import org.apache.rocketmq.remoting.protocol.subscription.SubscriptionGroupConfig;

/** What only clients and brokers of 5.x can do. */
public class Features {
    public static void features() throws Exception {
        Traffic.timed("timers", Features::timers);
        Traffic.timed("inner batches", Features::innerBatches);
        Traffic.timed("compressed", Features::compressed);
        Traffic.timed("pop", Features::pop);
        Traffic.timed("timers that are due", () -> Thread.sleep(3_000));
    }

    private static void topic(String name, int queues, String... attributes) throws Exception {
        TopicConfig topic = new TopicConfig(name, queues, queues, 6);
        for (int i = 0; i < attributes.length; i += 2) {
            topic.getAttributes().put("+" + attributes[i], attributes[i + 1]);
        }
        Traffic.admin.createAndUpdateTopicConfig(Traffic.broker, topic);
        Thread.sleep(1_500);
    }

    /** A topic for each type of message: a proxy lets no other onto it. And a group, which a proxy does not make. */
    public static void typed() throws Exception {
        topic("Normal", 2, "message.type", "NORMAL");
        topic("Ordered", 2, "message.type", "FIFO");
        topic("Later", 2, "message.type", "DELAY");
        topic("Paid", 2, "message.type", "TRANSACTION");
        SubscriptionGroupConfig group = new SubscriptionGroupConfig();
        group.setGroupName("CG_grpc");
        Traffic.admin.createAndUpdateSubscriptionGroupConfig(Traffic.broker, group);
    }

    private static Message message(String topic, String tag, String key) {
        return new Message(topic, tag, key, (key + " état").getBytes(StandardCharsets.UTF_8));
    }

    private static SendResult sent(String kind, Message message, int queue) throws Exception {
        SendResult result = Traffic.producer.send(message, new MessageQueue(message.getTopic(), "broker-a", queue));
        Traffic.tell(kind, message, result);
        return result;
    }

    /** What services of the broker deliver: timers, and what came back from a pop consumer. The last timers are due after a restart. */
    public static void services() throws Exception {
        timers();
        pop();
        for (int number = 0; number < 4; number++) {
            Message due = message("Timed", "Due", "due" + number);
            due.setDelayTimeMs(20_000);
            sent("due", due, number % 2);
        }
        Thread.sleep(2_000);
    }

    /** Timers until those that are soon are delivered. */
    public static void timed() throws Exception {
        timers();
        Thread.sleep(6_000);
    }

    private static void timers() throws Exception {
        topic("Timed", 2, "message.type", "DELAY");
        for (int number = 0; number < 4; number++) {
            Message soon = message("Timed", "Soon", "soon" + number);
            soon.setDelayTimeMs(1_000 + 500 * number);
            sent("timer", soon, number % 2);
        }
        Message pending = message("Timed", "Pending", "pending");
        pending.setDelayTimeSec(3_600);
        sent("timer", pending, 0);
        Message recalled = message("Timed", "Recalled", "recalled");
        recalled.setDelayTimeSec(6);
        Traffic.producer.recallMessage("Timed", sent("timer", recalled, 0).getRecallHandle());
    }

    private static void innerBatches() throws Exception {
        topic("Inner", 2, "queue.type", "BatchCQ");
        batches();
    }

    public static void batches() throws Exception {
        for (int batch = 0; batch < 4; batch++) {
            List<Message> messages = new ArrayList<>();
            for (int number = 0; number < 2 + batch; number++) {
                Message each = message("Inner", "TagI", "inner" + batch + "-" + number);
                each.setFlag(number);
                messages.add(each);
            }
            Traffic.tell("inner", messages.get(0), Traffic.producer.send(messages, new MessageQueue("Inner", "broker-a", batch % 2)));
        }
        sent("single", message("Inner", "TagS", "single"), 0);
    }

    /** For a slave, which learns of topics late: batches on a topic that is new, and a topic that is new again. */
    public static void copied() throws Exception {
        innerBatches();
        topic("Plain", 2);
        for (int number = 0; number < 60; number++) {
            sent("plain", new Message("Plain", "Tag" + number % 3, "key" + number, Traffic.text(1 + number * 5)), number % 2);
        }
        Traffic.deletedAndMadeAgain(7);
    }

    private static void compressed() throws Exception {
        topic("Packed", 1);
        for (CompressionType type : CompressionType.values()) {
            DefaultMQProducer packing = new DefaultMQProducer("PG_" + type);
            packing.setCompressType(type);
            packing.setCompressMsgBodyOverHowmuch(100);
            Traffic.started(packing);
            for (int size : new int[] {150, 5_000, 100_000}) {
                Message message = new Message("Packed", type.name(), type + " " + size, Traffic.text(size));
                Traffic.tell("compressed", message, packing.send(message, new MessageQueue("Packed", "broker-a", 0)));
            }
            packing.shutdown();
        }
    }

    /** A topic of which the broker keeps the newest message of each key, in a second log of its own. */
    public static void compaction() throws Exception {
        topic("Newest", 2, "cleanup.policy", "COMPACTION");
        for (int number = 0; number < 400; number++) {
            Message message = new Message("Newest", "TagC", "key" + number % 23, Traffic.text(1 + number % 400));
            sent("compaction", message, number % 2);
        }
        Thread.sleep(12_000);
    }

    /** Enough for six segments, and the broker told to delete what is old. */
    public static void expired() throws Exception {
        topic("Old", 2);
        for (int number = 0; number < 400; number++) {
            sent("expired", new Message("Old", "TagO", "old" + number, Traffic.text(800)), number % 2);
        }
        Traffic.admin.deleteExpiredCommitLogByAddr(Traffic.broker);
        Thread.sleep(70_000);
        topic("Young", 1);
        for (int number = 0; number < 30; number++) {
            sent("young", new Message("Young", "TagY", "young" + number, Traffic.text(100)), 0);
        }
    }

    /** Taken out by POP for five minutes by a consumer that never acknowledges: it ends with this program. */
    public static void held() throws Exception {
        topic("Held", 2);
        Traffic.admin.setMessageRequestMode(Traffic.broker, "Held", "CG_held", MessageRequestMode.POP, 8, 5_000);
        AtomicInteger taken = new AtomicInteger();
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer("CG_held");
        Traffic.reach(consumer, "held");
        consumer.subscribe("Held", "*");
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.setPopInvisibleTime(300_000);
        consumer.setClientRebalance(false);
        consumer.setPollNameServerInterval(1_000);
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            taken.addAndGet(messages.size());
            try {
                Thread.sleep(600_000);
            } catch (InterruptedException ended) {
                Thread.currentThread().interrupt();
            }
            return ConsumeConcurrentlyStatus.RECONSUME_LATER;
        });
        for (int number = 0; number < 8; number++) {
            sent("held", message("Held", "TagH", "held" + number), number % 2);
        }
        consumer.start();
        for (int left = 300; taken.get() < 8 && left > 0; left--) {
            Thread.sleep(100);
        }
        Thread.sleep(2_000);
    }

    /** Taken out by POP; those that are not acknowledged come back, from topic and group names so long that they need a V2 record. */
    private static void pop() throws Exception {
        String topic = "PopLong" + "t".repeat(90);
        String group = "CG_pop" + "g".repeat(80);
        topic(topic, 1);
        Traffic.admin.setMessageRequestMode(Traffic.broker, topic, group, MessageRequestMode.POP, 8, 5_000);
        AtomicInteger done = new AtomicInteger();
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer(group);
        Traffic.reach(consumer, "pop");
        consumer.subscribe(topic, "*");
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.setPopInvisibleTime(5_000);
        consumer.setClientRebalance(false);
        consumer.setPollNameServerInterval(1_000);
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            MessageExt message = messages.get(0);
            boolean fails = message.getTags().equals("once") && message.getReconsumeTimes() == 0;
            done.addAndGet(fails ? 0 : 1);
            return fails ? ConsumeConcurrentlyStatus.RECONSUME_LATER : ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        for (int number = 0; number < 6; number++) {
            sent("pop", message(topic, number % 2 == 0 ? "fine" : "once", "pop" + number), 0);
        }
        consumer.start();
        for (int left = 300; done.get() < 6 && left > 0; left--) {
            Thread.sleep(100);
        }
        Thread.sleep(1_000);
        consumer.shutdown();
        new Json().put("popped", done.get()).print();
    }

    /** What a pop consumer gets of one topic. */
    public static void popped() throws Exception {
        AtomicLong last = new AtomicLong();
        DefaultMQPushConsumer consumer = Served.consumer("pop", "*", last, false);
        Traffic.admin.setMessageRequestMode(Traffic.broker, "Plain", consumer.getConsumerGroup(), MessageRequestMode.POP, 8, 5_000);
        consumer.setClientRebalance(false);
        consumer.setPollNameServerInterval(1_000);
        Served.consume(List.of(consumer), last);
    }
}
