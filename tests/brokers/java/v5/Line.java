import java.io.File;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import org.apache.rocketmq.common.BrokerConfig;
import org.apache.rocketmq.common.MixAll;
import org.apache.rocketmq.common.TopicConfig;
import org.apache.rocketmq.remoting.protocol.body.TopicConfigSerializeWrapper;
import org.apache.rocketmq.store.DefaultMessageStore;
import org.apache.rocketmq.store.MessageArrivingListener;
import org.apache.rocketmq.store.config.MessageStoreConfig;
import org.apache.rocketmq.store.queue.ConsumeQueueInterface;
import org.apache.rocketmq.store.queue.CqUnit;
import org.apache.rocketmq.store.queue.ReferredIterator;
import org.apache.rocketmq.store.stats.BrokerStatsManager;

/** What is said in other words in the 5.x line than in 4.x. */
final class Line {
    /** A store class over that directory, not yet loaded. */
    static DefaultMessageStore opened(String root, String conf) throws Exception {
        Properties said = new Properties();
        said.load(Files.newInputStream(Paths.get(conf)));
        MessageStoreConfig config = new MessageStoreConfig();
        MixAll.properties2Object(said, config);
        config.setStorePathRootDir(root);
        if (!said.getProperty("storePathCommitLog", "").contains(",")) {
            config.setStorePathCommitLog(root + "/commitlog");
        }
        config.setHaListenPort(0);
        config.setMaxTransferBytesOnMessageInMemory(1 << 30);
        config.setMaxTransferCountOnMessageInMemory(1000);
        config.setMaxTransferBytesOnMessageInDisk(1 << 30);
        config.setMaxTransferCountOnMessageInDisk(1000);
        config.setMaxMsgsNumBatch(1_000_000);
        BrokerConfig broker = new BrokerConfig();
        MixAll.properties2Object(said, broker);
        MessageArrivingListener nobody = (MessageArrivingListener) Proxy.newProxyInstance(
            Line.class.getClassLoader(), new Class<?>[] {MessageArrivingListener.class}, (proxy, method, given) -> null);
        return new DefaultMessageStore(config, new BrokerStatsManager("checker", true), nobody, broker, topics(root));
    }

    /** Queue offset, physical offset, size, tags code and number of messages of each entry, one after the other. */
    static List<Long> entries(DefaultMessageStore store, String topic, int queue) {
        List<Long> told = new ArrayList<>();
        ConsumeQueueInterface entries = store.getConsumeQueueTable().get(topic).get(queue);
        for (long next = entries.getMinOffsetInQueue(); next < entries.getMaxOffsetInQueue(); ) {
            long begun = next;
            ReferredIterator<CqUnit> units = entries.iterateFrom(next);
            while (units != null && units.hasNext()) { // an iterator ends with its file
                CqUnit unit = units.next();
                told.addAll(List.of(unit.getQueueOffset(), unit.getPos(), (long) unit.getSize(), unit.getTagsCode(), (long) unit.getBatchNum()));
                next = unit.getQueueOffset() + unit.getBatchNum();
            }
            if (units != null) {
                units.release();
            }
            next = Math.max(next, begun + 1);
        }
        return told;
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
