import java.lang.reflect.Field;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.rocketmq.store.DefaultMessageStore;
import org.apache.rocketmq.store.GetMessageResult;
import org.apache.rocketmq.store.QueryMessageResult;

/**
 * Load STORE CONF KEYS [start]: RocketMQ's own store class loads that directory, as a broker does that starts; what it then has in each
 * queue, the entries and the messages that they lead to, and what it finds for each `topic TAB key` of a file. With `start`, only after
 * it has also put into queues what was in none.
 */
public class Load {
    public static void main(String[] arguments) {
        try {
            load(arguments);
            Runtime.getRuntime().halt(0); // nothing is to be written back
        } catch (Throwable error) {
            error.printStackTrace();
            Runtime.getRuntime().halt(1); // the store's own threads would go on
        }
    }

    static void load(String[] arguments) throws Exception {
        DefaultMessageStore store = Line.opened(arguments[0], arguments[1]);
        boolean loaded = store.load();
        // A store answers only after start(), which also dispatches and flushes; this one is to be looked at as it lies there.
        Field shutdown = DefaultMessageStore.class.getDeclaredField("shutdown");
        shutdown.setAccessible(true);
        shutdown.set(store, false);
        if (loaded && arguments.length > 3) {
            store.start();
            while (store.dispatchBehindBytes() > 0) {
                Thread.sleep(20);
            }
            Thread.sleep(100); // the last record is dispatched after it was counted
        }
        new Json().put("loaded", loaded).put("first", store.getMinPhyOffset()).put("end", store.getMaxPhyOffset()).print();
        if (!loaded) {
            return;
        }
        for (Map.Entry<String, ? extends Map<Integer, ?>> topic : store.getConsumeQueueTable().entrySet()) {
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
        long first = store.getMinOffsetInQueue(topic, queue);
        long next = first;
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
        new Json().put("topic", topic).put("queue_id", queue).put("first", first).put("end", end).put("entries", Line.entries(store, topic, queue))
            .put("offsets", offsets).put("queue_offsets", numbers).print();
    }
}
