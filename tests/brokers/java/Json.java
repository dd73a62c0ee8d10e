import java.io.PrintStream;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.util.Base64;
import java.util.Map;
import java.util.TreeMap;

/** One JSON object on one line. RocketMQ 4.9 and 5.5 bring different JSON libraries, so this is neither. */
final class Json {
    static final PrintStream OUT = System.out;

    private final StringBuilder text = new StringBuilder("{");

    Json put(String name, Object value) {
        text.append(text.length() > 1 ? "," : "").append(quoted(name)).append(':');
        if (value == null || value instanceof Number || value instanceof Boolean || value instanceof Json) {
            text.append(value instanceof Json ? ((Json) value).closed() : value);
        } else if (value instanceof byte[]) {
            text.append('"').append(Base64.getEncoder().encodeToString((byte[]) value)).append('"');
        } else if (value instanceof Map) {
            Json inner = new Json();
            new TreeMap<Object, Object>((Map<?, ?>) value).forEach((key, each) -> inner.put(key.toString(), each));
            text.append(inner.closed());
        } else if (value instanceof Iterable) {
            StringBuilder items = new StringBuilder();
            for (Object each : (Iterable<?>) value) {
                items.append(items.length() > 0 ? "," : "").append(each instanceof Number ? each : quoted(String.valueOf(each)));
            }
            text.append('[').append(items).append(']');
        } else if (value instanceof SocketAddress) {
            InetSocketAddress address = (InetSocketAddress) value;
            text.append(quoted(address.getAddress().getHostAddress() + ":" + address.getPort()));
        } else {
            text.append(quoted(value.toString()));
        }
        return this;
    }

    String closed() {
        return text + "}";
    }

    void print() {
        OUT.println(closed());
    }

    private static String quoted(String value) {
        StringBuilder quoted = new StringBuilder("\"");
        for (char c : value.toCharArray()) {
            if (c == '"' || c == '\\') {
                quoted.append('\\').append(c);
            } else if (c < 32 || c > 126) {
                quoted.append(String.format("\\u%04x", (int) c));
            } else {
                quoted.append(c);
            }
        }
        return quoted.append('"').toString();
    }
}
