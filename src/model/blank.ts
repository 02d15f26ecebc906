// Blank modelling documents: each bracket is a question, which rule A5 reports until it is answered.
const REQUIREMENTS = (name: string): string => `# ${name}: Azure Cosmos DB NoSQL Modeling Session

## Application Overview
- **Domain**: [what does the application do?]
- **Key Entities**: [what are the entities, such as Customer (1:M) Order?]
- **Business Context**: [what do users do with it, and what must never go wrong?]
- **Geographic Distribution**: [regions of the users, and those that write]

## Entities
One row for each entity. \`millrace model propose\` reads this table. Write the number of values behind each field by which a pattern asks: \`status (6 values)\`, \`email (unique)\`, and the part of the largest where it is much: \`tenantId (500 values, largest 30 %)\`. *Kept*: how long a document is needed, empty for ever.

| Entity | Fields | Size | Documents | Kept |
|---|---|---|---|---|

## Access Patterns Analysis
One row for each pattern, with its rates a second and their source. *Access* is what \`millrace model propose\` reads: \`read order by id\`, \`read order by id, with lines\`, \`list order by customerId, newest placedAt, limit 20\`, \`total order by storeId, sum cents\`, \`create order\`, \`update order\`, \`delete order\`.

| Pattern # | Description | RPS (Peak and Average) | Type | Access | Attributes Needed | Key Requirements | Design Considerations | Status |
|---|---|---|---|---|---|---|---|---|
| 1 | [what does a user ask for, and what is the source of the rate?] | | Read | | | | | ⏳ |
| 2 | [what does a user write, and what is the source of the rate?] | | Write | | | | | ⏳ |

## Entity Relationships Deep Dive
[How many children does a parent have? Write a bullet for each: **Customer → Orders**: 1:Many (avg 10, max 400)]

## Enhanced Aggregate Analysis
[How often are parent and child read together? \`millrace model propose\` writes this section]

## Container Consolidation Analysis
[Which entities share a container, and why?]

## Validation Checklist
- [ ] Every pattern has a rate with its source
- [ ] Every entity has a read and a write pattern
- [ ] Every relationship has an average and a largest number
`;

const DESIGN = (name: string): string => `# ${name}: Azure Cosmos DB NoSQL Data Model

## Design Philosophy & Approach
[What decides between reads and writes here?] \`millrace model propose\` writes this document from the requirements.

## Aggregate Design Decisions
- [What is read and written together?]

## Container Designs

### Items Container
\`\`\`json
[
  { "id": "item-1", "type": "item" }
]
\`\`\`
- **Purpose**: [what is in this container?]
- **Aggregate Boundary**: [what is one document?]
- **Partition Key**: \`/id\` - [how many values does it have, and which requests know it?]
- **Document Types**: \`item\`
- **Access Patterns Served**: 1, 2
- **Throughput Planning**: [how many RU/s at the peak, as a sum over the patterns?]
- **Consistency Level**: Session

## Indexing Strategy

### Items Container
- **Included Paths**: \`/type/?\`
- **Excluded Paths**: \`/*\`

## Access Pattern Mapping
| Pattern | Description | Containers/Indexes | Cosmos DB Operations | Implementation Notes |
|---|---|---|---|---|
| 1 | [what it asks for] | Items | Point read (id + PK) | 1 RU |
| 2 | [what it writes] | Items | Create | 6 RU |

## Hot Partition Analysis
- **Items**: [how much of the load does the largest key take?]

## Trade-offs and Optimizations
- **Denormalization**: [what is copied, and what keeps it fresh?]

## Global Distribution Strategy
- **Multi-Region Setup**: [regions, and whether several of them write]
- **Consistency Strategy**: Session

## Validation Results
- [ ] Each access pattern is mapped to one operation on one container
- [ ] Hot partitions are analysed with numbers
`;

export const blank = (name: string): { requirements: string; design: string } => ({
  requirements: REQUIREMENTS(name),
  design: DESIGN(name),
});
