import { readFileSync } from 'node:fs';
import { parseDesign } from '../src/model/reader/design.ts';
import { parseRequirements } from '../src/model/reader/requirements.ts';
import { checkDocuments } from '../src/model/rules/index.ts';
import { type Benchmark, atMost, plain, sized } from './support/measure.ts';

const CONTAINERS = sized(300, 30);
const CHARACTERS = sized(800_000, 80_000);

/** A design of 300 containers, 0.8 MB: those of the storefront under many names, with longer prose. */
export const b41: Benchmark = {
  id: 'B41',
  title: 'model check of 300 containers in 0.8 MB, first in a process: processor time',
  run: async () => {
    const folder = new URL('../examples/storefront/', import.meta.url);
    const requirements = readFileSync(new URL('cosmosdb_requirements.md', folder), 'utf8');
    const text = large(readFileSync(new URL('cosmosdb_data_model.md', folder), 'utf8'));
    const before = used();
    const design = parseDesign(text, 'cosmosdb_data_model.md');
    const read = used();
    checkDocuments({ requirements: parseRequirements(requirements, 'cosmosdb_requirements.md'), design });
    const checked = used();
    return Promise.resolve([
      plain('containers', design.model.containers.length, ''),
      plain('size', text.length / 1e6, 'MB'),
      plain('reading', read - before, 's'),
      plain('rules', checked - read, 's'),
      atMost('both', checked - before, 1, 's'),
      plain('with the start of the process from TypeScript', checked, 's'),
    ]);
  },
};

/** Seconds of the processor since the process began. */
function used(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}

function large(design: string): string {
  const [before = '', rest = ''] = design.split(/(?=^## Container Designs$)/m);
  const [designs = '', ...others] = rest.split(/(?=^## )/m);
  const [title = '', ...sections] = designs.split(/(?=^### )/m);
  const after = others.join('');
  const each = (CHARACTERS - before.length - title.length - after.length) / CONTAINERS;
  const copies = Array.from({ length: CONTAINERS }, (_, number) => {
    const section = sections[number % sections.length] ?? '';
    const round = Math.floor(number / sections.length);
    const named = round === 0 ? section : section.replace(/^### (\w+)/, `### $1${round}`);
    return filled(named, each);
  });
  return [before, title, ...copies, after].join('');
}

/** The section with as many lines of prose as it needs for the length. */
function filled(section: string, length: number): string {
  const line = '- **Note**: readers page by `storeId`, newest first; a page has 20 documents of about 2 KB each.\n';
  return `${section.trimEnd()}\n${line.repeat(Math.max(0, Math.ceil((length - section.length) / line.length)))}\n`;
}
