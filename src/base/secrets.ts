const USER = /([a-z][a-z0-9+.-]*:\/\/)[^\s/?#]*@/gi;
const VALUE = /\b(sig|AccountKey|SharedAccessKey|SharedAccessSignature|password|pwd)=[^;&\s"'`]+/gi;

/** A text without what signs somebody in: the user part of an address, and the values of keys and signatures. */
export const withoutSecrets = (text: string): string => text.replaceAll(USER, '$1…@').replaceAll(VALUE, '$1=…');
