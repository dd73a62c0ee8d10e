import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.rocketmq.client.ClientConfig;
import org.apache.rocketmq.client.consumer.DefaultMQPullConsumer;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.exception.MQBrokerException;
import org.apache.rocketmq.client.impl.consumer.DefaultMQPullConsumerImpl;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.LocalTransactionState;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.client.producer.SendStatus;
import org.apache.rocketmq.client.producer.TransactionListener;
import org.apache.rocketmq.client.producer.TransactionMQProducer;
import org.apache.rocketmq.common.TopicConfig;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageAccessor;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;
import org.apache.rocketmq.tools.admin.DefaultMQAdminExt;

/** Traffic WHAT NAME_SERVER BROKER SEED ...: what clients do to a broker. Prints what the broker acknowledged. */
public class Traffic {
    static String nameServer;
    static String broker;
    static Random random;
    static DefaultMQAdminExt admin;
    static DefaultMQProducer producer;

    public static void main(String[] arguments) {
        try {
            act(arguments);
            Runtime.getRuntime().halt(0);
        } catch (Throwable error) {
            error.printStackTrace();
            Runtime.getRuntime().halt(1);
        }
    }

    static void act(String[] arguments) throws Exception {
        nameServer = arguments[1];
        broker = arguments[2];
        random = new Random(Long.parseLong(arguments[3]));
        admin = new DefaultMQAdminExt(10_000);
        reach(admin, "admin");
        admin.start();
        run(arguments[0], arguments.length > 4 ? Integer.parseInt(arguments[4]) : 0);
    }

    /** Ends what goes on after an act that does not end the program. Clients of 5.5.0 take seconds for that. */
    static void shutdown() {
        DefaultMQProducer sender = producer;
        DefaultMQAdminExt asker = admin;
        new Thread(() -> {
            sender.shutdown();
            asker.shutdown();
        }).start();
    }

    private static void run(String what, int count) throws Exception {
        producer = started(new DefaultMQProducer("PG_traffic"));
        switch (what) {
            case "plain":
                plain("Plain", count);
                break;
            case "kinds":
                timed("plain", () -> plain("Plain", 40));
                timed("oddities", Traffic::oddities);
                timed("batch", Traffic::batch);
                timed("transactions", Traffic::transactions);
                timed("delays", Traffic::delays);
                timed("retries", Traffic::retries);
                timed("trace", Traffic::trace);
                timed("deleted", () -> deletedAndMadeAgain(4));
                timed("groups", Traffic::groups);
                break;
            case "transactions":
                transactions();
                break;
            case "groups":
                groups();
                break;
            case "light":
                light();
                break;
            case "load":
                load(count);
                break;
            case "pull":
                Served.pull("pull", 32, true);
                break;
            case "answers":
                Served.pull("singly", 1, false);
                Served.pull("together", 32, false);
                break;
            case "consume":
                Served.pull("pull", 32, true);
                Served.push();
                break;
            case "more":
                Served.more(count);
                break;
            case "steady":
                Steady.send(count);
                break;
            default: // what only 5.x has is in a class that only it compiles
                Class.forName("Features").getMethod(what).invoke(null);
        }
    }

    interface Step {
        void run() throws Exception;
    }

    static void timed(String name, Step step) throws Exception {
        long begun = System.currentTimeMillis();
        step.run();
        new Json().put("step", name).put("milliseconds", System.currentTimeMillis() - begun).print();
    }

    /** On a busy machine, a name server takes longer than the 3 s that clients wait by default. */
    static void reach(ClientConfig client, String name) {
        client.setNamesrvAddr(nameServer);
        client.setInstanceName(name + System.nanoTime());
        client.setMqClientApiTimeout(30_000);
    }

    static <P extends DefaultMQProducer> P started(P made) throws Exception {
        reach(made, "producer");
        made.setSendMsgTimeout(10_000);
        made.start();
        return made;
    }

    /** The broker takes a command, and the name server knows the topic that it made. */
    static void topic(String name, int queues) throws Exception {
        admin.createAndUpdateTopicConfig(broker, new TopicConfig(name, queues, queues, 6));
        for (int left = 100; ; left--) {
            try {
                admin.examineTopicRouteInfo(name);
                return;
            } catch (Exception notYet) {
                if (left == 0) {
                    throw notYet;
                }
                Thread.sleep(50);
            }
        }
    }

    static void tell(String kind, Message message, SendResult result) {
        new Json().put("kind", kind).put("topic", message.getTopic()).put("status", result.getSendStatus()).put("msg_id", result.getMsgId())
            .put("offset_msg_id", result.getOffsetMsgId()).put("queue_id", result.getMessageQueue().getQueueId())
            .put("queue_offset", result.getQueueOffset()).put("body_size", message.getBody().length).print();
    }

    static void send(String kind, Message message, int queue) throws Exception {
        tell(kind, message, producer.send(message, new MessageQueue(message.getTopic(), "broker-a", queue)));
    }

    static byte[] text(int size) {
        StringBuilder words = new StringBuilder();
        while (words.length() < size) {
            words.append(random.nextInt(1000)).append(random.nextBoolean() ? " total " : " état 支付 ");
        }
        return words.toString().getBytes(StandardCharsets.UTF_8);
    }

    private static void plain(String name, int count) throws Exception {
        topic(name, 4);
        for (int number = 0; number < count; number++) {
            Message message = new Message(name, "Tag" + number % 3, "key" + number, text(1 + random.nextInt(300)));
            if (number % 4 == 0) {
                message.setKeys(Collections.singletonList("key" + number + " shared"));
                message.putUserProperty("number", "" + number);
            }
            send("plain", message, number % 4);
        }
    }

    private static void oddities() throws Exception {
        topic("Odd", 1);
        send("one byte", new Message("Odd", new byte[] {7}), 0);
        byte[] large = new byte[100_000];
        random.nextBytes(large);
        send("large", new Message("Odd", "Large", "large", large), 0);
        send("compressed", new Message("Odd", "Zip", "zip", text(6_000)), 0);
        Message unicode = new Message("Odd", "标签", "ключ 鍵", "Grüße 🚀".getBytes(StandardCharsets.UTF_8));
        unicode.putUserProperty("属性", "значение 🚀");
        send("unicode", unicode, 0);
        for (String colliding : new String[] {"AaAa", "BBBB", "AaBB"}) { // one hash for all of them
            send("colliding", new Message("Odd", colliding, colliding, colliding.getBytes(StandardCharsets.UTF_8)), 0);
        }
        Message flagged = new Message("Odd", null, null, Integer.MIN_VALUE, "flag".getBytes(StandardCharsets.UTF_8), true);
        send("flag", flagged, 0);
    }

    private static void batch() throws Exception {
        topic("Batch", 2);
        List<Message> messages = new ArrayList<>();
        for (int number = 0; number < 7; number++) {
            messages.add(new Message("Batch", "TagB", "batch" + number, text(20 + number)));
        }
        tell("batch", messages.get(0), producer.send(messages, new MessageQueue("Batch", "broker-a", 1)));
    }

    private static void transactions() throws Exception {
        topic("Paid", 2);
        TransactionMQProducer transactional = new TransactionMQProducer("PG_transactions");
        transactional.setTransactionListener(new TransactionListener() {
            @Override
            public LocalTransactionState executeLocalTransaction(Message message, Object state) {
                return (LocalTransactionState) state;
            }

            @Override
            public LocalTransactionState checkLocalTransaction(MessageExt message) {
                return LocalTransactionState.UNKNOW;
            }
        });
        started(transactional);
        for (int number = 0; number < 9; number++) {
            LocalTransactionState state = LocalTransactionState.values()[number % 3];
            Message message = new Message("Paid", state.name(), "tx" + number, text(50));
            tell(state.name(), message, transactional.sendMessageInTransaction(message, state));
        }
        Thread.sleep(4_000); // undecided ones are checked and put again
        transactional.shutdown();
    }

    private static void delays() throws Exception {
        topic("Later", 2);
        for (int level : new int[] {1, 2, 3, 8, 9}) { // 8 and 9 are hours away: pending
            Message message = new Message("Later", "Level" + level, "later" + level, text(30));
            message.setDelayTimeLevel(level);
            send("delay", message, level % 2);
        }
    }

    private static void retries() throws Exception {
        topic("Fails", 1);
        AtomicInteger done = new AtomicInteger();
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer("CG_fails");
        reach(consumer, "consumer");
        consumer.setPollNameServerInterval(1_000); // else a retry topic that is new is heard of after 30 s
        consumer.setHeartbeatBrokerInterval(1_000);
        consumer.subscribe("Fails", "*");
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.setMaxReconsumeTimes(2);
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            MessageExt message = messages.get(0);
            boolean fails = message.getTags().equals("always") || message.getTags().equals("once") && message.getReconsumeTimes() == 0;
            done.addAndGet(fails && message.getReconsumeTimes() < 2 ? 0 : 1);
            return fails ? ConsumeConcurrentlyStatus.RECONSUME_LATER : ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        consumer.start();
        for (int number = 0; number < 6; number++) {
            String tag = new String[] {"fine", "once", "always"}[number % 3];
            send("retry", new Message("Fails", tag, "fails" + number, text(40)), 0);
        }
        for (int left = 300; done.get() < 6 && left > 0; left--) {
            Thread.sleep(100);
        }
        Thread.sleep(1_500); // the dead ones are sent back
        consumer.shutdown();
    }

    private static void trace() throws Exception {
        DefaultMQProducer traced = started(new DefaultMQProducer("PG_traced", null, true, null));
        for (int number = 0; number < 3; number++) {
            Message message = new Message("Plain", "Traced", "traced" + number, text(20));
            tell("traced", message, traced.send(message, new MessageQueue("Plain", "broker-a", 0)));
        }
        Thread.sleep(1_500);
        traced.shutdown();
    }

    static void deletedAndMadeAgain(int messages) throws Exception {
        for (String name : new String[] {"Gone", "Again"}) {
            topic(name, 1);
            for (int number = 0; number < 5; number++) {
                send("deleted", new Message(name, "Old", "old" + number, text(30)), 0);
            }
            Thread.sleep(500);
            admin.deleteTopicInBroker(Collections.singleton(broker), name);
            admin.deleteTopicInNameServer(Collections.singleton(nameServer), "DefaultCluster", name);
        }
        Thread.sleep(500);
        topic("Again", 1);
        for (int number = 0; number < messages; number++) {
            send("made again", new Message("Again", "New", "new" + number, text(30)), 0);
        }
    }

    /** Each message is put into two more queues, by its properties. */
    private static void light() throws Exception {
        topic("Parent", 1);
        for (int number = 0; number < 25; number++) {
            Message message = new Message("Parent", "Light", "light" + number, text(20));
            message.putUserProperty("number", "" + number);
            MessageAccessor.putProperty(message, "INNER_MULTI_DISPATCH", "%LMQ%a,%LMQ%b" + number % 2);
            send("light", message, 0);
        }
    }

    /** One group has consumed all of a queue, one lags behind, one has begun nowhere. */
    private static void groups() throws Exception {
        MessageQueue queue = new MessageQueue("Plain", "broker-a", 0);
        long[] offsets = {admin.maxOffset(queue), 3, 0};
        String[] names = {"CG_done", "CG_lags", "CG_new"};
        for (int group = 0; group < names.length; group++) {
            DefaultMQPullConsumer consumer = new DefaultMQPullConsumer(names[group]);
            reach(consumer, "consumer");
            consumer.start();
            consumer.fetchSubscribeMessageQueues("Plain");
            commit(consumer.getDefaultMQPullConsumerImpl(), queue, offsets[group]);
            consumer.shutdown();
            new Json().put("group", names[group]).put("topic", "Plain").put("queue_id", 0).put("consumed", offsets[group])
                .put("end", offsets[0]).print();
        }
        Thread.sleep(200);
    }

    /** By a heartbeat a broker learns of a group, in its own time; 5.x takes no offsets of one that it does not know. */
    private static void commit(DefaultMQPullConsumerImpl consumer, MessageQueue queue, long offset) throws Exception {
        for (int left = 50; ; left--) {
            consumer.getRebalanceImpl().getmQClientFactory().sendHeartbeatToAllBrokerWithLock();
            try {
                consumer.getOffsetStore().updateConsumeOffsetToBroker(queue, offset, false);
                return;
            } catch (MQBrokerException unknown) {
                if (left == 0) {
                    throw unknown;
                }
                Thread.sleep(100);
            }
        }
    }

    /** Four threads send for so many seconds, no byte of theirs zero; then what was acknowledged, and the microseconds that a send took. */
    private static void load(int seconds) throws Exception {
        topic("Load", 4);
        long until = System.nanoTime() + seconds * 1_000_000_000L;
        List<Thread> threads = new ArrayList<>();
        List<Long> took = Collections.synchronizedList(new ArrayList<>());
        List<String> ids = Collections.synchronizedList(new ArrayList<>());
        new Json().put("begun", System.currentTimeMillis()).print();
        for (int thread = 0; thread < 4; thread++) {
            MessageQueue queue = new MessageQueue("Load", "broker-a", thread);
            Random sizes = new Random(thread);
            threads.add(new Thread(() -> {
                while (System.nanoTime() < until) {
                    byte[] body = new byte[1 + sizes.nextInt(sizes.nextInt(10) == 0 ? 20_000 : 1_000)];
                    for (int i = 0; i < body.length; i++) {
                        body[i] = (byte) (1 + (i * 7 + body.length) % 255);
                    }
                    try {
                        long begun = System.nanoTime();
                        SendResult result = producer.send(new Message("Load", "Tag" + body.length % 5, "size" + body.length, body), queue);
                        if (result.getSendStatus() == SendStatus.SEND_OK) {
                            took.add((System.nanoTime() - begun) / 1_000);
                            ids.add(result.getMsgId());
                        }
                    } catch (Exception busy) {
                        new Json().put("busy", busy.getClass().getName()).print(); // not acknowledged, though it may be there
                    }
                }
            }));
        }
        for (Thread thread : threads) {
            thread.start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        Collections.sort(took);
        new Json().put("acknowledged", ids).put("median", took.get(took.size() / 2)).put("slow", took.get(took.size() * 99 / 100)).print();
    }
}
