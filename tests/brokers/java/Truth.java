import io.openmessaging.storage.dledger.entry.DLedgerEntry;
import io.openmessaging.storage.dledger.entry.DLedgerEntryCoder;
import java.io.File;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import org.apache.rocketmq.common.message.MessageClientExt;
import org.apache.rocketmq.common.message.MessageDecoder;
import org.apache.rocketmq.common.message.MessageExt;

/** Truth COMMITLOG...: every record in those directories, and the messages inside it, as RocketMQ's own MessageDecoder sees them. */
public class Truth {
    private static final int V1 = 0xDAA320A7;
    private static final int V2 = 0xDAA320AB;
    private static final int INNER_BATCH = 0x80;

    public static void main(String[] directories) throws Exception {
        List<File> files = new ArrayList<>();
        for (String directory : directories) {
            files.addAll(Arrays.asList(new File(directory).listFiles(file -> file.getName().matches("[0-9]{20}"))));
        }
        files.sort(Comparator.comparing(File::getName));
        for (File file : files) {
            walk(file.getParentFile().getName() + "/" + file.getName(), ByteBuffer.wrap(Files.readAllBytes(file.toPath())));
        }
    }

    private static void walk(String name, ByteBuffer file) throws Exception {
        int position = 0;
        while (position + 8 <= file.limit()) {
            int size = file.getInt(position);
            int magic = file.getInt(position + 4);
            if (size == 1) { // an entry of DLedger's: its own size comes second, a record is its body
                DLedgerEntry entry = DLedgerEntryCoder.decode(((ByteBuffer) file.duplicate().position(position)).slice());
                tell(name, ByteBuffer.wrap(entry.getBody()));
                position += magic;
                continue;
            }
            if (magic != V1 && magic != V2) {
                return; // the blank, or what was never written
            }
            tell(name, ((ByteBuffer) file.duplicate().position(position).limit(position + size)).slice());
            position += size;
        }
    }

    private static void tell(String file, ByteBuffer record) throws Exception {
        boolean wide = record.getInt(4) == V2;
        int flags = record.getInt(36);
        int body = 84 + ((flags & 0x10) != 0 ? 12 : 0) + ((flags & 0x20) != 0 ? 12 : 0);
        int topic = body + 4 + record.getInt(body);
        int topicSize = wide ? record.getShort(topic) : record.get(topic);
        Json told = new Json().put("told", "truth").put("file", file).put("physical_offset", record.getLong(28)).put("record_size", record.getInt(0))
            .put("magic", record.getInt(4)).put("sys_flag_on_disk", flags).put("stored_body_size", record.getInt(body))
            .put("stored_topic_size", topicSize).put("stored_properties_size", record.getShort(topic + (wide ? 2 : 1) + topicSize));
        MessageExt message = MessageDecoder.decode(record.duplicate(), true, true, false);
        MessageExt head = message != null ? message : MessageDecoder.decode(record.duplicate(), true, false, false);
        told.put("decoded", message != null).put("check_uniq_key", head.getProperty("UNIQ_KEY")).put("check_keys", head.getKeys());
        if (message != null) {
            MessageExt client = MessageDecoder.decode(record.duplicate(), true, true, true);
            message(told, message).put("msg_id", ((MessageClientExt) client).getMsgId()).put("body_crc", message.getBodyCRC())
                .put("reconsume_times", message.getReconsumeTimes()).put("offset_msg_id", message.getMsgId())
                .put("prepared_transaction_offset", message.getPreparedTransactionOffset());
        }
        told.print();
        if (message != null && (flags & INNER_BATCH) != 0) {
            unpack(record.getLong(28), message);
        }
    }

    private static Json message(Json told, MessageExt message) {
        return told.put("topic", message.getTopic()).put("queue_id", message.getQueueId()).put("queue_offset", message.getQueueOffset())
            .put("flag", message.getFlag()).put("body", message.getBody()).put("properties", message.getProperties())
            .put("tags", message.getTags()).put("keys", message.getKeys()).put("born_timestamp", message.getBornTimestamp())
            .put("store_timestamp", message.getStoreTimestamp()).put("born_host", message.getBornHost())
            .put("store_host", message.getStoreHost());
    }

    /** By name, because 4.x has no inner batches. */
    private static void unpack(long offset, MessageExt batch) throws Exception {
        Method decode = MessageDecoder.class.getMethod("decodeMessage", MessageExt.class, List.class);
        List<MessageExt> messages = new ArrayList<>();
        decode.invoke(null, batch, messages);
        for (MessageExt each : messages) {
            message(new Json().put("told", "inner").put("outer_physical_offset", offset), each).put("msg_id", each.getMsgId())
                .put("body_crc", each.getBodyCRC()).print();
        }
    }
}
