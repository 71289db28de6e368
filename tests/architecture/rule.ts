/**
 * The files and packages that a folder may import. The first rule that matches a file applies. Every list is exact: an
 * entry that no file needs fails the test, so that a rule cannot allow more than the code does.
 */
export type Rule = {
  /** A folder or a file. Files of a folder may import each other. */
  readonly folder: string
  /** Folders and files of the same package. `folder/*` stands for the files directly in the folder except index.ts. */
  readonly mayImport: readonly string[]
  /** Entry points of our other packages, third-party packages, and built-in modules of Node. */
  readonly packages: readonly string[]
  /** Folders and packages that are allowed whether or not a file needs them now. */
  readonly always?: readonly string[]
  /** The alternative to an import that is not allowed. */
  readonly instead: string
}
