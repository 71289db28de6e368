import type { ServerResponse } from 'node:http'
import type { ChangesNews } from '@parley/protocol'
import type { SeenFolder, Workspace } from '../../workspace/index.ts'

export type ChangeStreams = ReturnType<typeof createChangeStreams>

/** Changes of watched folders as server-sent events. */
export function createChangeStreams(options: { workspace: Workspace; heartbeatMs: number }) {
  const { workspace, heartbeatMs } = options
  const open = new Set<ServerResponse>()
  return {
    /** Writes to `outgoing` until the reader disconnects. */
    open(folder: SeenFolder, outgoing: ServerResponse): void {
      if (outgoing.destroyed) return
      outgoing.writeHead(200, {
        'Content-Type': 'text/event-stream; charset=utf-8',
        'X-Accel-Buffering': 'no',
      })
      open.add(outgoing)
      const write = (text: string) => outgoing.writable && outgoing.write(text)
      // The messages that wait for a slow reader. `watching`: the kind of the watch. `changed`: any file may have
      // changed.
      let waiting: { watching?: ChangesNews; changed?: ChangesNews } = {}
      const send = (news: ChangesNews) => {
        const { type, ...fields } = news
        if (!outgoing.writableNeedDrain) write(`event: ${type}\ndata: ${JSON.stringify(fields)}\n\n`)
        else waiting[type] = type === 'changed' ? { type } : news
      }
      outgoing.on('drain', () => {
        const { watching, changed } = waiting
        waiting = {}
        if (watching) send(watching)
        if (changed) send(changed)
      })
      const heartbeat = setInterval(() => outgoing.writableNeedDrain || write(':\n\n'), heartbeatMs)
      heartbeat.unref()
      const leave = workspace.watch(folder, {
        watching: (facts) => send({ type: 'watching', ...facts }),
        changed: (news) => send({ type: 'changed', ...news }),
      })
      outgoing.once('close', () => {
        clearInterval(heartbeat)
        open.delete(outgoing)
        leave()
      })
    },
    close(): void {
      for (const outgoing of open) outgoing.end()
    },
  }
}
