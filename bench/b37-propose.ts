// B37: proposals for twenty requirements, their patterns run on the embedded server's meter, and beside them designs that
// others published. MILLRACE_ONLY=orders,chat takes some of them, MILLRACE_PATTERNS=1 prints every pattern.
import { CosmosClient } from '@azure/cosmos';
import { startEmulator } from '../src/emulator/index.ts';
import { compared, measured } from './designs/compare.ts';
import { PUBLISHED } from './designs/published.ts';
import { REQUIREMENTS } from './designs/requirements.ts';
import { type Benchmark, type Figure, median, plain } from './support/measure.ts';

export const b37: Benchmark = {
  id: 'B37',
  title: 'proposals, measured on the meter and beside published designs',
  run: async () => {
    const emulator = await startEmulator();
    // As the service: documents are found by an index in small partitions too.
    emulator.faults({ indexFrom: 0 });
    const client = new CosmosClient(emulator.clientOptions);
    const only = process.env['MILLRACE_ONLY']?.split(',');
    const figures: Figure[] = [];
    const ratios: number[] = [];
    for (const [name, shop] of Object.entries(REQUIREMENTS)) {
      if (only && !only.includes(name)) continue;
      const one = await measured(client, name, shop);
      const own = one.patterns.map(({ ratio }) => ratio);
      ratios.push(...own);
      if (process.env['MILLRACE_PATTERNS'] !== undefined)
        for (const { text, stated, ru, ratio } of one.patterns)
          console.error(`${name}: ${text}: stated ${stated}, measured ${ru.toFixed(1)}, ${ratio.toFixed(2)}`);
      figures.push(
        plain(`${name}: measured ÷ stated, by the rates`, one.ratio, '×'),
        plain(`${name}: lowest of a pattern`, Math.min(...own), '×'),
        plain(`${name}: highest of a pattern`, Math.max(...own), '×'),
      );
      for (const published of PUBLISHED.filter(({ of }) => of === name)) {
        const beside = await compared(client, published, one);
        figures.push(
          plain(`${name}: RU/s, proposal ÷ ${published.title}`, beside.ru, '×'),
          plain(`${name}: money, proposal ÷ ${published.title}`, beside.hours, '×'),
        );
      }
    }
    const inside = ratios.filter((ratio) => ratio >= 0.67 && ratio <= 1.5).length;
    figures.push(
      plain('patterns', ratios.length, ''),
      plain('patterns within 0.67 to 1.5', inside, ''),
      plain('median of the patterns', median(ratios), '×'),
    );
    client.dispose();
    await emulator.close();
    return figures;
  },
};
