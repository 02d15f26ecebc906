import { remembered } from './remembered.ts';

/** Whether a text has a name as whole words: `SalesByDay` isn't `Sales`. */
export const hasName = (text: string, name: string): boolean => words(text).includes(words(name));

const words = remembered(
  (text) =>
    ` ${text
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}_-]+/gu, ' ')
      .trim()} `,
);

export const isSame = (one: string, other: string): boolean => one.toLowerCase() === other.toLowerCase();
