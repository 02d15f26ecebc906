/** A setting as a line for a shell, with its value quoted. */
export const exportLine = (name: string, value: string): string => `export ${name}='${value.replaceAll("'", `'\\''`)}'`;
