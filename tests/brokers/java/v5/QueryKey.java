import java.lang.reflect.Field;
import org.apache.rocketmq.common.message.MessageDecoder;
import org.apache.rocketmq.store.DefaultMessageStore;
import org.apache.rocketmq.store.QueryMessageResult;

/** QueryKey STORE CONF TOPIC KEY ROUNDS: a key looked up by RocketMQ's own store class, every hit decoded; seconds of each round. */
public class QueryKey {
    public static void main(String[] arguments) {
        try {
            query(arguments);
            Runtime.getRuntime().halt(0); // nothing is to be written back
        } catch (Throwable error) {
            error.printStackTrace();
            Runtime.getRuntime().halt(1); // the store's own threads would go on
        }
    }

    private static void query(String[] arguments) throws Exception {
        DefaultMessageStore store = Line.opened(arguments[0], arguments[1]);
        if (!store.load()) {
            throw new IllegalStateException("the store cannot be loaded");
        }
        Field shutdown = DefaultMessageStore.class.getDeclaredField("shutdown");
        shutdown.setAccessible(true);
        shutdown.set(store, false);
        for (int round = Integer.parseInt(arguments[4]); round > 0; round--) {
            long begun = System.nanoTime();
            QueryMessageResult found = store.queryMessage(arguments[2], arguments[3], 64, 0, Long.MAX_VALUE);
            long records = found.getMessageBufferList().stream().filter(record -> MessageDecoder.decode(record, true, true, false) != null).count();
            found.release();
            new Json().put("seconds", (System.nanoTime() - begun) / 1e9).put("records", records).print();
        }
    }
}
