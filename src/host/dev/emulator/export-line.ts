/** A setting as a line to be pasted into a shell, whatever its value holds. */
export const exportLine = (name: string, value: string): string => `export ${name}='${value.replaceAll("'", `'\\''`)}'`;
