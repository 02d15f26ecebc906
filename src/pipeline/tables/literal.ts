/** A text as a statement of PostgreSQL writes it, where no parameter can stand. */
export const literal = (text: string): string => `'${text.replaceAll("'", "''")}'`;
