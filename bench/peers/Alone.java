import com.azure.cosmos.ChangeFeedProcessorBuilder;
import com.azure.cosmos.CosmosAsyncDatabase;
import com.azure.cosmos.CosmosClientBuilder;
import com.azure.cosmos.models.ChangeFeedProcessorOptions;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/** Java's change feed processor alone: counts changes, and prints how long they took from the first page to the last. */
public final class Alone {
  public static void main(String[] args) throws InterruptedException {
    int wanted = Integer.parseInt(args[1]);
    AtomicInteger seen = new AtomicInteger();
    AtomicLong first = new AtomicLong();
    CosmosAsyncDatabase database = new CosmosClientBuilder()
        .endpoint(System.getenv("COSMOS_ENDPOINT"))
        .key(System.getenv("COSMOS_KEY"))
        .gatewayMode()
        .contentResponseOnWriteEnabled(true)
        .buildAsyncClient()
        .getDatabase("bench");
    new ChangeFeedProcessorBuilder()
        .hostName(args[0])
        .feedContainer(database.getContainer("Orders"))
        .leaseContainer(database.getContainer("leases"))
        .options(new ChangeFeedProcessorOptions()
            .setLeasePrefix("alone")
            .setStartFromBeginning(true)
            .setMaxItemCount(1000)
            .setFeedPollDelay(Duration.ofMillis(Long.parseLong(args[2])))
            .setLeaseAcquireInterval(Duration.ofMillis(Long.parseLong(args[3])))
            .setLeaseRenewInterval(Duration.ofMillis(Long.parseLong(args[4])))
            .setLeaseExpirationInterval(Duration.ofMillis(Long.parseLong(args[5]))))
        .handleLatestVersionChanges(page -> {
          first.compareAndSet(0, System.nanoTime());
          int count = seen.addAndGet(page.size());
          if (count - page.size() < wanted && count >= wanted) {
            System.out.println((System.nanoTime() - first.get()) / 1_000_000);
          }
        })
        .buildChangeFeedProcessor()
        .start()
        .block();
    Thread.currentThread().join();
  }
}
