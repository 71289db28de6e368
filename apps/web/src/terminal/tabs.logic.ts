import type { Terminal } from '@parley/protocol'
import { visible } from '../base/format.logic.ts'

/** A terminal in the panel. `isGone`: the server no longer lists it, and the person has not closed its tab yet. */
export type Tab = Terminal & { readonly isGone?: true }

export type Tabs = {
  readonly tabs: readonly Tab[]
  /** The id of the terminal on screen. */
  readonly shown: string | undefined
}

export const noTabs: Tabs = { tabs: [], shown: undefined }

/**
 * The tabs after the server has listed its terminals. The tab of a terminal that is no longer listed stays, and the
 * same terminal stays on screen: otherwise text that is being typed would be sent to another shell.
 */
export function withListed({ tabs, shown }: Tabs, listed: readonly Terminal[]): Tabs {
  const ids = new Set(listed.map(({ terminalId }) => terminalId))
  const gone = tabs
    .filter(({ terminalId }) => !ids.has(terminalId))
    .map(({ running: _, ...terminal }): Tab => ({ ...terminal, isGone: true }))
  const all = [...listed, ...gone].sort((one, other) => one.startedAt - other.startedAt)
  return { tabs: all, shown: shown ?? all.at(-1)?.terminalId }
}

export function withOpened({ tabs }: Tabs, terminal: Terminal): Tabs {
  return { tabs: [...tabs, terminal], shown: terminal.terminalId }
}

/** The tabs after the person has closed a tab. */
export function withoutTab({ tabs, shown }: Tabs, closed: string): Tabs {
  const rest = tabs.filter(({ terminalId }) => terminalId !== closed)
  return { tabs: rest, shown: shown === closed ? rest.at(-1)?.terminalId : shown }
}

/** The names of the tabs: the terminal's title, a number if there are several, and the running program. */
export function tabNames(tabs: readonly Tab[]): ReadonlyMap<string, string> {
  return new Map(
    tabs.map(({ terminalId, title, running, exitCode, isGone }, index) => {
      const name = visible(title) || 'Terminal'
      const number = tabs.length > 1 ? ` ${index + 1}` : ''
      const now = running !== undefined && !name.includes(running) ? ` · ${visible(running)}` : ''
      return [terminalId, `${name}${number}${now}${exitCode === undefined && !isGone ? '' : ' (ended)'}`]
    }),
  )
}

/** The state of the connection to a terminal. */
export type Link = {
  readonly state: 'open' | 'lost' | 'gone' | 'refused' | undefined
  /** True if the connection was lost before. */
  readonly wasLost: boolean
}

/** The reason why a terminal cannot be used. Undefined if the terminal is usable. */
export function endText({ state, wasLost }: Link, isGone: boolean): string | undefined {
  if (state === 'gone')
    return wasLost
      ? 'This terminal ended: its server stopped.'
      : 'This terminal ended: its server stopped, or it was closed in another window.'
  // If a terminal is closed elsewhere, it is no longer listed, but its connection remains open.
  return isGone && state === 'open' ? 'This terminal was closed in another window.' : undefined
}
