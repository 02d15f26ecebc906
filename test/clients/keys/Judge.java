import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.Comparator;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * Keys of shard maps against Java's own numbers, times, GUIDs and texts. It asks for them by a line {"turn": "keys"}, and
 * works out the bytes and the order from the form that documents have.
 */
public class Judge {
  static final Instant FIRST = Instant.parse("0001-01-01T00:00:00Z");
  static final Pattern SPAN = Pattern.compile("(-?)(\\d+)\\.(\\d\\d):(\\d\\d):(\\d\\d)\\.(\\d{7})");

  /** A key's value, for its order, and its bytes. */
  record Key(Comparable<?> value, byte[] bytes) {}

  record Found(Comparable<?> value, String code) {}

  static Key number(long value) {
    return new Key(value, ByteBuffer.allocate(8).putLong(value ^ Long.MIN_VALUE).array());
  }

  static Key moment(Instant instant) {
    Duration since = Duration.between(FIRST, instant);
    long ticks = since.getSeconds() * 10_000_000 + since.getNano() / 100;
    return new Key(instant, ByteBuffer.allocate(8).putLong(ticks ^ Long.MIN_VALUE).array());
  }

  static Key span(String form) {
    Matcher parts = SPAN.matcher(form);
    if (!parts.matches()) throw new IllegalArgumentException(form);
    Duration span = Duration.ofDays(Long.parseLong(parts.group(2)))
        .plusHours(Long.parseLong(parts.group(3)))
        .plusMinutes(Long.parseLong(parts.group(4)))
        .plusSeconds(Long.parseLong(parts.group(5)))
        .plusNanos(Long.parseLong(parts.group(6)) * 100);
    Duration signed = parts.group(1).isEmpty() ? span : span.negated();
    BigInteger ticks = BigInteger.valueOf(signed.getSeconds()).multiply(BigInteger.valueOf(10_000_000))
        .add(BigInteger.valueOf(signed.getNano() / 100));
    return new Key(signed, number(ticks.longValueExact()).bytes());
  }

  static Key guid(String form) {
    UUID value = UUID.fromString(form);
    if (!value.toString().equals(form)) throw new IllegalArgumentException(form);
    byte[] bytes = ByteBuffer.allocate(16)
        .putLong(value.getMostSignificantBits()).putLong(value.getLeastSignificantBits()).array();
    // UUID.compareTo compares signed halves.
    return new Key(new BigInteger(1, bytes), bytes);
  }

  static Key keyOf(String type, String form) {
    return switch (type) {
      case "int32" -> new Key(Integer.parseInt(form),
          ByteBuffer.allocate(4).putInt(Integer.parseInt(form) ^ Integer.MIN_VALUE).array());
      case "int64" -> number(Long.parseLong(form));
      case "guid" -> guid(form);
      case "bytes" -> new Key(ByteBuffer.wrap(signed(HexFormat.of().parseHex(form))), HexFormat.of().parseHex(form));
      case "dateTime" -> moment(Instant.parse(form));
      case "dateTimeOffset" -> moment(OffsetDateTime.parse(form).toInstant());
      case "duration" -> span(form);
      case "text" -> {
        byte[] bytes = form.getBytes(StandardCharsets.UTF_8);
        yield new Key(ByteBuffer.wrap(signed(bytes)), bytes);
      }
      default -> throw new IllegalArgumentException(type);
    };
  }

  /** ByteBuffer compares signed bytes. */
  static byte[] signed(byte[] bytes) {
    byte[] flipped = bytes.clone();
    for (int at = 0; at < flipped.length; at++) flipped[at] ^= (byte) 0x80;
    return flipped;
  }

  @SuppressWarnings({"unchecked", "rawtypes"})
  static boolean isSorted(List<Found> keys) {
    Comparator<Found> byValue = (one, other) -> ((Comparable) one.value()).compareTo(other.value());
    List<String> codes = keys.stream().sorted(byValue).map(Found::code).toList();
    return codes.equals(codes.stream().sorted().toList());
  }

  public static void main(String[] args) throws Exception {
    System.out.println("{\"turn\": \"keys\"}");
    var input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    Matcher line = Pattern.compile("\"(\\w+) ([\\w+/=]*) (\\w*)\"").matcher(input.readLine());
    Map<String, List<Found>> found = new LinkedHashMap<>();
    List<String> wrong = new ArrayList<>();
    while (line.find()) {
      String form = new String(Base64.getDecoder().decode(line.group(2)), StandardCharsets.UTF_8);
      Key key = keyOf(line.group(1), form);
      String code = HexFormat.of().formatHex(key.bytes());
      if (!code.equals(line.group(3))) wrong.add(line.group(1) + " " + line.group(3) + " should be " + code);
      found.computeIfAbsent(line.group(1), type -> new ArrayList<>()).add(new Found(key.value(), line.group(3)));
    }
    found.forEach((type, keys) -> {
      if (!isSorted(keys)) wrong.add(type + ": the codes don't sort as the values do");
    });
    String counts = found.entrySet().stream().map(each -> "\"" + each.getKey() + "\": " + each.getValue().size())
        .collect(Collectors.joining(", "));
    String said = wrong.stream().limit(20).map(each -> "\"" + each + "\"").collect(Collectors.joining(", "));
    System.out.println("{\"check\": \"keys of shard maps\", \"counts\": {" + counts + "}, \"wrong\": [" + said + "]}");
  }
}
