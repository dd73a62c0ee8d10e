import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Paths;

/** LoadEach LIST: Load for each line of a file, which has its arguments with tabs between them. Before each, the store. */
public class LoadEach {
    public static void main(String[] arguments) {
        try {
            for (String line : Files.readAllLines(Paths.get(arguments[0]), StandardCharsets.UTF_8)) {
                String[] of = line.split("\t");
                new Json().put("store", of[0]).print();
                Load.load(of);
            }
            Runtime.getRuntime().halt(0);
        } catch (Throwable error) {
            error.printStackTrace();
            Runtime.getRuntime().halt(1);
        }
    }
}
