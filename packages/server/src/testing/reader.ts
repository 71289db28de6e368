import {
  applyDelta,
  applyEvent,
  type Delta,
  emptyView,
  type SessionEvent,
  type SessionView,
  turnOf,
  type UnknownEvent,
} from '@parley/protocol'
import type { Host } from '../core/index.ts'

/**
 * A client in a test. It follows a session, folds the received events, and records violations of the feed's rules. It
 * can disconnect and reconnect, even to another host on the same store.
 */
export class TestReader {
  readonly problems: string[] = []
  readonly sessionId: string
  view: SessionView
  epoch: string | undefined
  /** The blocks that were open when a server was killed. They may have lost their end. */
  killed = new Set<string>()
  #stop: (() => void) | undefined
  #ended = new Set<string>()
  #changed: (() => void)[] = []

  constructor(sessionId: string) {
    this.sessionId = sessionId
    this.view = emptyView(sessionId)
  }

  get connected(): boolean {
    return this.#stop !== undefined
  }

  async follow(host: Host): Promise<void> {
    let live = true
    this.#stop = () => {
      live = false
    }
    const from = { after: this.view.state.seq, ...(this.epoch !== undefined && { epoch: this.epoch }) }
    const stop = await host.follow(this.sessionId, from, {
      following: ({ epoch, verdict }) => {
        if (verdict === 'reset') this.view = emptyView(this.sessionId, epoch)
        this.epoch = epoch
        this.view = { ...this.view, state: { ...this.view.state, epoch } }
      },
      deliver: (batch) => {
        if (!live) return
        for (const item of batch) {
          if (item.kind === 'event') this.#takeEvent(JSON.parse(item.json) as SessionEvent | UnknownEvent)
          if (item.kind === 'delta') this.#takeDelta(JSON.parse(item.json) as Delta)
        }
        for (const tell of this.#changed.splice(0)) tell()
      },
      caughtUp: (seq) => {
        if (live && seq !== this.view.state.seq)
          this.#wrong(`caught up at ${seq} but has ${this.view.state.seq}`)
      },
      ended: () => undefined,
    })
    const leave = stop
    if (!live) leave()
    else
      this.#stop = () => {
        live = false
        leave()
      }
  }

  leave(): void {
    this.#stop?.()
    this.#stop = undefined
  }

  /** Resolves when the view satisfies a condition. */
  async until(fact: (view: SessionView) => boolean): Promise<void> {
    while (!fact(this.view)) await new Promise<void>((resolve) => this.#changed.push(resolve))
  }

  #takeEvent(event: SessionEvent | UnknownEvent): void {
    if (event.seq !== this.view.state.seq + 1) this.#wrong(`got ${event.seq} after ${this.view.state.seq}`)
    if (event.type === 'text.written' || event.type === 'thinking.written') {
      this.#compare(event as Extract<SessionEvent, { type: 'text.written' }>)
    }
    if (event.type === 'turn.ended' && event.turnId) this.#ended.add(event.turnId)
    this.view = applyEvent(this.view, event)
  }

  /**
   * Checks that the deltas of a block add up to the block as written. If the server was killed, the end of
   * either may be missing, but never the start.
   */
  #compare(event: Extract<SessionEvent, { type: 'text.written' }>): void {
    const open = this.view.state.openBlocks.find((block) => block.id === event.blockId)
    if (!open || open.type === 'tool-call' || open.gap) return
    const partly = open.text.startsWith(event.text) || event.text.startsWith(open.text)
    const fits = this.killed.has(event.blockId) ? partly : open.text === event.text
    if (!fits) this.#wrong(`streamed "${open.text}" but wrote "${event.text}" in ${event.blockId}`)
  }

  #takeDelta(delta: Delta): void {
    const turnId = turnOf(delta)
    if (turnId !== undefined && this.#ended.has(turnId))
      this.#wrong(`a ${delta.type} after the end of its turn`)
    this.view = applyDelta(this.view, delta)
    if (this.view.state.openBlocks.some((block) => block.gap))
      this.#wrong(`a gap before ${JSON.stringify(delta)}`)
  }

  #wrong(what: string): void {
    this.problems.push(what)
  }
}
