// Requirements in the form that `model propose` reads.
export interface Row {
  readonly access: string;
  readonly peak: number;
  readonly average: number;
  /** The fields that it reads or writes; all if absent. */
  readonly attributes?: string;
}

export interface Shop {
  readonly entities: readonly string[];
  readonly rows: readonly Row[];
  readonly relationships?: readonly string[];
}

export const requirementsOf = ({
  entities,
  rows,
  relationships = [],
}: Shop): string => `# Shop: Azure Cosmos DB NoSQL Modeling Session

## Application Overview
- **Domain**: a shop
- **Geographic Distribution**: one region

## Entities
| Entity | Fields | Size | Documents | Kept |
|---|---|---|---|---|
${entities.join('\n')}

## Access Patterns Analysis
| Pattern # | Description | RPS (Peak and Average) | Type | Access | Attributes Needed | Key Requirements | Design Considerations | Status |
|---|---|---|---|---|---|---|---|---|
${rows
  .map(
    ({ access, peak, average, attributes = 'all' }, at) =>
      `| ${at + 1} | ${access.split(',')[0] ?? ''} (source: analytics) | ${peak}/${average} | ${/^(create|update|delete)/.test(access) ? 'Write' : 'Read'} | ${access} | ${attributes} | may be 30 s old | | ✅ |`,
  )
  .join('\n')}

## Entity Relationships Deep Dive
${relationships.map((one) => `- **${one}`).join('\n')}
`;
