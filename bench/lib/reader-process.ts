import { writeFileSync } from 'node:fs'
import { checkSame, checkTurn } from './check-deltas.ts'
import { microseconds } from './pace.ts'
import { answer } from './processes.ts'
import { openWebSocketReader, type WebSocketAddress, type WebSocketReader } from './websocket-reader.ts'

/** All readers of a figure run in this process: those of Parley's server and those of the bare server. */
const groups = new Map<string, WebSocketReader[]>()

const turnEnded = { type: 'event', containing: '"type":"turn.ended"' }

const calls = {
  /**
   * Opens `count` sockets under a name. If `session` is set, they follow that session, and are live when the call
   * resolves.
   */
  async open({ name, address, count, session }: OpenInput) {
    calls.close(name)
    const readers: WebSocketReader[] = []
    groups.set(name, readers)
    while (readers.length < count) {
      const some = Math.min(50, count - readers.length)
      readers.push(...(await Promise.all(Array.from({ length: some }, () => openWebSocketReader(address)))))
    }
    if (session === undefined) return
    for (const reader of readers) {
      const live = reader.until({ type: 'caught-up' })
      reader.send('{"type":"hello","client":"bench"}')
      reader.send(JSON.stringify({ type: 'follow', session }))
      await live
    }
  },

  /** Sends `go` on the first socket, waits until every reader has seen the turn end, and checks the received frames. */
  async turn({ name, go, bytes, save, deltas }: TurnInput) {
    const readers = groups.get(name)!
    const ended = Promise.all(
      readers.map((reader) => reader.until(turnEnded, bytes === undefined ? {} : { bytes })),
    )
    const start = performance.now()
    readers[0]!.send(go)
    await ended
    const seconds = (performance.now() - start) / 1000
    const checked = checkTurn(readers[0]!.payloads())
    if (checked.deltas !== deltas) throw new Error(`${checked.deltas} of ${deltas} deltas came.`)
    for (const [index, reader] of readers.entries()) {
      if (index > 0) checkSame(checked.said, reader.payloads(), index)
    }
    if (save !== undefined) writeFileSync(save, `${checked.said.join('\n')}\n`)
    return { seconds, bytes: checked.bytes, frames: checked.said.length }
  },

  /** Like `turn`, for deltas that contain their creation time. Returns their ages on arrival, in microseconds. */
  async ages({ name, go }: { name: string; go: string }) {
    const [reader] = groups.get(name)!
    const arrivals: number[] = []
    const ended = reader!.until(turnEnded, { perFrame: () => arrivals.push(microseconds()) })
    reader!.send(go)
    await ended
    const ages: number[] = []
    let sample: string | undefined
    let last: string | undefined
    let index = 0
    for (const payload of reader!.payloads()) {
      const arrived = arrivals[index++]
      const text = payload.toString()
      const time = /"delta":.*"text":"(\d{16})"/.exec(text)?.[1]
      if (text.includes(turnEnded.containing)) last = text
      if (time === undefined || arrived === undefined) continue
      ages.push(arrived - Number(time))
      sample = text
    }
    return { ages, sample, last }
  },

  /** Requests a whole session and waits until all of it has arrived. */
  async replay({ name, go, bytes, save }: ReplayInput) {
    const [reader] = groups.get(name)!
    let first: number | undefined
    let frames = 0
    let start = 0
    const perFrame = () => {
      // The first frame announces the replay; the second frame is the first event.
      if (++frames === 2) first = performance.now() - start
    }
    const done = reader!.until({ type: 'caught-up' }, { bytes, perFrame })
    globalThis.gc?.()
    start = performance.now()
    reader!.send(go)
    await done
    const seconds = (performance.now() - start) / 1000
    const payloads = [...reader!.payloads()]
    const events = payloads.filter((payload) => payload.toString('latin1', 9, 14) === 'event')
    const seqs = events.map((payload) => Number(/"seq":(\d+)/.exec(payload.toString())?.[1]))
    const inOrder = seqs.every((seq, index) => seq === index + 1)
    if (save !== undefined) writeFileSync(save, `${payloads.join('\n')}\n`)
    return { seconds, firstMs: first ?? Number.NaN, events: events.length, inOrder }
  },

  close(name: string) {
    for (const reader of groups.get(name) ?? []) reader.close()
    groups.delete(name)
  },
}

export type OpenInput = { name: string; address: WebSocketAddress; count: number; session?: string }
export type TurnInput = { name: string; go: string; bytes?: number; save?: string; deltas: number }
export type ReplayInput = { name: string; go: string; bytes: number; save?: string }
export type ReaderCalls = typeof calls

answer(calls)
