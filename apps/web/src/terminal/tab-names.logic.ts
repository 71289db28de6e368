import type { Terminal } from '@parley/protocol'
import { visible } from '../base/format.logic.ts'

/** The names of the tabs: the terminal's title, a number if there are several, and the running program. */
export function tabNames(terminals: readonly Terminal[]): ReadonlyMap<string, string> {
  return new Map(
    terminals.map(({ terminalId, title, running, exitCode }, index) => {
      const name = visible(title) || 'Terminal'
      const number = terminals.length > 1 ? ` ${index + 1}` : ''
      const now = running !== undefined && !name.includes(running) ? ` · ${visible(running)}` : ''
      return [terminalId, `${name}${number}${now}${exitCode === undefined ? '' : ' (ended)'}`]
    }),
  )
}
