/** A cell of a Markdown table. */
export const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll(/\s+/g, ' ').trim();

export const code = (text: string): string => `\`${text}\``;

/** A Markdown table; a column that no row fills is left out, except the first. */
export function table(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const used = heads.map((_, column) => column === 0 || rows.some((row) => row[column] !== ''));
  const line = (cells: readonly string[]): string => `| ${cells.filter((_, column) => used[column]).join(' | ')} |\n`;
  return `${line(heads)}|${used
    .filter(Boolean)
    .map(() => '---|')
    .join('')}\n${rows.map((row) => line(row.map(cell))).join('')}`;
}

export const written = (from: string): string =>
  `<!-- Written by \`npm run reference\` from ${from}. Change it there. -->\n`;
