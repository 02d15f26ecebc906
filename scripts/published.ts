// How much of published designs the reader reads, and what the check says of them: npm run published -- FOLDER [NAME...]
// The documents aren't kept here. FOLDER has each as NAME.md (and NAME.requirements.md), or gets it with --download. With
// NAME.annotations.json (`millrace model annotate`), a document is checked by its annotations.
import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { measured } from '../test/model/published/measure.ts';
import { type Defect, publishedDocuments } from '../test/model/published/labels.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { download: { type: 'boolean', default: false }, findings: { type: 'boolean', default: false } },
});
const [folder, ...names] = positionals;
if (folder === undefined) throw new Error('Name the folder of the documents: npm run published -- FOLDER');

let [stated, read, extra, labelled] = [0, 0, 0, 0];
const missed: Defect[] = [];
for (const document of publishedDocuments) {
  if (names.length > 0 && !names.includes(document.name)) continue;
  const model = await textOf(`${document.name}.md`, document.model);
  if (model === undefined) continue;
  const requirements =
    document.requirements && (await textOf(`${document.name}.requirements.md`, document.requirements));
  const annotations = await textOf(`${document.name}.annotations.json`, undefined);
  const result = measured(document, model, requirements, annotations);
  stated += result.stated;
  read += result.read;
  extra += result.extra.length;
  labelled += document.defects.length;
  missed.push(...result.missed);
  console.log(
    [
      document.name,
      result.error ?? `${result.containers} containers`,
      result.stated === 0 ? 'no facts labelled' : `${result.read} of ${result.stated} facts read`,
      `${document.defects.length - result.missed.length} of ${document.defects.length} defects have a finding at their line`,
      `${result.findings.length} findings`,
    ].join('; '),
  );
  for (const fact of result.unread)
    console.log(`  not read: ${fact.kind} ${fact.container} ${fact.value}, line ${fact.line}`);
  for (const name of result.extra) console.log(`  no container of the design: ${name}`);
  if (values.findings)
    for (const { rule, severity, at, message } of result.findings)
      console.log(`  ${rule} ${severity} ${at.line}: ${message}`);
}
console.log(`${read} of ${stated} facts read; ${extra} containers that the documents don't design`);

console.log(`${labelled - missed.length} of ${labelled} defects have a finding at their line`);
for (const [why, defects] of Map.groupBy(missed, (one) => one.missed?.cause ?? 'found when missed.tsv was written')) {
  const sorts = Map.groupBy(defects, (one) => one.missed?.sort ?? 'found when missed.tsv was written');
  const counts = [...sorts].map(([sort, { length }]) => `${sort} ${length}`);
  console.log(`  missed (${why}): ${defects.length}: ${counts.join(', ')}`);
}

/** Undefined: the folder doesn't have it. */
async function textOf(name: string, address: string | undefined): Promise<string | undefined> {
  const path = join(folder ?? '', name);
  if (!existsSync(path)) {
    if (!values.download || address === undefined) return undefined;
    const response = await fetch(address);
    if (!response.ok) throw new Error(`${address}: ${response.status}`);
    await mkdir(folder ?? '', { recursive: true });
    await writeFile(path, await response.text());
  }
  return readFile(path, 'utf8');
}
