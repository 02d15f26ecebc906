import com.azure.cosmos.ChangeFeedProcessor;
import com.azure.cosmos.ChangeFeedProcessorBuilder;
import com.azure.cosmos.ConsistencyLevel;
import com.azure.cosmos.CosmosAsyncClient;
import com.azure.cosmos.CosmosAsyncContainer;
import com.azure.cosmos.CosmosAsyncDatabase;
import com.azure.cosmos.CosmosClientBuilder;
import com.azure.cosmos.models.ChangeFeedPolicy;
import com.azure.cosmos.models.ChangeFeedProcessorItem;
import com.azure.cosmos.models.ChangeFeedProcessorOptions;
import com.azure.cosmos.models.CosmosContainerProperties;
import com.azure.cosmos.models.PartitionKey;
import com.azure.cosmos.models.ThroughputProperties;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;

/**
 * The published Java client's change feed processor against the server at COSMOS_ENDPOINT, with the key COSMOS_KEY, in
 * gateway mode.
 *
 * Each check keeps a list of what it wrote and holds it against what the processor was handed. It prints one line of JSON:
 * {"check", "counts", "wrong"}, where "wrong" names each difference. What others have to do meanwhile it asks for by a line
 * {"turn", …}, and reads the answer, a line of JSON, from standard input.
 */
public final class Judge {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final BufferedReader ANSWERS = new BufferedReader(new InputStreamReader(System.in));
  private static final int PAGE = 10;
  private static final Duration PATIENCE = Duration.ofSeconds(120);
  private static final CosmosAsyncClient CLIENT = new CosmosClientBuilder()
      .endpoint(System.getenv("COSMOS_ENDPOINT"))
      .key(System.getenv("COSMOS_KEY"))
      .gatewayMode()
      .consistencyLevel(ConsistencyLevel.SESSION)
      .contentResponseOnWriteEnabled(true)
      .buildAsyncClient();
  private static final CosmosAsyncDatabase DATABASE = CLIENT.getDatabase("shop");

  private enum Mode { LATEST, PARTITIONS, ALL_VERSIONS }

  /** A version of a document: how it came to be, and which write that was. */
  private record Change(String id, String kind, int turn) {
    static Change of(JsonNode document) {
      return new Change(document.path("id").asText(), "version", document.path("turn").asInt());
    }
  }

  /** A change feed processor, and what it was handed in order. */
  private static final class Processor {
    final List<Change> log = Collections.synchronizedList(new ArrayList<>());
    private final ChangeFeedProcessor processor;

    Processor(Mode mode, String name, CosmosAsyncContainer source, boolean fromBeginning) {
      ChangeFeedProcessorBuilder builder = new ChangeFeedProcessorBuilder()
          .hostName("java-" + name)
          .feedContainer(source)
          .leaseContainer(DATABASE.getContainer("leases"))
          .options(new ChangeFeedProcessorOptions()
              .setLeasePrefix(name)
              .setStartFromBeginning(fromBeginning)
              .setMaxItemCount(PAGE)
              .setFeedPollDelay(Duration.ofMillis(100))
              .setLeaseAcquireInterval(Duration.ofMillis(500))
              .setLeaseRenewInterval(Duration.ofSeconds(1)));
      processor = (switch (mode) {
        case PARTITIONS -> builder.handleChanges(page -> page.forEach(document -> log.add(Change.of(document))));
        case LATEST -> builder.handleLatestVersionChanges(
            page -> page.forEach(item -> log.add(Change.of(item.getCurrent()))));
        case ALL_VERSIONS -> builder.handleAllVersionsAndDeletesChanges(
            (List<ChangeFeedProcessorItem> page) -> page.forEach(item -> log.add(version(item))));
      }).buildChangeFeedProcessor();
      processor.start().block(PATIENCE);
    }

    private static Change version(ChangeFeedProcessorItem item) {
      boolean gone = item.getCurrent() == null || item.getCurrent().isEmpty();
      JsonNode document = gone ? item.getPrevious() : item.getCurrent();
      String kind = item.getChangeFeedMetaData().getOperationType().toString().toLowerCase();
      return new Change(document.path("id").asText(), kind, document.path("turn").asInt());
    }

    /** What it was handed so far; a page that was under way when it was stopped comes a little later. */
    List<Change> seen() {
      synchronized (log) {
        return List.copyOf(log);
      }
    }

    void stop() {
      processor.stop().block(PATIENCE);
    }
  }

  /** Documents written by this client, and which versions of them there are. */
  private static final class Writer {
    final CosmosAsyncContainer container;
    final List<Change> written = new ArrayList<>();
    private final Map<String, Integer> newest = new LinkedHashMap<>();

    Writer(String name, boolean allVersions) {
      CosmosContainerProperties properties = new CosmosContainerProperties(name, "/storeId");
      if (allVersions) {
        properties.setChangeFeedPolicy(ChangeFeedPolicy.createAllVersionsAndDeletesPolicy(Duration.ofMinutes(10)));
      }
      DATABASE.createContainerIfNotExists(properties, ThroughputProperties.createManualThroughput(12000)).block();
      container = DATABASE.getContainer(name);
    }

    /** One new document after the other. */
    void create(int count) {
      for (int n = 0; n < count; n++) write("d" + newest.size(), "create");
    }

    /** New versions of the first documents. */
    void replace(int count) {
      for (String id : newest.keySet().stream().limit(count).toList()) write(id, "replace");
    }

    void delete(int count) {
      for (String id : newest.keySet().stream().limit(count).toList()) {
        container.deleteItem(id, keyOf(id)).block();
        written.add(new Change(id, "delete", newest.get(id)));
      }
    }

    private void write(String id, String kind) {
      int turn = written.size() + 1;
      ObjectNode document = JSON.createObjectNode().put("id", id).put("storeId", storeOf(id)).put("turn", turn);
      if (kind.equals("create")) container.createItem(document).block();
      else container.replaceItem(document, id, keyOf(id)).block();
      newest.put(id, turn);
      written.add(new Change(id, kind, turn));
    }

    private static String storeOf(String id) {
      return "s" + Integer.parseInt(id.substring(1)) % 23;
    }

    private static PartitionKey keyOf(String id) {
      return new PartitionKey(storeOf(id));
    }

    /** What the latest-version feed owes in the end. */
    Set<Change> latest() {
      Set<Change> changes = new HashSet<>();
      newest.forEach((id, turn) -> changes.add(new Change(id, "version", turn)));
      return changes;
    }
  }

  private final Map<String, Object> counts = new LinkedHashMap<>();
  private final List<String> wrong = new ArrayList<>();

  /**
   * Ours reads the feed's beginning; Java's goes on from its leases, over a split, and ours again from Java's. Neither may
   * lose a change, ours repeats none that it has, and Java's repeats no more than the pages that it was stopped in.
   */
  private void handover(Mode mode, String dialect, String source) throws Exception {
    Writer writer = new Writer(source, false);
    turn("split", "container", source);
    writer.create(200);
    writer.replace(20);
    JsonNode handedOver = turn("export", "container", source, "wanted", 80, "dialect", dialect, "prefix", "java-");
    List<Change> before = changes(handedOver);
    writer.create(50);
    // From now: what it is handed of before it has by the positions that it got.
    Processor java = new Processor(mode, "java-", writer.container, false);
    until("Java's has gone on", () -> java.log.size() >= 50);
    CompletableFuture<Void> meanwhile = CompletableFuture.runAsync(() -> writer.create(100));
    turn("split", "container", source);
    meanwhile.get();
    writer.replace(40);
    untilSeen(() -> rest(writer.latest(), before, java.seen()));
    stopAmidst(writer, java);
    turn("adopt", "container", source);
    List<Change> between = java.seen();
    List<Change> after = changes(turn("read", "container", source,
        "wanted", rest(writer.latest(), before, between)));
    Set<Change> seen = new HashSet<>(before);
    seen.addAll(between);
    seen.addAll(after);
    counts.put("writes", writer.written.size());
    counts.put("seen by ours", before.size());
    counts.put("then by Java's", between.size());
    counts.put("then by ours", after.size());
    same("lost", rest(writer.latest(), seen).size(), 0);
    same("repeats of the handover to Java's", common(before, between), 0);
    same("repeats of Java's, over the split", repeats(between), 0);
    atMost("repeats of the handover back", common(between, after), PAGE * 3);
    same("handed to Java's after its leases were adopted", java.log.size() - between.size(), 0);
    same("read again from before the handover", common(before, after), 0);
    ordered("ours", before);
    ordered("Java's", between);
    ordered("ours again", after);
  }

  /** Java's processor with leases of its own, over a split, a stop and another host. */
  private void alone(Mode mode, String source) throws Exception {
    Writer writer = new Writer(source, false);
    writer.create(150);
    Processor first = new Processor(mode, source, writer.container, true);
    until("the first has begun", () -> first.log.size() >= 40);
    CompletableFuture<Void> meanwhile = CompletableFuture.runAsync(() -> writer.create(100));
    turn("split", "container", source);
    meanwhile.get();
    untilSeen(() -> rest(writer.latest(), first.seen()));
    stopAmidst(writer, first);
    writer.replace(50);
    Processor second = new Processor(mode, source, writer.container, true);
    untilSeen(() -> rest(writer.latest(), first.seen(), second.seen()));
    second.stop();
    List<Change> before = first.seen();
    List<Change> after = second.seen();
    Set<Change> seen = new HashSet<>(before);
    seen.addAll(after);
    counts.put("writes", writer.written.size());
    counts.put("seen", before.size() + after.size());
    same("lost", rest(writer.latest(), seen).size(), 0);
    same("repeats over the split", repeats(before), 0);
    atMost("repeats of the second start", common(before, after), PAGE * 3);
    ordered("the first", before);
    ordered("the second", after);
  }

  /** Every version and delete, from now on, over two splits. */
  private void allVersions(String source) throws Exception {
    Writer writer = new Writer(source, true);
    Processor java = new Processor(Mode.ALL_VERSIONS, source, writer.container, false);
    // "Now" is when it reads a range for the first time; from what it has seen of each range on, it owes everything.
    untilReading(java, writer);
    int before = writer.written.size();
    int sofar = java.log.size();
    writer.create(60);
    writer.replace(30);
    CompletableFuture<Void> meanwhile = CompletableFuture.runAsync(() -> writer.create(60));
    turn("split", "container", source);
    meanwhile.get();
    writer.delete(20);
    turn("split", "container", source);
    writer.create(20);
    List<Change> wanted = writer.written.subList(before, writer.written.size());
    untilSeen(() -> rest(new HashSet<>(wanted), java.seen()));
    java.stop();
    List<Change> seen = java.seen();
    List<Change> after = seen.subList(sofar, seen.size());
    counts.put("writes", wanted.size());
    counts.put("seen", after.size());
    same("lost", rest(new HashSet<>(wanted), after).size(), 0);
    same("repeats", repeats(after), 0);
    same("never written", rest(new HashSet<>(after), wanted).size(), 0);
    ordered("all versions", after);
  }

  /** Stops it while there is more to read, and while more is written. */
  private static void stopAmidst(Writer writer, Processor processor) throws Exception {
    int sofar = processor.log.size();
    CompletableFuture<Void> meanwhile = CompletableFuture.runAsync(() -> writer.create(150));
    until("some more was seen", () -> processor.log.size() >= sofar + 30);
    processor.stop();
    meanwhile.get();
  }

  private static void untilReading(Processor java, Writer writer) {
    // 23 keys are on every range that there is.
    until("the processor reads all ranges", () -> {
      int sofar = writer.written.size();
      writer.create(23);
      Set<Change> wanted = new HashSet<>(writer.written.subList(sofar, sofar + 23));
      return waited(Duration.ofSeconds(2), () -> new HashSet<>(java.seen()).containsAll(wanted));
    });
  }

  private void same(String what, Object found, Object wanted) {
    counts.put(what, found);
    if (!found.equals(wanted)) wrong.add(what + ": " + found + " instead of " + wanted);
  }

  private void atMost(String what, int found, int bound) {
    counts.put(what, found);
    if (found > bound) wrong.add(what + ": " + found + ", at most " + bound + " are owed");
  }

  /** Versions of one document come in order, but for what is read again. */
  private void ordered(String what, List<Change> changes) {
    Map<String, Integer> last = new HashMap<>();
    for (Change change : changes) {
      Integer earlier = last.put(change.id(), change.turn());
      if (earlier != null && earlier > change.turn()) wrong.add(what + ": " + change + " after version " + earlier);
    }
  }

  private static int repeats(List<Change> changes) {
    return changes.size() - new HashSet<>(changes).size();
  }

  private static int common(List<Change> some, List<Change> others) {
    Set<Change> both = new HashSet<>(some);
    both.retainAll(new HashSet<>(others));
    return both.size();
  }

  @SafeVarargs
  private static Set<Change> rest(Set<Change> all, Iterable<Change>... seen) {
    Set<Change> left = new HashSet<>(all);
    for (Iterable<Change> some : seen) some.forEach(left::remove);
    return left;
  }

  private static void until(String what, BooleanSupplier is) {
    if (!waited(PATIENCE, is)) throw new IllegalStateException("Waited " + PATIENCE + " in vain until " + what);
  }

  private static void untilSeen(Supplier<Set<Change>> lacking) {
    if (waited(PATIENCE, () -> lacking.get().isEmpty())) return;
    throw new IllegalStateException("After " + PATIENCE + " there are changes that weren't seen: " + lacking.get());
  }

  private static boolean waited(Duration most, BooleanSupplier is) {
    long end = System.nanoTime() + most.toNanos();
    while (!is.getAsBoolean()) {
      if (System.nanoTime() > end) return false;
      try {
        Thread.sleep(20);
      } catch (InterruptedException stopped) {
        return false;
      }
    }
    return true;
  }

  private static List<Change> changes(JsonNode answer) {
    List<Change> changes = new ArrayList<>();
    answer.path("changes").forEach(document -> changes.add(Change.of(document)));
    return changes;
  }

  private static JsonNode turn(String turn, Object... parts) throws IOException {
    Map<String, Object> request = new LinkedHashMap<>(Map.of("turn", turn));
    for (int n = 0; n < parts.length; n += 2) request.put((String) parts[n], parts[n + 1]);
    say(request);
    return JSON.readTree(ANSWERS.readLine());
  }

  private static void say(Object line) throws IOException {
    System.out.println(JSON.writeValueAsString(line));
  }

  private interface Check {
    void by(Judge judge) throws Exception;
  }

  private static void check(String name, Check check) throws IOException {
    Judge judge = new Judge();
    try {
      check.by(judge);
    } catch (Exception error) { // A check that can't go on is a difference too.
      judge.wrong.add(error.toString());
    }
    say(Map.of("check", name, "counts", judge.counts, "wrong", judge.wrong));
  }

  public static void main(String[] arguments) throws IOException {
    check("handed over and back, java-epk", judge -> judge.handover(Mode.LATEST, "java-epk", "Orders"));
    check("handed over and back, java-pk", judge -> judge.handover(Mode.PARTITIONS, "java-pk", "Customers"));
    check("handleLatestVersionChanges", judge -> judge.alone(Mode.LATEST, "latest"));
    check("handleChanges", judge -> judge.alone(Mode.PARTITIONS, "partitions"));
    check("handleAllVersionsAndDeletesChanges", judge -> judge.allVersions("versions"));
    CLIENT.close();
    // Threads of the processors that were stopped would keep the process alive.
    System.exit(0);
  }
}
