import com.azure.cosmos.ChangeFeedProcessor;
import com.azure.cosmos.ChangeFeedProcessorBuilder;
import com.azure.cosmos.CosmosAsyncContainer;
import com.azure.cosmos.CosmosAsyncDatabase;
import com.azure.cosmos.CosmosClientBuilder;
import com.azure.cosmos.CosmosException;
import com.azure.cosmos.models.ChangeFeedProcessorOptions;
import com.azure.cosmos.models.PartitionKey;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.time.Duration;

/**
 * Java's change feed processor with upserts. What the handler throws goes to the processor, which hands the page out again.
 */
public final class Upserts {
  // User code: from here
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final CosmosAsyncDatabase DATABASE = new CosmosClientBuilder()
      .endpoint(System.getenv("COSMOS_ENDPOINT"))
      .key(System.getenv("COSMOS_KEY"))
      .gatewayMode()
      .contentResponseOnWriteEnabled(true)
      .buildAsyncClient()
      .getDatabase("bench");
  private static final CosmosAsyncContainer SUMMARIES = DATABASE.getContainer("Summaries");
  private static final CosmosAsyncContainer TOTALS = DATABASE.getContainer("Totals");

  private static void derive(JsonNode order) {
    String id = order.get("id").asText();
    String customer = order.get("customer").get("id").asText();
    String country = order.get("customer").get("country").asText();
    String store = order.get("storeId").asText();
    String status = order.get("status").asText();
    long cents = order.get("cents").asLong();
    boolean cancelled = order.path("cancelled").asBoolean();
    JsonNode before = read(SUMMARIES, id, customer);
    if (!cancelled) {
      SUMMARIES.upsertItem(JSON.createObjectNode().put("id", id).put("customerId", customer).put("storeId", store)
          .put("country", country).put("status", status).put("cents", cents).put("turn", order.get("turn").asInt()))
          .block();
    } else if (before != null) {
      SUMMARIES.deleteItem(id, new PartitionKey(customer)).block();
    }
    if (before != null) count(store, country, before.get("status").asText(), -1, -before.get("cents").asLong());
    if (!cancelled) count(store, country, status, 1, cents);
  }

  private static void count(String store, String country, String status, long orders, long cents) {
    String id = country + "|" + status;
    JsonNode total = read(TOTALS, id, store);
    ObjectNode row = JSON.createObjectNode().put("id", id).put("storeId", store).put("country", country)
        .put("status", status);
    row.put("orders", (total == null ? 0 : total.get("orders").asLong()) + orders);
    row.put("cents", (total == null ? 0 : total.get("cents").asLong()) + cents);
    TOTALS.upsertItem(row).block();
  }

  private static JsonNode read(CosmosAsyncContainer container, String id, String key) {
    try {
      return container.readItem(id, new PartitionKey(key), JsonNode.class).block().getItem();
    } catch (CosmosException error) {
      if (error.getStatusCode() == 404) return null;
      throw error;
    }
  }
  // User code: to here

  public static void main(String[] args) throws InterruptedException {
    ChangeFeedProcessor processor = new ChangeFeedProcessorBuilder()
        .hostName(args[0])
        .feedContainer(DATABASE.getContainer("Orders"))
        .leaseContainer(DATABASE.getContainer("leases"))
        .options(new ChangeFeedProcessorOptions()
            .setLeasePrefix("java")
            .setStartFromBeginning(true)
            .setMaxItemCount(100)
            .setFeedPollDelay(Duration.ofMillis(Long.parseLong(args[1])))
            .setLeaseAcquireInterval(Duration.ofMillis(Long.parseLong(args[2])))
            .setLeaseRenewInterval(Duration.ofMillis(Long.parseLong(args[3])))
            .setLeaseExpirationInterval(Duration.ofMillis(Long.parseLong(args[4]))))
        .handleLatestVersionChanges(page -> page.forEach(item -> derive(item.getCurrent())))
        .buildChangeFeedProcessor();
    processor.start().block();
    Thread.currentThread().join();
  }
}
