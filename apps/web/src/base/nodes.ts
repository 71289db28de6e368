import type { NodeList } from '@parley/protocol'
import { useEffect } from 'react'
import { client } from './client.ts'
import { refreshDelay } from './nodes.logic.ts'
import { createStore, useStore } from './store.ts'

const nodes = createStore<NodeList>({ nodes: [] })
let isRefreshing = false
let timer: ReturnType<typeof setTimeout> | undefined

/**
 * Returns the list of the servers that share this server's database, or the part of it that the selector returns. If
 * there can be several servers, the list is loaded again at intervals, when the connection is back, and when the page
 * is shown again.
 */
export function useNodes<Part = NodeList>(selector?: (list: NodeList) => Part): Part {
  useEffect(() => {
    if (isRefreshing) return
    isRefreshing = true
    client.socket.onStatus(() => void refresh())
    document.addEventListener('visibilitychange', () => void refresh())
    void refresh()
  }, [])
  return useStore(nodes, selector)
}

async function refresh(): Promise<void> {
  clearTimeout(timer)
  if (document.hidden || client.socket.status.state !== 'open') return
  await client.call('listNodes').then(nodes.set, () => undefined)
  clearTimeout(timer)
  const delay = refreshDelay(nodes.get())
  if (delay !== undefined) timer = setTimeout(() => void refresh(), delay)
}
