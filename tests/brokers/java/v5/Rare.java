import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import org.apache.rocketmq.common.compression.CompressionType;
import org.apache.rocketmq.common.compression.CompressorFactory;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageAccessor;
import org.apache.rocketmq.common.message.MessageDecoder;
import org.apache.rocketmq.common.message.MessageExtBatch;
import org.apache.rocketmq.common.message.MessageExtBrokerInner;
import org.apache.rocketmq.common.sysflag.MessageSysFlag;
import org.apache.rocketmq.store.DefaultMessageStore;
import org.apache.rocketmq.store.PutMessageResult;

/** Rare STORE CONF: what no client sends so easily, put by the broker's own store class: hosts of IPv6, odd numbers, foreign property texts. */
public class Rare {
    private static DefaultMessageStore store;
    private static int number;

    public static void main(String[] arguments) {
        try {
            store = Write.started(arguments[0], arguments[1]);
            hosts();
            topics();
            bodies();
            numbers();
            properties();
            compressed();
            kinds();
            batches();
            while (store.dispatchBehindBytes() > 0) {
                Thread.sleep(50);
            }
            Thread.sleep(500);
            store.shutdown();
            Runtime.getRuntime().halt(0);
        } catch (Throwable error) {
            error.printStackTrace();
            Runtime.getRuntime().halt(1);
        }
    }

    private static InetSocketAddress host(String address, int port) throws Exception {
        return new InetSocketAddress(InetAddress.getByName(address), port);
    }

    private static MessageExtBrokerInner message(String topic, byte[] body) throws Exception {
        MessageExtBrokerInner made = new MessageExtBrokerInner();
        made.setTopic(topic);
        made.setBody(body);
        made.setBornTimestamp(System.currentTimeMillis());
        made.setBornHost(host("10.1.2.3", 50123));
        made.setStoreHost(host("192.168.7.9", 10911));
        made.setTags("TagR");
        made.setKeys("rare" + number);
        MessageAccessor.putProperty(made, "UNIQ_KEY", String.format("0A0169065693645A2C5D%012X", number++));
        made.setPropertiesString(MessageDecoder.messageProperties2String(made.getProperties()));
        return made;
    }

    private static byte[] words(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private static void put(String kind, MessageExtBrokerInner message) {
        PutMessageResult result = store.putMessage(message);
        if (!result.isOk()) {
            throw new IllegalStateException(kind + ": " + result.getPutMessageStatus());
        }
    }

    private static void hosts() throws Exception {
        for (String born : new String[] {"10.1.2.3", "2001:db8::1:2"}) {
            for (String stored : new String[] {"192.168.7.9", "fd00::10:911"}) {
                for (int round = 0; round < 4; round++) {
                    put("hosts", between(message("Hosts", words(born + " to " + stored)), born, stored));
                }
            }
        }
    }

    private static MessageExtBrokerInner between(MessageExtBrokerInner message, String born, String stored) throws Exception {
        message.setBornHost(host(born, 60001 + number % 3));
        message.setStoreHost(host(stored, 10911));
        if (host(born, 1).getAddress() instanceof Inet6Address) {
            message.setBornHostV6Flag();
        }
        if (host(stored, 1).getAddress() instanceof Inet6Address) {
            message.setStoreHostAddressV6Flag();
        }
        return message;
    }

    /** From 128 bytes on a topic needs a record of the second kind; only topics that a broker makes itself may be so long. */
    private static void topics() throws Exception {
        for (int length : new int[] {126, 127, 128, 129, 255}) {
            String topic = ("%RETRY%" + "long".repeat(64)).substring(0, length);
            put("long", message(topic, words("topic of " + length)));
            put("long", between(message(topic, words("the same")), "2001:db8::1:2", "fd00::10:911"));
        }
    }

    private static void bodies() throws Exception {
        put("empty", message("Edge", new byte[0]));
        put("zero", message("Edge", new byte[1]));
        put("null", message("Edge", null));
    }

    private static void numbers() throws Exception {
        MessageExtBrokerInner odd = message("Edge", words("as early as can be"));
        odd.setBornTimestamp(0);
        odd.setReconsumeTimes(Integer.MAX_VALUE);
        odd.setFlag(Integer.MIN_VALUE);
        put("odd", odd);
        odd = message("Edge", words("as late as can be"));
        odd.setBornTimestamp(Long.MAX_VALUE);
        odd.setReconsumeTimes(-3);
        odd.setFlag(-1);
        put("odd", odd);
        // The transactions of 4.0 to 4.2: prepared, committed, rolled back.
        for (int type : new int[] {4, 8, 12}) {
            MessageExtBrokerInner transaction = message("OldTx", words("transaction type " + type));
            transaction.setSysFlag(type);
            transaction.setPreparedTransactionOffset(type == 4 ? 0 : 1000 + type);
            put("old transaction", transaction);
        }
    }

    private static void properties() throws Exception {
        String[] texts = {
            "a\u0001b\u0002c\u0001d", "a\u0001b\u0002\u0002\u0002c\u0001d\u0002", "\u0001no name\u0002k\u0001\u0002ok\u0001v\u0002",
            "twice\u00011\u0002twice\u00012\u0002", "x\u0001y\u0001z\u0002TAGS\u0001T1\u0002", "junk", "KEYS\u0001k1  k2 k1\u0002TAGS\u0001\u0002",
            "\u00e9\u0001\ud83d\ude80\u0002", "", null
        };
        for (String text : texts) {
            MessageExtBrokerInner foreign = message("Foreign", words("properties of another client"));
            MessageAccessor.setProperties(foreign, new HashMap<>());
            foreign.setPropertiesString(text);
            put("foreign", foreign);
        }
    }

    private static void compressed() throws Exception {
        byte[] plain = words("compressed ".repeat(60));
        for (CompressionType type : CompressionType.values()) {
            byte[] packed = CompressorFactory.getCompressor(type).compress(plain, 5);
            byte[][] bodies = {packed, Arrays.copyOf(packed, packed.length / 2), plain};
            int[] flags = {MessageSysFlag.COMPRESSED_FLAG, MessageSysFlag.COMPRESSED_FLAG, 0}; // right, cut in half, the type without the flag
            for (int i = 0; i < bodies.length; i++) {
                MessageExtBrokerInner message = message("Zip", bodies[i]);
                message.setSysFlag(flags[i] | type.getCompressionFlag());
                put("compressed", message);
            }
        }
    }

    /** The topics in which a broker keeps what is its own. */
    private static void kinds() throws Exception {
        String[] topics = {
            "RMQ_SYS_TRANS_HALF_TOPIC", "RMQ_SYS_TRANS_OP_HALF_TOPIC", "SCHEDULE_TOPIC_XXXX", "RMQ_SYS_TRACE_TOPIC", "rmq_sys_wheel_timer",
            "rmq_sys_REVIVE_LOG_DefaultCluster", "%DLQ%group", "SELF_TEST_TOPIC"
        };
        for (String topic : topics) {
            MessageExtBrokerInner kept = message(topic, words("kept in " + topic));
            MessageAccessor.putProperty(kept, "REAL_TOPIC", "orders");
            MessageAccessor.putProperty(kept, "DELAY", "3");
            kept.setPropertiesString(MessageDecoder.messageProperties2String(kept.getProperties()));
            put("kind", kept);
        }
    }

    private static void batches() throws Exception {
        for (int batch = 0; batch < 2; batch++) {
            List<Message> messages = new ArrayList<>();
            for (int i = 0; i < 2 + batch; i++) {
                Message each = new Message("Batched", "TagB", "unit" + batch + i, words("unit " + batch + " " + i));
                each.setFlag(i);
                MessageAccessor.putProperty(each, "UNIQ_KEY", String.format("0A0169065693645A2C5D%012X", number++));
                messages.add(each);
            }
            MessageExtBatch packed = new MessageExtBatch();
            packed.setTopic("Batched");
            packed.setBody(MessageDecoder.encodeMessages(messages));
            packed.setBornTimestamp(System.currentTimeMillis());
            packed.setBornHost(host("10.1.2.3", 50123));
            packed.setStoreHost(host("192.168.7.9", 10911));
            packed.setSysFlag(MessageSysFlag.INNER_BATCH_FLAG | MessageSysFlag.NEED_UNWRAP_FLAG);
            packed.setInnerBatch(true);
            MessageAccessor.putProperty(packed, "INNER_NUM", "" + messages.size());
            MessageAccessor.putProperty(packed, "UNIQ_KEY", String.format("0A0169065693645A2C5D%012X", number++));
            packed.setPropertiesString(MessageDecoder.messageProperties2String(packed.getProperties()));
            put("batch", packed);
        }
    }
}
