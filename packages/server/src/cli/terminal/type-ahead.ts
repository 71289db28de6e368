import { closeSync, constants, openSync, readSync } from 'node:fs'

/**
 * Reads the pending input of the terminal without waiting. Undefined if the system does not allow that. The terminal
 * must be in raw mode: in line mode an incomplete line cannot be read.
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
