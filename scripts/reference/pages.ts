// The pages of docs/ that follow from the code. They are in no commit: the package, the site and the tests write them.
import { commandPages } from './commands.ts';
import { errorsPage } from './errors.ts';
import { kindsPage } from './kinds.ts';
import { llmsText } from './llms.ts';
import { measuresPage } from './measures.ts';
import { rulesPage } from './rules.ts';
import { settingsPage } from './settings.ts';

/** Path below docs/ → text. */
export async function generatedPages(): Promise<Map<string, string>> {
  const pages = new Map([
    ...[...commandPages()].map(([name, text]) => [`reference/${name}`, text] as const),
    ['reference/kinds.md', kindsPage()],
    ['reference/measures.md', measuresPage()],
    ['reference/settings.md', settingsPage()],
    ['errors.md', await errorsPage()],
    ['rules.md', rulesPage()],
  ]);
  return new Map([...pages, ['llms.txt', llmsText(pages)]]);
}
