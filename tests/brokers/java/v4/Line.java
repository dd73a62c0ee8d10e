import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import org.apache.rocketmq.common.BrokerConfig;
import org.apache.rocketmq.common.MixAll;
import org.apache.rocketmq.store.ConsumeQueue;
import org.apache.rocketmq.store.DefaultMessageStore;
import org.apache.rocketmq.store.MessageArrivingListener;
import org.apache.rocketmq.store.SelectMappedBufferResult;
import org.apache.rocketmq.store.config.MessageStoreConfig;
import org.apache.rocketmq.store.stats.BrokerStatsManager;

/** What is said in other words in the 4.x line than in 5.x. */
final class Line {
    /** A store class over that directory, not yet loaded. */
    static DefaultMessageStore opened(String root, String conf) throws Exception {
        Properties said = new Properties();
        said.load(Files.newInputStream(Paths.get(conf)));
        MessageStoreConfig config = new MessageStoreConfig();
        MixAll.properties2Object(said, config);
        config.setStorePathRootDir(root);
        config.setHaListenPort(0);
        config.setStorePathCommitLog(root + "/commitlog");
        config.setMaxTransferBytesOnMessageInMemory(1 << 30);
        config.setMaxTransferCountOnMessageInMemory(1000);
        config.setMaxTransferBytesOnMessageInDisk(1 << 30);
        config.setMaxTransferCountOnMessageInDisk(1000);
        config.setMaxMsgsNumBatch(1_000_000);
        BrokerConfig broker = new BrokerConfig();
        MixAll.properties2Object(said, broker);
        MessageArrivingListener nobody = (MessageArrivingListener) Proxy.newProxyInstance(
            Line.class.getClassLoader(), new Class<?>[] {MessageArrivingListener.class}, (proxy, method, given) -> null);
        return new DefaultMessageStore(config, new BrokerStatsManager("checker", true), nobody, broker);
    }

    /** Queue offset, physical offset, size, tags code and number of messages of each entry, one after the other. */
    static List<Long> entries(DefaultMessageStore store, String topic, int queue) {
        List<Long> told = new ArrayList<>();
        ConsumeQueue entries = store.getConsumeQueueTable().get(topic).get(queue);
        long next = entries.getMinOffsetInQueue();
        while (next < entries.getMaxOffsetInQueue()) {
            SelectMappedBufferResult found = entries.getIndexBuffer(next); // from there to the end of its file
            if (found == null) {
                next++;
                continue;
            }
            ByteBuffer units = found.getByteBuffer();
            for (int left = found.getSize(); left >= ConsumeQueue.CQ_STORE_UNIT_SIZE; left -= ConsumeQueue.CQ_STORE_UNIT_SIZE) {
                told.addAll(List.of(next++, units.getLong(), (long) units.getInt(), units.getLong(), 1L));
            }
            found.release();
        }
        return told;
    }
}
