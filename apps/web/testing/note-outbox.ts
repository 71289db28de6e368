import { Outbox, type OutboxOptions } from '../src/session-data/outbox.ts'
import { FakeBrowser, FakeServer, type FakeTab } from './fake-browser.ts'

export type Note = { readonly text: string; readonly group: string }

export const lateMs = 700

/** A browser, a server, and outboxes that are started in tabs. */
export function setUp(changes: Partial<OutboxOptions<Note>> = {}) {
  const browser = new FakeBrowser()
  const server = new FakeServer<Note>()
  const refused: unknown[] = []
  const late: string[] = []
  const open = (tab: FakeTab = browser.openTab()) => {
    const outbox = new Outbox<Note>({
      name: 'note',
      storage: tab.storage,
      locks: tab.locks,
      clock: tab.clock,
      tab: () => tab.id,
      isContent: ({ text, group }) => typeof text === 'string' && typeof group === 'string',
      send: ({ commandId, text, group }, signal) => server.send(tab, { commandId, text, group }, signal),
      onRefused(_, error) {
        refused.push(error)
        return 'remove'
      },
      sequenceOf: ({ group }) => group,
      late: { ms: lateMs, tell: ({ text }) => late.push(text) },
      ...changes,
    })
    outbox.start()
    const add = (text: string, group = 'a') => outbox.add({ text, group })
    const texts = () => outbox.get().map(({ text }) => text)
    return { ...tab, outbox, add, texts, close: tab.close, reload: () => open(reloaded(tab)) }
  }
  const reloaded = (tab: FakeTab) => {
    tab.close()
    return browser.openTab(tab.id)
  }
  const effects = () => server.effects.map(({ text }) => text)
  return { browser, server, open, effects, refused, late }
}
