import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;

/** Traffic again and again: each line of the input has its arguments, with tabs between them. Each ends with a line: done, or failed. */
public class Clients {
    public static void main(String[] none) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            try {
                Traffic.act(line.split("\t"));
                Traffic.shutdown();
                System.out.println("done");
            } catch (Throwable error) {
                error.printStackTrace(System.out);
                System.out.println("failed");
            }
            System.out.flush();
        }
        Runtime.getRuntime().halt(0);
    }
}
