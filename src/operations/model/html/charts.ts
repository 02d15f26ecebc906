// Bars as inline SVG. Text is drawn at its size: the view box is as wide as the card.
import { n } from '../../../model/rules/rule.ts';
import { colour } from './style.ts';

export const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

export interface Segment {
  readonly what: string;
  readonly value: number;
  readonly colour: string;
}

export interface Bar {
  readonly name: string;
  readonly segments: readonly Segment[];
  /** The maximum, drawn as a track behind the bar. */
  readonly room?: number;
  readonly label: string;
  /** The value is above the maximum. */
  readonly over?: boolean;
}

const WIDTH = 1030;
const ROW = 34;

/** Horizontal bars on one scale; hovering a segment names it. */
export function bars(list: readonly Bar[], unit: string, title: string): string {
  const total = ({ segments }: Bar): number => segments.reduce((sum, { value }) => sum + value, 0);
  const largest = Math.max(1, ...list.map((bar) => Math.max(total(bar), bar.room ?? 0)));
  // A letter of names and labels takes about 7 pixels.
  const left = Math.min(300, Math.max(...list.map(({ name }) => name.length)) * 7 + 18);
  const right = Math.min(320, Math.max(...list.map(({ label }) => label.length)) * 7 + 14);
  const scale = (WIDTH - left - right) / largest;
  const rows = list.map((bar, index) => {
    const y = index * ROW + 6;
    let x = left;
    const parts = bar.segments.map(({ what, value, colour: fill }) => {
      const width = Math.max(value > 0 ? 0.6 : 0, value * scale);
      const rect = `<rect x="${x.toFixed(1)}" y="${y}" width="${width.toFixed(1)}" height="20" fill="${fill}"><title>${escaped(what)}: ${n(value)} ${unit}</title></rect>`;
      x += width;
      return rect;
    });
    const track =
      bar.room === undefined
        ? ''
        : `<rect class="track" x="${left}" y="${y}" width="${Math.max(2, bar.room * scale).toFixed(1)}" height="20" rx="3"><title>maximum ${n(bar.room)} ${unit}</title></rect>`;
    const end = Math.max(x, left + (bar.room ?? 0) * scale);
    return `<text x="0" y="${y + 15}">${escaped(clipped(bar.name, left))}</text>${track}${parts.join('')}<text class="${bar.over ? 'over' : 'dimt'}" x="${(end + 8).toFixed(1)}" y="${y + 15}">${escaped(bar.label)}</text>`;
  });
  const height = list.length * ROW + 4;
  return `<svg viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="${escaped(title)}" style="min-width:720px"><line class="axis" x1="${left - 0.5}" y1="0" x2="${left - 0.5}" y2="${height}"/>${rows.join('')}</svg>`;
}

/** A letter takes about 7 pixels. */
export const clipped = (text: string, width: number): string => {
  const most = Math.floor((width - 12) / 6.8);
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
};

export const legend = (entries: readonly { readonly name: string; readonly colour?: string }[]): string =>
  `<div class="legend">${entries.map(({ name, colour: fill }, index) => `<span><i style="background:${fill ?? colour(index)}"></i>${escaped(name)}</span>`).join('')}</div>`;
