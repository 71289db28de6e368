import { ParleyError, type Terminal } from '@parley/protocol'
import type { LiveTerminal } from './live-terminal.ts'
import type { ReaderLimits, TerminalReader } from './terminal-readers.ts'
import type { TerminalStart, TerminalView } from './terminal-view.ts'

export type { TerminalStart, TerminalView } from './terminal-view.ts'

export type Terminals = {
  /** Opens a terminal. Throws ParleyError `not_supported` if the pseudo-terminal is not installed. */
  open(start: TerminalStart): Promise<Terminal>
  list(sessionId: string): Terminal[]
  /** Sends the current screen, then the output. Throws ParleyError `not_found` if there is no such terminal. */
  watch(terminalId: string, reader: TerminalReader): TerminalView
  /** Ends the terminal, if it has not ended, and removes it. */
  remove(terminalId: string): void
  removeOf(sessionId: string): void
  closeAll(): void
}

const maxTerminals = 64

/** Shells that run in the server, so that a reloaded page finds them unchanged. */
export function createTerminals(options: {
  env: Readonly<Record<string, string | undefined>>
  newId: () => string
  now?: () => number
  limits?: Partial<ReaderLimits>
}): Terminals {
  const { env, newId, now = Date.now, limits } = options
  const all = new Map<string, LiveTerminal>()
  /** Terminals that wait for their modules to be loaded. */
  const opening = new Set<TerminalStart>()

  function find(terminalId: string): LiveTerminal {
    const terminal = all.get(terminalId)
    if (terminal) return terminal
    throw new ParleyError('not_found', `There is no terminal ${terminalId}. It may have been closed.`)
  }

  return {
    async open(start) {
      opening.add(start)
      const { Live, parts } = await load().catch((error: unknown) => {
        opening.delete(start)
        throw error
      })
      const expectRoom = () => {
        if (all.size < maxTerminals) return
        throw new ParleyError('busy', `${maxTerminals} terminals are open. Close one first.`)
      }
      try {
        expectRoom()
        await start.ready?.()
        expectRoom()
      } catch (error) {
        opening.delete(start)
        throw error
      }
      if (!opening.delete(start)) {
        throw new ParleyError('cancelled', 'The terminal was closed before it had opened.')
      }
      const terminal = new Live(start, { parts, env, limits, terminalId: newId(), startedAt: now() })
      all.set(terminal.about.terminalId, terminal)
      return terminal.about
    },
    list: (sessionId) =>
      [...all.values()].map(({ about }) => about).filter((one) => one.sessionId === sessionId),
    watch: (terminalId, reader) => find(terminalId).watch(reader),
    remove(terminalId) {
      find(terminalId).end()
      all.delete(terminalId)
    },
    removeOf(sessionId) {
      for (const start of opening) if (start.sessionId === sessionId) opening.delete(start)
      for (const [id, terminal] of all) {
        if (terminal.about.sessionId !== sessionId) continue
        terminal.end()
        all.delete(id)
      }
    },
    closeAll() {
      opening.clear()
      for (const terminal of all.values()) terminal.end()
      all.clear()
    },
  }
}

/** Loads the code of a terminal when the first one is opened. */
async function load() {
  const [{ LiveTerminal: Live }, { loadTerminalParts }] = await Promise.all([
    import('./live-terminal.ts'),
    import('./terminal-parts.ts'),
  ])
  return { Live, parts: await loadTerminalParts() }
}
