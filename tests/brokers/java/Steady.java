import java.nio.charset.StandardCharsets;
import java.util.zip.CRC32;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.client.producer.SendStatus;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageQueue;

/**
 * Numbered messages at a steady rate until standard input ends, through every death of the broker: what fails is not sent again.
 * A body is its number, the CRC of its filler, and the filler. Of each acknowledged message: its number, id, and when.
 */
final class Steady {
    private static final int QUEUES = 4;
    private static final long LATE = 200_000_000L;
    private static volatile boolean ended;

    static void send(int rate) throws Exception {
        Traffic.topic("Steady", QUEUES);
        Traffic.producer.setSendMsgTimeout(1_000);
        Thread input = new Thread(Steady::awaitEnd);
        input.setDaemon(true);
        input.start();
        int failed = 0;
        long due = System.nanoTime();
        for (int number = 0; !ended; number++) {
            due = Math.max(due + 1_000_000_000L / rate, System.nanoTime() - LATE);
            Thread.sleep(Math.max(0, (due - System.nanoTime()) / 1_000_000));
            Message message = new Message("Steady", "Tag" + number % 3, "steady" + number, body(number));
            try {
                // To one queue: a client sends such a message once.
                SendResult result = Traffic.producer.send(message, new MessageQueue("Steady", "broker-a", number % QUEUES));
                if (result.getSendStatus() == SendStatus.SEND_OK) {
                    new Json().put("number", number).put("msg_id", result.getMsgId()).put("at", System.currentTimeMillis()).print();
                }
            } catch (Exception away) {
                failed++;
            }
        }
        new Json().put("failed", failed).print();
        System.out.flush();
    }

    private static void awaitEnd() {
        try {
            while (System.in.read() >= 0) {
                continue;
            }
        } catch (java.io.IOException gone) {
            // whoever started this is gone
        }
        ended = true;
    }

    private static byte[] body(int number) {
        byte[] filler = new byte[1 + Traffic.random.nextInt(Traffic.random.nextInt(10) == 0 ? 20_000 : 1_000)];
        for (int i = 0; i < filler.length; i++) {
            filler[i] = (byte) ('a' + Traffic.random.nextInt(26));
        }
        CRC32 crc = new CRC32();
        crc.update(filler);
        return String.format("%08d %08x %s", number, crc.getValue(), new String(filler, StandardCharsets.US_ASCII)).getBytes(StandardCharsets.US_ASCII);
    }
}
