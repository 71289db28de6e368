/** The types of terminals that hosts and faces use. They import no types of the modules for terminals, which are optional. */

export type TerminalStart = {
  readonly sessionId: string
  readonly folder: string
  readonly cols: number
  readonly rows: number
  /** The program to run and its arguments; if not given, the person's shell. */
  readonly command?: readonly string[]
  /** Called when the terminal can be opened, before its program starts. */
  readonly ready?: () => Promise<void>
}

export type TerminalView = {
  input(data: string): void
  resize(cols: number, rows: number): void
  /** Must be called when the reader has read all its unread bytes. */
  drained(): void
  leave(): void
}
