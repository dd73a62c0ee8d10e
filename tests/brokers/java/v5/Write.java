import java.io.File;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.Arrays;
import java.util.Random;
import java.util.zip.Deflater;
import org.apache.rocketmq.common.message.MessageAccessor;
import org.apache.rocketmq.common.message.MessageDecoder;
import org.apache.rocketmq.common.message.MessageExtBrokerInner;
import org.apache.rocketmq.store.DefaultMessageStore;
import org.apache.rocketmq.store.PutMessageResult;

/**
 * Write STORE CONF SEED RATE COUNT SMALLEST LARGEST ZIPPED: RocketMQ's own store class writes so many messages, at most so many a
 * second, of sizes between these, those of ZIPPED bytes or more as clients compress them. Behind the first it waits while there is
 * a file STORE/../held. Then the file STORE/../quiet appears, and it goes on running, without writing, until its standard input
 * ends. No byte of a topic, a property or a body as it was sent is zero, so that a torn record shows.
 */
public class Write {
    public static void main(String[] arguments) {
        try {
            write(arguments);
            Runtime.getRuntime().halt(0);
        } catch (Throwable error) {
            error.printStackTrace();
            Runtime.getRuntime().halt(1);
        }
    }

    private static void write(String[] arguments) throws Exception {
        Random random = new Random(Long.parseLong(arguments[2]));
        int rate = Integer.parseInt(arguments[3]);
        int count = Integer.parseInt(arguments[4]);
        int smallest = Integer.parseInt(arguments[5]);
        int largest = Integer.parseInt(arguments[6]);
        int zipped = Integer.parseInt(arguments[7]);
        DefaultMessageStore store = started(arguments[0], arguments[1]);
        byte[] noise = new byte[largest];
        for (int i = 0; i < largest; i++) {
            noise[i] = (byte) (1 + random.nextInt(255));
        }
        byte[] words = new byte[largest];
        for (int i = 0; i < largest; i++) {
            words[i] = (byte) "order total half paid ".charAt((i + random.nextInt(3)) % 22);
        }
        File held = new File(new File(arguments[0]).getParent(), "held");
        InetSocketAddress host = new InetSocketAddress("10.1.2.3", 10911);
        long begun = System.nanoTime();
        long written = 0;
        for (long number = 0; number < count; number++) {
            while (number == 1 && held.exists()) {
                Thread.sleep(5);
                begun = System.nanoTime();
            }
            long due = begun + number * 1_000_000_000L / rate;
            while (System.nanoTime() < due) {
                Thread.onSpinWait();
            }
            // As many of each order of magnitude.
            int size = (int) Math.round(smallest * Math.pow((double) largest / smallest, random.nextDouble()));
            MessageExtBrokerInner message = new MessageExtBrokerInner();
            message.setTopic("Live" + number % 7);
            message.setQueueId((int) (number % 4));
            message.setBody(size < zipped ? Arrays.copyOf(noise, size) : zipped(words, size));
            message.setSysFlag(size < zipped ? 0 : 1);
            message.setBornTimestamp(System.currentTimeMillis());
            message.setBornHost(host);
            message.setStoreHost(host);
            message.setTags("Tag" + number % 3);
            message.setKeys("live" + number);
            // What clients and brokers put, and a little of a user's own.
            MessageAccessor.putProperty(message, "UNIQ_KEY", String.format("0A0169065693645A2C5D%012X", number));
            for (String name : new String[] {"WAIT", "TRACE_ON"}) {
                MessageAccessor.putProperty(message, name, "true");
            }
            MessageAccessor.putProperty(message, "MSG_REGION", "DefaultRegion");
            MessageAccessor.putProperty(message, "CLUSTER", "DefaultCluster");
            message.putUserProperty("number", "" + number);
            message.putUserProperty("note", "x".repeat(1 + random.nextInt(100)));
            message.setPropertiesString(MessageDecoder.messageProperties2String(message.getProperties()));
            PutMessageResult result = store.putMessage(message);
            if (result.isOk()) {
                written++;
            }
        }
        double took = (System.nanoTime() - begun) / 1e9;
        for (int left = 200; store.dispatchBehindBytes() > 0 && left > 0; left--) {
            Thread.sleep(50);
        }
        Thread.sleep(1_000);
        new Json().put("written", written).put("seconds", took).put("end", store.getMaxPhyOffset()).print();
        System.out.flush();
        Files.write(Paths.get(new File(arguments[0]).getParent(), "quiet"), new byte[0]);
        while (System.in.read() >= 0) {
            continue;
        }
        store.shutdown();
    }

    private static byte[] zipped(byte[] words, int size) {
        Deflater deflater = new Deflater(5);
        deflater.setInput(words, 0, size);
        deflater.finish();
        byte[] zipped = new byte[size + 100];
        int length = deflater.deflate(zipped);
        deflater.end();
        return Arrays.copyOf(zipped, length);
    }

    static DefaultMessageStore started(String root, String conf) throws Exception {
        DefaultMessageStore store = Line.opened(root, conf);
        if (!store.load()) {
            throw new IllegalStateException("it does not load");
        }
        store.start();
        return store;
    }
}
