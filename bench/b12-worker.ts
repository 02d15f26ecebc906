// The process that builds the second version of B12, once.
import { rebuildOnce } from './b12-rebuild.ts';

const [endpoint = '', key = '', ruPerSecond = ''] = process.argv.slice(2);
process.on('disconnect', () => process.exit(0));
process.send?.(await rebuildOnce({ endpoint, key }, Number(ruPerSecond)));
