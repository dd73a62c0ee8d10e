import java.io.BufferedReader;
import java.io.FileReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.io.Reader;
import java.lang.reflect.Constructor;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Properties;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.zip.CRC32;
import org.apache.rocketmq.broker.BrokerController;
import org.apache.rocketmq.common.BrokerConfig;
import org.apache.rocketmq.common.MQVersion;
import org.apache.rocketmq.common.MixAll;
import org.apache.rocketmq.common.TopicConfig;
import org.apache.rocketmq.remoting.netty.NettyClientConfig;
import org.apache.rocketmq.remoting.netty.NettyServerConfig;
import org.apache.rocketmq.store.GetMessageResult;
import org.apache.rocketmq.store.MessageStore;
import org.apache.rocketmq.store.config.MessageStoreConfig;

/**
 * Whole brokers without a name server: each line of the input is a file of settings. Each broker says whether it started, where its log ends,
 * and what it has at each offset of each queue. Then it stops, while the next one starts. The last line of each: done, or failed.
 */
public class Starts {
    static final long PATIENCE = 60_000;
    static final ExecutorService CLOSING = Executors.newCachedThreadPool();

    public static void main(String[] none) throws Exception {
        PrintStream told = Json.OUT;
        System.setOut(System.err);
        System.setProperty("rocketmq.remoting.version", Integer.toString(MQVersion.CURRENT_VERSION));
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            try {
                start(line);
                told.println("done");
            } catch (Throwable error) {
                error.printStackTrace(told);
                told.println("failed");
            }
            told.flush();
        }
        Runtime.getRuntime().halt(0);
    }

    private static void start(String settings) throws Exception {
        BrokerController broker = broker(settings);
        long end = -1;
        String refused = null;
        try {
            if (broker.initialize()) {
                end = broker.getMessageStore().getMaxPhyOffset(); // before it writes what is due, and what it writes about transactions
                broker.start();
            } else {
                refused = "initialize() is false";
            }
        } catch (Throwable thrown) { // an OutOfMemoryError, too: the process of a broker ends with each
            refused = thrown.toString();
        }
        new Json().put("started", refused == null).put("end", end).put("why", refused).print();
        if (refused == null) {
            if ("true".equals(read(settings).getProperty("enableDLegerCommitLog"))) {
                awaitLeader(broker.getMessageStore());
            }
            awaitQueues(broker.getMessageStore());
            for (TopicConfig topic : new ArrayList<>(broker.getTopicConfigManager().getTopicConfigTable().values())) {
                for (int queue : queues(topic, settings)) {
                    pull(broker.getMessageStore(), topic.getTopicName(), queue);
                }
            }
        }
        CLOSING.execute(broker::shutdown); // it waits for ten seconds. That of one that is half made can fail, with a line in the errors
    }

    /** The constructor with four settings: 5.x has others, and each series has its own classes for the rest. */
    private static BrokerController broker(String settings) throws Exception {
        Properties properties = read(settings);
        Object[] parts = {new BrokerConfig(), new NettyServerConfig(), new NettyClientConfig(), new MessageStoreConfig()};
        Class<?>[] types = Arrays.stream(parts).map(Object::getClass).toArray(Class<?>[]::new);
        for (Object part : parts) {
            MixAll.properties2Object(properties, part);
        }
        Constructor<BrokerController> constructor = BrokerController.class.getConstructor(types);
        BrokerController broker = constructor.newInstance(parts);
        broker.getConfiguration().registerConfig(properties);
        return broker;
    }

    /** Those that clients ask, and those that the broker keeps for records with a damaged number. */
    private static SortedSet<Integer> queues(TopicConfig topic, String settings) throws Exception {
        SortedSet<Integer> queues = new TreeSet<>();
        for (int queue = 0; queue < topic.getReadQueueNums(); queue++) {
            queues.add(queue);
        }
        String[] folders = Paths.get(read(settings).getProperty("storePathRootDir"), "consumequeue", topic.getTopicName()).toFile().list();
        for (String folder : folders == null ? new String[0] : folders) {
            if (folder.matches("\\d{1,9}")) {
                queues.add(Integer.valueOf(folder));
            }
        }
        return queues;
    }

    private static Properties read(String settings) throws Exception {
        Properties properties = new Properties();
        try (Reader file = new FileReader(settings)) {
            properties.load(file);
        }
        return properties;
    }

    /** Before it is elected, DLedger says that its log is empty. */
    private static void awaitLeader(MessageStore store) throws Exception {
        long latest = System.currentTimeMillis() + PATIENCE;
        while (store.getMaxPhyOffset() <= 0) {
            if (System.currentTimeMillis() > latest) {
                throw new IllegalStateException("no leader was elected");
            }
            Thread.sleep(50);
        }
    }

    private static void awaitQueues(MessageStore store) throws Exception {
        long latest = System.currentTimeMillis() + PATIENCE;
        for (int quiet = 0; quiet < 3; quiet = store.dispatchBehindBytes() <= 0 ? quiet + 1 : 0) {
            if (System.currentTimeMillis() > latest) {
                throw new IllegalStateException(store.dispatchBehindBytes() + " bytes are not yet in queues");
            }
            Thread.sleep(50);
        }
    }

    /** As a client does that pulls one message at a time from the minimum to the maximum, and goes on where the broker tells it to. */
    private static void pull(MessageStore store, String topic, int queue) throws Exception {
        long offset = Math.max(0, store.getMinOffsetInQueue(topic, queue));
        long end = store.getMaxOffsetInQueue(topic, queue);
        while (offset < end) {
            GetMessageResult result;
            try {
                result = store.getMessage("starts", topic, queue, offset, 1, null);
            } catch (RuntimeException error) { // a client gets an error for this offset, again and again
                error.printStackTrace();
                return;
            }
            if (result == null) {
                return;
            }
            try {
                for (ByteBuffer record : result.getMessageBufferList()) {
                    tell(topic, queue, result.getNextBeginOffset() - 1, record); // it skips entries that lead nowhere
                }
            } finally {
                result.release();
            }
            if (result.getNextBeginOffset() <= offset) {
                return;
            }
            offset = result.getNextBeginOffset();
        }
    }

    private static void tell(String topic, int queue, long offset, ByteBuffer record) {
        byte[] bytes = new byte[record.remaining()];
        record.get(bytes);
        CRC32 crc = new CRC32();
        crc.update(bytes);
        long place = bytes.length < 36 ? -1 : ByteBuffer.wrap(bytes).getLong(28);
        new Json().put("topic", topic).put("queue_id", queue).put("queue_offset", offset).put("physical_offset", place)
            .put("crc", crc.getValue()).print();
    }
}
