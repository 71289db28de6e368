import { closeSync, constants, openSync, readSync } from 'node:fs'

/**
 * Takes away what was typed on the terminal and not read yet, at once. Nothing if that cannot be done here. The
 * terminal must be in raw mode: in its other mode it keeps the line that is being typed to itself.
 */
export function takeTypeAhead(): string | undefined {
  let terminal: number
  try {
    terminal = openSync('/dev/tty', constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY)
  } catch {
    return undefined
  }
  const buffer = Buffer.alloc(4096)
  let taken = ''
  try {
    for (;;) {
      const length = readSync(terminal, buffer)
      if (length === 0) return taken
      taken += buffer.toString('latin1', 0, length)
    }
  } catch (thrown) {
    return (thrown as NodeJS.ErrnoException).code === 'EAGAIN' ? taken : undefined
  } finally {
    closeSync(terminal)
  }
}
