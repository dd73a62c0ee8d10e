import java.io.File;
import java.lang.reflect.Field;
import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import org.apache.rocketmq.common.BrokerConfig;
import org.apache.rocketmq.common.MixAll;
import org.apache.rocketmq.common.TopicConfig;
import org.apache.rocketmq.remoting.protocol.body.TopicConfigSerializeWrapper;
import org.apache.rocketmq.store.DefaultMessageStore;
import org.apache.rocketmq.store.GetMessageResult;
import org.apache.rocketmq.store.MessageArrivingListener;
import org.apache.rocketmq.store.QueryMessageResult;
import org.apache.rocketmq.store.config.MessageStoreConfig;
import org.apache.rocketmq.store.queue.ConsumeQueueInterface;
import org.apache.rocketmq.store.stats.BrokerStatsManager;

/** Load5 STORE CONF KEYS: RocketMQ 5.5's own store loads that directory; what it gives for each queue, and for each key of a file. */
public class Load5 {
    public static void main(String[] arguments) {
        try {
            load(arguments);
            Runtime.getRuntime().halt(0); // nothing is to be written back
        } catch (Throwable error) {
            error.printStackTrace();
            Runtime.getRuntime().halt(1); // the store's own threads would go on
        }
    }

    private static void load(String[] arguments) throws Exception {
        DefaultMessageStore store = opened(arguments[0], arguments[1]);
        boolean loaded = store.load();
        // A store answers only after start(), which also dispatches and flushes; this one is to be looked at as it lies there.
        Field shutdown = DefaultMessageStore.class.getDeclaredField("shutdown");
        shutdown.setAccessible(true);
        shutdown.set(store, false);
        new Json().put("loaded", loaded).put("first", store.getMinPhyOffset()).put("end", store.getMaxPhyOffset()).print();
        for (Map.Entry<String, ConcurrentMap<Integer, ConsumeQueueInterface>> topic : store.getConsumeQueueTable().entrySet()) {
            for (int queue : topic.getValue().keySet()) {
                tell(store, topic.getKey(), queue);
            }
        }
        for (String line : Files.readAllLines(Paths.get(arguments[2]), StandardCharsets.UTF_8)) {
            String[] asked = line.split("\t", 2);
            QueryMessageResult found = store.queryMessage(asked[0], asked[1], 1_000_000, 0, Long.MAX_VALUE);
            List<Long> offsets = new ArrayList<>();
            for (ByteBuffer record : found.getMessageBufferList()) {
                offsets.add(record.getLong(28));
            }
            new Json().put("topic", asked[0]).put("key", asked[1]).put("offsets", offsets).print();
        }
    }

    private static void tell(DefaultMessageStore store, String topic, int queue) throws Exception {
        List<Long> offsets = new ArrayList<>();
        List<Long> numbers = new ArrayList<>();
        long next = store.getMinOffsetInQueue(topic, queue);
        long end = store.getMaxOffsetInQueue(topic, queue);
        while (next < end) {
            GetMessageResult found = store.getMessage("checker", topic, queue, next, 1000, null);
            for (ByteBuffer record : found.getMessageBufferList()) {
                offsets.add(record.getLong(28));
                numbers.add(record.getLong(20));
            }
            found.release();
            if (found.getNextBeginOffset() <= next) {
                throw new IllegalStateException(topic + "/" + queue + " at " + next + ": " + found.getStatus());
            }
            next = found.getNextBeginOffset();
        }
        new Json().put("topic", topic).put("queue_id", queue).put("end", end).put("offsets", offsets).put("queue_offsets", numbers).print();
    }

    private static DefaultMessageStore opened(String root, String conf) throws Exception {
        Properties said = new Properties();
        said.load(Files.newInputStream(Paths.get(conf)));
        MessageStoreConfig config = new MessageStoreConfig();
        MixAll.properties2Object(said, config);
        config.setStorePathRootDir(root);
        config.setStorePathCommitLog(root + "/commitlog");
        config.setMaxTransferBytesOnMessageInMemory(1 << 30);
        config.setMaxTransferCountOnMessageInMemory(1000);
        config.setMaxTransferBytesOnMessageInDisk(1 << 30);
        config.setMaxTransferCountOnMessageInDisk(1000);
        config.setMaxMsgsNumBatch(1_000_000);
        BrokerConfig broker = new BrokerConfig();
        MixAll.properties2Object(said, broker);
        MessageArrivingListener nobody = (MessageArrivingListener) Proxy.newProxyInstance(
            Load5.class.getClassLoader(), new Class<?>[] {MessageArrivingListener.class}, (proxy, method, given) -> null);
        return new DefaultMessageStore(config, new BrokerStatsManager("checker", true), nobody, broker, topics(root));
    }

    private static ConcurrentMap<String, TopicConfig> topics(String root) throws Exception {
        File file = new File(root, "config/topics.json");
        if (!file.exists()) {
            return new ConcurrentHashMap<>();
        }
        String text = new String(Files.readAllBytes(file.toPath()), StandardCharsets.UTF_8);
        return TopicConfigSerializeWrapper.fromJson(text, TopicConfigSerializeWrapper.class).getTopicConfigTable();
    }
}
