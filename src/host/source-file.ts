/** The name of a file that an app or a pipeline is made of; not a log, a database or a result beside it. */
export const SOURCE_FILE = /\.(md|json|[cm]?[jt]s)$/;
