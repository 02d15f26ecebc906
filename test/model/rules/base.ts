// A small pair of documents that every rule passes, and edits of it: a case is an edit and the line it is found at.
import { parseDesign } from '../../../src/model/reader/design.ts';
import { parseRequirements } from '../../../src/model/reader/requirements.ts';
import type { ModelDocuments } from '../../../src/model/documents.ts';

export const REQUIREMENTS = `# Shop: Azure Cosmos DB NoSQL Modeling Session

## Application Overview
- **Domain**: a shop of many stores
- **Scale**: 110 reads/s and 30 writes/s at the peak; 100 GB of orders
- **Geographic Distribution**: one region

## Access Patterns Analysis
| Pattern # | Description | RPS (Peak and Average) | Type | Attributes Needed | Key Requirements | Design Considerations | Status |
|---|---|---|---|---|---|---|---|
| 1 | Read an order (source: analytics) | 50/10 | Read | all of Order | < 10 ms | point read | ✅ |
| 2 | A customer's orders (source: analytics) | 40/10 | Read | time, name | may be 5 s old | one partition, avoids a second query | ✅ |
| 3 | Read a customer (source: analytics) | 10/2 | Read | all of Customer | < 10 ms | point read | ✅ |
| 4 | Totals of a day (source: analytics) | 10/2 | Read | orders, cents | may be 30 s old | aggregate | ✅ |
| 5 | Place an order (source: billing) | 25/5 | Write | all of Order | | create | ✅ |
| 6 | Rename a customer (source: support) | 5/1 | Write | name | | replace | ✅ |

## Entity Relationships Deep Dive
- **Customer → Orders**: 1:Many (avg 10, max 40)

## Enhanced Aggregate Analysis
### [Customer + Order] Container Item Analysis
- **Access Correlation**: 20 % of the queries need both
- **Query Patterns**: Customer only 30 %, Order only 50 %, both 20 %
- **Size Constraints**: an order has 1 KB
- **Update Patterns**: apart
- **Decision**: separate containers
- **Justification**: under 30 %

**Identifying Relationship Check**
- **Child Independence**: No
- **Access Pattern**: Yes
- **Current Design**: key of the customer

### [Order + Line] Container Item Analysis
- **Access Correlation**: 95 % of the queries need both
- **Query Patterns**: Order only 5 %, Line only 0 %, both 95 %
- **Size Constraints**: max 100 lines × 0.2 KB = 20 KB
- **Decision**: lines embedded in the order
- **Justification**: always together, bounded

## Container Consolidation Analysis
| Parent | Child | Relationship | Access Overlap | Consolidation Decision | Justification |
|---|---|---|---|---|---|
| Customer | Order | 1:Many | 20 % | Separate | under 30 % |

## Validation Checklist
- [x] Every pattern has RPS
`;

export const DESIGN = `# Shop: Azure Cosmos DB NoSQL Data Model

## Container Designs

### Orders Container
\`\`\`json
[
  { "id": "o1", "type": "order", "customerId": "c1", "placedAt": "2026-01-01T10:00:00Z", "cents": 100 },
  { "id": "o2", "type": "order", "customerId": "c2", "placedAt": "2026-01-02T10:00:00Z", "cents": 200, "deletedAt": "2026-01-03T10:00:00Z", "ttl": 2592000 }
]
\`\`\`
- **Purpose**: orders
- **Partition Key**: \`/customerId\` - 100,000 values
- **Document Types**: \`order\`; id is unique over all customers
- **Access Patterns Served**: 1, 5
- **TTL**: -1
- **Document Size**: 1 KB, max 40 KB
- **Size**: 100 GB
- **Throughput Planning**: autoscale 400-4,000 RU/s, 10 RU a create and the change feed
- **Consistency Level**: Session

### Customers Container
\`\`\`json
[
  { "id": "c1", "type": "customer", "name": "Ada", "tier": "gold" },
  { "id": "c2", "type": "customer", "name": "Ben", "tier": "none" }
]
\`\`\`
- **Purpose**: customers
- **Partition Key**: \`/id\` - 100,000 values
- **Document Types**: \`customer\`
- **Access Patterns Served**: 3, 6
- **Throughput Planning**: manual 400 RU/s, the change feed included
- **Consistency Level**: Session

### CustomerOrders Container
\`\`\`json
[
  { "id": "o1", "type": "summary", "customerId": "c1", "customerName": "Ada", "placedAt": "2026-01-01T10:00:00Z" }
]
\`\`\`
- **Purpose**: a customer's page; derived
- **Partition Key**: \`/customerId\` - 100,000 values
- **Document Types**: \`summary\`
- **Access Patterns Served**: 2
- **TTL**: -1
- **Throughput Planning**: autoscale max 10,000 RU/s

### Days Container
\`\`\`json
[
  { "id": "day|2026-01-01", "type": "day", "day": "2026-01-01", "orders": 1, "cents": 100 }
]
\`\`\`
- **Purpose**: totals of a day; derived
- **Partition Key**: \`/day\` - 3,650 values, written in shards 0-1 of a random suffix
- **Document Types**: \`day\`
- **Access Patterns Served**: 4
- **TTL**: -1
- **Throughput Planning**: autoscale max 20,000 RU/s

## Indexing Strategy
### Orders Container
- **Included Paths**: \`/customerId/?\`, \`/placedAt/?\`
- **Excluded Paths**: \`/*\`
- **Composite Indexes**: \`[(customerId ASC, placedAt DESC)]\`

## Access Pattern Mapping
| Pattern | Description | Containers/Indexes | Cosmos DB Operations | Implementation Notes |
|---|---|---|---|---|
| 1 | Read an order | Orders | Point read (id + PK) | 1 RU |
| 2 | A customer's orders | CustomerOrders | Query: \`SELECT * FROM c WHERE c.type = "summary" AND c.customerId = @c\` | 3 RU |
| 3 | Read a customer | Customers | Point read (id + PK) | 1 RU |
| 4 | Totals of a day | Days | Query of all shards: \`SELECT * FROM c WHERE c.type = "day" AND c.day = @day\` | merged, 4 RU |
| 5 | Place an order | Orders | Create | 10 RU |
| 6 | Rename a customer | Customers | Replace | 12 RU |

## Change Feed Projections
| Projection | Kind | Source (type) | Sink (type) | Key mapping | Fields / measures | Serves | Max lag | Deletes | Start |
|---|---|---|---|---|---|---|---|---|---|
| summaries | copy | Orders (order) with Customers (customer) | CustomerOrders (summary) | customerId; id = id | placedAt; customer.name → customerName | #2 | 5 s | remove | backfill |
| days | aggregate | Orders (order) | Days (day) | [day] | orders = count; cents = sum(cents) | #4 | 30 s | subtract | backfill |
| orders-cold | archive | Orders (order) | blob:orders-cold | yyyy/mm of placedAt; id = id | all; 400 d after placedAt | #1 | 1 d | keep | backfill |

## Hot Partition Analysis
- **Orders**: the largest customer has 2 MB in one key, 1 % of the load
- **Customers**: 0.1 % of the load
- **CustomerOrders**: 1 % of the load
- **Days**: one day takes 15,000 RU/s, over 2 shards

## Trade-offs and Optimizations
- **Denormalization**: Customers.name is copied to CustomerOrders.customerName by \`summaries\`, which avoids a second query; it seldom changes
- **Load**: 25 × 10 RU = 250 RU/s

## Global Distribution Strategy
- **Multi-Region Setup**: one region

## Validation Results
- [x] Each access pattern is mapped
- [x] Hot partition analysis completed
- [x] Loads are under 70 %
`;

/** Text that occurs once in one of the documents, and what it becomes; an empty one: appended to the data model. */
export type Edit = readonly [from: string, to: string];

/** One case a rule and condition: what makes the rule look, what makes it find, and the line it finds it at. */
export interface Case {
  readonly rule: string;
  /** Another data model than the base's, for rules on what a whole document leaves out. */
  readonly of?: string;
  /** Edits with which the rule is checked and finds nothing. */
  readonly given?: readonly Edit[];
  readonly wrong: readonly Edit[];
  /** Part of the line that the finding is at. */
  readonly at: string;
  readonly severity?: 'error' | 'warning' | 'information';
  /** Part of the message. */
  readonly says?: string;
}

export interface Texts {
  /** Empty: there is none. */
  readonly requirements: string;
  readonly design: string;
}

export function edited(edits: readonly Edit[], base: Texts = { requirements: REQUIREMENTS, design: DESIGN }): Texts {
  let { requirements, design } = base;
  for (const [from, to] of edits) {
    if (from === '') design += `\n${to}\n`;
    else {
      const [inRequirements, inDesign] = [requirements.split(from).length - 1, design.split(from).length - 1];
      if (inRequirements + inDesign !== 1)
        throw new Error(`${JSON.stringify(from)} occurs ${inRequirements + inDesign} times`);
      if (inRequirements === 1) requirements = requirements.replace(from, () => to);
      else design = design.replace(from, () => to);
    }
  }
  return { requirements, design };
}

/** Most cases edit one of the two documents: what was parsed before isn't parsed again. */
const requirementsOf = memo((text) => parseRequirements(text, 'cosmosdb_requirements.md'));
const designOf = memo((text) => parseDesign(text, 'cosmosdb_data_model.md'));

function memo<T>(parse: (text: string) => T): (text: string) => T {
  const known = new Map<string, T>();
  return (text) => {
    const found = known.get(text) ?? parse(text);
    known.set(text, found);
    return found;
  };
}

export const documentsOf = ({ requirements, design }: Texts): ModelDocuments => ({
  requirements: requirements === '' ? undefined : requirementsOf(requirements),
  design: designOf(design),
});
