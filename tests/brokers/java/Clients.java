import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;

/** Traffic again and again: each line of the input has its arguments, with tabs between them. Each ends with a line: done, or failed. */
public class Clients {
    public static void main(String[] none) throws Exception {
        PrintStream told = Json.OUT;
        System.setOut(System.err); // where clients of 4.9.7 write what they log, also after their end
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            try {
                Traffic.act(line.split("\t"));
                Traffic.shutdown();
                told.println("done");
            } catch (Throwable error) {
                error.printStackTrace(told);
                told.println("failed");
            }
            told.flush();
        }
        Runtime.getRuntime().halt(0);
    }
}
