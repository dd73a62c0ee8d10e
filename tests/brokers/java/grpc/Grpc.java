import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import org.apache.rocketmq.client.apis.ClientConfiguration;
import org.apache.rocketmq.client.apis.ClientServiceProvider;
import org.apache.rocketmq.client.apis.consumer.FilterExpression;
import org.apache.rocketmq.client.apis.consumer.SimpleConsumer;
import org.apache.rocketmq.client.apis.message.Message;
import org.apache.rocketmq.client.apis.message.MessageBuilder;
import org.apache.rocketmq.client.apis.message.MessageView;
import org.apache.rocketmq.client.apis.producer.Producer;
import org.apache.rocketmq.client.apis.producer.SendReceipt;
import org.apache.rocketmq.client.apis.producer.Transaction;
import org.apache.rocketmq.client.apis.producer.TransactionResolution;

/** Grpc PROXY: what gRPC clients do by way of a proxy. Prints what they were told. */
public class Grpc {
    private static final ClientServiceProvider CLIENTS = ClientServiceProvider.loadService();
    private static ClientConfiguration configuration;
    private static Producer producer;

    public static void main(String[] arguments) {
        try {
            configuration = ClientConfiguration.newBuilder().setEndpoints(arguments[0]).enableSsl(false).setRequestTimeout(Duration.ofSeconds(20)).build();
            producer = CLIENTS.newProducerBuilder().setClientConfiguration(configuration).setTopics("Normal", "Ordered", "Later", "Paid")
                .setTransactionChecker(message -> TransactionResolution.UNKNOWN).build();
            normal();
            ordered();
            delayed();
            transactions();
            consumed();
            Thread.sleep(4_000); // what is due comes, and undecided transactions are checked
            Runtime.getRuntime().halt(0);
        } catch (Throwable error) {
            error.printStackTrace();
            Runtime.getRuntime().halt(1);
        }
    }

    private static MessageBuilder message(String topic, String tag, int number) {
        return CLIENTS.newMessageBuilder().setTopic(topic).setTag(tag).setKeys(topic.toLowerCase() + number, "shared")
            .setBody((topic + " état " + number).repeat(1 + number).getBytes(StandardCharsets.UTF_8)).addProperty("number", "" + number);
    }

    private static void tell(String kind, Message message, SendReceipt receipt) {
        new Json().put("kind", kind).put("topic", message.getTopic()).put("status", "SEND_OK").put("msg_id", receipt.getMessageId())
            .put("offset_msg_id", null).put("body_size", message.getBody().remaining()).print();
    }

    private static void normal() throws Exception {
        for (int number = 0; number < 40; number++) {
            Message message = message("Normal", "Tag" + number % 3, number).build();
            tell("normal", message, producer.send(message));
        }
        Message bare = CLIENTS.newMessageBuilder().setTopic("Normal").setBody(new byte[] {7}).build();
        tell("normal", bare, producer.send(bare));
    }

    private static void ordered() throws Exception {
        for (int number = 0; number < 12; number++) {
            Message message = message("Ordered", "TagF", number).setMessageGroup("group" + number % 3).build();
            tell("ordered", message, producer.send(message));
        }
    }

    private static void delayed() throws Exception {
        for (int seconds : new int[] {1, 2, 3, 3_600}) {
            Message message = message("Later", "TagD", seconds % 100).setDeliveryTimestamp(System.currentTimeMillis() + seconds * 1_000L).build();
            tell("timer", message, producer.send(message));
        }
    }

    private static void transactions() throws Exception {
        for (int number = 0; number < 6; number++) {
            Transaction transaction = producer.beginTransaction();
            Message message = message("Paid", new String[] {"commit", "rollback", "open"}[number % 3], number).build();
            tell("transaction", message, producer.send(message, transaction));
            if (number % 3 == 0) {
                transaction.commit();
            } else if (number % 3 == 1) {
                transaction.rollback();
            }
        }
    }

    /** Half of them is acknowledged; of the others some come again. */
    private static void consumed() throws Exception {
        SimpleConsumer consumer = CLIENTS.newSimpleConsumerBuilder().setClientConfiguration(configuration).setConsumerGroup("CG_grpc")
            .setAwaitDuration(Duration.ofSeconds(2)).setSubscriptionExpressions(Collections.singletonMap("Normal", FilterExpression.SUB_ALL)).build();
        for (int round = 0; round < 4; round++) {
            List<MessageView> messages = consumer.receive(8, Duration.ofSeconds(10));
            for (int number = 0; number < messages.size(); number += 2) {
                consumer.ack(messages.get(number));
            }
        }
    }
}
