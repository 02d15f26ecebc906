// A model as a flowchart of Mermaid, which GitHub and most wikis draw.
import type { Graph } from './graph.ts';

export function mermaidOf({ boxes, lines }: Graph): string {
  const id = (name: string): string => `b${boxes.findIndex((box) => box.name === name)}`;
  const text = [
    'flowchart LR',
    ...boxes.map(({ name, key, types }) => {
      const parts = [name, ...(key === undefined ? [] : [key]), ...(types.length > 0 ? [types.join(', ')] : [])];
      const [open, close] = key === undefined ? ['([', '])'] : ['[', ']'];
      return `  ${id(name)}${open}"${parts.map(safe).join('<br>')}"${close}`;
    }),
    ...lines.map(({ from, to, name, joined }) => `  ${id(from)} ${joined ? '-.->' : '-->'}|"${safe(name)}"| ${id(to)}`),
  ];
  const derived = boxes.filter((box) => box.derived).map(({ name }) => id(name));
  if (derived.length > 0) text.push('  classDef derived stroke-dasharray: 4', `  class ${derived.join(',')} derived`);
  return text.join('\n');
}

/** Inside quotes Mermaid reads HTML and its own codes, so every other sign becomes a code. */
const safe = (text: string): string => text.replaceAll(/[^\p{L}\p{N} /,._:-]/gu, (sign) => `#${sign.codePointAt(0)};`);
