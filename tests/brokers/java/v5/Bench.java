import java.io.File;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.util.Arrays;
import org.apache.rocketmq.common.message.MessageDecoder;
import org.apache.rocketmq.common.message.MessageExt;

/** Bench COMMITLOG: RocketMQ's own decoder over mapped segments, one thread, bodies read and decompressed; a round for each line of input. */
public class Bench {
    private static final int V1 = 0xDAA320A7;
    private static final int V2 = 0xDAA320AB;

    public static void main(String[] arguments) throws Exception {
        File[] files = new File(arguments[0]).listFiles(file -> file.getName().matches("[0-9]{20}"));
        Arrays.sort(files);
        while (System.in.read() >= 0) {
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
            new Json().put("records", records).put("bytes", bytes).print();
        }
        Runtime.getRuntime().halt(0);
    }
}
