/** The form of a key in documents: the value of the container's first key path. */
export type KeyJson = string | number;

/** How keys of a type are read and ordered. `code` is hexadecimal text: codes sort as the keys do. */
export interface KeyCodec {
  /** The code of a value, in any form that the type accepts; undefined: the value is not of the type. */
  encode(value: unknown): string | undefined;
  /** The one form that documents have. Equal keys have equal forms. */
  toJson(code: string): KeyJson;
  /** For messages. */
  readonly accepts: string;
}
