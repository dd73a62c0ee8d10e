import java.io.File;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.util.Arrays;
import org.apache.rocketmq.common.message.MessageDecoder;
import org.apache.rocketmq.common.message.MessageExt;

/** Bench COMMITLOG ROUNDS: one thread, RocketMQ's own decoder over mapped segments, bodies read and decompressed; seconds of each round. */
public class Bench {
    private static final int V1 = 0xDAA320A7;
    private static final int V2 = 0xDAA320AB;

    public static void main(String[] arguments) throws Exception {
        File[] files = new File(arguments[0]).listFiles(file -> file.getName().matches("[0-9]{20}"));
        Arrays.sort(files);
        for (int round = Integer.parseInt(arguments[1]); round > 0; round--) {
            long begun = System.nanoTime();
            long records = 0;
            long bytes = 0;
            for (File file : files) {
                try (RandomAccessFile opened = new RandomAccessFile(file, "r")) {
                    ByteBuffer segment = opened.getChannel().map(FileChannel.MapMode.READ_ONLY, 0, file.length());
                    int position = 0;
                    while (position + 8 <= segment.limit()) {
                        int size = segment.getInt(position);
                        int magic = segment.getInt(position + 4);
                        if (magic != V1 && magic != V2) {
                            break;
                        }
                        MessageExt message = MessageDecoder.decode(((ByteBuffer) segment.position(position)).slice(), true, true, false);
                        records++;
                        bytes += message == null || message.getBody() == null ? 0 : message.getBody().length;
                        position += size;
                    }
                }
            }
            new Json().put("seconds", (System.nanoTime() - begun) / 1e9).put("records", records).put("bytes", bytes).print();
        }
        Runtime.getRuntime().halt(0);
    }
}
