import type { Terminal } from '@parley/protocol'
import { visible } from '../page/words.logic.ts'

/** What the tabs are called: what each says of itself, told apart by a number, and what runs in it. */
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
