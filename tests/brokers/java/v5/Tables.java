import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import org.apache.rocketmq.broker.offset.LmqConsumerOffsetManager;
import org.apache.rocketmq.client.trace.TraceBean;
import org.apache.rocketmq.client.trace.TraceContext;
import org.apache.rocketmq.client.trace.TraceDataEncoder;

/**
 * Tables BODIES [OFFSETS]: as RocketMQ's own classes read them, the traces in each line of a file, which is a body in base64, and the
 * offsets in a consumerOffset.json or lmqConsumerOffset.json.
 */
public class Tables {
    public static void main(String[] arguments) throws Exception {
        int message = 0;
        for (String line : Files.readAllLines(Paths.get(arguments[0]), StandardCharsets.US_ASCII)) {
            traces(message++, new String(Base64.getDecoder().decode(line), StandardCharsets.UTF_8));
        }
        if (arguments.length > 1) {
            offsets(new String(Files.readAllBytes(Paths.get(arguments[1])), StandardCharsets.UTF_8));
        }
    }

    private static void offsets(String text) {
        LmqConsumerOffsetManager manager = new LmqConsumerOffsetManager();
        manager.decode(text);
        for (Map.Entry<String, ? extends Map<Integer, Long>> queues : manager.getOffsetTable().entrySet()) {
            for (Map.Entry<Integer, Long> queue : queues.getValue().entrySet()) {
                new Json().put("name", queues.getKey()).put("queue_id", queue.getKey()).put("committed", queue.getValue()).print();
            }
        }
        for (Map.Entry<String, Long> light : manager.getLmqOffsetTable().entrySet()) {
            new Json().put("name", light.getKey()).put("queue_id", 0).put("committed", light.getValue()).print();
        }
    }

    private static void traces(int message, String body) {
        List<TraceContext> records = TraceDataEncoder.decoderFromTraceDataString(body);
        for (int index = 0; index < records.size(); index++) {
            TraceContext record = records.get(index);
            TraceBean bean = record.getTraceBeans().get(0);
            new Json().put("message", message).put("record_index", index).put("trace_type", record.getTraceType().name())
                .put("time_stamp", record.getTimeStamp()).put("region_id", record.getRegionId()).put("group_name", record.getGroupName())
                .put("request_id", record.getRequestId()).put("cost_time", record.getCostTime()).put("status", record.isSuccess())
                .put("context_code", record.getContextCode()).put("topic", bean.getTopic()).put("msg_id", bean.getMsgId())
                .put("offset_msg_id", bean.getOffsetMsgId()).put("tags", bean.getTags()).put("keys", bean.getKeys())
                .put("store_host", bean.getStoreHost()).put("body_length", bean.getBodyLength()).put("retry_times", bean.getRetryTimes())
                .put("msg_type", bean.getMsgType() == null ? null : bean.getMsgType().name())
                .put("transaction_id", bean.getTransactionId())
                .put("transaction_state", bean.getTransactionState() == null ? null : bean.getTransactionState().name())
                .put("from_transaction_check", bean.isFromTransactionCheck()).print();
        }
    }
}
