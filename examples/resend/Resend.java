import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.rocketmq.client.exception.MQBrokerException;
import org.apache.rocketmq.client.exception.MQClientException;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.selector.SelectMessageQueueByHash;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageAccessor;
import org.apache.rocketmq.common.message.MessageClientIDSetter;
import org.apache.rocketmq.common.message.MessageConst;
import org.apache.rocketmq.remoting.exception.RemotingException;

/**
 * Sends the messages of an export again, each once: Resend FOLDER NAMESERVER [--rate N] [--dry-run]
 *
 * FOLDER is from `rmqstore export … --for-resend`. FOLDER.sent notes each message before it is sent. After a stop or a crash, start the
 * same command again: it asks the broker for the last message that was noted, because that one may have been sent or not.
 */
public final class Resend {
    private static final List<String> KINDS = Arrays.asList("normal", "committed", "batch", "retry", "dlq", "delay", "timer");
    /** What brokers add beside MessageConst.STRING_HASH_SET. */
    private static final List<String> OF_BROKERS = Arrays.asList(
        "INNER_NUM", "INNER_BASE", "__transactionId__", "TRANSACTION_CHECK_TIMES", "TRANS_OFFSET", "TIMER_ROLL_LABEL");
    private static final String ORIGINAL_ID = "resent_from";
    /** Where a broker has messages that wait. */
    private static final Map<String, String> WAITING = Map.of(MessageConst.PROPERTY_DELAY_TIME_LEVEL, "SCHEDULE_TOPIC_XXXX",
        MessageConst.PROPERTY_TIMER_DELIVER_MS, "rmq_sys_wheel_timer");
    private static final int ASKED = 5, ATTEMPTS = 3, TIMEOUT_MS = 30_000;

    public static void main(String[] given) {
        try {
            run(new ArrayList<>(Arrays.asList(given)));
        } catch (Exception error) {
            System.err.println("error: " + error.getMessage());
            System.exit(error instanceof IllegalArgumentException ? 2 : 1);
        }
    }

    private static void run(List<String> words) throws Exception {
        boolean isDry = words.remove("--dry-run");
        int flag = words.indexOf("--rate");
        double rate = flag < 0 ? Double.MAX_VALUE : Double.parseDouble(words.get(flag + 1));
        if (flag >= 0) {
            words.subList(flag, flag + 2).clear();
        }
        if (words.size() != 2 || rate <= 0) {
            throw refused("usage: Resend FOLDER NAMESERVER [--rate MESSAGES_PER_SECOND] [--dry-run]");
        }
        Path folder = Paths.get(words.get(0));
        List<Path> files = files(folder);
        if (isDry) {
            dry(files);
            return;
        }
        DefaultMQProducer producer = new DefaultMQProducer("rmqstore-resend");
        producer.setNamesrvAddr(words.get(1));
        producer.setRetryTimesWhenSendFailed(0); // a retry after a timeout could send it twice
        producer.setSendMsgTimeout(TIMEOUT_MS);
        producer.setMqClientApiTimeout(TIMEOUT_MS); // on a busy machine, a name server takes longer than the default, 3 s
        producer.start();
        try (Journal journal = new Journal(folder)) {
            send(files, producer, journal, rate);
        } finally {
            producer.shutdown();
        }
    }

    private static void dry(List<Path> files) throws IOException {
        Map<String, Long> counts = new TreeMap<>();
        for (Path file : files) {
            try (BufferedReader lines = Files.newBufferedReader(file)) {
                for (String line; (line = lines.readLine()) != null; ) {
                    counts.merge(message(line).getTopic(), 1L, Long::sum);
                }
            }
        }
        counts.forEach((topic, count) -> System.out.println(topic + ": " + count));
        System.out.println("nothing was sent");
    }

    private static void send(List<Path> files, DefaultMQProducer producer, Journal journal, double rate) throws Exception {
        long noted = journal.ids.size(), number = 0, sent = 0, begun = System.nanoTime();
        for (Path file : files) {
            try (BufferedReader lines = Files.newBufferedReader(file)) {
                for (String line; (line = lines.readLine()) != null; number++) {
                    if (number < noted - 1) {
                        continue;
                    }
                    Message message = message(line);
                    String id = number < noted ? journal.ids.get((int) number) : journal.note(MessageClientIDSetter.createUniqID());
                    if (!deliver(producer, message, id, number < noted)) {
                        continue;
                    }
                    sent++;
                    long due = begun + (long) (sent * 1e9 / rate);
                    Thread.sleep(Math.max(0, (due - System.nanoTime()) / 1_000_000));
                }
            }
        }
        System.out.println(sent + " messages were sent, " + (number - sent) + " before");
    }

    /** Returns whether it was sent now. After a send without an answer, the broker knows whether it has the message. */
    private static boolean deliver(DefaultMQProducer producer, Message message, String id, boolean isInDoubt) throws Exception {
        MessageAccessor.putProperty(message, MessageConst.PROPERTY_UNIQ_CLIENT_MESSAGE_ID_KEYIDX, id);
        String key = message.getProperty(MessageConst.PROPERTY_SHARDING_KEY);
        if (isInDoubt && isStored(producer, message, id)) {
            return false;
        }
        for (int failed = 1; ; failed++) {
            try {
                if (key == null) {
                    producer.send(message);
                } else {
                    producer.send(message, new SelectMessageQueueByHash(), key);
                }
                return true;
            } catch (RemotingException | MQBrokerException error) {
                if (isStored(producer, message, id)) {
                    return true;
                }
                if (failed == ATTEMPTS) {
                    throw error;
                }
            }
        }
    }

    /** A broker indexes a message some milliseconds after it has stored it. */
    private static boolean isStored(DefaultMQProducer producer, Message message, String id) throws InterruptedException {
        List<String> topics = new ArrayList<>(Arrays.asList(message.getTopic()));
        WAITING.forEach((property, topic) -> topics.addAll(message.getProperty(property) == null ? List.of() : List.of(topic)));
        for (int asked = 0; asked < ASKED; asked++) {
            for (String topic : topics) {
                try {
                    if (producer.getDefaultMQProducerImpl().queryMessageByUniqKey(topic, id) != null) {
                        return true;
                    }
                } catch (MQClientException absent) {
                    // also if the topic does not exist yet: then it is not stored
                }
            }
            Thread.sleep(1000);
        }
        return false;
    }

    private static Message message(String line) {
        JsonObject row = JsonParser.parseString(line).getAsJsonObject();
        String kind = text(row, "kind"), place = text(row, "store") + " at offset " + text(row, "physical_offset");
        boolean isSentBack = "retry".equals(kind) || "dlq".equals(kind), waits = "delay".equals(kind) || "timer".equals(kind);
        String topic = text(row, isSentBack ? "origin_topic" : waits ? "real_topic" : "topic");
        if (!KINDS.contains(kind) || topic == null || topic.startsWith("%")) {
            throw refused(place + ": a message of kind " + kind + " without a topic of a producer. Exclude it from the export");
        }
        if (text(row, "body") == null) {
            throw refused(place + ": its body cannot be read. Exclude it from the export");
        }
        JsonObject properties = row.getAsJsonObject("properties");
        Message message = new Message(topic, Base64.getDecoder().decode(text(row, "body")));
        for (Map.Entry<String, JsonElement> each : properties.entrySet()) {
            if (!MessageConst.STRING_HASH_SET.contains(each.getKey()) && !OF_BROKERS.contains(each.getKey())) {
                message.putUserProperty(each.getKey(), each.getValue().getAsString());
            }
        }
        if (text(properties, MessageConst.PROPERTY_TAGS) != null) {
            message.setTags(text(properties, MessageConst.PROPERTY_TAGS));
        }
        if (text(properties, MessageConst.PROPERTY_KEYS) != null) {
            message.setKeys(text(properties, MessageConst.PROPERTY_KEYS));
        }
        if ("delay".equals(kind) && text(row, "delay_level") != null) {
            message.setDelayTimeLevel(Integer.parseInt(text(row, "delay_level")));
        }
        if ("timer".equals(kind) && text(properties, MessageConst.PROPERTY_TIMER_OUT_MS) != null) {
            message.setDeliverTimeMs(Long.parseLong(text(properties, MessageConst.PROPERTY_TIMER_OUT_MS)));
        }
        message.setFlag(Integer.parseInt(text(row, "flag")));
        message.putUserProperty(ORIGINAL_ID, text(row, "msg_id"));
        return message;
    }

    private static String text(JsonObject row, String name) {
        JsonElement value = row.get(name);
        return value == null || value.isJsonNull() ? null : value.getAsString();
    }

    private static List<Path> files(Path folder) throws IOException {
        if (!Files.exists(folder.resolve("_summary.json"))) {
            throw refused(folder + " is not a complete export: _summary.json is missing");
        }
        try (Stream<Path> found = Files.walk(folder)) {
            return found.map(folder::relativize).filter(each -> each.toString().endsWith(".jsonl") && !each.toString().startsWith("_"))
                .sorted().map(folder::resolve).collect(Collectors.toList());
        }
    }

    private static IllegalArgumentException refused(String why) {
        return new IllegalArgumentException(why);
    }

    /** One line for each message that was begun, its new id. All but the last were sent. */
    private static final class Journal implements AutoCloseable {
        private final FileChannel file;
        private final List<String> ids = new ArrayList<>();

        Journal(Path folder) throws IOException {
            Path path = folder.resolveSibling(folder.getFileName() + ".sent");
            file = FileChannel.open(path, StandardOpenOption.CREATE, StandardOpenOption.WRITE);
            if (file.tryLock() == null) {
                throw refused(path + " is in use by another resend");
            }
            String known = new String(Files.readAllBytes(path), StandardCharsets.US_ASCII);
            int end = known.lastIndexOf('\n') + 1; // the message of a line without an end was not begun
            file.truncate(end).position(end);
            known.substring(0, end).lines().forEach(ids::add);
        }

        String note(String id) throws IOException {
            file.write(ByteBuffer.wrap((id + "\n").getBytes(StandardCharsets.US_ASCII)));
            file.force(false);
            return id;
        }

        @Override
        public void close() throws IOException {
            file.close();
        }
    }
}
