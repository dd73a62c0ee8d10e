import java.lang.reflect.Field;
import java.nio.ByteBuffer;
import java.util.Map;
import org.apache.rocketmq.common.message.MessageDecoder;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.store.DefaultMessageStore;
import org.apache.rocketmq.store.GetMessageResult;

/** ReadTopic STORE CONF TOPIC ROUNDS: a topic read through its queues by RocketMQ's own store class, every message decoded; seconds of each round. */
public class ReadTopic {
    public static void main(String[] arguments) {
        try {
            read(arguments);
            Runtime.getRuntime().halt(0); // nothing is to be written back
        } catch (Throwable error) {
            error.printStackTrace();
            Runtime.getRuntime().halt(1); // the store's own threads would go on
        }
    }

    private static void read(String[] arguments) throws Exception {
        DefaultMessageStore store = Line.opened(arguments[0], arguments[1]);
        if (!store.load()) {
            throw new IllegalStateException("the store cannot be loaded");
        }
        Field shutdown = DefaultMessageStore.class.getDeclaredField("shutdown");
        shutdown.setAccessible(true);
        shutdown.set(store, false);
        Map<Integer, ?> queues = store.getConsumeQueueTable().get(arguments[2]);
        for (int round = Integer.parseInt(arguments[3]); round > 0; round--) {
            long begun = System.nanoTime();
            long records = 0;
            long bytes = 0;
            for (int queue : queues.keySet()) {
                long next = store.getMinOffsetInQueue(arguments[2], queue);
                long end = store.getMaxOffsetInQueue(arguments[2], queue);
                while (next < end) {
                    GetMessageResult found = store.getMessage("reader", arguments[2], queue, next, 1000, null);
                    for (ByteBuffer record : found.getMessageBufferList()) {
                        MessageExt message = MessageDecoder.decode(record, true, true, false);
                        records++;
                        bytes += message == null || message.getBody() == null ? 0 : message.getBody().length;
                    }
                    found.release();
                    if (found.getNextBeginOffset() <= next) {
                        throw new IllegalStateException("stuck at " + next + ": " + found.getStatus());
                    }
                    next = found.getNextBeginOffset();
                }
            }
            new Json().put("seconds", (System.nanoTime() - begun) / 1e9).put("records", records).put("bytes", bytes).print();
        }
    }
}
