import { ParleyError, routes } from '@parley/protocol'
import type { Host } from '../../../core/index.ts'
import { type App, type AppParts, mount } from '../mount.ts'

export function mountMetrics(app: App, parts: AppParts): void {
  const { host, streams, version } = parts
  mount(app, parts, routes.metrics, async () => {
    if (!parts.metrics) throw new ParleyError('not_supported', 'Metrics are not enabled on this server.')
    // If the store does not answer, the other values are still reported.
    const waiting = await countWaiting(host).catch(() => ({}))
    const text = await parts.metrics({ version, clients: { sse: streams.count }, waiting })
    return new Response(text, { headers: { 'Content-Type': 'text/plain; version=0.0.4; charset=utf-8' } })
  })
}

async function countWaiting(host: Host): Promise<Record<string, number>> {
  const waiting = { permission: 0, question: 0 }
  for (const { request } of await host.waiting()) waiting[request.type]++
  return waiting
}
