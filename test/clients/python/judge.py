"""The published Python client against the server at COSMOS_ENDPOINT, with the key COSMOS_KEY.

Each check keeps a list of what it wrote and holds it against what the client reads. It prints one line of JSON:
{"check", "counts", "wrong"}, where `wrong` names each difference. What others have to do meanwhile it asks for by a line
{"turn", ...}, and reads the answer, a line of JSON, from standard input.
"""

import json
import os
import sys
import traceback
import warnings
from collections import Counter, defaultdict

from azure.core import MatchConditions
from azure.cosmos import CosmosClient, PartitionKey
from azure.cosmos.exceptions import CosmosBatchOperationError, CosmosHttpResponseError

ENDPOINT, KEY = os.environ["COSMOS_ENDPOINT"], os.environ["COSMOS_KEY"]
PAGE = 7

# This client never verifies the certificate of a local address, and its transport warns of that at each request.
warnings.filterwarnings("ignore", message="Unverified HTTPS request")


def new_client():
    return CosmosClient(ENDPOINT, KEY)


def split(container):
    """Has the container's fullest partition cut in two."""
    print(json.dumps({"turn": "split", "container": container.id}), flush=True)
    sys.stdin.readline()


class Judge:
    """What was counted, and what differs from what has to be."""

    def __init__(self):
        self.counts, self.wrong = Counter(), []

    def same(self, what, found, wanted):
        self.counts["compared"] += 1
        if found != wanted:
            self.wrong.append(f"{what}: found {found!r:.300}, wanted {wanted!r:.300}")

    def refused(self, what, status, call):
        try:
            call()
            self.same(what, "an answer", status)
        except CosmosHttpResponseError as error:
            self.same(what, error.status_code, status)

    def feed(self, what, seen, wanted):
        """Everything wanted came, nothing twice, and of one document in order."""
        times = Counter(seen)
        lost = [each for each in wanted if each not in times]
        self.counts.update(writes=len(wanted), seen=len(seen), repeats=len(seen) - len(times), lost=len(lost))
        self.same(f"{what}: lost", lost, [])
        self.same(f"{what}: seen, though never written", [each for each in times if each not in wanted], [])
        self.same(f"{what}: repeats", len(seen) - len(times), 0)
        by_document = lambda entries: {id: [e for e in entries if e[0] == id] for id in {e[0] for e in entries}}
        self.same(f"{what}: order", by_document(seen), by_document(wanted))


def items(judge, database):
    k = database.create_container("items", PartitionKey("/pk"), offer_throughput=12000)
    created = k.create_item({"id": "a b ü€", "pk": "k", "n": 1, "tags": ["x"]})
    read = lambda: k.read_item(created["id"], "k")
    judge.same("read what was created", read(), created)
    judge.refused("create again", 409, lambda: k.create_item({"id": created["id"], "pk": "k"}))
    judge.refused("read what isn't there", 404, lambda: k.read_item("none", "k"))
    stale = {"etag": '"stale"', "match_condition": MatchConditions.IfNotModified}
    judge.refused("replace a stale version", 412, lambda: k.replace_item(created["id"], {**created, "n": 9}, **stale))
    judge.same("replace", k.replace_item(created["id"], {**created, "n": 2})["n"], 2)
    judge.same("upsert", k.upsert_item({"id": created["id"], "pk": "k", "n": 3, "tags": []})["n"], 3)
    steps = [
        {"op": "incr", "path": "/n", "value": 4},
        {"op": "add", "path": "/tags/-", "value": "y"},
        {"op": "set", "path": "/name", "value": "ñ"},
        {"op": "move", "from": "/name", "path": "/title"},
    ]
    patched = k.patch_item(created["id"], "k", steps, filter_predicate="FROM c WHERE c.n = 3")
    judge.same("patch", [patched.get(f) for f in ("n", "tags", "name", "title")], [7, ["y"], None, "ñ"])
    judge.refused(
        "patch on a condition that isn't so",
        412,
        lambda: k.patch_item(created["id"], "k", steps, filter_predicate="FROM c WHERE c.n = 3"),
    )
    judge.same("what a refused patch leaves", read(), patched)
    for n in range(40):
        k.create_item({"id": f"m{n}", "pk": n % 5, "n": n})
    many = k.read_items([(f"m{n}", n % 5) for n in range(40)])
    judge.same("read many", sorted(each["n"] for each in many), list(range(40)))
    k.delete_item(created["id"], "k")
    judge.refused("read what was deleted", 404, read)
    k.delete_all_items_by_partition_key(3)
    left = k.query_items("SELECT VALUE c.n FROM c", enable_cross_partition_query=True)
    judge.same("delete by key", sorted(left), [n for n in range(40) if n % 5 != 3])


def batches(judge, database):
    k = database.create_container("batches", PartitionKey("/pk"))
    numbers = lambda: {each["id"]: each["n"] for each in k.query_items("SELECT * FROM c", partition_key="k")}
    k.create_item({"id": "old", "pk": "k", "n": 0})
    done = k.execute_item_batch(
        [
            ("create", ({"id": "a", "pk": "k", "n": 1},)),
            ("upsert", ({"id": "b", "pk": "k", "n": 2},)),
            ("replace", ("a", {"id": "a", "pk": "k", "n": 3})),
            ("patch", ("b", [{"op": "incr", "path": "/n", "value": 5}])),
            ("read", ("b",)),
            ("delete", ("old",)),
        ],
        partition_key="k",
    )
    judge.same("statuses of a batch", [each["statusCode"] for each in done], [201, 201, 200, 200, 200, 204])
    judge.same("read within a batch", done[4]["resourceBody"]["n"], 7)
    judge.same("what a batch leaves", numbers(), {"a": 3, "b": 7})
    try:
        k.execute_item_batch(
            [("create", ({"id": "c", "pk": "k", "n": 1},)), ("create", ({"id": "a", "pk": "k", "n": 1},))], "k"
        )
        judge.same("a batch with a conflict", "an answer", 409)
    except CosmosBatchOperationError as error:
        judge.same("a batch with a conflict", [error.status_code, error.error_index], [409, 1])
        statuses = [each["statusCode"] for each in error.operation_responses]
        judge.same("statuses of a batch with a conflict", statuses, [424, 409])
    judge.same("what a failed batch leaves", numbers(), {"a": 3, "b": 7})


def queries(judge, database):
    k = database.create_container("queries", PartitionKey("/pk"), offer_throughput=18000)
    written = [
        {"id": f"d{n}", "pk": f"p{n % 11}", "n": n, "g": n % 4, "name": f"name {n * 37 % 100:03}"} for n in range(100)
    ]
    for each in written:
        k.create_item(each)

    def paged(query, parameters=None):
        """Page after page, each by a client that knows the token alone; in the middle a partition is split."""
        found, token, pages = [], None, 0
        while True:
            container = new_client().get_database_client(database.id).get_container_client(k.id)
            pager = container.query_items(
                query, parameters=parameters, enable_cross_partition_query=True, max_item_count=PAGE
            ).by_page(token)
            found += next(pager)
            pages += 1
            if pages == 3:
                split(k)
            token = pager.continuation_token
            if not token:
                judge.counts["pages"] += pages
                return found

    parameters = [{"name": "@low", "value": 50}, {"name": "@g", "value": 1}]
    by_name = sorted(written, key=lambda each: each["name"])
    ids = lambda documents: [each["id"] for each in documents]
    judge.same("all", sorted(paged("SELECT VALUE c.id FROM c")), sorted(ids(written)))
    judge.same("ordered", paged("SELECT VALUE c.id FROM c ORDER BY c.name"), ids(by_name))
    judge.same("ordered down", paged("SELECT VALUE c.n FROM c ORDER BY c.n DESC"), list(range(99, -1, -1)))
    judge.same(
        "filtered, with parameters",
        sorted(paged("SELECT VALUE c.n FROM c WHERE c.n >= @low AND c.g = @g", parameters)),
        [n for n in range(50, 100) if n % 4 == 1],
    )
    judge.same("skipped", paged("SELECT VALUE c.n FROM c ORDER BY c.n OFFSET 20 LIMIT 30"), list(range(20, 50)))
    judge.same("the first", paged("SELECT TOP 10 VALUE c.id FROM c ORDER BY c.name"), ids(by_name[:10]))
    judge.same("distinct", sorted(paged("SELECT DISTINCT VALUE c.pk FROM c")), sorted({each["pk"] for each in written}))
    aggregates = {"COUNT(1)": 100, "SUM(c.n)": 4950, "AVG(c.n)": 49.5, "MIN(c.name)": "name 000", "MAX(c.n)": 99}
    for name, wanted in aggregates.items():
        judge.same(name, paged(f"SELECT VALUE {name} FROM c"), [wanted])
    groups = defaultdict(int)
    for each in written:
        groups[each["g"]] += each["n"]
    grouped = paged("SELECT c.g, COUNT(1) AS many, SUM(c.n) AS sum FROM c GROUP BY c.g")
    judge.same(
        "grouped",
        sorted(grouped, key=lambda row: row["g"]),
        [{"g": g, "many": 25, "sum": total} for g, total in sorted(groups.items())],
    )
    one = k.query_items("SELECT VALUE c.n FROM c ORDER BY c.n", partition_key="p4", max_item_count=3)
    judge.same("of one partition key", list(one), [n for n in range(100) if n % 11 == 4])
    ranges = list(k.read_feed_ranges())
    judge.counts["ranges"] = len(ranges)
    by_range = [n for r in ranges for n in k.query_items("SELECT VALUE c.n FROM c", feed_range=r)]
    judge.same("by feed range", sorted(by_range), list(range(100)))


def hierarchical(judge, database):
    k = database.create_container(
        "hierarchical", PartitionKey(["/tenant", "/user", "/day"], kind="MultiHash"), offer_throughput=12000
    )
    written = [
        {"id": f"h{n}", "tenant": f"t{n % 3}", "user": f"u{n % 6}", "day": n % 4, "n": n} for n in range(60)
    ]
    for each in written:
        k.create_item(each)
    key = lambda each: [each["tenant"], each["user"], each["day"]]
    judge.same("read", [k.read_item(each["id"], key(each))["n"] for each in written], list(range(60)))
    for turn in ("before the split", "after the split"):
        for depth in (1, 2, 3):
            prefix = ["t1", "u4", 2][:depth]
            wanted = [each["n"] for each in written if key(each)[:depth] == prefix]
            found = k.query_items("SELECT VALUE c.n FROM c", partition_key=prefix, max_item_count=PAGE)
            judge.same(f"{depth} of 3 levels, {turn}", sorted(found), wanted)
            fed = k.query_items_change_feed(start_time="Beginning", partition_key=prefix, max_item_count=PAGE)
            judge.same(f"the feed of {depth} of 3 levels, {turn}", sorted(each["n"] for each in fed), wanted)
        split(k)
    judge.refused("a key that is none of the item's", 404, lambda: k.read_item("h0", ["t0", "u0", 3]))


class Reader:
    """Reads one scope of a feed, each time from its last token: by one client, or by one that knows no more than that."""

    def __init__(self, container, fresh=False, **scope):
        self.container, self.fresh, self.scope, self.token = container, fresh, scope, None

    def read(self, most=None):
        container = self.container
        if self.fresh:
            container = new_client().get_database_client("shop").get_container_client(container.id)
        at = {"continuation": self.token} if self.token else self.scope
        found = []
        for page in container.query_items_change_feed(max_item_count=PAGE, **at).by_page():
            found += page
            if most is not None and len(found) >= most:
                break
        # An empty read moves the token too: from "now" to a place.
        self.token = container.client_connection.last_response_headers["etag"]
        return found


def latest_versions(judge, database):
    k = database.create_container("latest", PartitionKey("/pk"), offer_throughput=12000)
    written = []

    def write(first, last):
        for n in range(first, last):
            k.upsert_item({"id": f"d{n}", "pk": f"p{n % 13}", "turn": len(written)})
            written.append((f"d{n}", len(written)))

    seen = lambda changes: [(each["id"], each["turn"]) for each in changes]
    write(0, 80)
    ranges = [Reader(k, feed_range=r, start_time="Beginning") for r in k.read_feed_ranges()]
    whole, key = Reader(k, fresh=True, start_time="Beginning"), Reader(k, partition_key="p5", start_time="Beginning")
    readers = [*ranges, whole, key]
    logs = {reader: seen(reader.read(most=20)) for reader in readers}
    for first in (80, 120):
        split(k)
        write(first, first + 40)
        for reader in readers:
            logs[reader] += seen(reader.read(most=20))
    write(160, 170)
    for reader in readers:
        logs[reader] += seen(reader.read())
    # Every one once: had a document been written again, the feed would owe no more than its newest version.
    by_ranges = [each for reader in ranges for each in logs[reader]]
    judge.feed("by feed ranges", by_ranges, written)
    judge.feed("of the whole container", logs[whole], written)
    judge.feed("of one key", logs[key], [each for each in written if int(each[0][1:]) % 13 == 5])
    before = len(written)
    write(0, 30)
    write(20, 50)
    newest = dict(written[before:])
    judge.feed("of what was written again", seen(whole.read()), [(id, turn) for id, turn in newest.items()])
    judge.same("at the end", whole.read(), [])


def all_versions(judge, database):
    k = database.create_container(
        "versions", PartitionKey("/pk"), offer_throughput=12000, change_feed_policy={"retentionDuration": 10}
    )
    written = []

    def write(first, last):
        for n in range(first, last):
            id, pk = f"d{n}", f"p{n % 13}"
            k.create_item({"id": id, "pk": pk, "n": 1})
            k.upsert_item({"id": id, "pk": pk, "n": 2})
            k.patch_item(id, pk, [{"op": "incr", "path": "/n", "value": 1}])
            written.extend([(id, "create", 1), (id, "replace", 2), (id, "replace", 3)])
            if n % 3 == 0:
                k.delete_item(id, pk)
                written.append((id, "delete", None))

    def seen(changes):
        for change in changes:
            kind, current = change["metadata"]["operationType"], change.get("current") or {}
            yield (current.get("id") or change["metadata"]["id"], kind, current.get("n"))

    mode = {"mode": "AllVersionsAndDeletes", "start_time": "Now"}
    ranges = [Reader(k, feed_range=r, **mode) for r in k.read_feed_ranges()]
    readers = [*ranges, Reader(k, fresh=True, **mode)]
    logs = {reader: list(seen(reader.read())) for reader in readers}
    for first in (0, 20, 40):
        write(first, first + 20)
        split(k)
        for reader in readers:
            logs[reader] += seen(reader.read(most=20 if first < 40 else None))
    judge.feed("by feed ranges", [each for reader in ranges for each in logs[reader]], written)
    judge.feed("of the whole container", logs[readers[-1]], written)


def main():
    database = new_client().get_database_client("shop")
    for check in (items, batches, queries, hierarchical, latest_versions, all_versions):
        judge = Judge()
        try:
            check(judge, database)
        except Exception as error:  # A check that can't go on is a difference too.
            where = traceback.extract_tb(error.__traceback__)
            line = next(frame.lineno for frame in reversed(where) if frame.filename == __file__)
            judge.wrong.append(f"line {line}: {error!r:.600}")
        name = check.__name__.replace("_", " ")
        print(json.dumps({"check": name, "counts": judge.counts, "wrong": judge.wrong}), flush=True)


main()
