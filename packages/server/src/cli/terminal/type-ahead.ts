import { closeSync, constants, openSync, readSync } from 'node:fs'

/**
 * Takes unread input from the terminal without waiting. Undefined if the system does not allow that. The terminal
 * must be in raw mode: in line mode it keeps the incomplete line.
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
