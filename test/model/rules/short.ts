// Short documents of their own, for rules on what a whole document leaves out.
/** A container with its key and its documents: the fields of each, as JSON, with `;` between them. */
type Told = readonly [name: string, key: string, ...documents: string[]];

/** A short document with containers, and sentences below. */
export const document = (containers: readonly Told[], ...sentences: string[]): string =>
  [
    '# Data model',
    ...containers.flatMap(([name, key, ...documents]) => [
      `## Container: ${name}\n`,
      `- **Partition Key**: \`${key}\`\n`,
      ...documents.map(
        (fields, index) =>
          `\`\`\`json\n{\n  "id": "x${index + 1}",\n  ${fields.replaceAll('; ', ',\n  ')}\n}\n\`\`\`\n`,
      ),
    ]),
    '## Notes\n',
    ...sentences,
  ].join('\n');

export const CREATE = (name: string, throughput?: number): string =>
  `\`\`\`bash\naz cosmosdb sql container create \\\n  --name ${name} \\\n  --partition-key-path /x${throughput === undefined ? '' : ` --throughput ${throughput}`}\n\`\`\`\n`;
