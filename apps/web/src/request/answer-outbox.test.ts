import { type OpenRequest, ParleyError } from '@parley/protocol'
import { describe, expect, it } from 'vitest'
import { FakeBrowser, FakeServer, type FakeTab, graceMs } from '../../testing/fake-browser.ts'
import type { AnswerCommand } from '../call/answer-text.logic.ts'
import { AnswerOutbox } from './answer-outbox.ts'

const request: OpenRequest = {
  type: 'permission',
  requestId: 'req_1',
  at: 0,
  stale: false,
  tool: 'Bash',
  readOnly: false,
  kind: 'execute',
  title: 'rm -rf build',
  input: {},
  inputHash: 'h',
  options: [],
}
const decide = (decision: 'allow' | 'deny'): AnswerCommand => ({
  type: 'permission.decide',
  requestId: 'req_1',
  decision,
})

function setUp() {
  const browser = new FakeBrowser()
  const server = new FakeServer<{ answer: AnswerCommand }>()
  const reported: string[] = []
  const places: unknown[] = []
  const announced: string[] = []
  let open: ReadonlySet<string> | undefined = new Set(['req_1'])
  const openTab = (tab: FakeTab = browser.openTab()) => {
    const answers = new AnswerOutbox({
      storage: tab.storage,
      locks: tab.locks,
      clock: tab.clock,
      tab: () => tab.id,
      send: ({ commandId, answer }, signal) => server.send(tab, { commandId, answer }, signal),
      openRequests: () => open,
      tell(text, place) {
        reported.push(text)
        places.push(place)
        return () => void reported.splice(reported.indexOf(text), 1)
      },
      announce: (text) => announced.push(text),
    })
    answers.start()
    const give = (decision: 'allow' | 'deny') => answers.give('ses_1', request, decide(decision))
    return { ...tab, close: tab.close, answers, give, states: () => answers.get().map(({ state }) => state) }
  }
  const decisions = () => server.effects.map(({ answer }) => 'decision' in answer && answer.decision)
  const settle = (known: ReadonlySet<string> | undefined) => {
    open = known
  }
  return { browser, server, openTab, decisions, reported, places, announced, settle }
}

describe('an answer', () => {
  it('is sent once, and the page remembers it until the log shows it', async () => {
    const { browser, openTab, decisions, reported, announced } = setUp()
    const { give, answers, states } = openTab()
    give('allow')
    give('deny')
    await browser.advance(10 * graceMs)
    give('deny')
    await browser.settle()
    expect(decisions()).toEqual(['allow'])
    expect(states()).toEqual(['sent'])
    expect(answers.isGivenHere('req_1')).toBe(true)
    expect(browser.entries.size).toBe(0)
    expect([...reported, ...announced]).toEqual([])
  })

  it('that is given offline is announced, survives a reload, and can be withdrawn and given again', async () => {
    const { browser, server, openTab, decisions, announced } = setUp()
    server.isReachable = false
    const first = openTab()
    first.give('allow')
    await browser.advance(700)
    expect(announced).toEqual(['Not sent yet: Allow once'])
    first.close()
    const { answers, give, states } = openTab(browser.openTab(first.id))
    expect(states()).toEqual(['late'])
    answers.withdraw(answers.get()[0]?.commandId ?? '')
    expect(answers.isGivenHere('req_1')).toBe(false)
    give('deny')
    server.goOnline()
    await browser.settle()
    expect(decisions()).toEqual(['deny'])
  })

  it.each([
    [
      new ParleyError('conflict', 'x', { details: { outcome: 'denied' } }),
      'was not used: it was denied elsewhere.',
    ],
    [new ParleyError('not_found', 'x'), 'was not used: the request is no longer open.'],
    [new ParleyError('forbidden', 'Not yours.'), 'was not accepted. Not yours.'],
  ])('that is refused permanently (%s) is removed, and a message gives the reason', async (error, why) => {
    const { browser, server, openTab, reported, places } = setUp()
    server.refusal = () => error
    const { give, states } = openTab()
    give('allow')
    await browser.settle()
    expect(reported).toEqual([`Your answer to “rm -rf build” (Allow once) ${why}`])
    expect(places).toEqual([{ name: 'session', id: 'ses_1' }])
    expect(states()).toEqual([])
    expect(browser.entries.size).toBe(0)
  })

  it('that cannot be accepted now is held with the reason', async () => {
    const { browser, server, openTab, decisions } = setUp()
    server.refusal = () => new ParleyError('busy', 'The server is busy.')
    const { give, answers } = openTab()
    give('allow')
    await browser.settle()
    const [held] = answers.get()
    expect(held).toMatchObject({ state: 'held', waited: true, problem: 'The server is busy.' })
    server.refusal = () => undefined
    answers.sendHeld(held?.commandId ?? '')
    await browser.settle()
    expect(decisions()).toEqual(['allow'])
  })

  it('of another tab does not keep this tab from answering: the server accepts the first', async () => {
    const { browser, server, openTab, decisions, reported } = setUp()
    server.refusal = () =>
      server.effects.length > 0
        ? new ParleyError('conflict', 'x', { details: { outcome: 'allowed' } })
        : undefined
    server.isReachable = false
    const [one, other] = [openTab(), openTab()]
    one.give('allow')
    await browser.settle()
    expect(other.answers.isGivenHere('req_1')).toBe(false)
    other.give('deny')
    await browser.settle()
    server.goOnline()
    await browser.settle()
    expect(decisions()).toEqual(['allow'])
    expect(reported).toEqual(['Your answer to “rm -rf build” (Deny) was not used: it was allowed elsewhere.'])
  })
})

describe('an answer whose tab was closed', () => {
  async function abandon() {
    const all = setUp()
    all.server.isReachable = false
    const first = all.openTab()
    first.give('allow')
    await all.browser.settle()
    first.close()
    all.server.goOnline()
    return all
  }

  it('is held until the person confirms it, which dismisses the message', async () => {
    const { browser, openTab, decisions, reported, places } = await abandon()
    const { answers } = openTab()
    await browser.advance(10 * graceMs)
    expect(decisions()).toEqual([])
    expect(reported).toEqual(['“Allow once” was not sent: the tab was closed too early.'])
    expect(places).toEqual([{ name: 'inbox' }])
    answers.sendHeld(answers.get()[0]?.commandId ?? '')
    await browser.settle()
    expect(decisions()).toEqual(['allow'])
    expect(reported).toEqual([])
  })

  it('is removed with a message when the server’s list no longer has the request', async () => {
    const { browser, openTab, reported, settle, decisions } = await abandon()
    settle(undefined)
    const { answers, states } = openTab()
    await browser.advance(10 * graceMs)
    answers.removeSettled()
    expect(states()).toEqual(['held'])
    settle(new Set())
    answers.removeSettled()
    expect(states()).toEqual([])
    const closed =
      'Your answer to “rm -rf build” (Allow once) was not sent, and the request is no longer open.'
    expect(reported).toEqual([closed])
    expect(browser.entries.size).toBe(0)
    expect(decisions()).toEqual([])
  })

  it('is removed at once if the request is known to be closed', async () => {
    const { browser, openTab, reported, settle } = await abandon()
    settle(new Set())
    const { states } = openTab()
    await browser.advance(10 * graceMs)
    expect(states()).toEqual([])
    expect(reported).toHaveLength(1)
    expect(reported[0]).toMatch(/no longer open\.$/)
  })
})

it('a stored answer for another request is not read', async () => {
  const { browser, openTab, server } = setUp()
  const stored = {
    ...{ commandId: 'cmd_1', sessionId: 'ses_1', requestId: 'req_1', asked: 'a', said: 's' },
    ...{ tab: 'tab', state: 'sending', waited: false },
  }
  const put = (id: string, answer: unknown) =>
    browser.entries.set(`parley:answer:${id}`, JSON.stringify({ ...stored, commandId: id, answer }))
  put('cmd_1', decide('allow'))
  put('cmd_2', { ...decide('allow'), requestId: 'req_2' })
  put('cmd_3', undefined)
  openTab(browser.openTab('tab'))
  await browser.settle()
  expect(server.arrivals).toEqual(['cmd_1'])
  expect(browser.entries.size).toBe(0)
})
