// K1 to K8: keys, ids and uniqueness.
import { SOURCES } from './rule.ts';
import { questions } from './question.ts';

export const KEY_QUESTIONS = questions('keys', [
  {
    id: 'K1',
    title: 'Who reads often has the value of the partition key',
    ask: [
      'List every read, also those that the purpose implies: sign-in, the lookup behind a link, a token or a callback, the list on the main screen, "all X of a Y", the sweep of a job, what a check or a deletion must find, the way from a stored reference to its document.',
      'For each: which values does the caller have at that moment? Without the key value the read goes to all physical partitions, and with the id alone it is no point read.',
      'A document that refers to another one by its id alone, in a container keyed by something else, can’t read it in one step.',
      'Name each main read, list or job that goes to all partitions, also where the data is small today: then its harm is low. Say when one key serves none of its stated reads, or another would serve most of them.',
    ],
    not: 'A rare read by an administrator, a fan-out that the text weighs and accepts with a figure.',
    known:
      'A read without the key value goes to every physical partition, and its price and time grow with them (ASM-E120); a point read takes the id and the key value (ASM-E133). The key of a container can’t be changed later (ASM-E131), so this is the dearest mistake.',
    hint: 'Key the container by what its frequent reads have, store the key value beside each reference, or keep a lookup document.',
    source: SOURCES.microsoft('Partitioning and horizontal scaling in Azure Cosmos DB'),
  },
  {
    id: 'K2',
    title: 'Load and data spread over many values of the partition key',
    ask: [
      'A key with few values or one (status, type, region, boolean, environment, season, a constant), or one value that takes most of the load: the current day or month, the largest tenant, a popular product, a shared document that all write.',
      'Is the key made of the time of the write? Then all writes of a moment go to one partition, whatever the number of values in the long run.',
      'Does one value collect without end: all messages of a channel, all events of a device, the audit of a tenant? Multiply the figures: 20 GB and 10,000 RU/s are the limits of one value.',
      'A claim of "even distribution" or "high cardinality" that the values don’t give.',
    ],
    not: 'A value whose load and data the text bounds far below the limits. Where only the size of today is small, the harm is low.',
    known:
      'All documents of one key value lie in one logical partition of at most 20 GB, in one physical partition of 10,000 RU/s (ASM-E121). A synthetic key of one path has the same limit; the prefix of a hierarchical key may exceed it (ASM-E136).',
    hint: 'Add a level or a bucket to the key that the reads know, or spread the hot value and join it when it is read.',
    source: SOURCES.microsoft('Partitioning and horizontal scaling in Azure Cosmos DB'),
  },
  {
    id: 'K3',
    title: 'The key field is there when a document is created, in one form, and stays as it is',
    ask: [
      'Is the key a field that changes in the life of the document: status, owner, e-mail, team, parent, an id that is corrected or matched later, a rating, a date that is moved?',
      'Does each document type of the container have the key field by nature, and is its value known when the document is created? A user before a team is chosen, a thing of no tenant, a global setting, an operation on many tenants.',
      'Is the value in one form: a date or a date with time, letters of one case, a number or a text, an e-mail as typed?',
      'A replace or an update that may pass another key value.',
    ],
    not: 'A field that could change in theory, which the document calls immutable.',
    known:
      'The key value of a document can’t be updated: it is created again and the old one is deleted, in two partitions without a transaction (ASM-E131). A missing value is a partition of its own, undefined. Values are compared letter by letter (ASM-E134).',
    hint: 'Take a value that is given at creation and never changes; derive it in one function.',
  },
  {
    id: 'K4',
    title: 'Every place states the same key, and documents, queries and code use it',
    ask: [
      'Compare each mention of a container’s key: table, prose, diagram, infrastructure code, sample code, decision records, migration steps.',
      'Does each sample document, and each class or interface, have the key’s field, at that path, in that case (`userId`, `UserId`, `user_id`)?',
      'Do reads and writes in code pass that value, or another one (the id, a constant, a field of another type)?',
    ],
    not: 'Another key that is told as a rejected choice or as the state before a migration.',
    known:
      'Paths are case-sensitive. A document without the field lies in the partition of undefined, and a read with another value finds nothing.',
    hint: 'State the key once, and correct the other places.',
  },
  {
    id: 'K5',
    title: 'The id is there, is allowed, and is the same for the same thing only',
    ask: [
      'Does each stored document have a field `id`, in lower case, as a text, or a stated mapping to it?',
      'Take the rule by which an id is made: can two different things get the same one (a part is missing, is cut, has seconds, is not normalised), and can the same thing get two (a random id at each try, two programs with two rules, a changed input)?',
      'Can a part have `/`, `\\`, `#` or `?`, be free text, a path or a URL, be empty or null, or be longer than 1,023 bytes? Does it have personal data or a guessable number that stands in a URL?',
      'Do the samples follow the rule, and is the id used as the reads need it? A counter that "counts up by itself" has no basis in Cosmos DB.',
    ],
    not: 'A random id for something that is created once, with no retry.',
    known:
      'The service requires `id` and makes it unique within one logical partition only (ASM-E135). `/`, `\\` and `#` aren’t allowed (ASM-E38). There is no sequence (ASM-E172). With a deterministic id a repeated create is refused instead of doubled.',
    hint: 'Make the id from the values that identify the thing, in one function, escaped.',
  },
  {
    id: 'K6',
    title: 'What must exist once is kept unique by the store',
    ask: [
      'List what must exist once: sign-in names, e-mails, numbers, slugs, one vote, review, booking or active version for each X, names within a parent, a natural key beside a random id, "find or create", "create if it isn’t there".',
      'For each: does the id with the partition key hold it, or a unique key whose partition is the scope of the rule? A check before the write, an index, a composite index, a validator or a cache doesn’t.',
      'Is a unique key claimed over the whole container, over an array, or added later?',
      'After a change of the value (a new e-mail, a rename): is the old one freed, and the new one taken in one step?',
    ],
    not: 'Values by chance (a UUID, a token), and uniqueness within one document’s list.',
    known:
      'An id and a unique key hold within one logical partition (ASM-E17, ASM-E135), and a unique key is fixed at creation. Two requests that both looked and found nothing both write.',
    hint: 'Make the value the id under a key that is the scope, or reserve it by a document of its own that is created first.',
    source: SOURCES.microsoft('Unique keys in Azure Cosmos DB'),
  },
  {
    id: 'K7',
    title: 'What is said of partitions and keys is what the service gives',
    ask: [
      'A partition key that is said to isolate, to protect, to keep data in a region, to make values unique, to lift the 20 GB limit, to be changed later, to be a secondary index.',
      'A logical partition taken for a physical one, a number of partitions that somebody "chooses", a hierarchical key used by a later level without the first ones, more than three levels.',
      'A transaction, a consistent read, an order or a trigger that is claimed over several key values.',
    ],
    not: 'Loose words without a consequence for anybody who builds by them.',
    known:
      'A key places documents and bounds transactions (ASM-E121, ASM-E131, ASM-E136); it checks no access and enforces nothing but the id within it.',
    hint: 'Say what enforces it instead, or remove the claim.',
  },
  {
    id: 'K8',
    title: 'Containers are divided by what is read, written and kept together',
    ask: [
      'A container for each tenant, user or month; many small containers with throughput of their own; a type in two containers; types in one container that need another TTL, indexing, throughput or key.',
      'One document that holds things with separate lives or many writers; parts that are always read together in several containers; a container or a copy that serves no stated use, or whose stated reason doesn’t hold.',
      'Does a list over a container with several types ask for one type? Does a type lack the field that tells it from others?',
    ],
    not: 'A matter of taste without a cost, a limit or a fault to name.',
    known:
      'An account has at most 500 databases and containers (ASM-E97), each container with its own throughput costs at least 400 RU/s (ASM-E98), and a container has one default TTL and one indexing policy.',
    hint: 'Put together what one key serves and what lives alike; separate what doesn’t.',
  },
]);
